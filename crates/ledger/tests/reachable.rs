//! A service that starts takes the log's first word, and does not sleep through it.

#![allow(clippy::unwrap_used, clippy::panic)]

use askbus_domain::{ClarifyId, Commit, SessionId, TenantId};
use askbus_ledger::{AppendError, Ledger, LedgerError, Stored, until_reachable};
use async_trait::async_trait;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::Instant;

/// A log that is away for the first looks.
struct Away(AtomicU32);

fn away() -> LedgerError {
    LedgerError::Unavailable("no connection".into())
}

#[async_trait]
impl Ledger for Away {
    async fn append_once(&self, _: &Commit, _: u64, _: Option<&str>) -> Result<u64, AppendError> {
        Err(away().into())
    }

    async fn tail(&self, _: u64) -> Result<mpsc::Receiver<Arc<Stored>>, LedgerError> {
        Err(away())
    }

    async fn last_seq(&self) -> Result<u64, LedgerError> {
        let left = self.0.load(Ordering::Relaxed);
        if left == 0 {
            return Ok(7);
        }
        self.0.store(left - 1, Ordering::Relaxed);
        Err(away())
    }

    async fn read_session(
        &self,
        _: &TenantId,
        _: &SessionId,
        _: u64,
    ) -> Result<Vec<Arc<Stored>>, LedgerError> {
        Err(away())
    }

    async fn find_requested(
        &self,
        _: &TenantId,
        _: ClarifyId,
    ) -> Result<Option<Arc<Stored>>, LedgerError> {
        Err(away())
    }

    fn clock_offset_ms(&self) -> i64 {
        0
    }
}

/// How long it waits for a log that is away for so many looks, on time that is made up.
async fn waits(looks: u32) -> Duration {
    let begun = Instant::now();
    let last = until_reachable(&Away(AtomicU32::new(looks))).await.unwrap();
    assert_eq!(last, 7);
    begun.elapsed()
}

#[tokio::test(start_paused = true)]
async fn a_log_that_comes_at_once_is_not_waited_for_and_one_that_is_away_is_not_pestered() {
    assert_eq!(waits(0).await, Duration::ZERO);
    assert!(waits(2).await < Duration::from_millis(50));
    let (long, longer) = (waits(20).await, waits(21).await);
    let second = Duration::from_secs(1)..Duration::from_millis(1_100);
    assert!(second.contains(&longer.saturating_sub(long)));
}
