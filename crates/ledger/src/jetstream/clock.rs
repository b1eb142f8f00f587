//! How far the log's clock is from this machine's. Learnt from this process's own appends, each of
//! which was stored between the moment it was sent and the moment it was acknowledged, and from
//! asking the server when that is long ago or the difference is large.
//!
//! What was learnt is kept as a moment of the log on the monotonic clock: when somebody sets this
//! machine's clock, the difference changes by itself and at once.

use super::{PATIENCE, Shared, unavailable};
use crate::LedgerError;
use async_nats::datetime::DateTime;
use serde::Deserialize;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Observations waiting for their other half.
const KEPT: usize = 1024;
/// A larger difference is checked at once.
const SUSPICIOUS_MS: i64 = 500;
/// A smaller one is believed for this long: clocks drift.
const BELIEVED: Duration = Duration::from_secs(30);
/// Between two questions to the server at least.
const PAUSE: Duration = Duration::from_secs(1);

/// A moment by this machine: its clock in Unix milliseconds, and the monotonic one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moment {
    system: i64,
    at: Instant,
}

impl Moment {
    /// Now.
    pub fn now() -> Self {
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Self {
            system: i64::try_from(since.as_millis()).unwrap_or(i64::MAX),
            at: Instant::now(),
        }
    }
}

#[derive(Default)]
pub(super) struct Clock(Mutex<Observed>);

#[derive(Default)]
struct Observed {
    appended: VecDeque<(u64, Moment, Moment)>,
    stored: VecDeque<(u64, i64)>,
    /// The log's clock at a moment of this machine; none before anything is known.
    known: Option<(i64, Instant)>,
    /// When the server was last asked, and whether it still is.
    asked: Option<Instant>,
    asking: bool,
}

impl Observed {
    /// The smallest offset that explains what was stored between two moments of this machine.
    fn learn(&mut self, sent: Moment, acked: Moment, stored: i64) {
        let offset = if stored > acked.system {
            stored - acked.system
        } else if stored < sent.system {
            stored - sent.system
        } else {
            0
        };
        self.known = Some((acked.system.saturating_add(offset), acked.at));
    }

    fn offset(&self, now: Moment) -> Option<i64> {
        let (log, at) = self.known?;
        let elapsed = now.at.saturating_duration_since(at).as_millis();
        let elapsed = i64::try_from(elapsed).unwrap_or(i64::MAX);
        Some(log.saturating_add(elapsed).saturating_sub(now.system))
    }
}

impl Clock {
    fn observed(&self) -> std::sync::MutexGuard<'_, Observed> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Message `seq` was appended by this process between these moments.
    pub fn appended(&self, seq: u64, sent: Moment, acked: Moment) {
        let mut observed = self.observed();
        // A tail may be faster than the acknowledgement.
        if let Some((_, stored)) = observed
            .stored
            .iter()
            .rev()
            .find(|(s, _)| *s == seq)
            .copied()
        {
            observed.learn(sent, acked, stored);
            return;
        }
        observed.appended.push_back((seq, sent, acked));
        if observed.appended.len() > KEPT {
            observed.appended.pop_front();
        }
    }

    /// Message `seq` carries this moment of the log's clock.
    pub fn stored(&self, seq: u64, stored: i64) {
        let mut observed = self.observed();
        while observed.appended.front().is_some_and(|(s, ..)| *s < seq) {
            observed.appended.pop_front();
        }
        if let Some((_, sent, acked)) = observed.appended.front().copied().filter(|a| a.0 == seq) {
            observed.appended.pop_front();
            observed.learn(sent, acked, stored);
            return;
        }
        observed.stored.push_back((seq, stored));
        if observed.stored.len() > KEPT {
            observed.stored.pop_front();
        }
    }

    fn is_known(&self) -> bool {
        self.observed().known.is_some()
    }

    /// Milliseconds that the log's clock is ahead now; 0 before anything is known.
    fn offset_ms(&self, now: Moment) -> i64 {
        self.observed().offset(now).unwrap_or(0)
    }

    /// Whether the server should be asked now; if so, the caller does and then says
    /// [`Clock::told`].
    fn should_ask(&self, now: Moment) -> bool {
        let mut observed = self.observed();
        let recently = |at: Instant, within| now.at.saturating_duration_since(at) < within;
        let sound = observed.known.is_some_and(|(_, at)| recently(at, BELIEVED))
            && observed
                .offset(now)
                .is_some_and(|offset| offset.abs() <= SUSPICIOUS_MS);
        let just_asked = observed.asked.is_some_and(|at| recently(at, PAUSE));
        if sound || just_asked || observed.asking {
            return false;
        }
        observed.asked = Some(now.at);
        observed.asking = true;
        true
    }

    /// What the server said, if it said anything.
    fn told(&self, answer: Option<(Moment, Moment, i64)>) {
        let mut observed = self.observed();
        observed.asking = false;
        if let Some((sent, received, log)) = answer {
            observed.learn(sent, received, log);
        }
    }
}

/// The part of the server's answer that is its clock.
#[derive(Deserialize)]
struct Told {
    #[serde(with = "time::serde::rfc3339")]
    ts: DateTime,
}

/// Milliseconds that the log's clock is ahead now, as well as it is known; asks the server in the
/// background where that is not well enough.
pub(super) fn offset_ms(shared: &Arc<Shared>) -> i64 {
    let now = Moment::now();
    if shared.link.is_connected()
        && tokio::runtime::Handle::try_current().is_ok()
        && shared.clock.should_ask(now)
    {
        let asking = Arc::clone(shared);
        if shared.spawn(async move { ask(&asking).await }).is_err() {
            shared.clock.told(None);
        }
    }
    shared.clock.offset_ms(now)
}

/// Asks the server unless something is known already.
pub(super) async fn learn(shared: &Shared) -> Result<(), LedgerError> {
    if !shared.clock.is_known() {
        shared.connected()?;
        ask(shared).await;
    }
    if shared.clock.is_known() {
        return Ok(());
    }
    Err(unavailable("it does not say what time it is"))
}

async fn ask(shared: &Shared) {
    let sent = Moment::now();
    let request = shared
        .client
        .request(super::streams::CLOCK, bytes::Bytes::new());
    let answered = tokio::select! {
        () = shared.stop.cancelled() => None,
        answered = shared.on_connection(tokio::time::timeout(PATIENCE, request)) => {
            answered.ok().and_then(Result::ok).and_then(Result::ok)
        }
    };
    let told = answered.and_then(|m| serde_json::from_slice::<Told>(&m.payload).ok());
    if told.is_none() {
        tracing::debug!("the bus did not say what time it is");
    }
    let answer = told.map(|told| {
        let log = super::read::moment(told.ts).unix_millis();
        (sent, Moment::now(), log)
    });
    shared.clock.told(answer);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// This machine's clock, and a monotonic one that ran as long.
    fn at(system: i64) -> Moment {
        moved(system, system)
    }

    /// This machine's clock, and a monotonic one that ran differently.
    fn moved(system: i64, ran: i64) -> Moment {
        static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
        let start = *START.get_or_init(Instant::now);
        Moment {
            system,
            at: start + Duration::from_millis(u64::try_from(ran).unwrap()),
        }
    }

    #[test]
    fn the_offset_is_the_least_that_explains_what_was_seen() {
        let clock = Clock::default();
        clock.appended(1, at(1_000), at(1_010));
        clock.stored(1, 1_005);
        assert_eq!(clock.offset_ms(at(1_020)), 0);
        clock.appended(2, at(2_000), at(2_010));
        clock.stored(2, 5_010);
        assert_eq!(clock.offset_ms(at(2_020)), 3_000);
        // The tail may come first.
        clock.stored(3, 1_000);
        clock.appended(3, at(3_000), at(3_010));
        assert_eq!(clock.offset_ms(at(3_020)), -2_000);
    }

    #[test]
    fn messages_of_others_teach_nothing() {
        let clock = Clock::default();
        clock.stored(1, 77_000);
        clock.appended(2, at(1_000), at(1_010));
        clock.stored(3, 99_000);
        assert_eq!(clock.offset_ms(at(1_020)), 0);
    }

    #[test]
    fn a_clock_that_is_set_changes_the_offset_at_once() {
        let clock = Clock::default();
        clock.appended(1, at(1_000), at(1_010));
        clock.stored(1, 4_010);
        assert_eq!(clock.offset_ms(at(1_020)), 3_000);
        // Put right, without another append.
        assert_eq!(clock.offset_ms(moved(5_000, 2_000)), 0);
        // Set wrong.
        assert_eq!(clock.offset_ms(moved(65_000, 2_000)), -60_000);
    }

    #[test]
    fn the_server_is_asked_when_nothing_or_something_odd_or_old_is_known() {
        let clock = Clock::default();
        assert!(clock.should_ask(at(1_000)));
        assert!(!clock.should_ask(at(9_000)), "it is being asked");
        clock.told(None);
        assert!(clock.should_ask(at(9_000)));
        clock.told(Some((at(9_000), at(9_010), 12_010)));
        assert_eq!(clock.offset_ms(at(9_100)), 3_000);
        assert!(!clock.should_ask(at(9_900)), "it was asked just now");
        assert!(clock.should_ask(at(10_000)), "three seconds are odd");
        clock.told(Some((at(10_000), at(10_010), 10_005)));
        assert_eq!(clock.offset_ms(at(10_100)), 0);
        assert!(!clock.should_ask(at(39_000)), "what is known is good");
        assert!(clock.should_ask(at(41_000)), "what is known is old");
    }
}
