//! A replica that dies at the worst moment: between taking an answer, writing and acknowledging.

use crate::agent::outcome;
use crate::world::{Setup, TENANT, World, says, verdict, within};
use askbus_domain::{Commit, Event, SessionId, TenantId};
use askbus_ledger::jetstream;
use askbus_ledger::{AppendError, Bus, Ledger, LedgerError, Stored};
use askbus_session_binding::start;
use askbus_wire::messages::{InboxBody, InboxReply};
use async_trait::async_trait;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// How long a dead replica keeps what it took.
const ACK_WAIT: Duration = Duration::from_secs(2);

/// A ledger that stops for ever around the writing of some events, and says so.
pub struct Deadly {
    pub inner: Arc<dyn Ledger>,
    /// Which events.
    pub at: fn(&Event) -> bool,
    /// Whether they are written before.
    pub writes: bool,
    pub reached: mpsc::UnboundedSender<()>,
}

#[async_trait]
impl Ledger for Deadly {
    async fn append_once(
        &self,
        commit: &Commit,
        expected: u64,
        trace: Option<&str>,
    ) -> Result<u64, AppendError> {
        if !commit.events.iter().any(self.at) {
            return self.inner.append_once(commit, expected, trace).await;
        }
        if self.writes {
            self.inner.append_once(commit, expected, trace).await?;
        }
        let _ = self.reached.send(());
        std::future::pending().await
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
        id: askbus_domain::ClarifyId,
    ) -> Result<Option<Arc<Stored>>, LedgerError> {
        self.inner.find_requested(tenant, id).await
    }

    fn clock_offset_ms(&self) -> i64 {
        self.inner.clock_offset_ms()
    }

    async fn learn_clock(&self) -> Result<(), LedgerError> {
        self.inner.learn_clock().await
    }
}

/// A replica on a runtime of its own, so that it can be dropped with everything it runs.
struct Mortal {
    runtime: Option<Runtime>,
    reached: mpsc::UnboundedReceiver<()>,
}

impl Mortal {
    async fn start(world: &World, writes: bool) -> Self {
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        let (tell, reached) = mpsc::unbounded_channel();
        let mut options = world.jetstream_options("mortal@test");
        options.ack_wait = ACK_WAIT;
        let verifier = world.verifier();
        let started = runtime.spawn(async move {
            let (bus, _, link) = jetstream::connect(options).await.unwrap();
            let deadly = Deadly {
                inner: bus.ledger,
                at: |event| matches!(event, Event::Resolved { .. } | Event::Late { .. }),
                writes,
                reached: tell,
            };
            let bus = Bus {
                ledger: Arc::new(deadly),
                ..bus
            };
            let options = Setup::default().options(bus, verifier);
            let handle = start(options, CancellationToken::new()).await.unwrap();
            tokio::spawn(async move {
                std::future::pending::<()>().await;
                drop((handle, link));
            });
        });
        within("the mortal replica starts", started).await.unwrap();
        Self {
            runtime: Some(runtime),
            reached,
        }
    }

    async fn reached(&mut self) {
        within("the deadly moment", self.reached.recv())
            .await
            .expect("it gets there");
    }

    fn die(mut self) {
        self.runtime.take().unwrap().shutdown_background();
    }
}

impl Drop for Mortal {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

async fn dies_while_judging(writes: bool) {
    let world = World::jetstream().await;
    // Asks through an ordinary replica, which then leaves the inbox to the mortal one.
    let replica = world.replica().await;
    let agent = world.agent(&replica);
    let context = agent.begin("s").await;
    let answered = agent.ask(&context, "who judges?").await;
    let earlier = agent.ask(&context, "and this?").await;
    agent.try_cancel(&earlier).await.unwrap();
    replica.stop().await;
    let mut mortal = Mortal::start(&world, writes).await;
    let body = InboxBody::Respond(says("ann", "twice taken"));
    let first = world.submit((TENANT, "s", &answered), body).await;
    mortal.reached().await;
    mortal.die();

    let options = world.jetstream_options("session-binding@test");
    let (mut options, verifier) = (options, world.verifier());
    options.ack_wait = ACK_WAIT;
    let (bus, _, link) = jetstream::connect(options).await.unwrap();
    let stop = CancellationToken::new();
    let survivor = start(Setup::default().options(bus, verifier), stop.clone());
    let survivor = within("the survivor starts", survivor).await.unwrap();
    // The author is told by the one that judges it in the end.
    let InboxReply::Settled { outcome: told } = verdict(first).await else {
        panic!("the first judgement stands")
    };
    assert_eq!(told.actor.as_ref().unwrap().person.as_str(), "ann");
    assert_eq!(world.resolutions("s", &answered).await, 1);
    let late = |e: &&Event| matches!(e, Event::Late { .. });
    assert_eq!(world.events("s").await.iter().filter(late).count(), 0);
    stop.cancel();
    within("the survivor stops", survivor.join()).await;
    world.until_judged("s", &answered).await;
    within("the connection is closed", link.close()).await;
    let replica = world.replica().await;
    let settled = world.agent(&replica).get(&answered).await;
    assert_eq!(
        outcome(&settled).answers[0].text.as_deref(),
        Some("twice taken")
    );
    replica.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dead_between_writing_and_acknowledging() {
    Box::pin(dies_while_judging(true)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dead_between_taking_and_writing() {
    Box::pin(dies_while_judging(false)).await;
}
