//! One asking process: its questions, its own turn where no host gave it one, and how it learns
//! how the questions end.
//!
//! A question outlives every outage of the service: once one may be open, the service is waited for
//! without limit. It does not outlive its asker: dropping an [`Asked`] withdraws it.

mod asked;
mod attachment;
mod branch;
mod connection;
mod heard;
mod ids;
mod on_bus;
mod parked;
mod place;
mod resolutions;
mod table;
mod turn;
mod waiting;

pub use asked::{Asked, Settled};
pub use connection::Token;
pub use on_bus::BusOptions;
pub use parked::Unclaimed;
pub use resolutions::Outcomes;
pub use waiting::{Joined, Waiting};

use crate::metrics::Figures;
use askbus_domain::Dialect;
use askbus_wire::client::Target;
use askbus_wire::error::{ErrorCode, WireError};
use askbus_wire::proto;
use askbus_wire::trace::Trace;
use connection::Connection;
use futures::future::join_all;
use ids::Ids;
use parked::Parked;
use place::Patience;
use resolutions::{Link, Resolutions};
use serde_json::Value;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use table::Table;
use tokio::runtime::Handle;
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tonic::transport::Channel;
use turn::OwnTurn;

/// The name of this service in traces.
const SERVICE: &str = "askbus-mcp-adapter";
/// How long [`Asked::withdraw`] waits for the service's word.
const WITHDRAW_LIMIT: Duration = Duration::from_millis(700);
/// How long [`Asker::close`] waits for withdrawals, and then for the end of the turn.
const CLOSE_LIMITS: (Duration, Duration) = (Duration::from_millis(350), Duration::from_millis(300));

/// What an asking process is made of.
pub struct AskerOptions {
    /// Where the service listens.
    pub target: Target,
    /// The credential, of role agent or host.
    pub token: Token,
    /// One of the profiles the credential allows; none: its first.
    pub profile: Option<String>,
    /// The session to ask in; none: the one that the first call's client names, else one of this
    /// process's own.
    pub session: Option<String>,
    /// The context of a host's turn (`ASKBUS_CONTEXT`); none: a turn of this process's own.
    pub context: Option<String>,
    /// Who asks, for the person to read.
    pub info: AskerInfo,
    /// How long a call waits for a service that cannot be reached; zero: one attempt.
    pub patience: Duration,
    /// How it learns how its questions end.
    pub outcomes: Outcomes,
    /// The name it is known by; none: one of its own. Who takes another's name keeps what that one
    /// asked.
    pub asker_id: Option<String>,
    /// A connection to `target` that it shares with others; none: one of its own.
    pub channel: Option<Channel>,
}

/// Who asks. Everything in it is this process's own claim, cut to 300 characters a field.
#[derive(Debug, Clone, Default)]
pub struct AskerInfo {
    /// Client name and version; a call may name its own.
    pub client: String,
    /// Machine.
    pub host: String,
    /// Working directory.
    pub cwd: String,
}

/// Which agent asks, as far as its client says so.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Origin {
    /// The client's own id of the conversation; names the session of a process that was given none.
    pub session: Option<String>,
    /// The client's own marker of its turn.
    pub turn: Option<String>,
    /// The conversation above, when a sub-agent asks.
    pub parent: Option<String>,
    /// What the sub-agent is called.
    pub name: String,
}

/// One call of a tool that asks.
#[derive(Debug, Clone)]
pub struct AskCall {
    /// How the caller speaks.
    pub dialect: Dialect,
    /// The arguments as they came; the service reads them.
    pub arguments: Value,
    /// A context of the call's own, stronger than [`AskerOptions::context`].
    pub context: Option<String>,
    /// The client behind this call, stronger than [`AskerInfo::client`].
    pub client: Option<String>,
    /// What the client says of the agent behind this call.
    pub origin: Origin,
    /// How long the caller can wait from `started` on, when its call cannot be resumed.
    pub limit: Option<Duration>,
    /// When the call came.
    pub started: Instant,
    /// The trace it belongs to.
    pub trace: Trace,
}

impl AskCall {
    /// A call that came now, in a new trace, without a limit or a context of its own.
    pub fn new(dialect: Dialect, arguments: Value) -> Self {
        Self {
            dialect,
            arguments,
            context: None,
            client: None,
            origin: Origin::default(),
            limit: None,
            started: Instant::now(),
            trace: Trace::begin(),
        }
    }
}

/// What a caller may want to know while it waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// The service cannot be reached; attempts go on.
    Unreachable,
    /// The question is before the person.
    Asked {
        /// Its id.
        clarify_id: String,
    },
    /// A person works on it: the deadline no longer counts.
    Held {
        /// Who.
        person: String,
    },
}

/// Hears notices; must return at once.
pub type Notices = Arc<dyn Fn(Notice) + Send + Sync>;

/// Notices to nobody.
pub fn silent() -> Notices {
    Arc::new(|_| {})
}

struct Inner {
    asker_id: String,
    ids: Ids,
    connection: Connection,
    profile: String,
    context: Option<String>,
    info: AskerInfo,
    patience: Duration,
    turn: OwnTurn,
    table: Table,
    resolutions: Box<dyn Resolutions>,
    figures: Arc<Figures>,
    link: watch::Sender<Link>,
    /// Ends the pause before the next attempt to listen.
    kick: Notify,
    closing: CancellationToken,
    tasks: TaskTracker,
    runtime: Handle,
    /// There from the first ask on.
    listening: Mutex<Option<JoinHandle<()>>>,
}

/// One asking process. Close it with [`Asker::close`]; dropping it only stops its tasks.
pub struct Asker {
    inner: Arc<Inner>,
    parked: Parked,
}

impl Drop for Asker {
    fn drop(&mut self) {
        self.inner.closing.cancel();
    }
}

impl Asker {
    /// A process that has not asked yet; nothing is connected before the first ask.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn new(options: AskerOptions) -> Self {
        Self::with_ids(options, Ids::random())
    }

    /// As [`Asker::new`], with ids that follow from `seed`: for simulations, which have to repeat.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn seeded(options: AskerOptions, seed: u64) -> Self {
        Self::with_ids(options, Ids::seeded(seed))
    }

    fn with_ids(options: AskerOptions, ids: Ids) -> Self {
        // Under one name there is one turn, wherever it is begun.
        let first_begin = options
            .asker_id
            .as_ref()
            .map(|name| format!("{name}-first"));
        let asker_id = options
            .asker_id
            .unwrap_or_else(|| format!("mcp-{}", ids.new_id()));
        let profile = options.profile.unwrap_or_default();
        let inner = Inner {
            turn: OwnTurn::new(
                options.session,
                asker_id.clone(),
                profile.clone(),
                first_begin.unwrap_or_else(|| ids.new_id()),
            ),
            ids,
            asker_id,
            connection: Connection::new(options.target, options.token, options.channel),
            profile,
            context: options.context,
            info: options.info,
            patience: options.patience,
            table: Table::default(),
            figures: options.outcomes.figures(),
            resolutions: options.outcomes.open(),
            link: watch::Sender::new(Link::Connecting),
            kick: Notify::new(),
            closing: CancellationToken::new(),
            tasks: TaskTracker::new(),
            runtime: Handle::current(),
            listening: Mutex::default(),
        };
        Self {
            inner: Arc::new(inner),
            parked: Parked::default(),
        }
    }

    /// Asks, and returns once the service has the question. A call that is repeated inside keeps
    /// its `ask_id`, so the question is asked once.
    ///
    /// # Errors
    /// [`ErrorCode::Unavailable`] if the service could not be reached within the patience of
    /// [`AskerOptions`]; nothing was asked then. Else what the service says.
    pub async fn ask(&self, call: &AskCall, notices: &Notices) -> Result<Asked, WireError> {
        let patience = Patience::Until(Instant::now() + self.inner.patience);
        place::begin(&self.inner, call, notices, patience).await
    }

    /// Whether the service can be reached with this credential, at most `limit` long.
    ///
    /// # Errors
    /// Why not.
    pub async fn reach(&self, limit: Duration) -> Result<(), WireError> {
        let request = proto::GetClarificationRequest::default();
        let get = |mut client: askbus_wire::client::Client| async move {
            client.clarify.get_clarification(request).await
        };
        let reached = timeout(limit, self.inner.connection.call(get)).await;
        match reached {
            // There is no question without an id; to hear that is to reach it.
            Ok(Err(error)) if error.code == ErrorCode::UnknownClarification => Ok(()),
            Ok(reached) => reached.map(drop),
            Err(_) => Err(WireError::new(
                ErrorCode::Unavailable,
                format!(
                    "{} gave no answer within {limit:?}",
                    self.inner.connection.target()
                ),
            )),
        }
    }

    /// Stops listening: from now on this process counts as gone, until it asks or waits again. What
    /// waits is not withdrawn, and goes with the lease.
    pub async fn hush(&self) {
        let inner = &self.inner;
        let listening = {
            let mut listening = lock(&inner.listening);
            // Before anybody can begin to listen anew.
            inner.table.deaf();
            inner.link.send_replace(Link::Connecting);
            listening.take()
        };
        if let Some(task) = listening {
            task.abort();
            // Aborted: there is nothing to learn from it.
            let _ = task.await;
        }
    }

    /// Listens again, for who came while this process was being hushed.
    pub fn wake(&self) {
        place::listen(&self.inner);
    }

    /// Goes on with another token of the same caller.
    pub fn renew(&self, token: Token) {
        self.inner.connection.renew(token);
    }

    /// Withdraws what is open and ends the own turn. Takes at most 700 ms; what the service did not
    /// hear by then ends with the lease of this process.
    pub async fn close(&self) {
        let inner = &self.inner;
        let open = inner.table.drain();
        inner.tasks.close();
        let withdrawals = async {
            join_all(open.iter().map(|(id, trace)| inner.cancel(id, trace))).await;
            inner.tasks.wait().await;
        };
        let withdrawn = timeout(CLOSE_LIMITS.0, withdrawals).await;
        let ended = timeout(CLOSE_LIMITS.1, inner.turn.end(&inner.connection)).await;
        if withdrawn.is_err() || !matches!(ended, Ok(Ok(()))) {
            tracing::debug!("the service did not hear that this process is gone");
        }
        inner.closing.cancel();
        let listening = lock(&inner.listening).take();
        if let Some(task) = listening {
            // It only waits for what `closing` ends.
            let _ = task.await;
        }
    }
}

impl Inner {
    /// Withdraws a question; one attempt.
    async fn cancel(&self, clarify_id: &str, trace: &Trace) -> Result<(), WireError> {
        let request = trace.request(proto::CancelRequest {
            clarify_id: clarify_id.to_owned(),
        });
        self.connection
            .call(|mut client| async move { client.clarify.cancel(request).await })
            .await
            .map(drop)
    }

    /// Withdraws a question however long the service is away, until this process closes.
    fn withdraw(self: &Arc<Self>, clarify_id: String, trace: Trace) -> JoinHandle<()> {
        let inner = Arc::clone(self);
        let withdrawal = async move {
            let mut backoff = Backoff::default();
            while let Err(error) = inner.cancel(&clarify_id, &trace).await {
                if !place::may_pass(error.code) {
                    tracing::debug!(clarify_id, code = error.code.as_str(), "not withdrawn");
                    return;
                }
                tokio::select! {
                    biased;
                    () = inner.closing.cancelled() => return,
                    () = tokio::time::sleep(backoff.next_pause()) => {}
                }
            }
        };
        self.tasks.spawn_on(withdrawal, &self.runtime)
    }
}

/// Pauses between attempts: 100 ms, doubling up to 2 s.
#[derive(Default)]
struct Backoff(u32);

impl Backoff {
    fn next_pause(&mut self) -> Duration {
        let pause = Duration::from_millis(100 << self.0.min(5));
        self.0 = self.0.saturating_add(1);
        pause.min(Duration::from_secs(2))
    }
}

fn closed() -> WireError {
    WireError::new(
        ErrorCode::Unavailable,
        "The caller is closing; the question was withdrawn.",
    )
}

/// Locks; a panic elsewhere leaves the plain maps behind these locks whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_two_seconds() {
        let mut backoff = Backoff::default();
        let pauses: Vec<_> = (0..7).map(|_| backoff.next_pause().as_millis()).collect();
        assert_eq!(pauses, [100, 200, 400, 800, 1600, 2000, 2000]);
    }
}
