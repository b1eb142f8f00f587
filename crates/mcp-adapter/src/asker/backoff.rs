//! Pauses between attempts.

use std::time::Duration;

/// Pauses between attempts: 100 ms, doubling up to 2 s.
#[derive(Default)]
pub(super) struct Backoff(u32);

impl Backoff {
    pub(super) fn next_pause(&mut self) -> Duration {
        let pause = Duration::from_millis(100 << self.0.min(5));
        self.0 = self.0.saturating_add(1);
        pause.min(Duration::from_secs(2))
    }
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
