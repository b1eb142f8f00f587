//! The bus in memory, as unkind as the traits allow: acknowledgements get lost, conflicts come
//! without a rival to be seen, tails lag, inbox messages come twice and in any order, verdicts and
//! heartbeats vanish. For tests of whatever stands on a bus. The order of faults follows from the
//! seed; how tasks interleave is the runtime's, so run on a current-thread runtime to repeat a run.
//! Whoever waits here goes on in the order in which they came.

mod inbox;
mod log;
mod others;
mod random;

pub use inbox::Arrived;

use crate::{Bus, LedgerError, Stored};
use askbus_domain::{Millis, Timestamp};
use random::Random;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::sync::{Notify, broadcast};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// How often things go wrong, each in percent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Faults {
    /// A write happens, its acknowledgement does not.
    pub lost_ack: u8,
    /// Neither the write nor its acknowledgement happens.
    pub lost_write: u8,
    /// A write is reported as lost and happens all the same, up to two seconds later.
    pub late_write: u8,
    /// The bus cannot be reached.
    pub unavailable: u8,
    /// A conflict is reported although no rival wrote: it was on its way and came to nothing.
    pub phantom_conflict: u8,
    /// Repeating one's own write is answered as a conflict rather than with its sequence.
    pub own_conflict: u8,
    /// A read fails. It is never stale.
    pub failed_read: u8,
    /// An inbox message is delivered a second time at once.
    pub redelivery: u8,
    /// The settling of an inbox message is lost, so it comes again.
    pub lost_settle: u8,
    /// A verdict does not reach its author.
    pub lost_reply: u8,
    /// A heartbeat does not reach a watcher.
    pub lost_heartbeat: u8,
    /// A message of a tail, a write or a delivery is late, by up to [`Faults::longest_delay`].
    pub delay: u8,
    /// The longest delay.
    pub longest_delay: Duration,
    /// How long a taker may keep an inbox message before it comes again.
    pub ack_wait: Duration,
}

impl Faults {
    /// A bus on its best day.
    pub const NONE: Self = Self {
        lost_ack: 0,
        lost_write: 0,
        late_write: 0,
        unavailable: 0,
        phantom_conflict: 0,
        own_conflict: 0,
        failed_read: 0,
        redelivery: 0,
        lost_settle: 0,
        lost_reply: 0,
        lost_heartbeat: 0,
        delay: 0,
        longest_delay: Duration::ZERO,
        ack_wait: Duration::from_secs(30),
    };
}

impl Default for Faults {
    /// A bad day: faults in five to twenty percent of the cases each, delays up to five milliseconds;
    /// no write happens later than it was reported.
    fn default() -> Self {
        Self {
            lost_ack: 15,
            lost_write: 5,
            late_write: 0,
            unavailable: 5,
            phantom_conflict: 10,
            own_conflict: 50,
            failed_read: 5,
            redelivery: 20,
            lost_settle: 15,
            lost_reply: 10,
            lost_heartbeat: 20,
            delay: 20,
            longest_delay: Duration::from_millis(5),
            ack_wait: Duration::from_millis(100),
        }
    }
}

struct Shared {
    faults: Faults,
    /// What the clock of the bus showed when it was opened; it goes on with tokio's time.
    epoch: Timestamp,
    opened: Instant,
    random: Mutex<Random>,
    log: Mutex<log::Log>,
    written: Notify,
    inbox: Mutex<inbox::Messages>,
    arrived: Notify,
    drafts: Mutex<HashMap<String, others::Saved>>,
    positions: Mutex<HashMap<String, crate::Position>>,
    alive: broadcast::Sender<askbus_wire::messages::Heartbeat>,
    tasks: TaskTracker,
    stop: CancellationToken,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    /// The moment that is stamped on what is stored now.
    fn now(&self) -> Timestamp {
        let since = u64::try_from(self.opened.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.epoch.plus(Millis(since))
    }

    /// Whether a fault of this likelihood strikes now.
    fn strikes(&self, percent: u8) -> bool {
        lock(&self.random).percent(percent)
    }

    async fn maybe_delay(&self) {
        if !self.strikes(self.faults.delay) {
            return;
        }
        let most = u64::try_from(self.faults.longest_delay.as_micros()).unwrap_or(u64::MAX);
        let delay = lock(&self.random).below(most.saturating_add(1));
        tokio::time::sleep(Duration::from_micros(delay)).await;
    }

    fn maybe_unavailable(&self, percent: u8) -> Result<(), LedgerError> {
        if self.strikes(percent) {
            return Err(LedgerError::Unavailable(
                "the bus is having a bad day".into(),
            ));
        }
        Ok(())
    }
}

/// Ends the tails and takers of a hostile bus when dropped.
#[must_use = "tails and takers end when this is dropped"]
pub struct HostileHandle {
    shared: Arc<Shared>,
}

impl HostileHandle {
    /// Everything the log holds, as it is.
    pub fn log(&self) -> Vec<Arc<Stored>> {
        lock(&self.shared.log).all()
    }

    /// Everything the inbox ever stored, in its order.
    pub fn arrivals(&self) -> Vec<Arrived> {
        lock(&self.shared.inbox).arrived.clone()
    }

    /// How many messages of the inbox are not settled.
    pub fn unjudged(&self) -> usize {
        lock(&self.shared.inbox).unjudged()
    }

    /// Ends all tails and takers and waits for them.
    pub async fn close(self) {
        self.shared.stop.cancel();
        self.shared.tasks.close();
        self.shared.tasks.wait().await;
    }
}

impl Drop for HostileHandle {
    fn drop(&mut self) {
        self.shared.stop.cancel();
    }
}

/// An empty bus with the default faults.
pub fn open(seed: u64) -> (Bus, HostileHandle) {
    open_with(seed, Faults::default())
}

/// An empty bus with these faults.
pub fn open_with(seed: u64, faults: Faults) -> (Bus, HostileHandle) {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let now = i64::try_from(since.as_millis()).unwrap_or(i64::MAX);
    open_at(seed, faults, Timestamp::from_unix_millis(now))
}

/// An empty bus with these faults whose clock shows `epoch` now. Its moments and delays follow
/// tokio's time, which may be paused.
pub fn open_at(seed: u64, faults: Faults, epoch: Timestamp) -> (Bus, HostileHandle) {
    let shared = Arc::new(Shared {
        faults,
        epoch,
        opened: Instant::now(),
        random: Mutex::new(Random::new(seed)),
        log: Mutex::default(),
        written: Notify::new(),
        inbox: Mutex::default(),
        arrived: Notify::new(),
        drafts: Mutex::default(),
        positions: Mutex::default(),
        alive: broadcast::Sender::new(256),
        tasks: TaskTracker::new(),
        stop: CancellationToken::new(),
    });
    let bus = Bus {
        ledger: Arc::new(log::HostileLedger(Arc::clone(&shared))),
        inbox: Arc::new(inbox::HostileInbox(Arc::clone(&shared))),
        drafts: Arc::new(others::HostileDrafts(Arc::clone(&shared))),
        positions: Arc::new(others::HostilePositions(Arc::clone(&shared))),
        alive: Arc::new(others::HostileAlive(Arc::clone(&shared))),
    };
    (bus, HostileHandle { shared })
}
