//! What others write between a commit and its acknowledgement changes nothing about its reply.

use crate::agent::{outcome, question};
use crate::bent::{Bend, Gated, bent};
use crate::world::{Setup, World, within};
use askbus_domain::{Commit, Event, SessionId, TenantId};
use askbus_ledger::{AppendError, Ledger, LedgerError, Stored};
use askbus_wire::error::ErrorCode;
use async_trait::async_trait;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::{mpsc, watch};

/// A ledger that acknowledges questions only once a gate is open.
struct LateAck {
    written: mpsc::UnboundedSender<()>,
    open: watch::Receiver<bool>,
}

#[async_trait]
impl Bend for LateAck {
    async fn append_once(
        &self,
        log: &dyn Ledger,
        commit: &Commit,
        expected: u64,
        trace: Option<&str>,
    ) -> Result<u64, AppendError> {
        let seq = log.append_once(commit, expected, trace).await?;
        let asks = |e: &Event| matches!(e, Event::Requested { .. });
        if commit.events.iter().any(asks) {
            let _ = self.written.send(());
            let _ = self.open.clone().wait_for(|open| *open).await;
        }
        Ok(seq)
    }
}

// contract: E6
#[tokio::test(start_paused = true)]
async fn a_replica_that_is_behind_refuses_nothing_for_what_is_over() {
    let world = World::in_memory();
    let (gate, open) = watch::channel(true);
    let behind = world
        .replica_with(Setup::in_memory(), |bus| bent(bus, Gated(open)))
        .await;
    let other = world.replica_with(Setup::in_memory(), |bus| bus).await;
    let (agent, elsewhere) = (world.agent(&behind), world.agent(&other));
    let context = agent.begin("s").await;
    let asks = |text| agent.ask_request(&context, "studio", question(text));
    let first = agent.try_ask(asks("one?")).await.unwrap();
    let refused = agent.try_ask(asks("two?")).await.unwrap_err();
    assert_eq!(crate::agent::code(&refused), ErrorCode::Busy);
    gate.send(false).unwrap();
    let elsewhere = agent.moved(&elsewhere);
    elsewhere.try_cancel(&first.clarify_id).await.unwrap();
    let second = agent.try_ask(asks("two?")).await.unwrap();
    assert_eq!(elsewhere.get(&second.clarify_id).await.status, "pending");
    behind.stop().await;
    other.stop().await;
}

// contract: E11
#[tokio::test(start_paused = true)]
async fn a_question_whose_turn_is_replaced_at_once_was_asked_all_the_same() {
    let world = World::in_memory();
    let (gate, open) = watch::channel(false);
    let (written, mut reached) = mpsc::unbounded_channel();
    let slow = world
        .replica_with(Setup::in_memory(), |bus| {
            bent(bus, LateAck { written, open })
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

/// A log that does not say what became of the first write of a question, then that another came
/// first, and then nothing for a while, in which that write arrives.
#[derive(Default)]
struct Doubtful(Mutex<Vec<Commit>>);

impl Doubtful {
    fn attempts(&self) -> usize {
        self.0.lock().unwrap().len()
    }
}

#[async_trait]
impl Bend for Doubtful {
    async fn append_once(
        &self,
        log: &dyn Ledger,
        commit: &Commit,
        expected: u64,
        trace: Option<&str>,
    ) -> Result<u64, AppendError> {
        let asks = |e: &Event| matches!(e, Event::Requested { .. });
        if !commit.events.iter().any(asks) || self.attempts() >= 2 {
            return log.append_once(commit, expected, trace).await;
        }
        self.0.lock().unwrap().push(commit.clone());
        match self.attempts() {
            1 => Err(AppendError::Uncertain("no word of it".into())),
            _ => Err(AppendError::Conflict),
        }
    }

    async fn read_session(
        &self,
        log: &dyn Ledger,
        tenant: &TenantId,
        session: &SessionId,
        from: u64,
    ) -> Result<Vec<Arc<Stored>>, LedgerError> {
        let read = log.read_session(tenant, session, from).await?;
        // Whoever looks for the own commit reads from behind what it stands on.
        let catches_up = !read.is_empty();
        if catches_up && self.attempts() == 2 {
            let first = self.0.lock().unwrap().first().cloned().unwrap();
            let last = read.last().map_or(0, |stored| stored.seq);
            log.append_once(&first, last, None).await.unwrap();
            self.0.lock().unwrap().push(first);
            return Err(LedgerError::Unavailable("no bus".into()));
        }
        Ok(read)
    }
}

// contract: E19
#[tokio::test(start_paused = true)]
async fn nobody_is_told_that_nothing_was_asked_while_a_write_may_still_arrive() {
    let world = World::in_memory();
    let replica = world
        .replica_with(Setup::in_memory(), |bus| bent(bus, Doubtful::default()))
        .await;
    let agent = world.agent(&replica);
    let context = agent.begin("s").await;
    let mut request = agent.ask_request(&context, "ask", question("?"));
    request.ask_id = "once".into();
    let refused = agent.try_ask(request.clone()).await.unwrap_err();
    assert_eq!(crate::agent::code(&refused), ErrorCode::Unavailable);
    // The same again says what became of it.
    let asked = agent.try_ask(request).await.unwrap();
    assert_eq!(agent.get(&asked.clarify_id).await.status, "pending");
    let asks = |e: &&Event| matches!(e, Event::Requested { .. });
    assert_eq!(world.events("s").await.iter().filter(asks).count(), 1);
    replica.stop().await;
}
