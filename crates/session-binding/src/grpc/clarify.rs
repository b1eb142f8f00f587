//! `ClarifyService`.

use crate::attachments::{ATTACH_BUFFER, AttachItem, event_of};
use crate::commands;
use crate::grpc::turn::invalid;
use crate::grpc::{ask, caller};
use crate::leases::{Held, Leases};
use crate::past;
use crate::projection::{Key, LeaseKey};
use crate::service::{Core, barrier};
use crate::spans;
use askbus_credential::{Credential, Role};
use askbus_domain::{AskerId, Clarification, ClarifyId, Command, Rejection, Session, SessionId};
use askbus_wire::convert;
use askbus_wire::error::{ErrorCode, WireError};
use askbus_wire::proto::attach_event::Event;
use askbus_wire::proto::clarify_service_server::ClarifyService;
use askbus_wire::proto::{
    AskRequest, AskResponse, AttachEvent, AttachRequest, Attached, CancelRequest,
    Clarification as ClarificationMessage, GetClarificationRequest, Heartbeat, ListPendingRequest,
    ListPendingResponse, WaitRequest,
};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;
use tonic::{Request, Response, Status};

/// How often an attachment says that it is there.
const ATTACH_HEARTBEAT: Duration = Duration::from_secs(15);
/// Open ids that one attachment may bring along.
const MAX_OPEN_IDS: usize = 10_000;

/// The service.
pub(crate) struct Clarifications {
    core: Arc<Core>,
    shutdown: CancellationToken,
}

impl Clarifications {
    pub(crate) fn new(core: Arc<Core>, shutdown: CancellationToken) -> Self {
        Self { core, shutdown }
    }
}

fn unavailable(error: impl std::fmt::Display) -> Status {
    WireError::new(ErrorCode::Unavailable, error).into()
}

fn unknown() -> Status {
    WireError::from(Rejection::UnknownClarification).into()
}

/// The clarification `id` of the caller's tenant and profiles, from the current turn or the past.
async fn find(
    core: &Core,
    credential: &Credential,
    id: ClarifyId,
) -> Result<Option<(Key, Clarification)>, Status> {
    if core.projection.find(id).is_none() {
        barrier(core).await.map_err(unavailable)?;
    }
    let allowed = |key: &Key, session: &Session| {
        key.0 == credential.tenant && session.profile().is_some_and(|p| credential.allows(p))
    };
    if let Some((key, session)) = core.projection.find(id) {
        let clarification = session
            .clarification(id)
            .filter(|_| allowed(&key, &session));
        return Ok(clarification.map(|c| (key.clone(), c.clone())));
    }
    let found = past::find(core, &credential.tenant, id)
        .await
        .map_err(unavailable)?;
    let Some((key, clarification)) = found else {
        return Ok(None);
    };
    let session = commands::known(core, &key).await.map_err(unavailable)?;
    Ok(allowed(&key, &session).then_some((key, clarification)))
}

async fn find_or_404(
    core: &Core,
    credential: &Credential,
    id: &str,
) -> Result<(Key, Clarification), Status> {
    let id = ClarifyId::parse(id).map_err(|_| unknown())?;
    find(core, credential, id).await?.ok_or_else(unknown)
}

#[tonic::async_trait]
impl ClarifyService for Clarifications {
    async fn ask(&self, request: Request<AskRequest>) -> Result<Response<AskResponse>, Status> {
        let credential = caller::asker(&request)?;
        let (mut span, trace) = caller::traced(&request, "Ask");
        let body = request.into_inner();
        let asked = ask::ask(&self.core, &credential, trace, &mut span, body).await?;
        Ok(Response::new(asked))
    }

    type AttachStream = ReceiverStream<AttachItem>;

    async fn attach(
        &self,
        request: Request<AttachRequest>,
    ) -> Result<Response<Self::AttachStream>, Status> {
        let credential = caller::asker(&request)?;
        let body = request.into_inner();
        let asker = AskerId::new(&body.asker_id).map_err(invalid)?;
        if body.open_clarify_ids.len() > MAX_OPEN_IDS {
            return Err(invalid(format!(
                "at most {MAX_OPEN_IDS} open ids fit one attachment"
            )));
        }
        let tenant = credential.tenant.clone();
        let (tx, rx) = mpsc::channel(ATTACH_BUFFER);
        // Registered before the open ids are looked up, so that nothing falls in between.
        let end = self
            .core
            .attachments
            .add(&credential, asker.clone(), tx.clone());
        let holds = hold_leases(&self.core, &credential, &asker);
        let (core, shutdown) = (Arc::clone(&self.core), self.shutdown.clone());
        self.core.tasks.spawn(async move {
            tokio::select! {
                biased;
                () = shutdown.cancelled() => {}
                () = end.cancelled() => tracing::debug!(%asker, "an attachment fell behind; it is to attach again"),
                () = tx.closed() => {}
                status = caller::refused(&core, &credential) => {
                    // A stream that is full ends without a word; the next one is refused.
                    let _ = tx.try_send(Err(status));
                }
                () = serve_attachment(&core, &credential, body.open_clarify_ids, &tx) => {}
            }
            drop((tx, holds));
            core.attachments.sweep(&tenant, &asker);
        });
        Ok(Response::new(ReceiverStream::new(rx)))
    }

    async fn wait(
        &self,
        request: Request<WaitRequest>,
    ) -> Result<Response<ClarificationMessage>, Status> {
        let credential = caller::credential(&request)?;
        let WaitRequest {
            clarify_id: id,
            asker_id,
        } = request.into_inner();
        let (key, clarification) = find_or_404(&self.core, &credential, &id).await?;
        if clarification.is_pending() {
            // A waiting asker is a sign of life; whoever else waits keeps nobody's question alive.
            let own = asker_id.as_deref() == Some(clarification.asker_id.as_str());
            let lease = LeaseKey::Asker(key.0.clone(), clarification.asker_id.clone());
            let _held = (own && credential.may_ask()).then(|| Leases::hold(&self.core, lease));
            tokio::select! {
                biased;
                // An error means that it settled: the waiter was dropped.
                _ = self.core.projection.settled(clarification.id) => {}
                status = caller::refused(&self.core, &credential) => return Err(status),
                () = self.shutdown.cancelled() => {
                    return Err(unavailable("this instance is stopping; wait at another one"));
                }
            }
        }
        let (key, clarification) = find_or_404(&self.core, &credential, &id).await?;
        Ok(Response::new(convert::clarification(
            key.1.as_str(),
            &clarification,
        )))
    }

    async fn cancel(
        &self,
        request: Request<CancelRequest>,
    ) -> Result<Response<ClarificationMessage>, Status> {
        let credential = caller::asker(&request)?;
        let (mut span, trace) = caller::traced(&request, "Cancel");
        let id = request.into_inner().clarify_id;
        let (key, clarification) = find_or_404(&self.core, &credential, &id).await?;
        spans::note_session(&mut span, &key);
        spans::note_question(&mut span, clarification.id);
        if clarification.is_pending() {
            let (session, _) = self.core.projection.session(&key);
            let profile = session.profile().cloned().ok_or_else(unknown)?;
            let command = Command::Cancel {
                clarify_id: clarification.id,
                profile,
            };
            let cancelled = self.core.run(key, command, trace).await;
            caller::noted(&mut span, cancelled)?;
        }
        let (key, clarification) = find_or_404(&self.core, &credential, &id).await?;
        Ok(Response::new(convert::clarification(
            key.1.as_str(),
            &clarification,
        )))
    }

    async fn get_clarification(
        &self,
        request: Request<GetClarificationRequest>,
    ) -> Result<Response<ClarificationMessage>, Status> {
        let credential = caller::credential(&request)?;
        let id = request.into_inner().clarify_id;
        let (key, clarification) = find_or_404(&self.core, &credential, &id).await?;
        Ok(Response::new(convert::clarification(
            key.1.as_str(),
            &clarification,
        )))
    }

    async fn list_pending(
        &self,
        request: Request<ListPendingRequest>,
    ) -> Result<Response<ListPendingResponse>, Status> {
        let credential = caller::credential(&request)?;
        if credential.role == Role::Agent {
            // A clarify_id is a capability: an agent has those of its own questions only.
            let text = "an agent does not see what others asked";
            return Err(WireError::new(ErrorCode::Forbidden, text).into());
        }
        let only = request.into_inner().session_id;
        barrier(&self.core).await.map_err(unavailable)?;
        let sessions = self.core.projection.pending_of(&credential.tenant);
        let seen = |session: &Session| session.profile().is_some_and(|p| credential.allows(p));
        let wanted = |id: &SessionId| only.is_empty() || id.as_str() == only;
        let clarifications = sessions
            .iter()
            .filter(|(key, session)| seen(session) && wanted(&key.1))
            .flat_map(|(key, session)| {
                session
                    .pending()
                    .map(|c| convert::clarification(key.1.as_str(), c))
            })
            .collect();
        Ok(Response::new(ListPendingResponse { clarifications }))
    }
}

/// An attachment keeps its asker's questions alive, and a turn that is held by this asker.
fn hold_leases(core: &Arc<Core>, credential: &Credential, asker: &AskerId) -> Vec<Held> {
    let tenant = &credential.tenant;
    let mut holds = vec![Leases::hold(
        core,
        LeaseKey::Asker(tenant.clone(), asker.clone()),
    )];
    if let Ok(name) = askbus_domain::LeaseName::new(asker.as_str()) {
        holds.push(Leases::hold(core, LeaseKey::Holder(tenant.clone(), name)));
    }
    holds
}

/// Tells what an attachment missed, and then now and then that it stands.
async fn serve_attachment(
    core: &Core,
    credential: &Credential,
    open: Vec<String>,
    tx: &mpsc::Sender<AttachItem>,
) {
    if replay(core, credential, open, tx).await.is_err() {
        return;
    }
    let mut pace = tokio::time::interval(ATTACH_HEARTBEAT);
    loop {
        pace.tick().await;
        let beat = AttachEvent {
            event: Some(Event::Heartbeat(Heartbeat {})),
        };
        if tx.send(Ok(beat)).await.is_err() {
            return;
        }
    }
}

/// Tells a new attachment what became of the questions it still has open.
async fn replay(
    core: &Core,
    credential: &Credential,
    open: Vec<String>,
    tx: &mpsc::Sender<AttachItem>,
) -> Result<(), mpsc::error::SendError<AttachItem>> {
    tx.send(Ok(AttachEvent {
        event: Some(Event::Attached(Attached {})),
    }))
    .await?;
    for id in open {
        let found = match ClarifyId::parse(&id) {
            Ok(id) => find(core, credential, id).await,
            Err(_) => Ok(None),
        };
        match found {
            Ok(Some((_, c))) if c.is_pending() && c.held_by.is_none() => {}
            Ok(Some((key, clarification))) => tx.send(Ok(event_of(&key.1, &clarification))).await?,
            Ok(None) => {
                tx.send(Ok(AttachEvent {
                    event: Some(Event::UnknownClarifyId(id)),
                }))
                .await?;
            }
            Err(status) => {
                // Not known now is not unknown: the asker attaches again.
                tx.send(Err(status.clone())).await?;
                return Err(mpsc::error::SendError(Err(status)));
            }
        }
    }
    Ok(())
}
