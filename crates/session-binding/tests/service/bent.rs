//! The bus of a replica that behaves otherwise than the bus does: what a test bends, and all else as it
//! is.

use askbus_domain::{ClarifyId, Commit, SessionId, TenantId};
use askbus_ledger::{AppendError, Bus, Ledger, LedgerError, Stored};
use async_trait::async_trait;
use std::sync::Arc;
use tokio::sync::{mpsc, watch};

/// What a test bends of the log; what it does not name is as it is.
#[async_trait]
pub trait Bend: Send + Sync + 'static {
    async fn append_once(
        &self,
        log: &dyn Ledger,
        commit: &Commit,
        expected: u64,
        trace: Option<&str>,
    ) -> Result<u64, AppendError> {
        log.append_once(commit, expected, trace).await
    }

    async fn tail(
        &self,
        log: &dyn Ledger,
        from: u64,
    ) -> Result<mpsc::Receiver<Arc<Stored>>, LedgerError> {
        log.tail(from).await
    }

    async fn last_seq(&self, log: &dyn Ledger) -> Result<u64, LedgerError> {
        log.last_seq().await
    }

    async fn read_session(
        &self,
        log: &dyn Ledger,
        tenant: &TenantId,
        session: &SessionId,
        from: u64,
    ) -> Result<Vec<Arc<Stored>>, LedgerError> {
        log.read_session(tenant, session, from).await
    }

    fn clock_offset_ms(&self, log: &dyn Ledger) -> i64 {
        log.clock_offset_ms()
    }

    async fn learn_clock(&self, log: &dyn Ledger) -> Result<(), LedgerError> {
        log.learn_clock().await
    }

    fn slow_consumers(&self, log: &dyn Ledger) -> u64 {
        log.slow_consumers()
    }
}

struct Bent<T>(Arc<dyn Ledger>, T);

/// The same bus with its log bent.
pub fn bent(bus: Bus, bend: impl Bend) -> Bus {
    Bus {
        ledger: Arc::new(Bent(Arc::clone(&bus.ledger), bend)),
        ..bus
    }
}

#[async_trait]
impl<T: Bend> Ledger for Bent<T> {
    async fn append_once(
        &self,
        commit: &Commit,
        expected: u64,
        trace: Option<&str>,
    ) -> Result<u64, AppendError> {
        self.1.append_once(&*self.0, commit, expected, trace).await
    }

    async fn tail(&self, from: u64) -> Result<mpsc::Receiver<Arc<Stored>>, LedgerError> {
        self.1.tail(&*self.0, from).await
    }

    async fn last_seq(&self) -> Result<u64, LedgerError> {
        self.1.last_seq(&*self.0).await
    }

    async fn read_session(
        &self,
        tenant: &TenantId,
        session: &SessionId,
        from: u64,
    ) -> Result<Vec<Arc<Stored>>, LedgerError> {
        self.1.read_session(&*self.0, tenant, session, from).await
    }

    async fn find_requested(
        &self,
        tenant: &TenantId,
        id: ClarifyId,
    ) -> Result<Option<Arc<Stored>>, LedgerError> {
        self.0.find_requested(tenant, id).await
    }

    fn clock_offset_ms(&self) -> i64 {
        self.1.clock_offset_ms(&*self.0)
    }

    async fn learn_clock(&self) -> Result<(), LedgerError> {
        self.1.learn_clock(&*self.0).await
    }

    fn slow_consumers(&self) -> u64 {
        self.1.slow_consumers(&*self.0)
    }
}

/// A log whose tail says nothing while the gate is shut.
pub struct Gated(pub watch::Receiver<bool>);

#[async_trait]
impl Bend for Gated {
    async fn tail(
        &self,
        log: &dyn Ledger,
        from: u64,
    ) -> Result<mpsc::Receiver<Arc<Stored>>, LedgerError> {
        let mut tail = log.tail(from).await?;
        let mut open = self.0.clone();
        let (out, gated) = mpsc::channel(1);
        tokio::spawn(async move {
            while let Some(stored) = tail.recv().await {
                // The gate is gone when the test is over.
                if open.wait_for(|open| *open).await.is_err() || out.send(stored).await.is_err() {
                    return;
                }
            }
        });
        Ok(gated)
    }
}
