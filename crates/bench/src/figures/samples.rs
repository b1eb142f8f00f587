//! Durations of one figure, and what is shown of them.

use serde::Serialize;
use std::time::Duration;

/// How long something took, each time it was done.
#[derive(Debug, Clone, Default)]
pub(crate) struct Samples(Vec<Duration>);

impl Samples {
    pub(crate) fn add(&mut self, took: Duration) {
        self.0.push(took);
    }

    /// Median, 99th percentile and maximum.
    pub(crate) fn spread(mut self) -> Spread {
        self.0.sort_unstable();
        let at = |percent: usize| {
            let rank = (self.0.len() * percent).div_ceil(100).max(1);
            millis(self.0.get(rank - 1).copied().unwrap_or_default())
        };
        Spread {
            count: self.0.len(),
            p50_ms: at(50),
            p99_ms: at(99),
            max_ms: at(100),
        }
    }
}

/// Of how many times, and how long, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Spread {
    /// How many times it was measured.
    pub count: usize,
    /// Half of them took at most this.
    pub p50_ms: f64,
    /// 99 of 100 took at most this.
    pub p99_ms: f64,
    /// All of them took at most this.
    pub max_ms: f64,
}

impl std::fmt::Display for Spread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} / {} ms (max {}, n = {})",
            short(self.p50_ms),
            short(self.p99_ms),
            short(self.max_ms),
            self.count
        )
    }
}

/// Milliseconds with a precision of a microsecond.
pub(crate) fn millis(took: Duration) -> f64 {
    (took.as_secs_f64() * 1e6).round() / 1e3
}

/// Three digits that matter, no more.
pub(crate) fn short(number: f64) -> String {
    match number {
        n if n >= 100.0 => format!("{n:.0}"),
        n if n >= 10.0 => format!("{n:.1}"),
        n => format!("{n:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_samples_and_not_between_them() {
        let mut samples = Samples::default();
        for ms in (1..=100).rev() {
            samples.add(Duration::from_millis(ms));
        }
        let spread = samples.spread();
        assert_eq!(
            spread,
            Spread {
                count: 100,
                p50_ms: 50.0,
                p99_ms: 99.0,
                max_ms: 100.0
            }
        );
        let mut one = Samples::default();
        one.add(Duration::from_micros(1_500));
        let text = one.spread().to_string();
        assert_eq!(text, "1.50 / 1.50 ms (max 1.50, n = 1)");
        assert_eq!(Samples::default().spread().count, 0);
    }
}
