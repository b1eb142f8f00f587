//! `TurnService`.

use crate::grpc::{begin, caller};
use crate::leases::{self, Leases};
use crate::past;
use crate::projection::{Key, LeaseKey};
use crate::service::{Core, barrier};
use crate::spans;
use askbus_credential::Credential;
use askbus_domain::{
    BeginCommand, BeginId, Clarification, Command, ContextId, Figures, Holder, LeaseName, Millis,
    ProfileId, Reason, Rejection, RunId, Session, SessionId, TURN_CAP, TenantId, Turn, TurnEnd,
    deferred_text,
};
use askbus_wire::error::{ErrorCode, WireError};
use askbus_wire::proto::begin_turn_request::Life;
use askbus_wire::proto::turn_service_server::TurnService;
use askbus_wire::proto::{
    BeginTurnRequest, BeginTurnResponse, DeferredQuestion, EndTurnRequest, EndTurnResponse,
    HoldTurnRequest, HoldTurnResponse, KeepTurnRequest, KeepTurnResponse, ReportToolUseRequest,
    ReportToolUseResponse,
};
use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;
use tonic::{Request, Response, Status};

/// How often an open stream says that it is.
const STREAM_HEARTBEAT: Duration = Duration::from_secs(10);
/// The longest lease that a host is granted.
const LONGEST_LEASE: Millis = Millis(3_600_000);
/// The name of a tool at most.
const MAX_TOOL_CHARS: usize = 300;

/// The service.
pub(crate) struct Turns {
    core: Arc<Core>,
    shutdown: CancellationToken,
}

impl Turns {
    pub(crate) fn new(core: Arc<Core>, shutdown: CancellationToken) -> Self {
        Self { core, shutdown }
    }
}

pub(crate) fn invalid(error: impl Display) -> Status {
    WireError::new(ErrorCode::InvalidRequest, error).into()
}

/// An id that the caller may leave to the service.
pub(crate) fn or_new(core: &Core, text: String) -> String {
    if text.is_empty() {
        core.clock.uuid_v7().to_string()
    } else {
        text
    }
}

/// The session behind a context of this tenant. Unknown, foreign and malformed ones are the same.
pub(crate) async fn bound(
    core: &Core,
    tenant: &TenantId,
    context: &str,
) -> Result<(ContextId, Key), Status> {
    let expired = || Status::from(WireError::from(Rejection::ContextExpired));
    let context = ContextId::parse(context).map_err(|_| expired())?;
    if core.projection.key_of_context(context).is_none() {
        // It may have been begun elsewhere a moment ago.
        barrier(core)
            .await
            .map_err(|e| WireError::new(ErrorCode::LogUnavailable, e))?;
    }
    match core.projection.key_of_context(context) {
        Some(key) if key.0 == *tenant => Ok((context, key)),
        _ => Err(expired()),
    }
}

#[tonic::async_trait]
impl TurnService for Turns {
    async fn begin_turn(
        &self,
        request: Request<BeginTurnRequest>,
    ) -> Result<Response<BeginTurnResponse>, Status> {
        let credential = caller::asker(&request)?;
        let (mut span, trace) = caller::traced(&request, "BeginTurn");
        let mut body = request.into_inner();
        if !begin::is_own(&body) {
            let what =
                "begin a turn that is not its own (asker_id), or say what only its host knows";
            caller::not_an_agents(&credential, what)?;
        }
        let own = matches!(body.life, Some(Life::AskerId(_)));
        let (scope, toolset) = (begin::scope(&body)?, begin::toolset(&body)?);
        if body.session_id.is_empty() && !own {
            // Nothing of the host's to ask in (E15): there is nothing to begin, and nothing to say.
            return Ok(Response::new(BeginTurnResponse::default()));
        }
        let context_id = ContextId::from_uuid(self.core.clock.uuid_v4());
        let session_id = SessionId::new(&body.session_id).map_err(invalid)?;
        let holder = self.holder(context_id, body.life.take())?;
        let profile = caller::profile(&credential, &body.profile)?;
        let begin_id = or_new(&self.core, std::mem::take(&mut body.begin_id));
        let run_id = or_new(&self.core, std::mem::take(&mut body.run_id));
        let plain = BeginCommand {
            own,
            ..BeginCommand::new(
                BeginId::new(begin_id).map_err(invalid)?,
                context_id,
                RunId::new(run_id).map_err(invalid)?,
                profile,
                holder,
            )
        };
        let begin = begin::described(plain, &mut body, scope)?;
        let key = (credential.tenant, session_id);
        let command = Command::Begin(begin.clone());
        let session = self.core.run(key.clone(), command, trace).await;
        spans::note_session(&mut span, &key);
        let session = caller::noted(&mut span, session)?;
        // Another caller may have begun the next turn already; its context is not this caller's.
        let (turn, _) = session
            .latest_turn()
            .filter(|(turn, _)| turn.is_begun_by(&begin))
            .ok_or_else(|| WireError::from(Rejection::NoActiveTurn))?;
        tracing::info!(tenant = %key.0, session = %key.1, context = %turn.context_id, "turn begun");
        let session_id = key.1.to_string();
        let response = begin::begun(&self.core, &key.0, session_id, turn, toolset);
        Ok(Response::new(response))
    }

    type HoldTurnStream = ReceiverStream<Result<HoldTurnResponse, Status>>;

    async fn hold_turn(
        &self,
        request: Request<HoldTurnRequest>,
    ) -> Result<Response<Self::HoldTurnStream>, Status> {
        let credential = caller::asker(&request)?;
        let body = request.into_inner();
        let profile = caller::profile(&credential, &body.profile)?;
        let (context, key) = self.turn(&credential, &profile, &body.context_id).await?;
        let name = held_name(&self.core, &key, context, &profile)?;
        let held = name.map(|n| Leases::hold(&self.core, LeaseKey::Holder(key.0.clone(), n)));
        let (tx, rx) = mpsc::channel(4);
        let (core, shutdown) = (Arc::clone(&self.core), self.shutdown.clone());
        self.core.tasks.spawn(async move {
            tokio::select! {
                biased;
                // The stream ends without a last message: hold it elsewhere.
                () = shutdown.cancelled() => {}
                () = tx.closed() => {}
                status = caller::refused(&core, &credential) => {
                    let _ = tx.try_send(Err(status));
                }
                () = serve_hold(&core, &key, context, &tx) => {}
            }
            drop(held);
        });
        Ok(Response::new(ReceiverStream::new(rx)))
    }

    async fn end_turn(
        &self,
        request: Request<EndTurnRequest>,
    ) -> Result<Response<EndTurnResponse>, Status> {
        let credential = caller::asker(&request)?;
        let (mut span, trace) = caller::traced(&request, "EndTurn");
        let body = request.into_inner();
        let profile = caller::profile(&credential, &body.profile)?;
        let end = TurnEnd::parse_host(&body.end)
            .ok_or_else(|| invalid("end is completed, failed, stopped or disposed"))?;
        let (context_id, key) = self.turn(&credential, &profile, &body.context_id).await?;
        let command = Command::End {
            context_id,
            profile,
            end,
        };
        spans::note_session(&mut span, &key);
        let ended = self.core.run(key.clone(), command, trace).await;
        let session = caller::noted(&mut span, ended)?;
        let figures = session.account().figures();
        // What a turn asked is forgotten some time after its end; whoever ends it again is told the same.
        if figures.asked > 0 && session.clarifications().next().is_none() {
            let asked = past::asked_in(&self.core, &key, context_id).await;
            let asked = asked.map_err(|e| WireError::new(ErrorCode::LogUnavailable, e))?;
            return Ok(Response::new(came_to(figures, asked.iter())));
        }
        Ok(Response::new(came_to(figures, session.clarifications())))
    }

    async fn keep_turn(
        &self,
        request: Request<KeepTurnRequest>,
    ) -> Result<Response<KeepTurnResponse>, Status> {
        let credential = caller::asker(&request)?;
        let body = request.into_inner();
        let profile = caller::profile(&credential, &body.profile)?;
        let (context, key) = self.turn(&credential, &profile, &body.context_id).await?;
        let (session, _) = self.core.projection.session(&key);
        let (turn, end) = turn_of(&session, context, &profile)?;
        let over = |end: TurnEnd| KeepTurnResponse {
            ended: end.as_str().to_owned(),
            lease_ms: 0,
        };
        Ok(Response::new(match (end, &turn.holder) {
            (Some(end), _) => over(end),
            (None, Holder::Lease { name, ttl }) => {
                let lease = LeaseKey::Holder(key.0.clone(), name.clone());
                self.core.leases.keep(lease, self.core.heartbeat * 2);
                KeepTurnResponse {
                    ended: String::new(),
                    lease_ms: leases::granted(*ttl, self.core.heartbeat).0,
                }
            }
            // It lives until its moment, whoever keeps it.
            (None, Holder::Until(moment)) => KeepTurnResponse {
                ended: String::new(),
                lease_ms: self.core.now().until(*moment).0,
            },
        }))
    }

    async fn report_tool_use(
        &self,
        request: Request<ReportToolUseRequest>,
    ) -> Result<Response<ReportToolUseResponse>, Status> {
        let credential = caller::asker(&request)?;
        let (mut span, trace) = caller::traced(&request, "ReportToolUse");
        let body = request.into_inner();
        let profile = caller::profile(&credential, &body.profile)?;
        if body.tool.is_empty() || body.tool.chars().count() > MAX_TOOL_CHARS {
            return Err(invalid(format!(
                "tool is the name of a tool, 1 to {MAX_TOOL_CHARS} characters"
            )));
        }
        let (context_id, key) = self.turn(&credential, &profile, &body.context_id).await?;
        let command = Command::ToolUse {
            context_id,
            profile,
            tool: body.tool,
        };
        spans::note_session(&mut span, &key);
        let session = self.core.run(key, command, trace).await;
        let work_begun = caller::noted(&mut span, session)?.work_begun();
        Ok(Response::new(ReportToolUseResponse { work_begun }))
    }
}

impl Turns {
    /// The session behind the context of a turn that the caller may speak of: an agent of its own alone.
    async fn turn(
        &self,
        credential: &Credential,
        profile: &ProfileId,
        context: &str,
    ) -> Result<(ContextId, Key), Status> {
        let (context, key) = bound(&self.core, &credential.tenant, context).await?;
        let (session, _) = self.core.projection.session(&key);
        // What is wrong with any other context is said further on, in the same words for all.
        if turn_of(&session, context, profile).is_ok_and(|(turn, _)| !turn.own) {
            caller::not_an_agents(
                credential,
                "hold, end or report for a turn that a host began",
            )?;
        }
        Ok((context, key))
    }

    fn holder(&self, context: ContextId, life: Option<Life>) -> Result<Holder, Status> {
        let named = |name: String, ttl: Millis| {
            Ok(Holder::Lease {
                name: LeaseName::new(name).map_err(invalid)?,
                ttl,
            })
        };
        match life {
            None | Some(Life::LeaseMs(0)) => named(context.to_string(), self.core.lease),
            Some(Life::LeaseMs(ms)) => {
                let granted = leases::granted(Millis(ms), self.core.heartbeat);
                named(context.to_string(), granted.min(LONGEST_LEASE))
            }
            Some(Life::AskerId(asker)) => named(asker, self.core.lease),
            Some(Life::ForMs(0)) => Err(invalid(
                "for_ms is at least 1; leave it out for a turn that is held",
            )),
            Some(Life::ForMs(ms)) => {
                let ms = ms.min(TURN_CAP.0);
                let now = self.core.now();
                Ok(Holder::Until(now.plus(Millis(ms))))
            }
        }
    }
}

/// The lease name of the caller's active turn; none when nobody needs to hold it.
fn held_name(
    core: &Core,
    key: &Key,
    context: ContextId,
    profile: &ProfileId,
) -> Result<Option<LeaseName>, Status> {
    let (session, _) = core.projection.session(key);
    let (turn, end) = turn_of(&session, context, profile)?;
    if end.is_some() {
        return Err(WireError::from(Rejection::NoActiveTurn).into());
    }
    Ok(match &turn.holder {
        Holder::Lease { name, .. } => Some(name.clone()),
        Holder::Until(_) => None,
    })
}

/// The caller's turn and, once it is over, how it ended. Any other context is one refusal (E6).
fn turn_of<'a>(
    session: &'a Session,
    context: ContextId,
    profile: &ProfileId,
) -> Result<(&'a Turn, Option<TurnEnd>), Status> {
    session
        .latest_turn()
        .filter(|(turn, _)| turn.context_id == context && turn.profile == *profile)
        .ok_or_else(|| WireError::from(Rejection::ContextExpired).into())
}

/// What a turn came to: its account, and the questions that become its reply.
fn came_to<'a>(
    figures: Figures,
    asked: impl Iterator<Item = &'a Clarification>,
) -> EndTurnResponse {
    let deferred = asked.filter(|c| {
        let outcome = c.outcome.as_ref();
        outcome.is_some_and(|o| o.reason == Reason::Deferred)
    });
    let deferred = deferred.map(|c| DeferredQuestion {
        clarify_id: c.id.to_string(),
        text: deferred_text(&c.questions, c.terms.language),
    });
    EndTurnResponse {
        asked: figures.asked,
        auto: figures.auto,
        deferred: deferred.collect(),
    }
}

/// Says now and then that the turn is held, and at last how it ended.
async fn serve_hold(
    core: &Core,
    key: &Key,
    context: ContextId,
    tx: &mpsc::Sender<Result<HoldTurnResponse, Status>>,
) {
    let ended = core.projection.turn_ended(context);
    tokio::pin!(ended);
    let mut pace = tokio::time::interval(STREAM_HEARTBEAT);
    loop {
        let response = tokio::select! {
            biased;
            _ = &mut ended => HoldTurnResponse { ended: how_ended(core, key, context) },
            _ = pace.tick() => HoldTurnResponse::default(),
        };
        let last = !response.ended.is_empty();
        if tx.send(Ok(response)).await.is_err() || last {
            return;
        }
    }
}

fn how_ended(core: &Core, key: &Key, context: ContextId) -> String {
    let (session, _) = core.projection.session(key);
    let end = session
        .latest_turn()
        .filter(|(t, _)| t.context_id == context)
        .and_then(|(_, e)| e);
    // A later turn is there already: this one was replaced.
    end.unwrap_or(TurnEnd::Replaced).as_str().to_owned()
}
