//! Who asks must be there: a lost asker's questions are cancelled, and only a lost one's (E11).

use crate::agent::{Agent, outcome};
use crate::bent::{Bend, bent};
use crate::world::{Replica, Setup, TENANT, World, clarify_id, within};
use askbus_domain::{CancelCause, Commit, Event, Millis};
use askbus_ledger::{Alive, AppendError, Bus, Ledger, LedgerError};
use askbus_wire::messages::{Heartbeat, InboxReply, Lease};
use askbus_wire::proto::begin_turn_request::Life;
use async_trait::async_trait;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, watch};

const LEASE: Millis = Millis(1_000);

on_both!(
    a_lost_asker_loses_its_questions_after_the_lease,
    an_asker_attached_elsewhere_is_not_lost,
    a_waiting_caller_is_a_sign_of_life,
    asking_is_a_sign_of_life,
);

/// Waits until the log says that the question was cancelled because its asker is gone.
async fn gone(world: &World, session: &str, id: &str) {
    let id = clarify_id(id);
    let resolved = world
        .until(
            "the lost asker's question is settled",
            session,
            |e| matches!(e, Event::Resolved { clarify_id, .. } if *clarify_id == id),
        )
        .await;
    let Event::Resolved { outcome, .. } = resolved else {
        panic!("{resolved:?}")
    };
    assert_eq!(outcome.cause, Some(CancelCause::AskerGone));
}

/// Lets more than one lease pass: a question of an asker that never attaches comes and goes.
async fn let_a_lease_pass(world: &World, replica: &Replica) {
    let stranger = world.agent(replica);
    let session = format!("passer-by-{}", stranger.asker);
    let context = stranger.begin(&session).await;
    let id = stranger.ask(&context, "anybody?").await;
    gone(world, &session, &id).await;
}

// contract: E11
async fn a_lost_asker_loses_its_questions_after_the_lease(world: World) {
    let replica = world.replica_leasing(LEASE).await;
    let agent = world.agent(&replica);
    let attachment = agent.attach(&[]).await;
    let context = agent.begin("s").await;
    let id = agent.ask(&context, "anybody?").await;
    let_a_lease_pass(&world, &replica).await;
    assert_eq!(agent.get(&id).await.status, "pending");
    let lost = Instant::now();
    drop(attachment);
    gone(&world, "s", &id).await;
    assert!(lost.elapsed() >= Duration::from_millis(LEASE.0));
    // The turn is another matter.
    let kinds: Vec<_> = world
        .events("s")
        .await
        .iter()
        .map(|e| e.kind().as_str())
        .collect();
    assert_eq!(kinds, ["begun", "requested", "resolved"]);
    let mut again = agent.attach(&[&id]).await;
    let told = again.resolved().await;
    assert_eq!(outcome(&told).cause, "asker_gone");
    replica.stop().await;
}

// contract: E11
async fn an_asker_attached_elsewhere_is_not_lost(world: World) {
    let one = world.replica_leasing(LEASE).await;
    let two = world.replica_leasing(LEASE).await;
    let agent = world.agent(&one);
    let attachment = agent.attach(&[]).await;
    let context = agent.begin("s").await;
    let id = agent.ask(&context, "anybody?").await;
    // It moves to the other replica, and the first one goes on watching.
    let elsewhere = agent.moved(&world.agent(&two));
    let mut moved = elsewhere.attach(&[&id]).await;
    drop(attachment);
    for _ in 0..2 {
        let_a_lease_pass(&world, &one).await;
    }
    assert_eq!(world.resolutions("s", &id).await, 0);
    // The replica it was asked through goes away: nothing is lost by that either.
    one.stop().await;
    let_a_lease_pass(&world, &two).await;
    world
        .answer("s", &id, crate::world::says("ann", "here"))
        .await;
    assert_eq!(outcome(&moved.resolved().await).reason, "response");
    two.stop().await;
}

// contract: E11
async fn a_waiting_caller_is_a_sign_of_life(world: World) {
    let replica = world.replica_leasing(LEASE).await;
    let agent = world.agent(&replica);
    let context = agent.begin("s").await;
    let id = agent.ask(&context, "anybody?").await;
    let waiting = tokio::spawn({
        let (agent, id) = (agent.clone(), id.clone());
        async move { agent.try_wait(&id).await }
    });
    for _ in 0..2 {
        let_a_lease_pass(&world, &replica).await;
    }
    assert_eq!(world.resolutions("s", &id).await, 0);
    waiting.abort();
    gone(&world, "s", &id).await;
    // Whoever else knows the id may wait too, and keeps nobody's question alive by that.
    let id = agent.ask(&context, "and now?").await;
    let stranger = world.agent(&replica);
    let settled = stranger.try_wait(&id).await.unwrap();
    assert_eq!(outcome(&settled).cause, "asker_gone");
    replica.stop().await;
}

/// The moments between which a question waited, in milliseconds.
async fn waited(agent: &Agent, id: &str) -> i64 {
    let settled = agent.try_wait(id).await.unwrap();
    outcome(&settled).resolved_at_ms - settled.requested_at_ms
}

// contract: E11
async fn asking_is_a_sign_of_life(world: World) {
    let one = world.replica_leasing(LEASE).await;
    let two = world.replica_leasing(LEASE).await;
    let agent = world.agent(&one);
    let attachment = agent.attach(&[]).await;
    let context = agent.begin("s").await;
    drop(attachment);
    // It was away for longer than a lease, had nothing open, and asks again before it attaches:
    // its lease runs from then.
    let_a_lease_pass(&world, &one).await;
    let id = agent.ask(&context, "back again?").await;
    gone(&world, "s", &id).await;
    let lease = i64::try_from(LEASE.0).unwrap();
    assert!(
        waited(&agent, &id).await >= lease,
        "{}",
        waited(&agent, &id).await
    );

    // The same for the name that holds a turn.
    let life = || Some(Life::AskerId(agent.asker.clone()));
    agent.begin_with("held", life()).await;
    let ended = |e: &Event| matches!(e, Event::Ended { .. });
    world.until("nobody holds it", "held", ended).await;
    let begun = Instant::now();
    agent.begin_with("held-2", life()).await;
    world.until("nobody holds it", "held-2", ended).await;
    assert!(
        begun.elapsed() >= Duration::from_millis(LEASE.0),
        "{:?}",
        begun.elapsed()
    );
    one.stop().await;
    two.stop().await;
}

/// Heartbeats as the test feeds them.
struct Fed(Mutex<Option<mpsc::Receiver<Heartbeat>>>);

#[async_trait]
impl Alive for Fed {
    async fn publish(&self, _: &Heartbeat) -> Result<(), LedgerError> {
        Ok(())
    }

    async fn watch(&self) -> Result<mpsc::Receiver<Heartbeat>, LedgerError> {
        Ok(self.0.lock().unwrap().take().expect("watched once"))
    }
}

// A silence of the bus counts against nobody, however it falls between the heartbeats.
// contract: E11
#[tokio::test(start_paused = true)]
async fn a_silence_counts_against_nobody() {
    let world = World::in_memory();
    let (feed, fed) = mpsc::channel(8);
    let setup = Setup::leasing_in_memory(LEASE);
    let beat = |instance: &str, asker: Option<&str>| Heartbeat {
        service: "session-binding".into(),
        instance: instance.into(),
        leases: asker
            .map(|asker| Lease {
                tenant: TENANT.into(),
                name: format!("asker:{asker}"),
            })
            .into_iter()
            .collect(),
        ..Heartbeat::default()
    };
    let own = beat(&setup.instance, None);
    let replica = world
        .replica_with(setup, |bus| Bus {
            alive: Arc::new(Fed(Mutex::new(Some(fed)))),
            ..bus
        })
        .await;
    let agent = world.agent(&replica);
    let other = beat("other", Some(&agent.asker));
    let pause = |ms| tokio::time::sleep(Duration::from_millis(ms));
    feed.send(own.clone()).await.unwrap();
    let context = agent.begin("s").await;
    let id = agent.ask(&context, "anybody?").await;
    // Both are heard, then the bus is away for longer than a lease, and when
    // it is back this instance hears itself first.
    for _ in 0..4 {
        feed.send(other.clone()).await.unwrap();
        pause(300).await;
        feed.send(own.clone()).await.unwrap();
    }
    pause(900).await;
    feed.send(own.clone()).await.unwrap();
    pause(250).await;
    assert_eq!(world.resolutions("s", &id).await, 0);
    feed.send(other).await.unwrap();
    feed.send(own.clone()).await.unwrap();
    // Now only the other one is silent.
    let silent = tokio::time::Instant::now();
    let feeding = tokio::spawn(async move {
        while feed.send(own.clone()).await.is_ok() {
            tokio::time::sleep(Duration::from_millis(300)).await;
        }
    });
    gone(&world, "s", &id).await;
    assert!(silent.elapsed() >= Duration::from_millis(LEASE.0 - 100));
    feeding.abort();
    replica.stop().await;
}

/// A ledger whose commits to some sessions wait for a gate once they settle something.
struct Stalled {
    sessions: &'static str,
    open: watch::Receiver<bool>,
    reached: mpsc::UnboundedSender<()>,
}

#[async_trait]
impl Bend for Stalled {
    async fn append_once(
        &self,
        log: &dyn Ledger,
        commit: &Commit,
        expected: u64,
        trace: Option<&str>,
    ) -> Result<u64, AppendError> {
        let settles = commit
            .events
            .iter()
            .any(|e| matches!(e, Event::Resolved { .. }));
        if settles && commit.session_id.as_str().starts_with(self.sessions) {
            let _ = self.reached.send(());
            let _ = self.open.clone().wait_for(|open| *open).await;
        }
        log.append_once(commit, expected, trace).await
    }
}

// While one who is gone cannot be settled, the others are still heard.
// contract: E11
#[tokio::test(start_paused = true)]
async fn a_stalled_settlement_costs_no_other_asker_its_lease() {
    let world = World::in_memory();
    let (feed, fed) = mpsc::channel(8);
    let (gate, open) = watch::channel(false);
    let (tell, mut reached) = mpsc::unbounded_channel();
    let setup = Setup::leasing_in_memory(LEASE);
    let own = setup.instance.clone();
    let replica = world
        .replica_with(setup, |bus| Bus {
            alive: Arc::new(Fed(Mutex::new(Some(fed)))),
            ..bent(
                bus,
                Stalled {
                    sessions: "dead",
                    open,
                    reached: tell,
                },
            )
        })
        .await;
    let mut asked = Vec::new();
    for name in ["dead-1", "dead-2", "dead-3", "1", "2", "3", "4", "5", "6"] {
        let agent = world.agent(&replica);
        let context = agent.begin(name).await;
        asked.push((name, agent.ask(&context, "anybody?").await, agent));
    }
    let (dead, live) = asked.split_at(3);
    let leases = live.iter().map(|(.., agent)| Lease {
        tenant: TENANT.into(),
        name: format!("asker:{}", agent.asker),
    });
    let beat = |instance: &str, leases| Heartbeat {
        service: "session-binding".into(),
        instance: instance.into(),
        leases,
        ..Heartbeat::default()
    };
    let (own, other) = (beat(&own, Vec::new()), beat("other", leases.collect()));
    let feeding = tokio::spawn(async move {
        while feed.send(other.clone()).await.is_ok() && feed.send(own.clone()).await.is_ok() {
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    });
    within("a dead one is being settled", reached.recv()).await;
    // More than a lease passes.
    tokio::time::sleep(Duration::from_millis(2 * LEASE.0)).await;
    gate.send(true).unwrap();
    for (name, id, _) in dead {
        gone(&world, name, id).await;
    }
    for (name, id, _) in live {
        let reply = world
            .answer(name, id, crate::world::says("ann", "here"))
            .await;
        assert!(matches!(reply, InboxReply::Settled { .. }), "{reply:?}");
    }
    feeding.abort();
    replica.stop().await;
}
