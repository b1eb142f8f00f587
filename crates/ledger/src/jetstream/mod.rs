//! Everything on NATS JetStream: any number of processes on any number of machines.
//!
//! [`connect`] never waits for a server: it returns at once, keeps trying for ever and says so in
//! the log, and every operation answers [`LedgerError::Unavailable`] meanwhile. Streams are made by
//! [`ensure_streams`], which only session-binding calls.

mod alive;
mod append;
mod clock;
mod drafts;
mod guarded;
mod inbox;
mod ledger;
mod link;
mod options;
mod positions;
mod read;
mod refusals;
mod replies;
mod room;
mod servers;
mod streams;
mod tail;
mod take;
mod unsettled;

pub use options::JetStreamOptions;
pub use streams::ensure_streams;

use crate::{Bus, LedgerError};
use async_nats::Client;
use async_nats::jetstream::Context;
use async_nats::jetstream::context::ContextBuilder;
use async_nats::jetstream::stream::ConsumerError;
use link::Link;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// How long any single operation may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long the bus may take for what it does in milliseconds, so that what was lost with a server
/// that died is soon asked again.
const QUICK: Duration = Duration::from_secs(2);

/// What the stores of one connection share.
struct Shared {
    client: Client,
    context: Context,
    link: Arc<Link>,
    ack_wait: Duration,
    clock: clock::Clock,
    room: room::Room,
    replies: replies::Replies,
    servers: Arc<servers::Servers>,
    watched: std::sync::Once,
    tasks: TaskTracker,
    stop: CancellationToken,
}

impl Shared {
    /// Fails at once while there is no connection, so that nothing queues up unseen in the client.
    fn connected(&self) -> Result<(), LedgerError> {
        if self.link.is_connected() {
            Ok(())
        } else {
            Err(LedgerError::Unavailable("no connection to the bus".into()))
        }
    }

    /// Runs an operation on the connection there is now. When that is lost meanwhile this fails at
    /// once instead of waiting for a reply that was lost with it; what was asked may have been done.
    async fn on_connection<T>(&self, operation: impl Future<Output = T>) -> Result<T, LedgerError> {
        let lost = self.link.lost();
        self.connected()?;
        tokio::select! {
            biased;
            result = operation => Ok(result),
            () = lost => Err(unavailable("the connection to the bus was lost meanwhile")),
        }
    }

    /// Waits for a new consumer, no longer than it should take: what was asked of a server that died
    /// is asked again. As nobody makes one without a majority, this tells whether there is one.
    async fn create<T>(
        &self,
        creating: impl Future<Output = Result<T, ConsumerError>>,
    ) -> Result<T, LedgerError> {
        let created = self.on_connection(tokio::time::timeout(QUICK, creating));
        let created = match created.await? {
            Ok(created) => created.map_err(unavailable),
            Err(_) => Err(unavailable("the bus does not make a consumer")),
        };
        match &created {
            Ok(_) => self.servers.stored(),
            Err(_) => self.servers.leaderless(),
        }
        created
    }

    /// From now on servers that do not serve are left for others.
    fn watch_servers(self: &Arc<Self>) {
        self.watched.call_once(|| {
            let watcher = Arc::clone(self);
            // When the handle is closed already there is nothing to watch.
            drop(self.spawn(async move { servers::watch(&watcher).await }));
        });
    }

    /// Starts a task that ends with the handle.
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) -> Result<(), LedgerError> {
        if self.stop.is_cancelled() {
            return Err(LedgerError::Unavailable("the connection is closed".into()));
        }
        self.tasks.spawn(task);
        Ok(())
    }
}

/// A failure of the bus, in words.
fn unavailable(error: impl std::fmt::Display) -> LedgerError {
    LedgerError::Unavailable(error.to_string())
}

/// Owns the tasks behind a connection's stores; they end when it is closed or dropped.
#[must_use = "tails and takers end when this is dropped"]
pub struct JetStreamHandle {
    shared: Arc<Shared>,
}

impl JetStreamHandle {
    /// Whether there is a connection now, and every change of that.
    pub fn connected(&self) -> watch::Receiver<bool> {
        self.shared.link.connected()
    }

    /// How often the client dropped a message because this process read too slowly, and every change
    /// of that. Tails notice and repair it by themselves; plain subscribers ask for the state again.
    pub fn slow_consumers(&self) -> watch::Receiver<u64> {
        self.shared.link.slow_consumers()
    }

    /// Ends all tails and takers and sends what is queued, for at most five seconds.
    pub async fn close(self) {
        self.shared.stop.cancel();
        self.shared.tasks.close();
        self.shared.tasks.wait().await;
        if self.shared.link.is_connected() {
            let flushed = tokio::time::timeout(PATIENCE, self.shared.client.flush()).await;
            if !matches!(flushed, Ok(Ok(()))) {
                tracing::warn!("the connection to the bus was closed before all was sent");
            }
        }
    }
}

impl Drop for JetStreamHandle {
    fn drop(&mut self) {
        self.shared.stop.cancel();
    }
}

/// Connects to the bus in the background. The client is for what is not stored (micro services,
/// plain subscriptions).
///
/// # Errors
/// [`LedgerError::Misconfigured`] when the options cannot be right whatever the server says. A
/// server that is not there or refuses the credentials is no error: it is tried again.
pub async fn connect(
    options: JetStreamOptions,
) -> Result<(Bus, Client, JetStreamHandle), LedgerError> {
    let link = Arc::new(Link::new(options.user.as_deref()));
    let ack_wait = options.ack_wait;
    let servers = Arc::new(servers::Servers::default());
    let client = link::connect(&options, Arc::clone(&link), Arc::clone(&servers)).await?;
    let context = ContextBuilder::new()
        .timeout(PATIENCE)
        .build(client.clone());
    let shared = Arc::new(Shared {
        replies: replies::Replies::new(client.new_inbox()),
        context,
        link,
        ack_wait,
        servers,
        watched: std::sync::Once::new(),
        clock: clock::Clock::default(),
        room: room::Room::default(),
        tasks: TaskTracker::new(),
        stop: CancellationToken::new(),
        client: client.clone(),
    });
    replies::listen(&shared).await?;
    let bus = Bus {
        ledger: Arc::new(ledger::JetStreamLedger(Arc::clone(&shared))),
        inbox: Arc::new(inbox::JetStreamInbox(Arc::clone(&shared))),
        drafts: Arc::new(drafts::JetStreamDrafts(Arc::clone(&shared))),
        positions: Arc::new(positions::JetStreamPositions(Arc::clone(&shared))),
        alive: Arc::new(alive::JetStreamAlive(Arc::clone(&shared))),
    };
    Ok((bus, client, JetStreamHandle { shared }))
}
