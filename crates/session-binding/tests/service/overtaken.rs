//! What others write between a commit and its acknowledgement changes nothing about its reply.

use crate::agent::{outcome, question};
use crate::world::{Setup, World, within};
use askbus_domain::{ClarifyId, Commit, Event, SessionId, TenantId};
use askbus_ledger::{AppendError, Bus, Ledger, LedgerError, Stored};
use async_trait::async_trait;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, watch};

/// A ledger that acknowledges questions only once a gate is open.
struct LateAck {
    inner: Arc<dyn Ledger>,
    written: mpsc::UnboundedSender<()>,
    open: watch::Receiver<bool>,
}

#[async_trait]
impl Ledger for LateAck {
    async fn append_once(
        &self,
        commit: &Commit,
        expected: u64,
        trace: Option<&str>,
    ) -> Result<u64, AppendError> {
        let seq = self.inner.append_once(commit, expected, trace).await?;
        let asks = |e: &Event| matches!(e, Event::Requested { .. });
        if commit.events.iter().any(asks) {
            let _ = self.written.send(());
            let _ = self.open.clone().wait_for(|open| *open).await;
        }
        Ok(seq)
    }

    async fn tail(&self, from: u64) -> Result<mpsc::Receiver<Arc<Stored>>, LedgerError> {
        self.inner.tail(from).await
    }

    async fn last_seq(&self) -> Result<u64, LedgerError> {
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

// contract: E11
#[tokio::test(start_paused = true)]
async fn a_question_whose_turn_is_replaced_at_once_was_asked_all_the_same() {
    let world = World::in_memory();
    let (gate, open) = watch::channel(false);
    let (written, mut reached) = mpsc::unbounded_channel();
    let slow = world
        .replica_with(Setup::in_memory(), |bus| Bus {
            ledger: Arc::new(LateAck {
                inner: Arc::clone(&bus.ledger),
                written,
                open,
            }),
            ..bus
        })
        .await;
    let other = world.replica_with(Setup::in_memory(), |bus| bus).await;
    let (agent, elsewhere) = (world.agent(&slow), world.agent(&other));
    let context = agent.begin("s").await;
    let asking = tokio::spawn({
        let (agent, request) = (
            agent.clone(),
            agent.ask_request(&context, "ask", question("?")),
        );
        async move { agent.try_ask(request).await }
    });
    within("it is written", reached.recv()).await;
    elsewhere.begin("s").await;
    // The tail of the first replica is ahead of its acknowledgement by then.
    tokio::time::sleep(Duration::from_secs(1)).await;
    gate.send(true).unwrap();
    let asked = within("it is told", asking).await.unwrap().unwrap();
    let settled = agent.get(&asked.clarify_id).await;
    assert_eq!(outcome(&settled).cause, "turn_ended");
    slow.stop().await;
    other.stop().await;
}
