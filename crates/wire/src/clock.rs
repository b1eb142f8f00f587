//! Time and fresh ids, from the machine or from a simulation.

use askbus_domain::Timestamp;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};
use tokio::time::Instant;
use uuid::{Builder, Uuid};

/// Where a service takes the time and its ids from; cheap to clone.
#[derive(Debug, Clone)]
pub struct Clock(Source);

#[derive(Debug, Clone)]
enum Source {
    System,
    Virtual(Arc<Virtual>),
}

#[derive(Debug)]
struct Virtual {
    epoch: Timestamp,
    since: Instant,
    skew_ms: i64,
    random: AtomicU64,
}

impl Clock {
    /// The machine's clock, and random ids.
    pub const fn system() -> Self {
        Self(Source::System)
    }

    /// A clock that shows `epoch` now (and `skew_ms` more, since no two clocks agree) and goes on
    /// with tokio's time, which may be paused. Its ids follow from `seed`.
    pub fn virtual_at(epoch: Timestamp, skew_ms: i64, seed: u64) -> Self {
        Self(Source::Virtual(Arc::new(Virtual {
            epoch,
            since: Instant::now(),
            skew_ms,
            random: AtomicU64::new(seed),
        })))
    }

    /// What this clock shows.
    pub fn now(&self) -> Timestamp {
        let ms = match &self.0 {
            Source::System => SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0, |since| whole_ms(since.as_millis())),
            Source::Virtual(clock) => clock
                .epoch
                .unix_millis()
                .saturating_add(whole_ms(clock.since.elapsed().as_millis()))
                .saturating_add(clock.skew_ms),
        };
        Timestamp::from_unix_millis(ms)
    }

    /// A fresh id that names the moment it was made in.
    pub fn uuid_v7(&self) -> Uuid {
        match &self.0 {
            Source::System => Uuid::now_v7(),
            Source::Virtual(clock) => {
                let ms = u64::try_from(self.now().unix_millis()).unwrap_or_default();
                let mut bytes = [0; 10];
                for (byte, random) in bytes.iter_mut().zip(clock.bytes()) {
                    *byte = random;
                }
                Builder::from_unix_timestamp_millis(ms, &bytes).into_uuid()
            }
        }
    }

    /// A fresh id that says nothing.
    pub fn uuid_v4(&self) -> Uuid {
        match &self.0 {
            Source::System => Uuid::new_v4(),
            Source::Virtual(clock) => Builder::from_random_bytes(clock.bytes()).into_uuid(),
        }
    }
}

impl Virtual {
    /// `SplitMix64`, twice.
    fn bytes(&self) -> [u8; 16] {
        let next = || {
            const STEP: u64 = 0x9E37_79B9_7F4A_7C15;
            let mut z = self.random.fetch_add(STEP, Ordering::Relaxed);
            z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            z ^ (z >> 31)
        };
        ((u128::from(next()) << 64) | u128::from(next())).to_be_bytes()
    }
}

fn whole_ms(ms: u128) -> i64 {
    i64::try_from(ms).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[tokio::test(start_paused = true)]
    async fn virtual_time_goes_with_the_runtime_and_ids_follow_from_the_seed() {
        let epoch = Timestamp::from_unix_millis(1_800_000_000_000);
        let (clock, same) = (
            Clock::virtual_at(epoch, -900, 7),
            Clock::virtual_at(epoch, -900, 7),
        );
        tokio::time::sleep(Duration::from_secs(3)).await;
        assert_eq!(clock.now().unix_millis(), 1_800_000_002_100);
        let ids = |clock: &Clock| (clock.uuid_v7(), clock.uuid_v4(), clock.uuid_v7());
        assert_eq!(ids(&clock), ids(&same));
        assert_ne!(clock.uuid_v4(), clock.uuid_v4());
        let (seconds, _) = clock.uuid_v7().get_timestamp().unwrap().to_unix();
        assert_eq!(seconds, 1_800_000_002);
    }
}
