//! How far the tail has come.

use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::Notify;

/// How far the tail has come, for those who wait for it. They go on in the order in which they came,
/// so that a simulation repeats.
pub(crate) struct Applied {
    seq: AtomicU64,
    /// The lowest sequence that anybody waits for: a long log that is read wakes nobody before.
    awaited: AtomicU64,
    moved: Notify,
}

impl Default for Applied {
    fn default() -> Self {
        Self {
            seq: AtomicU64::new(0),
            awaited: AtomicU64::new(u64::MAX),
            moved: Notify::default(),
        }
    }
}

impl Applied {
    pub(crate) fn get(&self) -> u64 {
        self.seq.load(Ordering::SeqCst)
    }

    pub(super) fn set(&self, seq: u64) {
        // One order for all: either this sees who waits, or they see the new sequence.
        self.seq.store(seq, Ordering::SeqCst);
        if seq >= self.awaited.load(Ordering::SeqCst) {
            self.awaited.store(u64::MAX, Ordering::SeqCst);
            self.moved.notify_waiters();
        }
    }

    /// Waits until the tail has come to `seq`.
    pub(crate) async fn reach(&self, seq: u64) {
        loop {
            let moved = self.moved.notified();
            tokio::pin!(moved);
            // From here on a move is noticed. Everybody who waits is woken then, and says again what
            // they wait for.
            moved.as_mut().enable();
            self.awaited.fetch_min(seq, Ordering::SeqCst);
            if self.get() >= seq {
                return;
            }
            moved.await;
        }
    }
}
