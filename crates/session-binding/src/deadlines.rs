//! Deadlines: every replica watches all of them, the guard of the log picks who settles. That no
//! deadline beats an answer in time is seen to where a command is decided.

use crate::clock;
use crate::commands::{CLOCK_ERROR, CommandError, Work};
use crate::projection::Key;
use crate::service::Core;
use askbus_domain::{Command, Due, Millis, Timestamp, expiry_jitter};
use std::collections::{BTreeMap, HashMap};
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

/// Everything that will be due, once each. An entry is only a reason to look: the session's state
/// says whether anything is due then.
#[derive(Default)]
pub(crate) struct Deadlines {
    queue: Mutex<Queue>,
    changed: Notify,
}

#[derive(Default)]
struct Queue {
    by_moment: BTreeMap<(Timestamp, Due), Key>,
    moments: HashMap<Due, Timestamp>,
}

impl Queue {
    fn remove(&mut self, due: Due) {
        if let Some(at) = self.moments.remove(&due) {
            self.by_moment.remove(&(at, due));
        }
    }

    fn first(&self) -> Option<Timestamp> {
        self.by_moment.first_key_value().map(|((at, _), _)| *at)
    }
}

impl Deadlines {
    pub(crate) fn add(&self, at: Timestamp, key: Key, due: Due) {
        let seed = match due {
            Due::Clarification(id) => id.uuid().as_u128(),
            Due::Turn(id) => id.uuid().as_u128(),
        };
        self.push(at.plus(CLOCK_ERROR).plus(expiry_jitter(seed)), key, due);
    }

    /// Nothing is due any more: it is settled.
    pub(crate) fn remove(&self, due: Due) {
        self.queue
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(due);
    }

    fn push(&self, at: Timestamp, key: Key, due: Due) {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.remove(due);
        let sooner = queue.first().is_none_or(|first| at < first);
        queue.moments.insert(due, at);
        queue.by_moment.insert((at, due), key);
        drop(queue);
        if sooner {
            self.changed.notify_one();
        }
    }

    fn pop_due(&self, now: Timestamp) -> Option<(Key, Due)> {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.first().filter(|at| *at <= now)?;
        let ((_, due), key) = queue.by_moment.pop_first()?;
        queue.moments.remove(&due);
        Some((key, due))
    }

    fn next(&self) -> Option<Timestamp> {
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.first()
    }
}

/// Fires deadlines until told to stop.
pub(crate) async fn run(core: Arc<Core>, stop: CancellationToken) {
    let tasks = TaskTracker::new();
    let slots = Arc::new(Semaphore::new(AT_ONCE));
    loop {
        let now = core.now();
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
            Duration::from_millis(core.now().until(at).0).min(LONGEST_SLEEP)
        });
        tokio::select! {
            biased;
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
    let now = core.now();
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
    let command = match due {
        Due::Clarification(clarify_id) => Command::Expire { clarify_id },
        Due::Turn(context_id) => Command::ExpireTurn { context_id },
    };
    let work = Work::Command(command);
    match core.submit_once(key.clone(), work, None).await {
        Ok(_) => {}
        Err(CommandError::AnswersFirst(_)) => core.deadlines.push(now.plus(AGAIN), key, due),
        Err(error) => {
            tracing::warn!(tenant = %key.0, session = %key.1, %error, "a deadline could not be settled yet");
            core.deadlines.push(now.plus(Millis(1_000)), key, due);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use askbus_domain::{ClarifyId, SessionId, TenantId};
    use uuid::Uuid;

    #[test]
    fn what_is_settled_leaves_nothing_behind() {
        let deadlines = Deadlines::default();
        let key = (TenantId::new("t").unwrap(), SessionId::new("s").unwrap());
        let due = |n| Due::Clarification(ClarifyId::from_uuid(Uuid::from_u128(n)));
        let at = |ms: i64| Timestamp::from_unix_millis(1_800_000_000_000 + ms);
        for n in 0..100 {
            deadlines.add(at(1_000), key.clone(), due(n));
            // Held: due at another moment, and only then.
            deadlines.add(at(2_000), key.clone(), due(n));
        }
        assert_eq!(deadlines.pop_due(at(1_999)), None);
        for n in 0..99 {
            deadlines.remove(due(n));
        }
        {
            let queue = deadlines.queue.lock().unwrap();
            assert_eq!((queue.by_moment.len(), queue.moments.len()), (1, 1));
        }
        assert_eq!(deadlines.pop_due(at(2_500)), Some((key, due(99))));
        assert_eq!(deadlines.next(), None);
    }
}
