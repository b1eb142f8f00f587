//! One asking process: its questions, its own turn where no host gave it one, and how it learns
//! how the questions end.
//!
//! A question outlives every outage of the service: once one may be open, the service is waited for
//! without limit. It does not outlive its asker: dropping an [`Asked`] withdraws it.

mod asked;
mod attachment;
mod backoff;
mod branch;
mod call;
mod connection;
mod heard;
mod ids;
mod on_bus;
mod options;
mod parked;
mod place;
mod planning;
mod resolutions;
mod table;
mod turn;
mod waiting;

pub use asked::{Asked, Settled};
pub use call::{AskCall, Notice, Notices, Origin, silent};
pub use connection::Token;
pub use on_bus::BusOptions;
pub use options::{AskerInfo, AskerOptions};
pub use parked::{AskedBefore, Unclaimed};
pub(crate) use place::no_log;
pub use resolutions::Outcomes;
pub use waiting::{Joined, Waiting};

use crate::metrics::Figures;
use askbus_wire::error::{ErrorCode, WireError};
use askbus_wire::proto;
use askbus_wire::trace::Trace;
use backoff::Backoff;
use connection::Connection;
use futures::future::join_all;
use ids::Ids;
use parked::Parked;
use place::Patience;
use resolutions::{Link, Resolutions};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use table::Table;
use tokio::runtime::Handle;
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use turn::OwnTurn;

/// The name of this service in traces.
const SERVICE: &str = "askbus-mcp-adapter";
/// How long [`Asked::withdraw`] waits for the service's word.
const WITHDRAW_LIMIT: Duration = Duration::from_millis(700);
/// How long [`Asker::close`] waits for withdrawals, and then for the end of the turn.
const CLOSE_LIMITS: (Duration, Duration) = (Duration::from_millis(350), Duration::from_millis(300));

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
        let asker_id = options
            .asker_id
            .unwrap_or_else(|| format!("mcp-{}", ids.new_id()));
        let profile = options.profile.unwrap_or_default();
        let inner = Inner {
            turn: OwnTurn::new(
                options.session,
                asker_id.clone(),
                profile.clone(),
                ids.new_id(),
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
