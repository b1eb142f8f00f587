//! How far the log's clock is from this machine's, learnt from this process's own appends: each was
//! stored between the moment it was sent and the moment it was acknowledged.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

/// Observations waiting for their other half.
const KEPT: usize = 1024;

/// This machine's clock, in Unix milliseconds.
pub(super) fn now() -> i64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

#[derive(Default)]
pub(super) struct Clock(Mutex<Observed>);

#[derive(Default)]
struct Observed {
    appended: VecDeque<(u64, i64, i64)>,
    stored: VecDeque<(u64, i64)>,
    offset: i64,
}

impl Observed {
    /// The smallest offset that explains the observation.
    fn learn(&mut self, sent: i64, acked: i64, stored: i64) {
        self.offset = if stored > acked {
            stored - acked
        } else if stored < sent {
            stored - sent
        } else {
            0
        };
    }
}

impl Clock {
    /// Message `seq` was appended by this process between these moments of its own clock.
    pub fn appended(&self, seq: u64, sent: i64, acked: i64) {
        let mut observed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
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
        let mut observed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
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

    /// Milliseconds that the log's clock is ahead; 0 before anything is known.
    pub fn offset_ms(&self) -> i64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).offset
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_offset_is_the_least_that_explains_what_was_seen() {
        let clock = Clock::default();
        clock.appended(1, 1_000, 1_010);
        clock.stored(1, 1_005);
        assert_eq!(clock.offset_ms(), 0);
        clock.appended(2, 2_000, 2_010);
        clock.stored(2, 5_010);
        assert_eq!(clock.offset_ms(), 3_000);
        // The tail may come first.
        clock.stored(3, 1_000);
        clock.appended(3, 3_000, 3_010);
        assert_eq!(clock.offset_ms(), -2_000);
    }

    #[test]
    fn messages_of_others_teach_nothing() {
        let clock = Clock::default();
        clock.stored(1, 77_000);
        clock.appended(2, 1_000, 1_010);
        clock.stored(3, 99_000);
        assert_eq!(clock.offset_ms(), 0);
    }
}
