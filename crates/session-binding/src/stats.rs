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
    sessions: AtomicU64,
    clarifications: AtomicU64,
}

impl Stats {
    /// Sessions kept in memory, as of half a minute ago at most.
    pub fn sessions(&self) -> u64 {
        self.sessions.load(Ordering::Relaxed)
    }

    /// Clarifications kept in memory, settled ones included, as of half a minute ago at most.
    pub fn clarifications(&self) -> u64 {
        self.clarifications.load(Ordering::Relaxed)
    }

    pub(crate) fn set_kept(&self, (sessions, clarifications): (usize, usize)) {
        self.sessions.store(sessions as u64, Ordering::Relaxed);
        self.clarifications
            .store(clarifications as u64, Ordering::Relaxed);
    }
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
