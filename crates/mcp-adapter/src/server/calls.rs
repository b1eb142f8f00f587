//! One call of a tool: who asks, the wait, and what the client is told.

use super::callers::{Bearer, Caller};
use super::handler::Handler;
use super::http::Line;
use super::offered::Called;
use super::progress::{Progress, Stage};
use super::waiting::{self, End, Leaving, Opened, Wait};
use super::{limits, origin};
use crate::asker::{AskCall, Settled, no_log};
use crate::toolset::aside::Aside;
use crate::toolset::{
    CALL_LIMIT, Unsettled, ask, await_answer, capabilities, interaction, plan, studio,
};
use askbus_domain::{Dialect, Rejection, parse_arguments, parse_plan_alone};
use askbus_wire::error::{ErrorCode, WireError};
use askbus_wire::proto;
use askbus_wire::trace::Trace;
use rmcp::RoleServer;
use rmcp::model::CallToolResult;
use rmcp::service::RequestContext;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// How long `list_capabilities` waits for the service.
const REACH_LIMIT: Duration = Duration::from_secs(3);

/// What is known of one call besides its arguments.
pub(super) struct Call {
    context: RequestContext<RoleServer>,
    /// The connection it came on; none over lines.
    line: Option<Line>,
    /// When it is handed back.
    hand_back: Instant,
    started: Instant,
}

impl Call {
    fn bearer(&self) -> Option<&Bearer> {
        self.line.as_ref().map(|line| &line.bearer)
    }
}

impl Handler {
    /// A call that came now.
    pub(super) fn call(&self, context: RequestContext<RoleServer>) -> Call {
        let started = Instant::now();
        let client = waiting::client_name(&context);
        let token = context.meta.get_progress_token().is_some();
        let after = limits::hand_back(client.as_deref(), token, self.budget);
        Call {
            line: Line::of(&context),
            hand_back: started + after,
            started,
            context,
        }
    }

    /// What the client is told.
    pub(super) async fn run(&self, called: Called, arguments: Value, call: Call) -> CallToolResult {
        match called {
            Called::AskUser => self.ask_user(arguments, call).await,
            Called::AwaitAnswer => self.await_answer(&arguments, call).await,
            Called::Capabilities => self.capabilities(call).await,
            Called::UpdatePlan => match self.update_plan(None, arguments, call).await {
                Ok(shown) => plan::updated(&shown),
                Err(error) => plan::failed(&error),
            },
            Called::StudioPlan => {
                let shown = match plan::context_and_plan(arguments) {
                    Ok((context_id, plan)) => self.update_plan(Some(context_id), plan, call).await,
                    Err(error) => Err(error),
                };
                match shown {
                    Ok(shown) => plan::studio_updated(&shown),
                    Err(error) => plan::studio_failed(&error),
                }
            }
            Called::Clarify => {
                let ask = match self.read(Dialect::Interaction, arguments) {
                    Ok(ask) => ask,
                    Err(error) => return interaction::failed(error),
                };
                match self.settle(ask, call).await {
                    Ok(settled) => interaction::settled(&settled),
                    Err(error) => interaction::failed(error),
                }
            }
            Called::StudioClarify => {
                let context_id = match studio::context_of(&arguments) {
                    Ok(context_id) => context_id,
                    Err(error) => return studio::failed(error),
                };
                let mut ask = AskCall::new(Dialect::Studio, arguments);
                ask.context = Some(context_id);
                match self.settle(ask, call).await {
                    Ok(settled) => studio::settled(&settled),
                    Err(error) => studio::failed(error),
                }
            }
        }
    }

    /// A call with these arguments. E6 fixes an order of checks for a host's turn, which only the
    /// service can keep; without a host a question that cannot be shown begins no turn.
    fn read(&self, dialect: Dialect, arguments: Value) -> Result<AskCall, WireError> {
        if !self.has_context {
            parse_arguments(dialect, &arguments).map_err(Rejection::from)?;
        }
        Ok(AskCall::new(dialect, arguments))
    }

    /// Says in the call who asks, and which asking process that is.
    fn identify(&self, ask: &mut AskCall, call: &Call) -> Result<Caller, WireError> {
        let context = &call.context;
        ask.started = call.started;
        ask.client = context
            .client_info()
            .map(|c| format!("{} {}", c.name, c.version));
        ask.origin = origin::of(&context.meta);
        ask.trace = Trace::continuing(context.meta.get_traceparent());
        let line = call.line.as_ref();
        if ask.context.is_none() {
            ask.context = line.and_then(|line| line.context.clone());
        }
        let session = line.and_then(|line| line.session.as_deref());
        let marker = ask.origin.session.as_deref().or(session);
        self.callers.of_call(call.bearer(), marker)
    }

    async fn ask_user(&self, arguments: Value, call: Call) -> CallToolResult {
        let mut ask = match self.read(Dialect::Ask, arguments) {
            Ok(ask) => ask,
            Err(error) => return ask::failed(error),
        };
        let caller = match self.identify(&mut ask, &call) {
            Ok(caller) => caller,
            Err(error) => return ask::failed(error),
        };
        // The same words again, whose answer nobody has been told yet.
        let ignored = parse_arguments(ask.dialect, &ask.arguments).map(|input| input.ignored);
        let mut aside = Aside {
            ignored: ignored.unwrap_or_default(),
            first_terms: false,
        };
        if let Some(before) = caller.asker().parked_as(&ask) {
            aside.first_terms = before.terms_differ;
            let result = self.go_on(caller, &before.clarify_id, &call).await;
            return aside.said_with(result);
        }
        let (notices, stages) = waiting::stages();
        let wait = self.wait(&call, stages.clone(), Some(call.hand_back));
        let end = {
            let open = async { caller.asker().open(&ask, &notices).await.map(Opened::from) };
            wait.run(open).await
        };
        if matches!(end, End::HandedBack(None)) {
            return ask::failed(not_asked(*stages.borrow()));
        }
        aside.said_with(result(&caller, end).await)
    }

    /// Shows a plan in the turn of this context, else in that of the process.
    async fn update_plan(
        &self,
        context_id: Option<String>,
        arguments: Value,
        call: Call,
    ) -> Result<proto::Plan, WireError> {
        // As with a question: without a host what cannot be shown begins no turn.
        if context_id.is_none() && !self.has_context {
            parse_plan_alone(&arguments).map_err(Rejection::from)?;
        }
        let mut update = AskCall::new(Dialect::Ask, arguments);
        update.context = context_id;
        let caller = self.identify(&mut update, &call)?;
        tokio::select! {
            biased;
            () = call.context.ct.cancelled() => {
                Err(gone("The call was cancelled; the plan may be shown all the same."))
            }
            shown = caller.asker().update_plan(&update) => shown,
        }
    }

    async fn await_answer(&self, arguments: &Value, call: Call) -> CallToolResult {
        let clarify_id = match await_answer::clarify_id(arguments) {
            Ok(id) => id,
            Err(problem) => {
                return ask::failed(WireError::new(ErrorCode::InvalidRequest, problem));
            }
        };
        let held = self.callers.holding(call.bearer(), &clarify_id);
        let caller = match held {
            Some(caller) => Ok(caller),
            None => self.callers.of_call(call.bearer(), None),
        };
        match caller {
            Ok(caller) => self.go_on(caller, &clarify_id, &call).await,
            Err(error) => ask::failed(error),
        }
    }

    /// Goes on waiting for a question that was asked before.
    async fn go_on(&self, mut caller: Caller, clarify_id: &str, call: &Call) -> CallToolResult {
        let (notices, stages) = waiting::stages();
        let trace = Trace::continuing(call.context.meta.get_traceparent());
        let wait = self.wait(call, stages, Some(call.hand_back));
        let end = {
            let open = async {
                let found = caller.asker().join(clarify_id, &trace, &notices).await?;
                let asker_id = match Opened::try_from(found) {
                    Ok(opened) => return Ok(opened.instead_of(caller.asker(), clarify_id)),
                    Err(asker_id) => asker_id,
                };
                // Asked through another process: what that one asked lives on under its name.
                caller = self.callers.adopt(call.bearer(), asker_id);
                let found = caller.asker().join(clarify_id, &trace, &notices).await?;
                Opened::try_from(found).map_err(|_| {
                    let text = "The question is held elsewhere; call `await_answer` again.";
                    WireError::new(ErrorCode::Unavailable, text)
                })
            };
            wait.run(open).await
        };
        match &end {
            End::Cancelled(_) => {
                // The call may have ended before it took the question over.
                if let Some(parked) = caller.asker().take_parked(clarify_id) {
                    caller.give_up(parked).await;
                }
            }
            // Nothing was learnt of it: as far as anybody knows it waits.
            End::HandedBack(None) | End::Lost(None) => return ask::pending(clarify_id),
            End::Settled(settled) => {
                if let Err(error) = settled.as_ref() {
                    return match error.code {
                        ErrorCode::Unavailable | ErrorCode::LogUnavailable => {
                            ask::pending(clarify_id)
                        }
                        _ => ask::failed(Unsettled::asked(clarify_id, error.clone())),
                    };
                }
            }
            End::HandedBack(Some(_)) | End::Lost(Some(_)) | End::Unheard(..) => {}
        }
        result(&caller, end).await
    }

    async fn capabilities(&self, call: Call) -> CallToolResult {
        let caller = match self.callers.of_call(call.bearer(), None) {
            Ok(caller) => caller,
            Err(error) => return ask::failed(error),
        };
        let client = waiting::client_name(&call.context);
        let reached = caller.asker().reach(REACH_LIMIT);
        let panel = Arc::clone(&self.panel);
        let panel = tokio::task::spawn_blocking(move || panel());
        let (reached, panel) = tokio::join!(reached, panel);
        capabilities::listed(&capabilities::State {
            toolset: self.offered.toolset,
            tools: self.offered.tools(client.as_deref()),
            hand_back: call.hand_back.duration_since(call.started),
            problem: reached.err().map(|error| error.to_string()),
            panel: panel.ok().flatten(),
        })
    }

    /// Asks and waits in a dialect whose calls cannot be resumed.
    async fn settle(&self, mut ask: AskCall, call: Call) -> Result<Settled, Unsettled> {
        let caller = self.identify(&mut ask, &call)?;
        let limit = call.hand_back.duration_since(call.started);
        ask.limit = Some(limit.clamp(Duration::from_secs(1), CALL_LIMIT));
        let (notices, stages) = waiting::stages();
        let wait = self.wait(&call, stages, None);
        let end = {
            let open = async { caller.asker().open(&ask, &notices).await.map(Opened::from) };
            wait.run(open).await
        };
        match end {
            End::Settled(settled) => Ok((*settled)?),
            End::Unheard(clarify_id, error) => Err(Unsettled::asked(&clarify_id, error)),
            End::Lost(waiting) => {
                if let Some(waiting) = waiting {
                    caller.lose(*waiting).await;
                }
                Err(gone(
                    "The connection was lost; the question is withdrawn unless it is answered soon.",
                )
                .into())
            }
            End::HandedBack(_) => Err(cancelled().into()),
            End::Cancelled(waiting) => {
                if let Some(waiting) = waiting {
                    caller.give_up(*waiting).await;
                }
                Err(cancelled().into())
            }
        }
    }

    fn wait(
        &self,
        call: &Call,
        stages: tokio::sync::watch::Receiver<Stage>,
        hand_back: Option<Instant>,
    ) -> Wait {
        Wait {
            leaving: Leaving {
                cancelled: call.context.ct.clone(),
                lost: call.line.as_ref().map(|line| line.lost.clone()),
            },
            hand_back,
            progress: Progress::new(&call.context, stages, Arc::clone(&self.panel)),
        }
    }
}

fn gone(text: &str) -> WireError {
    WireError::new(ErrorCode::Unavailable, text)
}

fn cancelled() -> WireError {
    gone("The call was cancelled; the question is withdrawn.")
}

/// Why nobody was asked for as long as the client waits, as far as the call came.
fn not_asked(stage: Stage) -> WireError {
    match stage {
        Stage::Unreachable(ErrorCode::LogUnavailable) => no_log(),
        Stage::Unreachable(_) => gone(
            "No Askbus service could be reached for as long as this client waits. Nobody was asked; \
             whoever runs the service should look after it (`askbus up` starts one on this machine).",
        ),
        Stage::Asking | Stage::Waiting | Stage::Held => gone(
            "The Askbus service did not take the question for as long as this client waits. It is \
             withdrawn should it be asked yet. Ask again later.",
        ),
    }
}

/// What a call that can be resumed returns.
async fn result(caller: &Caller, end: End) -> CallToolResult {
    match end {
        End::Settled(settled) => match *settled {
            Ok(settled) => ask::settled(&settled),
            Err(error) => ask::failed(error),
        },
        End::Unheard(clarify_id, error) => ask::failed(Unsettled::asked(&clarify_id, error)),
        End::HandedBack(Some(waiting)) => {
            let clarify_id = waiting.clarify_id().to_owned();
            caller.hand_back(*waiting);
            ask::pending(&clarify_id)
        }
        // Sent to nobody, unless the client looks for the reply on a new connection.
        End::Lost(Some(waiting)) => {
            let clarify_id = waiting.clarify_id().to_owned();
            caller.lose(*waiting).await;
            ask::pending(&clarify_id)
        }
        End::Cancelled(Some(waiting)) => {
            caller.give_up(*waiting).await;
            ask::failed(cancelled())
        }
        End::HandedBack(None) | End::Lost(None) | End::Cancelled(None) => ask::failed(cancelled()),
    }
}
