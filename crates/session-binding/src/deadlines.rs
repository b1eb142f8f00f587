//! Deadlines: every replica watches all of them, the guard of the log picks who settles.
//!
//! A deadline never beats an answer that the inbox stored before it: as long as such an answer is
//! unjudged, the deadline waits.

use crate::clock;
use crate::projection::Key;
use crate::service::Core;
use askbus_domain::{Command, Due, Millis, Session, Timestamp, expiry_jitter};
use askbus_ledger::LedgerError;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// How soon a deadline that had to wait is looked at again.
const AGAIN: Millis = Millis(200);
/// Deadlines settled at the same time.
const AT_ONCE: usize = 64;
/// The longest sleep, so that a changed system clock is noticed.
const LONGEST_SLEEP: Duration = Duration::from_secs(30);

/// Everything that will be due. An entry is only a reason to look: the session's state says whether
/// anything is due then.
#[derive(Default)]
pub(crate) struct Deadlines {
    heap: Mutex<BinaryHeap<Reverse<(Timestamp, Key, Due)>>>,
    changed: Notify,
}

impl Deadlines {
    pub(crate) fn add(&self, at: Timestamp, key: Key, due: Due) {
        let seed = match due {
            Due::Clarification(id) => id.uuid().as_u128(),
            Due::Turn(id) => id.uuid().as_u128(),
        };
        self.push(at.plus(expiry_jitter(seed)), key, due);
    }

    fn push(&self, at: Timestamp, key: Key, due: Due) {
        let mut heap = self.heap.lock().unwrap_or_else(PoisonError::into_inner);
        let sooner = heap.peek().is_none_or(|Reverse((first, ..))| at < *first);
        heap.push(Reverse((at, key, due)));
        drop(heap);
        if sooner {
            self.changed.notify_one();
        }
    }

    fn pop_due(&self, now: Timestamp) -> Option<(Key, Due)> {
        let mut heap = self.heap.lock().unwrap_or_else(PoisonError::into_inner);
        if heap.peek().is_some_and(|Reverse((at, ..))| *at <= now) {
            return heap.pop().map(|Reverse((_, key, due))| (key, due));
        }
        None
    }

    fn next(&self) -> Option<Timestamp> {
        let heap = self.heap.lock().unwrap_or_else(PoisonError::into_inner);
        heap.peek().map(|Reverse((at, ..))| *at)
    }
}

/// Fires deadlines until told to stop.
pub(crate) async fn run(core: Arc<Core>, stop: CancellationToken) {
    let tasks = TaskTracker::new();
    let slots = Arc::new(Semaphore::new(AT_ONCE));
    loop {
        let now = clock::now(&*core.bus.ledger);
        while let Some((key, due)) = core.deadlines.pop_due(now) {
            let Ok(slot) = Arc::clone(&slots).acquire_owned().await else {
                return;
            };
            let core = Arc::clone(&core);
            tasks.spawn(async move {
                fire(&core, key, due).await;
                drop(slot);
            });
        }
        let sleep = core.deadlines.next().map_or(LONGEST_SLEEP, |at| {
            Duration::from_millis(clock::now(&*core.bus.ledger).until(at).0).min(LONGEST_SLEEP)
        });
        tokio::select! {
            () = stop.cancelled() => break,
            () = core.deadlines.changed.notified() => {}
            () = tokio::time::sleep(sleep) => {}
        }
    }
    tasks.close();
    tasks.wait().await;
}

async fn fire(core: &Core, key: Key, due: Due) {
    let (session, _) = core.projection.session(&key);
    let Some((at, _)) = session.due().find(|(_, d)| *d == due) else {
        return;
    };
    let now = clock::now(&*core.bus.ledger);
    if at > now {
        core.deadlines.add(at, key, due);
        return;
    }
    if !clock::trustworthy(&*core.bus.ledger) {
        core.stats.count_skewed();
        tracing::warn!(
            offset_ms = core.bus.ledger.clock_offset_ms(),
            "this machine's clock is off; deadlines are left to other replicas"
        );
        core.deadlines.push(now.plus(Millis(5_000)), key, due);
        return;
    }
    // Not knowing is no reason to settle either.
    if answered_before(core, &key, &session, due)
        .await
        .unwrap_or(true)
    {
        core.deadlines.push(now.plus(AGAIN), key, due);
        return;
    }
    let command = match due {
        Due::Clarification(clarify_id) => Command::Expire { clarify_id },
        Due::Turn(context_id) => Command::ExpireTurn { context_id },
    };
    if let Err(error) = core.commands().run(key.clone(), command, None).await {
        tracing::warn!(tenant = %key.0, session = %key.1, %error, "a deadline could not be settled yet");
        core.deadlines.push(now.plus(Millis(1_000)), key, due);
    }
}

/// Whether the inbox holds an unjudged answer that was stored before the deadline it is about to
/// beat.
async fn answered_before(
    core: &Core,
    key: &Key,
    session: &Session,
    due: Due,
) -> Result<bool, LedgerError> {
    for clarification in session.pending() {
        if due == Due::Clarification(clarification.id) || matches!(due, Due::Turn(_)) {
            let oldest = core
                .bus
                .inbox
                .oldest(&key.0, &key.1, clarification.id)
                .await?;
            if oldest.is_some_and(|stored| stored <= clarification.expires_at()) {
                return Ok(true);
            }
        }
    }
    Ok(false)
}
