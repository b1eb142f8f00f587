//! One more gateway over the same bus, and a ledger that shows it the log late.

use super::{BOUND, Setup, World, serve};
use askbus_domain::{ClarifyId, Commit, SessionId, TenantId};
use askbus_gateway::Handle;
use askbus_ledger::{AppendError, Bus, Ledger, LedgerError, LeftOut, Stored};
use std::sync::Arc;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

/// A second gateway.
pub struct Second {
    handle: Handle,
    stop: CancellationToken,
}

impl World {
    /// Starts one over this bus.
    pub async fn second(&self, bus: &Bus) -> Second {
        let (handle, stop) = serve(Setup::default(), bus, &self.keys).await;
        Second { handle, stop }
    }
}

impl Second {
    /// Where it listens.
    pub fn address(&self) -> String {
        self.handle.address().to_string()
    }

    pub async fn end(self) {
        self.stop.cancel();
        tokio::time::timeout(BOUND, self.handle.join())
            .await
            .expect("the gateway stops");
    }
}

/// A ledger whose tails stand still while its gate is shut.
pub struct Late {
    inner: Arc<dyn Ledger>,
    open: watch::Sender<bool>,
    opens_when_asked: bool,
}

impl Late {
    /// The gate is open; `opens_when_asked`: it opens for whoever asks where the log ends.
    pub fn new(inner: Arc<dyn Ledger>, opens_when_asked: bool) -> Arc<Self> {
        Arc::new(Self {
            inner,
            open: watch::Sender::new(true),
            opens_when_asked,
        })
    }

    pub fn shut(&self) {
        self.open.send_replace(false);
    }

    fn gated(&self, mut tail: mpsc::Receiver<Arc<Stored>>) -> mpsc::Receiver<Arc<Stored>> {
        let (tell, told) = mpsc::channel(1);
        let mut open = self.open.subscribe();
        tokio::spawn(async move {
            while let Some(stored) = tail.recv().await {
                let opened = open.wait_for(|open| *open).await.is_ok();
                if !opened || tell.send(stored).await.is_err() {
                    return;
                }
            }
        });
        told
    }
}

#[async_trait::async_trait]
impl Ledger for Late {
    async fn append_once(
        &self,
        commit: &Commit,
        expected: u64,
        trace: Option<&str>,
    ) -> Result<u64, AppendError> {
        self.inner.append_once(commit, expected, trace).await
    }

    async fn tail(&self, from: u64) -> Result<mpsc::Receiver<Arc<Stored>>, LedgerError> {
        Ok(self.gated(self.inner.tail(from).await?))
    }

    async fn tail_current(&self) -> Result<mpsc::Receiver<Arc<Stored>>, LedgerError> {
        Ok(self.gated(self.inner.tail_current().await?))
    }

    async fn left_out(&self) -> Result<Option<LeftOut>, LedgerError> {
        self.inner.left_out().await
    }

    async fn last_seq(&self) -> Result<u64, LedgerError> {
        if self.opens_when_asked {
            self.open.send_replace(true);
        }
        self.inner.last_seq().await
    }

    async fn read_session(
        &self,
        tenant: &TenantId,
        session: &SessionId,
        from: u64,
    ) -> Result<Vec<Arc<Stored>>, LedgerError> {
        self.inner.read_session(tenant, session, from).await
    }

    async fn read_at(&self, seq: u64) -> Result<Option<Arc<Stored>>, LedgerError> {
        self.inner.read_at(seq).await
    }

    async fn find_requested(
        &self,
        tenant: &TenantId,
        id: ClarifyId,
    ) -> Result<Option<Arc<Stored>>, LedgerError> {
        self.inner.find_requested(tenant, id).await
    }

    fn clock_offset_ms(&self) -> i64 {
        self.inner.clock_offset_ms()
    }
}
