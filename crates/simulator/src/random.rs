//! Chance that follows from the seed: every actor has its own, so that what one does changes
//! nothing about the choices of another.

use rand::rngs::StdRng;
use rand::{Rng as _, RngCore as _, SeedableRng as _};
use std::time::Duration;

pub(crate) struct Random(StdRng);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(StdRng::seed_from_u64(seed))
    }

    /// Chance for somebody else.
    pub(crate) fn fork(&mut self) -> Self {
        Self::new(self.0.next_u64())
    }

    pub(crate) fn seed(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// True in this many of a hundred cases.
    pub(crate) fn percent(&mut self, percent: u32) -> bool {
        self.0.random_ratio(percent.min(100), 100)
    }

    /// True in this many of a thousand cases.
    pub(crate) fn permille(&mut self, permille: u32) -> bool {
        self.0.random_ratio(permille.min(1_000), 1_000)
    }

    /// From `low` to `high`, both included.
    pub(crate) fn between(&mut self, low: u64, high: u64) -> u64 {
        self.0.random_range(low..=high.max(low))
    }

    pub(crate) fn millis(&mut self, low: u64, high: u64) -> Duration {
        Duration::from_millis(self.between(low, high))
    }

    /// One of these, by their weights.
    pub(crate) fn choose<T: Copy>(&mut self, of: &[(u64, T)], otherwise: T) -> T {
        let all: u64 = of.iter().map(|(weight, _)| weight).sum();
        let mut left = self.between(0, all.saturating_sub(1));
        for (weight, choice) in of {
            if left < *weight {
                return *choice;
            }
            left -= weight;
        }
        otherwise
    }
}
