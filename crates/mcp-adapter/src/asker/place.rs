//! Putting one question to the service, through outages and ended turns.

use super::asked::{self, Settled};
use super::branch;
use super::resolutions::Link;
use super::table::Placing;
use super::{AskCall, Asked, Backoff, Inner, Notice, Notices, closed, lock};
use askbus_wire::error::{ErrorCode, WireError};
use askbus_wire::proto;
use askbus_wire::trace::Trace;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};

/// How long an attempt to connect may hang before it counts as failed.
const CONNECT_LIMIT: Duration = Duration::from_secs(6);

/// How long to try while the service cannot be reached.
#[derive(Debug, Clone, Copy)]
pub(super) enum Patience {
    Until(Instant),
    /// The question was open before.
    Endless,
}

impl Patience {
    pub(super) fn is_over(self) -> bool {
        matches!(self, Patience::Until(end) if Instant::now() >= end)
    }
}

type Reply = oneshot::Sender<Result<Asked, WireError>>;

/// Asks, and returns once the service has the question.
pub(super) async fn begin(
    inner: &Arc<Inner>,
    call: &AskCall,
    notices: &Notices,
    patience: Patience,
) -> Result<Asked, WireError> {
    let (reply, answer) = oneshot::channel();
    let (asking, call, notices) = (Arc::clone(inner), call.clone(), Arc::clone(notices));
    // A task of its own, so that a caller who leaves in the middle of an `Ask` does not leave a
    // question behind: its `Asked` then comes to nobody, and is dropped.
    inner.tasks.spawn_on(
        async move { place(&asking, &call, &notices, patience, reply).await },
        &inner.runtime,
    );
    answer.await.unwrap_or_else(|_| Err(closed()))
}

/// What is known of a question by its id.
pub(super) enum Found {
    /// It waits, and its end will be heard.
    Waits(Box<Asked>),
    Settled(Box<Settled>),
    /// It waits, asked by this other process.
    Elsewhere(String),
}

/// Finds a question by its id, and waits for it if this process asked it.
pub(super) async fn join(
    inner: &Arc<Inner>,
    clarify_id: &str,
    trace: &Trace,
    notices: &Notices,
    patience: Patience,
) -> Result<Found, WireError> {
    let mut backoff = Backoff::default();
    loop {
        let once = tokio::select! {
            biased;
            () = inner.closing.cancelled() => return Err(closed()),
            once = join_once(inner, clarify_id, trace, notices, patience) => once,
        };
        let code = match once {
            Err(error) if may_pass(error.code) && !patience.is_over() => error.code,
            other => return other,
        };
        notices(Notice::Unreachable { code });
        tokio::time::sleep(backoff.next_pause()).await;
    }
}

async fn join_once(
    inner: &Arc<Inner>,
    clarify_id: &str,
    trace: &Trace,
    notices: &Notices,
    patience: Patience,
) -> Result<Found, WireError> {
    ready(inner, patience, notices).await?;
    // Before the state is read, so that what changes afterwards is heard.
    let placing = inner.table.placing();
    let request = trace.request(proto::GetClarificationRequest {
        clarify_id: clarify_id.to_owned(),
    });
    let found = inner
        .connection
        .call(|mut client| async move { client.clarify.get_clarification(request).await })
        .await?;
    if found.outcome.is_some() {
        return asked::read(&found)
            .map(|settled| Found::Settled(Box::new(settled)))
            .ok_or_else(asked::unreadable);
    }
    if found.asker_id != inner.asker_id {
        return Ok(Found::Elsewhere(found.asker_id));
    }
    let response = proto::AskResponse {
        clarify_id: found.clarify_id,
        session_id: found.session_id,
        run_id: found.run_id,
        deadline_ms: found.deadline_ms,
        cap_ms: found.cap_ms,
        requested_at_ms: found.requested_at_ms,
        ..Default::default()
    };
    let place = inner.table.enter(&response, trace, &placing, notices);
    let asked = Asked::new(Arc::clone(inner), response, trace.clone(), place, false);
    Ok(Found::Waits(Box::new(asked)))
}

/// Asks until there is something to reply, or nobody to reply to.
async fn place(
    inner: &Arc<Inner>,
    call: &AskCall,
    notices: &Notices,
    mut patience: Patience,
    mut reply: Reply,
) {
    let mut attempt = Attempt {
        inner,
        call,
        notices,
        ask_id: inner.ids.new_id(),
        branch: branch::of(&inner.info.cwd).await.unwrap_or_default(),
        placing: None,
        in_doubt: false,
        renewed: false,
    };
    let mut backoff = Backoff::default();
    let mut credential_reread = false;
    let result = loop {
        // An `Ask` whose reply was lost may be open: it is followed up even for a caller who left,
        // so that it can be withdrawn, and waited for without limit.
        let may_be_open = attempt.placing.is_some();
        let ready = tokio::select! {
            biased;
            () = inner.closing.cancelled() => break Err(closed()),
            () = reply.closed(), if !may_be_open => return,
            ready = ready(inner, patience, notices) => ready,
        };
        let once = tokio::select! {
            biased;
            () = inner.closing.cancelled() => break Err(closed()),
            once = async { ready?; attempt.send().await } => once,
        };
        let code = match once {
            Ok(asked) => break Ok(asked),
            // The refused credential is forgotten; the file may hold a newer one.
            Err(error) if error.code == ErrorCode::Unauthenticated && !credential_reread => {
                credential_reread = true;
                continue;
            }
            // Certainly not asked: trying again is all there is to it, and only for so long.
            Err(error) if error.code == ErrorCode::LogUnavailable && attempt.placing.is_none() => {
                if patience.is_over() {
                    break Err(no_log());
                }
                error.code
            }
            Err(error) if !may_pass(error.code) => break Err(error),
            Err(error) if attempt.placing.is_some() => {
                patience = Patience::Endless;
                error.code
            }
            Err(error) if patience.is_over() => break Err(no_service(inner, &error).await),
            Err(error) => error.code,
        };
        notices(Notice::Unreachable { code });
        tokio::select! {
            biased;
            () = inner.closing.cancelled() => break Err(closed()),
            () = reply.closed(), if attempt.placing.is_none() => return,
            () = tokio::time::sleep(backoff.next_pause()) => {}
        }
    };
    // To a caller who left: the question is dropped here, and so withdrawn.
    drop(reply.send(result));
}

struct Attempt<'a> {
    inner: &'a Arc<Inner>,
    call: &'a AskCall,
    notices: &'a Notices,
    ask_id: String,
    /// The git branch that the caller works on.
    branch: String,
    /// There from the first `Ask` on that may have reached the service.
    placing: Option<Placing<'a>>,
    /// An `Ask` was lost on its way there or back.
    in_doubt: bool,
    renewed: bool,
}

impl Attempt<'_> {
    async fn send(&mut self) -> Result<Asked, WireError> {
        loop {
            let inner = self.inner;
            let given = self.call.context.as_ref().or(inner.context.as_ref());
            let (context_id, own_turn) = if let Some(context_id) = given {
                (context_id.clone(), false)
            } else {
                let named = self.call.origin.session.as_deref();
                let context = inner
                    .turn
                    .context(&inner.connection, &self.call.trace, named);
                match context.await {
                    Ok(context_id) => (context_id, true),
                    Err(error) if !self.renewed && is_turn_over(error.code) => {
                        self.renewed = true;
                        inner.turn.overtaken(inner.ids.new_id());
                        continue;
                    }
                    Err(error) => return Err(error),
                }
            };
            let placing = self.placing.get_or_insert_with(|| inner.table.placing());
            let body = self
                .call
                .request(inner, &self.ask_id, &context_id, &self.branch);
            let request = self.call.trace.request(body);
            let sent = inner
                .connection
                .call(|mut client| async move { client.clarify.ask(request).await })
                .await;
            match sent {
                Ok(response) => {
                    let trace = self.call.trace.clone();
                    // Before a hold can be told.
                    let clarify_id = response.clarify_id.clone();
                    (self.notices)(Notice::Asked { clarify_id });
                    let place = inner.table.enter(&response, &trace, placing, self.notices);
                    let inner = Arc::clone(inner);
                    return Ok(Asked::new(inner, response, trace, place, own_turn));
                }
                Err(error) if may_pass(error.code) => {
                    self.in_doubt |= error.code == ErrorCode::Unavailable;
                    if !self.in_doubt {
                        self.placing = None;
                    }
                    return Err(error);
                }
                // Gone with the lease during an outage: once, another turn is begun.
                Err(error) if own_turn && !self.renewed && is_turn_over(error.code) => {
                    self.placing = None;
                    self.renewed = true;
                    inner.turn.over(&context_id, inner.ids.new_id());
                }
                Err(error) => {
                    self.placing = None;
                    return Err(error);
                }
            }
        }
    }
}

/// Whether the same call may succeed later.
pub(super) const fn may_pass(code: ErrorCode) -> bool {
    matches!(code, ErrorCode::Unavailable | ErrorCode::LogUnavailable)
}

pub(super) const fn is_turn_over(code: ErrorCode) -> bool {
    matches!(code, ErrorCode::ContextExpired | ErrorCode::NoActiveTurn)
}

/// Waits until outcomes are heard and this process counts as alive, for as long as `patience` has it.
pub(super) async fn ready(
    inner: &Arc<Inner>,
    patience: Patience,
    notices: &Notices,
) -> Result<(), WireError> {
    listen(inner);
    // What an earlier failure left behind says nothing about now.
    let retry = |link: &mut Link| {
        let failed = matches!(link, Link::Failed(_));
        if failed {
            *link = Link::Connecting;
        }
        failed
    };
    if inner.link.send_if_modified(retry) {
        inner.kick.notify_one();
    }
    let hang = match patience {
        Patience::Until(end) => Some(end.max(Instant::now() + CONNECT_LIMIT)),
        Patience::Endless => None,
    };
    let mut link = inner.link.subscribe();
    loop {
        let now = link.borrow_and_update().clone();
        match now {
            Link::Ready => return Ok(()),
            Link::Failed(error) if error.code != ErrorCode::Unavailable => return Err(error),
            Link::Failed(error) if patience.is_over() => return Err(error),
            Link::Failed(error) => notices(Notice::Unreachable { code: error.code }),
            Link::Connecting => {}
        }
        let hung = || WireError::new(ErrorCode::Unavailable, "connecting takes too long");
        let changed = match hang {
            Some(end) => timeout_at(end, link.changed()).await.map_err(|_| hung())?,
            None => link.changed().await,
        };
        // The sender lives as long as `inner`.
        changed.map_err(|_| closed())?;
    }
}

pub(super) fn listen(inner: &Arc<Inner>) {
    let mut listening = lock(&inner.listening);
    if listening.is_none() && !inner.closing.is_cancelled() {
        let inner = Arc::clone(inner);
        let runtime = inner.runtime.clone();
        *listening = Some(runtime.spawn(async move { inner.resolutions.keep(&inner).await }));
    }
}

/// The service answers that it has no log to write to.
pub(crate) fn no_log() -> WireError {
    WireError::new(
        ErrorCode::LogUnavailable,
        "The Askbus service is there, but it cannot reach its log now. Nobody was asked and nothing \
         has been decided. Ask again later; whoever runs the service should look at the bus.",
    )
}

async fn no_service(inner: &Inner, error: &WireError) -> WireError {
    tracing::debug!(%error, "the service cannot be reached");
    if let Some(path) = inner.connection.lacks_credential().await {
        return WireError::new(
            ErrorCode::Unavailable,
            format!(
                "There is no credential for the Askbus service at {} ({} does not exist). Nobody was \
                 asked and nothing has been decided. Set ASKBUS_CREDENTIAL to an agent's credential, \
                 or start a service with `askbus up` on this machine; then ask again.",
                inner.connection.target(),
                path.display()
            ),
        );
    }
    WireError::new(
        ErrorCode::Unavailable,
        format!(
            "No Askbus service can be reached at {}. Nobody was asked and nothing has been \
             decided. Start one with `askbus up` on this machine, or point ASKBUS_URL at one; \
             then ask again.",
            inner.connection.target()
        ),
    )
}
