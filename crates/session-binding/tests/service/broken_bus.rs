//! A bus that is away, and a log that is behind: not knowing is no reason to settle anything.

use crate::agent::outcome;
use crate::bent::{Gated, bent};
use crate::world::{Setup, TENANT, World, says, verdict, within};
use askbus_domain::{Event, Millis};
use askbus_wire::error::ErrorCode;
use askbus_wire::messages::{InboxBody, InboxReply};
use std::time::{Duration, Instant};
use tokio::sync::watch;

const LEASE: Millis = Millis(1_000);

// contract: E11
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bus_that_is_away_costs_nobody_a_lease() {
    let mut world = World::jetstream().await;
    let one = world.replica_leasing(LEASE).await;
    let two = world.replica_leasing(LEASE).await;
    let agent = world.agent(&one);
    let elsewhere = agent.moved(&world.agent(&two));
    let _attached = elsewhere.attach(&[]).await;
    let context = agent.begin("s").await;
    let id = agent.ask(&context, "still there?").await;
    // Absences shorter and longer than what a replica notices, and than the lease.
    for away in [700, 900, 1_100, 3_000] {
        world.nats().kill9().await.unwrap();
        // Time is the subject.
        tokio::time::sleep(Duration::from_millis(away)).await;
        world.nats().restart().await.unwrap();
        // Everything is back once somebody who never attached was found to be gone.
        let stranger = world.agent(&one);
        let session = format!("passer-by-{away}");
        let (context, asked) = loop {
            let begin = askbus_wire::proto::BeginTurnRequest {
                session_id: session.clone(),
                life: Some(askbus_wire::proto::begin_turn_request::Life::ForMs(600_000)),
                ..Default::default()
            };
            // A call may come too early; it says so and is repeated.
            let Ok(begun) = stranger.try_begin(begin).await else {
                continue;
            };
            let request =
                stranger.ask_request(&begun.context_id, "ask", crate::agent::question("?"));
            if let Ok(asked) = stranger.try_ask(request).await {
                break (begun.context_id, asked.clarify_id);
            }
        };
        let gone = stranger.try_get(&asked).await.unwrap();
        assert_eq!(gone.context_id, context);
        world
            .until("the passer-by is gone", &session, |e| {
                matches!(e, Event::Resolved { .. })
            })
            .await;
        assert_eq!(world.resolutions("s", &id).await, 0, "after {away} ms");
    }
    let reply = world.answer("s", &id, says("ann", "here")).await;
    assert!(matches!(reply, InboxReply::Settled { .. }), "{reply:?}");
    one.stop().await;
    two.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_bus_calls_say_so_and_the_service_still_stops() {
    let mut world = World::jetstream().await;
    let replica = world.replica().await;
    let agent = world.agent(&replica);
    let context = agent.begin("s").await;
    let asked = agent.ask_for(&context, "in time?", 1.0).await;
    let _attached = agent.attach(&[]).await;
    world.nats().kill9().await.unwrap();
    let request = agent.ask_request(&context, "ask", crate::agent::question("now?"));
    let refused = agent.try_ask(request.clone()).await.unwrap_err();
    // What went out before the connection was seen to be broken is in doubt.
    let honest = [ErrorCode::LogUnavailable, ErrorCode::Unavailable];
    assert!(
        honest.contains(&crate::agent::code(&refused)),
        "{refused:?}"
    );
    // A question and a deadline are on their way when it is told to stop.
    let asking = tokio::spawn({
        let agent = agent.clone();
        async move { agent.try_ask(request).await }
    });
    agent.get(&asked.clarify_id).await;
    let begun = Instant::now();
    replica.stop().await;
    let took = begun.elapsed();
    // The connection takes up to five seconds of its own to give up on flushing.
    assert!(took <= Duration::from_secs(5), "{took:?}");
    assert!(within("the call ends", asking).await.unwrap().is_err());
    world.nats().restart().await.unwrap();
    let replica = world.replica().await;
    let agent = agent.moved(&world.agent(&replica));
    let settled = agent.try_wait(&asked.clarify_id).await.unwrap();
    assert_eq!(outcome(&settled).reason, "timeout");
    assert_eq!(world.resolutions("s", &asked.clarify_id).await, 1);
    replica.stop().await;
}

on_both!(an_answer_waits_until_the_tail_has_come_to_its_question);

async fn an_answer_waits_until_the_tail_has_come_to_its_question(world: World) {
    let ahead = world.replica().await;
    let agent = world.agent(&ahead);
    let context = agent.begin("known").await;
    let known = agent.ask(&context, "known?").await;
    let (gate, open) = watch::channel(true);
    let behind = world
        .replica_with(Setup::default(), |bus| bent(bus, Gated(open)))
        .await;
    gate.send(false).unwrap();
    let context = agent.begin("new").await;
    let new = agent.ask(&context, "new?").await;
    ahead.stop().await;
    let body = InboxBody::Respond(says("ann", "early"));
    let mut early = world.submit((TENANT, "new", &new), body).await;
    // This one was sent later and its question is known: it is judged at once.
    let reply = world.answer("known", &known, says("ann", "at once")).await;
    assert!(matches!(reply, InboxReply::Settled { .. }), "{reply:?}");
    assert!(
        early.reply.try_recv().is_err(),
        "judged before its question was read"
    );
    assert_eq!(world.resolutions("new", &new).await, 0);
    gate.send(true).unwrap();
    let reply = verdict(early).await;
    assert!(matches!(reply, InboxReply::Settled { .. }), "{reply:?}");
    assert_eq!(behind.handle.stats().refused(), 0);
    behind.stop().await;
}
