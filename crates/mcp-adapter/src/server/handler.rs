//! The MCP server: lists its toolset's tools and carries calls to the asker.

use super::callers::{Bearer, Caller, Callers};
use super::http::Line;
use super::progress::Progress;
use super::waiting::{self, End, Leaving, Opened, Wait};
use super::{Panel, limits, origin};
use crate::asker::{AskCall, Settled};
#[cfg(feature = "conformance")]
use crate::toolset::conformance;
use crate::toolset::{
    CALL_LIMIT, Gate, Toolset, ask, await_answer, capabilities, interaction, studio,
};
use askbus_domain::{Dialect, Rejection, parse_arguments};
use askbus_wire::error::{ErrorCode, WireError};
use askbus_wire::trace::Trace;
use futures::FutureExt as _;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CustomRequest, CustomResult,
    ErrorData, Implementation, ListToolsResult, PaginatedRequestParams, ServerCapabilities,
    ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};
use serde_json::Value;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// How long `list_capabilities` waits for the service.
const REACH_LIMIT: Duration = Duration::from_secs(3);

/// What answers the client.
#[derive(Clone)]
pub(super) struct Handler {
    pub(super) callers: Arc<Callers>,
    pub(super) toolset: Toolset,
    pub(super) gate: Gate,
    pub(super) panel: Panel,
    /// How the context of a host's turn stands over the process (`ASKBUS_CONTEXT`).
    pub(super) has_context: bool,
    /// The client's hard limit for a call, where it is known.
    pub(super) budget: Option<Duration>,
}

#[derive(Clone, Copy)]
enum Called {
    AskUser,
    AwaitAnswer,
    Capabilities,
    StudioClarify,
    Clarify,
}

/// What is known of one call besides its arguments.
struct Call {
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
    fn tools(&self) -> Vec<Tool> {
        match self.toolset {
            Toolset::Ask => vec![
                ask::definition(),
                await_answer::definition(),
                capabilities::definition(),
            ],
            Toolset::Studio if self.gate.clarify_is_open() => vec![studio::definition()],
            Toolset::Studio => Vec::new(),
            Toolset::Interaction => vec![interaction::definition()],
            #[cfg(feature = "conformance")]
            Toolset::Conformance => conformance::definitions(),
        }
    }

    fn called(&self, name: &str) -> Option<Called> {
        match (self.toolset, name) {
            (Toolset::Ask, ask::NAME) => Some(Called::AskUser),
            (Toolset::Ask, await_answer::NAME) => Some(Called::AwaitAnswer),
            (Toolset::Ask, capabilities::NAME) => Some(Called::Capabilities),
            (Toolset::Interaction, interaction::NAME) => Some(Called::Clarify),
            (Toolset::Studio, studio::NAME | studio::ALIAS) if self.gate.clarify_is_open() => {
                Some(Called::StudioClarify)
            }
            _ => None,
        }
    }

    fn call(&self, context: RequestContext<RoleServer>) -> Call {
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

    async fn run(&self, called: Called, arguments: Value, call: Call) -> CallToolResult {
        match called {
            Called::AskUser => self.ask_user(arguments, call).await,
            Called::AwaitAnswer => self.await_answer(&arguments, call).await,
            Called::Capabilities => self.capabilities(call).await,
            Called::Clarify => {
                let ask = match self.read(Dialect::Interaction, arguments) {
                    Ok(ask) => ask,
                    Err(error) => return interaction::failed(&error),
                };
                match self.settle(ask, call).await {
                    Ok(settled) => interaction::settled(&settled),
                    Err(error) => interaction::failed(&error),
                }
            }
            Called::StudioClarify => {
                let context_id = match studio::context_of(&arguments) {
                    Ok(context_id) => context_id,
                    Err(error) => return studio::failed(&error),
                };
                let mut ask = AskCall::new(Dialect::Studio, arguments);
                ask.context = Some(context_id);
                match self.settle(ask, call).await {
                    Ok(settled) => studio::settled(&settled),
                    Err(error) => studio::failed(&error),
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
            Err(error) => return ask::failed(&error),
        };
        let caller = match self.identify(&mut ask, &call) {
            Ok(caller) => caller,
            Err(error) => return ask::failed(&error),
        };
        // The same words again, whose answer nobody has been told yet.
        if let Some(clarify_id) = caller.asker().parked_as(&ask) {
            return self.go_on(caller, &clarify_id, &call).await;
        }
        let (notices, stages) = waiting::stages();
        let wait = self.wait(&call, stages, Some(call.hand_back));
        let end = {
            let open = async { caller.asker().open(&ask, &notices).await.map(Opened::from) };
            wait.run(open).await
        };
        result(&caller, end).await
    }

    async fn await_answer(&self, arguments: &Value, call: Call) -> CallToolResult {
        let clarify_id = match await_answer::clarify_id(arguments) {
            Ok(id) => id,
            Err(problem) => {
                return ask::failed(&WireError::new(ErrorCode::InvalidRequest, problem));
            }
        };
        let held = self.callers.holding(call.bearer(), &clarify_id);
        let caller = match held {
            Some(caller) => Ok(caller),
            None => self.callers.of_call(call.bearer(), None),
        };
        match caller {
            Ok(caller) => self.go_on(caller, &clarify_id, &call).await,
            Err(error) => ask::failed(&error),
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
            End::Cancelled => {
                // The call may have ended before it took the question over.
                drop(caller.asker().take_parked(clarify_id));
            }
            // Nothing was learnt of it: as far as anybody knows it waits.
            End::HandedBack(None) | End::Lost(None) => return ask::pending(clarify_id),
            End::Settled(settled) => {
                if let Err(error) = settled.as_ref()
                    && matches!(
                        error.code,
                        ErrorCode::Unavailable | ErrorCode::LogUnavailable
                    )
                {
                    return ask::pending(clarify_id);
                }
            }
            End::HandedBack(Some(_)) | End::Lost(Some(_)) => {}
        }
        result(&caller, end).await
    }

    async fn capabilities(&self, call: Call) -> CallToolResult {
        let caller = match self.callers.of_call(call.bearer(), None) {
            Ok(caller) => caller,
            Err(error) => return ask::failed(&error),
        };
        let reached = caller.asker().reach(REACH_LIMIT);
        let panel = Arc::clone(&self.panel);
        let panel = tokio::task::spawn_blocking(move || panel());
        let (reached, panel) = tokio::join!(reached, panel);
        capabilities::listed(&capabilities::State {
            toolset: self.toolset,
            tools: self.tools(),
            hand_back: call.hand_back.duration_since(call.started),
            problem: reached.err().map(|error| error.to_string()),
            panel: panel.ok().flatten(),
        })
    }

    /// Asks and waits in a dialect whose calls cannot be resumed.
    async fn settle(&self, mut ask: AskCall, call: Call) -> Result<Settled, WireError> {
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
            End::Settled(settled) => *settled,
            End::Lost(waiting) => {
                if let Some(waiting) = waiting {
                    caller.lose(*waiting).await;
                }
                Err(gone(
                    "The connection was lost; the question is withdrawn unless it is answered soon.",
                ))
            }
            End::HandedBack(_) | End::Cancelled => Err(cancelled()),
        }
    }

    fn wait(
        &self,
        call: &Call,
        stages: tokio::sync::watch::Receiver<super::progress::Stage>,
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

/// What a call that can be resumed returns.
async fn result(caller: &Caller, end: End) -> CallToolResult {
    match end {
        End::Settled(settled) => match *settled {
            Ok(settled) => ask::settled(&settled),
            Err(error) => ask::failed(&error),
        },
        End::HandedBack(Some(waiting)) => {
            let clarify_id = waiting.clarify_id().to_owned();
            caller.hand_back(*waiting);
            ask::pending(&clarify_id)
        }
        End::HandedBack(None) => ask::failed(&gone(
            "No Askbus service could be reached for as long as this client waits. Nobody was asked; \
             whoever runs the service should look after it (`askbus up` starts one on this machine).",
        )),
        // Sent to nobody, unless the client looks for the reply on a new connection.
        End::Lost(Some(waiting)) => {
            let clarify_id = waiting.clarify_id().to_owned();
            caller.lose(*waiting).await;
            ask::pending(&clarify_id)
        }
        End::Lost(None) | End::Cancelled => ask::failed(&cancelled()),
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let version = env!("CARGO_PKG_VERSION");
        let (name, instructions) = match self.toolset {
            Toolset::Ask => ("askbus", Some(ask::INSTRUCTIONS)),
            Toolset::Interaction => ("askbus", Some(interaction::INSTRUCTIONS)),
            #[cfg(feature = "conformance")]
            Toolset::Conformance => ("askbus", None),
            Toolset::Studio => {
                let open = self.gate.clarify_is_open();
                (studio::SERVER_NAME, open.then_some(studio::INSTRUCTIONS))
            }
        };
        let info = ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new(name, version));
        match instructions {
            Some(text) => info.with_instructions(text),
            None => info,
        }
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.tools()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.tools().into_iter().find(|tool| tool.name == name)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        #[cfg(feature = "conformance")]
        if self.toolset == Toolset::Conformance {
            return conformance::call(request, context).await;
        }
        let Some(called) = self.called(&request.name) else {
            let problem = format!("there is no tool {:?} here", request.name);
            return Err(ErrorData::invalid_params(problem, None));
        };
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        let call = self.call(context);
        // A panic would leave the call without any reply.
        let run = AssertUnwindSafe(self.run(called, arguments, call)).catch_unwind();
        match run.await {
            Ok(result) => Ok(result.into()),
            Err(_) => Err(ErrorData::internal_error(
                "the call failed inside askbus",
                None,
            )),
        }
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        // Requests that name their version know no handshake.
        let stateless = context.meta.protocol_version().is_some();
        // A known method comes here when its params have the wrong shape.
        Err(match request.method.as_str() {
            "initialize" if stateless => ErrorData::new(
                rmcp::model::ErrorCode::METHOD_NOT_FOUND,
                request.method,
                None,
            ),
            "initialize" | "tools/call" | "tools/list" => ErrorData::invalid_params(
                format!("the params of {} cannot be read", request.method),
                None,
            ),
            _ => ErrorData::new(
                rmcp::model::ErrorCode::METHOD_NOT_FOUND,
                request.method,
                None,
            ),
        })
    }
}
