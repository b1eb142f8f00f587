//! Counts of what a process did, for operators.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counters since the process started.
#[derive(Debug, Default)]
pub struct Stats {
    commits: AtomicU64,
    conflicts: AtomicU64,
    answers: AtomicU64,
    refused: AtomicU64,
    skewed: AtomicU64,
}

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident, $count:ident;)*) => {
        impl Stats {
            $($(#[$doc])* pub fn $name(&self) -> u64 { self.$name.load(Ordering::Relaxed) }
              pub(crate) fn $count(&self) { self.$name.fetch_add(1, Ordering::Relaxed); })*
        }
    };
}

counters! {
    /// Commits written by this process.
    commits, count_commit;
    /// Appends that another writer beat.
    conflicts, count_conflict;
    /// Answers judged.
    answers, count_answer;
    /// Answers refused.
    refused, count_refused;
    /// Deadlines not fired because this machine's clock is off.
    skewed, count_skewed;
}
