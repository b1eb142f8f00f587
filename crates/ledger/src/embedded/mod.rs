//! Everything in one redb file, for a single machine: one writer thread with group commit, readers
//! on snapshots, no server. One process at a time.
//!
//! Messages of the log are kept for 30 days, and longer where a session's last turn still needs
//! them. Drafts are kept for 14 days. Both are tidied when the file is opened.

mod alive;
mod arrival;
mod clock;
mod disk;
mod drafts;
mod frame;
mod inbox;
mod left_out;
mod load;
mod log;
mod positions;
mod replay;
mod revised;
mod settle;
mod store;
mod tail;
mod writer;

#[cfg(feature = "hostile")]
pub use disk::Disk;

use crate::message_id::fit_trace;
use crate::{Bus, LedgerError};
use askbus_wire::messages::Heartbeat;
use std::path::Path;
use std::sync::Arc;
use tokio::sync::{broadcast, mpsc};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Requests waiting for the writer at most; more make their callers wait.
const WAITING: usize = 4096;

/// How long until what could not be read is read again.
const READ_AGAIN: std::time::Duration = std::time::Duration::from_millis(200);

/// What may be chosen about the file.
#[derive(Debug, Clone, Copy)]
pub struct EmbeddedOptions {
    /// How large the log may grow, in bytes of messages. At nine tenths new questions are refused
    /// with [`LedgerError::Full`]; what settles the open ones still fits.
    pub max_bytes: u64,
    /// How many of the latest messages [`crate::Ledger::tail_current`] reads whatever they are about:
    /// sessions that were over before them are left out.
    pub latest: u64,
}

impl Default for EmbeddedOptions {
    /// 4 GiB, and 65 536 messages, which are read in about half a second.
    fn default() -> Self {
        Self {
            max_bytes: 4 * 1024 * 1024 * 1024,
            latest: 65_536,
        }
    }
}

/// What readers, takers and the writer share.
struct Shared {
    store: store::Store,
    /// Weak, so that the writer ends when the handle lets go of the one strong sender.
    requests: mpsc::WeakSender<writer::Request>,
    clock: clock::Clock,
    log: log::Log,
    replay: replay::Replay,
    current: replay::Current,
    inbox: inbox::Messages,
    alive: broadcast::Sender<Heartbeat>,
    tasks: TaskTracker,
    stop: CancellationToken,
}

impl Shared {
    /// Hands a request to the writer; waits while too many are before it.
    async fn request(&self, request: writer::Request) -> Result<(), LedgerError> {
        let closed = || store::failed("it is closed");
        let requests = self.requests.upgrade().ok_or_else(closed)?;
        requests.send(request).await.map_err(|_| closed())
    }

    /// Writes a row with a revision, and returns the new one; none when it had not the expected one.
    async fn put(
        &self,
        table: revised::Table,
        key: String,
        expected: Option<u64>,
        value: Vec<u8>,
    ) -> Result<Option<u64>, LedgerError> {
        let (done, stored) = tokio::sync::oneshot::channel();
        let put = revised::Put {
            table,
            key,
            expected,
            value,
            done,
        };
        self.request(writer::Request::Put(put)).await?;
        stored
            .await
            .map_err(|_| store::failed("the writer stopped"))?
    }

    /// Runs `body` on a snapshot; blocks on the disk. A disk that failed once is refused from then on, so
    /// the writer has a look.
    fn read<T>(
        &self,
        body: impl FnOnce(&redb::ReadTransaction) -> Result<T, redb::Error>,
    ) -> Result<T, LedgerError> {
        let read = self.store.read(body);
        if read.is_err()
            && let Some(requests) = self.requests.upgrade()
        {
            // Without room for it there are writes on their way, which find out as well.
            drop(requests.try_send(writer::Request::Check));
        }
        read
    }

    /// Waits, after a read that failed, until it is worth another try.
    async fn readable_again(&self) {
        tokio::time::sleep(READ_AGAIN).await;
        // The sender lives as long as this does, so waiting cannot fail.
        drop(self.store.well().wait_for(|well| *well).await);
    }

    /// Starts a task that ends with the handle.
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) -> Result<(), LedgerError> {
        if self.stop.is_cancelled() {
            return Err(store::failed("it is closed"));
        }
        self.tasks.spawn(task);
        Ok(())
    }
}

/// Keeps the file open. Dropping it flushes and closes the file, which waits for the disk; the
/// stores of the bus then answer [`LedgerError::Unavailable`].
#[must_use = "the file is closed when this is dropped"]
pub struct EmbeddedHandle {
    shared: Arc<Shared>,
    requests: Option<mpsc::Sender<writer::Request>>,
    writer: Option<std::thread::JoinHandle<()>>,
}

impl EmbeddedHandle {
    /// Writes what is waiting, ends all tails and takers, and closes the file; another process may
    /// open it once this returns.
    pub async fn close(mut self) {
        self.shared.stop.cancel();
        self.shared.tasks.close();
        self.shared.tasks.wait().await;
        // Joining waits for the disk.
        drop(tokio::task::spawn_blocking(move || self.finish()).await);
    }

    fn finish(&mut self) {
        self.shared.stop.cancel();
        self.requests.take();
        if let Some(writer) = self.writer.take()
            && writer.join().is_err()
        {
            tracing::error!("the writer of the log ended with a panic");
        }
        self.shared.store.close();
    }
}

impl Drop for EmbeddedHandle {
    fn drop(&mut self) {
        self.finish();
    }
}

/// Opens `askbus.redb` in `dir`, making both if need be (0700 and 0600), with default options.
/// Blocks on the disk: about a second for a million messages.
///
/// # Errors
/// [`LedgerError::Unavailable`] when another process has it open or the disk fails,
/// [`LedgerError::Misconfigured`] when the file is damaged or not ours.
pub fn open(dir: &Path) -> Result<(Bus, EmbeddedHandle), LedgerError> {
    open_with(dir, EmbeddedOptions::default())
}

/// [`open`] with options.
pub fn open_with(
    dir: &Path,
    options: EmbeddedOptions,
) -> Result<(Bus, EmbeddedHandle), LedgerError> {
    open_file(dir, options, disk::plain())
}

/// [`open_with`] on a disk of the caller's, which may fail.
///
/// # Errors
/// As [`open`].
#[cfg(feature = "hostile")]
pub fn open_on(
    dir: &Path,
    options: EmbeddedOptions,
    disk: Disk,
) -> Result<(Bus, EmbeddedHandle), LedgerError> {
    open_file(dir, options, disk)
}

fn open_file(
    dir: &Path,
    options: EmbeddedOptions,
    disk: disk::Disk,
) -> Result<(Bus, EmbeddedHandle), LedgerError> {
    let store = store::Store::open(dir, disk)?;
    let loaded = load::load(&store, clock::system(), options.latest)?;
    let (requests, waiting) = mpsc::channel(WAITING);
    let shared = Arc::new(Shared {
        store,
        requests: requests.downgrade(),
        clock: clock::Clock::after(loaded.last_stored),
        log: log::Log::new(loaded.sessions, loaded.last_seq),
        replay: replay::Replay::default(),
        current: replay::Current::new(loaded.current, loaded.last_seq),
        inbox: inbox::Messages::new(loaded.inbox),
        alive: broadcast::Sender::new(alive::CAPACITY),
        tasks: TaskTracker::new(),
        stop: CancellationToken::new(),
    });
    let writer = writer::Writer {
        shared: Arc::clone(&shared),
        next_inbox: loaded.next_inbox,
        log_bytes: loaded.log_bytes,
        max_bytes: options.max_bytes,
        mended: None,
    };
    let thread = std::thread::Builder::new()
        .name("askbus-ledger".into())
        .spawn(move || writer.run(waiting))
        .map_err(store::failed)?;
    let bus = Bus {
        ledger: Arc::new(log::EmbeddedLedger(Arc::clone(&shared))),
        inbox: Arc::new(inbox::EmbeddedInbox(Arc::clone(&shared))),
        drafts: Arc::new(drafts::EmbeddedDrafts(Arc::clone(&shared))),
        positions: Arc::new(positions::EmbeddedPositions(Arc::clone(&shared))),
        alive: Arc::new(alive::EmbeddedAlive(Arc::clone(&shared))),
    };
    Ok((
        bus,
        EmbeddedHandle {
            shared,
            requests: Some(requests),
            writer: Some(thread),
        },
    ))
}
