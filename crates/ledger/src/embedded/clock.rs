//! The clock of the embedded log. Its moments never go back, whatever happens to the machine's clock,
//! and never stand still either: a clock that was set back would otherwise stop every deadline.

use std::sync::{Mutex, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// This machine's clock, in Unix milliseconds.
pub(super) fn system() -> i64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// The machine's clock, or where that is behind, the last moment of the log and the time since.
pub(super) struct Clock {
    last: Mutex<(i64, Instant)>,
}

impl Clock {
    /// Goes on from the last moment that the file holds.
    pub fn after(last_stored: i64) -> Self {
        Self {
            last: Mutex::new((last_stored, Instant::now())),
        }
    }

    /// Now, in Unix milliseconds.
    pub fn now(&self) -> i64 {
        self.read(system(), Instant::now())
    }

    /// How far it is ahead of the machine's clock, in milliseconds.
    pub fn offset_ms(&self) -> i64 {
        let system = system();
        self.read(system, Instant::now()).saturating_sub(system)
    }

    fn read(&self, system: i64, at: Instant) -> i64 {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let (moment, since) = *last;
        let elapsed = at.saturating_duration_since(since).as_millis();
        let elapsed = i64::try_from(elapsed).unwrap_or(i64::MAX);
        let own = moment.saturating_add(elapsed);
        if system >= own {
            *last = (system, at);
            return system;
        }
        own
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn it_follows_the_machine_and_goes_on_when_that_is_set_back() {
        let clock = Clock::after(1_000);
        let start = Instant::now();
        let later = |ms| start + Duration::from_millis(ms);
        assert_eq!(clock.read(5_000, start), 5_000);
        assert_eq!(clock.read(5_070, later(70)), 5_070);
        // Set ahead by an hour and then put right.
        assert_eq!(clock.read(3_605_100, later(100)), 3_605_100);
        assert_eq!(clock.read(5_200, later(200)), 3_605_200);
        assert_eq!(clock.read(8_100, later(3_100)), 3_608_100);
        // The machine slept: its own clock knows better.
        assert_eq!(clock.read(9_000_000, later(3_200)), 9_000_000);
    }

    #[test]
    fn it_goes_on_from_what_the_file_holds() {
        let ahead = system() + 3_600_000;
        let clock = Clock::after(ahead);
        assert!((3_599_000..=3_601_000).contains(&clock.offset_ms()));
        assert!(clock.now() >= ahead);
        let later = Instant::now() + Duration::from_secs(3);
        let read = clock.read(system(), later);
        assert!(read >= ahead + 3_000, "it does not stand still");
    }
}
