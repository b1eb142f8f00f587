//! How fast one caller may go: a token bucket per credential or peer.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// Token buckets by caller.
pub(crate) struct Pace {
    per_second: f64,
    burst: f64,
    buckets: Mutex<HashMap<String, Bucket>>,
}

struct Bucket {
    tokens: f64,
    at: Instant,
}

/// Full buckets are forgotten once there are more than this many.
const MAX_BUCKETS: usize = 16_384;

impl Pace {
    /// `burst` at once, `per_second` in the long run.
    pub(crate) fn new(per_second: f64, burst: f64) -> Self {
        Self {
            per_second,
            burst,
            buckets: Mutex::default(),
        }
    }

    /// Takes one token of `caller`; how long until there is one again when there is none.
    pub(crate) fn take(&self, caller: &str) -> Result<(), Duration> {
        self.take_at(caller, Instant::now())
    }

    fn take_at(&self, caller: &str, now: Instant) -> Result<(), Duration> {
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let refilled = |b: &Bucket| {
            let gained = now.saturating_duration_since(b.at).as_secs_f64() * self.per_second;
            (b.tokens + gained).min(self.burst)
        };
        if buckets.len() > MAX_BUCKETS {
            buckets.retain(|_, b| refilled(b) < self.burst);
        }
        if !buckets.contains_key(caller) {
            buckets.insert(
                caller.to_owned(),
                Bucket {
                    tokens: self.burst,
                    at: now,
                },
            );
        }
        let Some(bucket) = buckets.get_mut(caller) else {
            return Ok(());
        };
        bucket.tokens = refilled(bucket);
        bucket.at = now;
        if bucket.tokens < 1.0 {
            return Err(Duration::from_secs_f64(
                (1.0 - bucket.tokens) / self.per_second,
            ));
        }
        bucket.tokens -= 1.0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_then_the_rate_and_callers_do_not_share() {
        let pace = Pace::new(10.0, 3.0);
        let t0 = Instant::now();
        for _ in 0..3 {
            assert_eq!(pace.take_at("a", t0), Ok(()));
        }
        assert!(pace.take_at("a", t0).is_err());
        assert_eq!(pace.take_at("b", t0), Ok(()));
        assert_eq!(pace.take_at("a", t0 + Duration::from_millis(100)), Ok(()));
        assert!(pace.take_at("a", t0 + Duration::from_millis(100)).is_err());
    }
}
