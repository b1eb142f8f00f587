//! Turns end, and what waits in them ends with them (E11, E20).

use crate::agent::{Agent, code, outcome};
use crate::world::{World, clarify_id, within};
use askbus_domain::{Event, Millis, TurnEnd};
use askbus_wire::error::ErrorCode;
use askbus_wire::proto::begin_turn_request::Life;
use askbus_wire::proto::{BeginTurnRequest, KeepTurnRequest, KeepTurnResponse};
use std::time::Duration;

const LEASE: Millis = Millis(1_000);

on_both!(
    whatever_ends_a_turn_cancels_its_questions,
    a_lost_turn_is_interrupted_after_its_lease,
    a_held_turn_outlives_its_lease,
    a_turn_for_a_while_expires,
    a_turn_lives_by_the_attachment_of_its_asker,
    a_lease_shorter_than_the_heartbeats_of_the_service_is_no_trap,
    a_turn_that_is_kept_by_calls_lives_on_every_replica,
    what_a_turn_is_granted_is_what_is_told,
);

// contract: E20
async fn what_a_turn_is_granted_is_what_is_told(world: World) {
    // It says every five seconds what it holds, so a shorter lease than three of them is no lease.
    let replica = world.replica().await;
    let agent = world.agent(&replica);
    for (wanted, granted) in [
        (1, 15_000),
        (15_000, 15_000),
        (60_000, 60_000),
        (1 << 62, 3_600_000),
    ] {
        let context = agent.begin_with("s", Some(Life::LeaseMs(wanted))).await;
        assert_eq!(keep(&agent, &context).await.lease_ms, granted, "{wanted}");
    }
    let for_no_time = BeginTurnRequest {
        session_id: "s".into(),
        life: Some(Life::ForMs(0)),
        ..BeginTurnRequest::default()
    };
    let refused = agent.try_begin(for_no_time).await.unwrap_err();
    assert_eq!(code(&refused), ErrorCode::InvalidRequest);
    // No turn is longer than 28 days.
    let context = agent.begin_with("s", Some(Life::ForMs(1 << 62))).await;
    let left = keep(&agent, &context).await.lease_ms;
    let cap = 28 * 24 * 3_600_000;
    assert!(left <= cap && left > cap - 60_000, "{left}");
    replica.stop().await;
}

async fn cancelled_by_turn_end(agent: &Agent, id: &str) {
    let settled = agent.try_wait(id).await.unwrap();
    let outcome = outcome(&settled);
    assert_eq!(
        (outcome.reason.as_str(), outcome.cause.as_str()),
        ("cancelled", "turn_ended")
    );
    assert_eq!(outcome.decided_by, "system");
    assert!(outcome.answers.is_empty() && outcome.actor.is_none());
}

async fn end_in_log(world: &World, session: &str) -> TurnEnd {
    let ended = world
        .until("the turn ends", session, |e| {
            matches!(e, Event::Ended { .. })
        })
        .await;
    match ended {
        Event::Ended { end, .. } => end,
        other => panic!("{other:?}"),
    }
}

// contract: E11
async fn whatever_ends_a_turn_cancels_its_questions(world: World) {
    let (one, two) = (world.replica().await, world.replica().await);
    let agent = world.agent(&one);
    let elsewhere = agent.moved(&world.agent(&two));
    let mut attachment = elsewhere.attach(&[]).await;
    for end in ["completed", "failed", "stopped", "disposed"] {
        let context = agent.begin(end).await;
        let held = elsewhere.hold(&context).await.unwrap();
        let ids = [
            agent.ask(&context, "one?").await,
            agent.ask(&context, "two?").await,
        ];
        let (ended, word) = tokio::join!(agent.end(&context, end), held.ended());
        ended.unwrap();
        assert_eq!(word.as_deref(), Some(end));
        for id in ids {
            cancelled_by_turn_end(&elsewhere, &id).await;
            attachment.resolved().await;
        }
        assert_eq!(end_in_log(&world, end).await.as_str(), end);
        // The questions settle in the same commit that ends the turn, before its end.
        let kinds: Vec<_> = world
            .events(end)
            .await
            .iter()
            .map(|e| e.kind().as_str())
            .collect();
        assert_eq!(
            kinds,
            [
                "begun",
                "requested",
                "requested",
                "resolved",
                "resolved",
                "ended"
            ]
        );
    }
    // A new turn replaces the old one.
    let context = agent.begin("s").await;
    let held = elsewhere.hold(&context).await.unwrap();
    let id = agent.ask(&context, "still?").await;
    let (_, word) = tokio::join!(elsewhere.begin("s"), held.ended());
    assert_eq!(word.as_deref(), Some("replaced"));
    assert_eq!(attachment.resolved().await.clarify_id, id);
    cancelled_by_turn_end(&agent, &id).await;
    assert_eq!(end_in_log(&world, "s").await, TurnEnd::Replaced);
    one.stop().await;
    two.stop().await;
}

// contract: E20
async fn a_lost_turn_is_interrupted_after_its_lease(world: World) {
    let replica = world.replica_leasing(LEASE).await;
    let agent = world.agent(&replica);
    let context = agent.begin_with("s", Some(Life::LeaseMs(LEASE.0))).await;
    let mut held = agent.hold(&context).await.unwrap();
    held.confirmed().await;
    let attachment = agent.attach(&[]).await;
    let id = agent.ask(&context, "still there?").await;
    let lost = std::time::Instant::now();
    drop(held);
    cancelled_by_turn_end(&agent, &id).await;
    assert!(
        lost.elapsed() >= Duration::from_millis(LEASE.0),
        "{:?}",
        lost.elapsed()
    );
    assert_eq!(end_in_log(&world, "s").await, TurnEnd::Interrupted);
    // Begun and never held: the same.
    agent
        .begin_with("never", Some(Life::LeaseMs(LEASE.0)))
        .await;
    assert_eq!(end_in_log(&world, "never").await, TurnEnd::Interrupted);
    drop(attachment);
    replica.stop().await;
}

// contract: E20
async fn a_held_turn_outlives_its_lease(world: World) {
    let (one, two) = (
        world.replica_leasing(LEASE).await,
        world.replica_leasing(LEASE).await,
    );
    let agent = world.agent(&one);
    let elsewhere = agent.moved(&world.agent(&two));
    let context = agent.begin_with("s", Some(Life::LeaseMs(LEASE.0))).await;
    // Held through one replica; the other learns of it from the heartbeat only.
    let mut held = elsewhere.hold(&context).await.unwrap();
    held.confirmed().await;
    let _attached = elsewhere.attach(&[]).await;
    let id = agent.ask(&context, "still there?").await;
    // Time is the subject: three leases pass, as another turn that nobody holds shows.
    for round in 0..3 {
        let name = format!("unheld-{round}");
        agent.begin_with(&name, Some(Life::LeaseMs(LEASE.0))).await;
        assert_eq!(end_in_log(&world, &name).await, TurnEnd::Interrupted);
    }
    assert_eq!(agent.get(&id).await.status, "pending");
    agent.end(&context, "completed").await.unwrap();
    assert_eq!(held.ended().await.as_deref(), Some("completed"));
    one.stop().await;
    two.stop().await;
}

// contract: E20
async fn a_turn_for_a_while_expires(world: World) {
    let (one, two) = (
        world.replica_leasing(LEASE).await,
        world.replica_leasing(LEASE).await,
    );
    let agent = world.agent(&one);
    let context = agent.begin_with("s", Some(Life::ForMs(2_500))).await;
    let _attached = agent.attach(&[]).await;
    let id = agent.ask(&context, "in time?").await;
    // Nobody has to hold it, though anybody may look.
    let held = agent.hold(&context).await.unwrap();
    assert_eq!(held.ended().await.as_deref(), Some("expired"));
    let settled = agent.try_wait(&id).await.unwrap();
    assert_eq!(outcome(&settled).reason, "timeout");
    assert_eq!(end_in_log(&world, "s").await, TurnEnd::Expired);
    let ends = world.events("s").await;
    let ends = ends.iter().filter(|e| matches!(e, Event::Ended { .. }));
    assert_eq!(ends.count(), 1);
    assert_eq!(world.resolutions("s", &id).await, 1);
    one.stop().await;
    two.stop().await;
}

// contract: E20
async fn a_turn_lives_by_the_attachment_of_its_asker(world: World) {
    let replica = world.replica_leasing(LEASE).await;
    let agent = world.agent(&replica);
    let attachment = agent.attach(&[]).await;
    let life = Some(Life::AskerId(agent.asker.clone()));
    let context = agent.begin_with("s", life).await;
    let id = agent.ask(&context, "still there?").await;
    for round in 0..2 {
        let name = format!("unheld-{round}");
        agent.begin_with(&name, Some(Life::LeaseMs(LEASE.0))).await;
        assert_eq!(end_in_log(&world, &name).await, TurnEnd::Interrupted);
    }
    assert_eq!(agent.get(&id).await.status, "pending");
    drop(attachment);
    assert_eq!(end_in_log(&world, "s").await, TurnEnd::Interrupted);
    let id = clarify_id(&id);
    world
        .until(
            "the question is cancelled",
            "s",
            |e| matches!(e, Event::Resolved { clarify_id, .. } if *clarify_id == id),
        )
        .await;
    replica.stop().await;
}

// contract: E20
async fn a_lease_shorter_than_the_heartbeats_of_the_service_is_no_trap(world: World) {
    // These say every five seconds what they hold.
    let (one, two) = (world.replica().await, world.replica().await);
    let agent = world.agent(&one);
    let context = agent.begin_with("s", Some(Life::LeaseMs(LEASE.0))).await;
    let mut held = world.agent(&two).hold(&context).await.unwrap();
    held.confirmed().await;
    // Time is the subject: another turn lives for three of the short leases.
    agent
        .begin_with("timer", Some(Life::ForMs(3 * LEASE.0)))
        .await;
    assert_eq!(end_in_log(&world, "timer").await, TurnEnd::Expired);
    assert_eq!(world.events("s").await.len(), 1);
    agent.end(&context, "completed").await.unwrap();
    assert_eq!(held.ended().await.as_deref(), Some("completed"));
    one.stop().await;
    two.stop().await;
}

async fn keep(agent: &Agent, context: &str) -> KeepTurnResponse {
    let request = KeepTurnRequest {
        context_id: context.to_owned(),
        profile: String::new(),
    };
    let mut turns = agent.host.turns.clone();
    let kept = within("the turn is kept", turns.keep_turn(request)).await;
    kept.unwrap().into_inner()
}

// contract: E20
async fn a_turn_that_is_kept_by_calls_lives_on_every_replica(world: World) {
    let (one, two) = (
        world.replica_leasing(LEASE).await,
        world.replica_leasing(LEASE).await,
    );
    let agent = world.agent(&one);
    let elsewhere = agent.moved(&world.agent(&two));
    let context = agent.begin_with("s", Some(Life::LeaseMs(LEASE.0))).await;
    let _attached = agent.attach(&[]).await;
    let id = agent.ask(&context, "still there?").await;
    // Kept through one replica only; the other hears of it by heartbeat.
    let kept = async {
        loop {
            let kept = keep(&elsewhere, &context).await;
            assert_eq!((kept.ended.as_str(), kept.lease_ms), ("", LEASE.0));
            tokio::time::sleep(Duration::from_millis(LEASE.0 / 4)).await;
        }
    };
    // Time is the subject: three leases pass, as turns that nobody holds show.
    let others = async {
        for round in 0..3 {
            let name = format!("unheld-{round}");
            agent.begin_with(&name, Some(Life::LeaseMs(LEASE.0))).await;
            assert_eq!(end_in_log(&world, &name).await, TurnEnd::Interrupted);
        }
    };
    tokio::select! {
        () = kept => {}
        () = others => {}
    }
    assert_eq!(agent.get(&id).await.status, "pending");
    // Nobody keeps it any more.
    assert_eq!(end_in_log(&world, "s").await, TurnEnd::Interrupted);
    assert_eq!(
        outcome(&agent.try_wait(&id).await.unwrap()).reason,
        "cancelled"
    );
    assert_eq!(keep(&agent, &context).await.ended, "interrupted");
    // One that lives for a while is not kept longer by that.
    let context = agent.begin_with("t", Some(Life::ForMs(60_000))).await;
    let kept = keep(&agent, &context).await;
    assert!(kept.ended.is_empty() && kept.lease_ms <= 60_000, "{kept:?}");
    one.stop().await;
    two.stop().await;
}
