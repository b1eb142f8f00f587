//! Plans over real replicas: one order for all writers, one outcome for each update, one end with the
//! turn (E16).

use crate::agent::{Agent, code};
use crate::crashes::Deadly;
use crate::metrics::Page;
use crate::world::{Setup, World, within};
use askbus_domain::{Event, ExecutionState, Millis, PlanEnd};
use askbus_ledger::Bus;
use askbus_wire::error::ErrorCode;
use askbus_wire::proto::begin_turn_request::Life;
use askbus_wire::proto::update_plan_request::Input;
use askbus_wire::proto::{
    BeginTurnRequest, Plan, PlanInput, PlanStep, UpdatePlanRequest, addressee,
};
use std::collections::BTreeSet;
use std::sync::Arc;
use tokio::sync::mpsc;
use tonic::Status;

on_both!(
    writers_on_several_replicas_have_one_order_without_gaps,
    a_repeated_update_returns_its_first_outcome_on_every_replica,
    an_update_counts_once_when_its_replica_dies_around_the_writing,
    a_plan_nobody_works_on_is_interrupted_after_a_restart,
    a_turn_of_a_room_asks_its_managers,
);

fn step(id: &str, status: &str) -> PlanStep {
    PlanStep {
        id: id.to_owned(),
        step: format!("do {id}"),
        status: status.to_owned(),
    }
}

async fn try_update(
    agent: &Agent,
    context: &str,
    update_id: &str,
    steps: Vec<PlanStep>,
) -> Result<Plan, Status> {
    let input = PlanInput {
        explanation: None,
        plan: steps,
    };
    let request = UpdatePlanRequest {
        update_id: update_id.to_owned(),
        context_id: context.to_owned(),
        profile: String::new(),
        input: Some(Input::Plan(input)),
        plan_alone: false,
        asker: None,
    };
    let mut plans = agent.client.plans.clone();
    let updated = within("a plan is shown", plans.update(request)).await?;
    Ok(updated.into_inner().plan.expect("a plan"))
}

async fn update(agent: &Agent, context: &str, update_id: &str, id: &str) -> Plan {
    let steps = vec![step(id, "pending")];
    try_update(agent, context, update_id, steps).await.unwrap()
}

// contract: E16
#[tokio::test(start_paused = true)]
async fn what_was_shown_and_what_was_refused_is_counted() {
    let world = World::in_memory();
    let replica = world.replica_with(Setup::in_memory(), |bus| bus).await;
    let agent = world.agent(&replica);
    let context = agent.begin("s").await;
    for n in 0..3 {
        update(&agent, &context, &format!("u{n}"), "a").await;
    }
    // Once more is the same update.
    update(&agent, &context, "u2", "a").await;
    let refused = try_update(&agent, &context, "u3", Vec::new()).await;
    assert_eq!(code(&refused.unwrap_err()), ErrorCode::InvalidPlan);
    let unknown = try_update(&agent, "nobody's", "u4", vec![step("a", "pending")]).await;
    assert_eq!(code(&unknown.unwrap_err()), ErrorCode::ContextExpired);
    Page::of(&replica).await.expect(&[
        ("plans_updated_total{tenant=\"local\"}", 3.0),
        ("plans_refused_total{tenant=\"local\"}", 2.0),
        ("asked_total{tenant=\"local\"}", 0.0),
    ]);
    replica.stop().await;
}

// contract: E16
async fn writers_on_several_replicas_have_one_order_without_gaps(world: World) {
    const EACH: u64 = 60;
    let (one, two) = (world.replica().await, world.replica().await);
    let (first, second) = (world.agent(&one), world.agent(&two));
    let context = first.begin("s").await;
    let writer = |agent: Agent, name: &'static str| {
        let context = context.clone();
        tokio::spawn(async move {
            let mut revisions = Vec::new();
            for n in 0..EACH {
                let id = format!("{name}-{n}");
                let shown = update(&agent, &context, &id, &id).await;
                assert_eq!(shown.plan[0].id, id, "as this update left it");
                revisions.push(shown.revision);
            }
            assert!(revisions.is_sorted());
            revisions
        })
    };
    let writers = [
        writer(first.clone(), "a"),
        writer(first.clone(), "b"),
        writer(second.clone(), "c"),
    ];
    let mut seen = BTreeSet::new();
    for done in writers {
        let revisions = within("a writer is done", done).await.unwrap();
        assert!(revisions.into_iter().all(|revision| seen.insert(revision)));
    }
    assert!(seen.into_iter().eq(1..=3 * EACH));
    // The log has them in that order, and all are one plan.
    let plans: Vec<_> = world
        .events("s")
        .await
        .into_iter()
        .filter_map(|event| match event {
            Event::Plan { plan, .. } => Some((plan.revision, plan.plan_id)),
            _ => None,
        })
        .collect();
    assert!(plans.iter().map(|(revision, _)| *revision).eq(1..=3 * EACH));
    let ids: BTreeSet<_> = plans.iter().map(|(_, id)| *id).collect();
    assert_eq!(ids.len(), 1);
    one.stop().await;
    two.stop().await;
}

// contract: E16
async fn a_repeated_update_returns_its_first_outcome_on_every_replica(world: World) {
    let (one, two) = (world.replica().await, world.replica().await);
    let (agent, elsewhere) = (world.agent(&one), world.agent(&two));
    let context = agent.begin("s").await;
    let first = update(&agent, &context, "u1", "a").await;
    assert_eq!(update(&elsewhere, &context, "u1", "other").await, first);
    update(&elsewhere, &context, "u2", "b").await;
    assert_eq!(update(&agent, &context, "u1", "a").await, first);
    agent.end(&context, "completed").await.unwrap();
    for agent in [&agent, &elsewhere] {
        assert_eq!(update(agent, &context, "u1", "a").await, first);
        let refused = try_update(agent, &context, "u3", vec![step("c", "pending")]).await;
        assert_eq!(code(&refused.unwrap_err()), ErrorCode::NoActiveTurn);
    }
    one.stop().await;
    two.stop().await;
}

// contract: E16
async fn an_update_counts_once_when_its_replica_dies_around_the_writing(world: World) {
    let well = world.replica().await;
    let agent = world.agent(&well);
    for writes in [false, true] {
        let session = format!("written-{writes}");
        let context = agent.begin(&session).await;
        let (reached, mut dying) = mpsc::unbounded_channel();
        let change = |bus: Bus| Bus {
            ledger: Arc::new(Deadly {
                inner: bus.ledger,
                at: |event| matches!(event, Event::Plan { .. }),
                writes,
                reached,
            }),
            ..bus
        };
        let ill = world.replica_with(Setup::default(), change).await;
        let patient = world.agent(&ill);
        let (at, asked) = (context.clone(), patient.clone());
        let lost = tokio::spawn(async move {
            let steps = vec![step("a", "in_progress")];
            try_update(&asked, &at, "u1", steps).await
        });
        within("the replica dies", dying.recv()).await.unwrap();
        lost.abort();
        // The same again at one that lives: stored once, whichever of the two stored it.
        let shown = update(&agent, &context, "u1", "a").await;
        assert_eq!(shown.revision, 1);
        assert_eq!(
            shown.plan[0].status,
            if writes { "in_progress" } else { "pending" }
        );
        assert_eq!(update(&agent, &context, "u2", "a").await.revision, 2);
        let events = world.events(&session).await;
        let plans = events.iter().filter(|e| matches!(e, Event::Plan { .. }));
        assert_eq!(plans.count(), 2);
        // It never gets any further.
        drop(ill);
    }
    well.stop().await;
}

/// How the plan of a session ended, once it has.
async fn plan_end(world: &World, session: &str) -> PlanEnd {
    let ended = world
        .until("the turn ends", session, |e| {
            matches!(e, Event::Ended { .. })
        })
        .await;
    match ended {
        Event::Ended { plan, .. } => plan.expect("its plan ends with it"),
        other => panic!("{other:?}"),
    }
}

// contract: E16, E20
async fn a_plan_nobody_works_on_is_interrupted_after_a_restart(world: World) {
    let replica = world.replica_leasing(Millis(1_000)).await;
    let agent = world.agent(&replica);
    let context = agent.begin_with("s", Some(Life::LeaseMs(1_000))).await;
    update(&agent, &context, "u1", "a").await;
    replica.stop().await;
    // Nobody holds the turn while nobody is there to hear it, and nobody does afterwards.
    let replica = world.replica_leasing(Millis(1_000)).await;
    let ended = plan_end(&world, "s").await;
    assert_eq!(
        (ended.revision, ended.execution_state),
        (2, ExecutionState::Interrupted)
    );
    let agent = world.agent(&replica);
    let refused = try_update(&agent, &context, "u2", vec![step("a", "pending")]);
    assert_eq!(code(&refused.await.unwrap_err()), ErrorCode::NoActiveTurn);
    replica.stop().await;
}

// contract: E18
async fn a_turn_of_a_room_asks_its_managers(world: World) {
    let replica = world.replica().await;
    let agent = world.agent(&replica);
    let begin = |room: &str| BeginTurnRequest {
        session_id: "s".into(),
        group_chat: true,
        room_id: room.to_owned(),
        life: Some(Life::ForMs(600_000)),
        ..BeginTurnRequest::default()
    };
    let begun = agent.try_begin(begin("42")).await.unwrap();
    let id = agent.ask(&begun.context_id, "Deploy?").await;
    let asked = agent.get(&id).await;
    let to = asked.to.and_then(|to| to.to);
    assert_eq!(to, Some(addressee::To::Group("room:42".into())));
    let refused = agent.try_begin(begin(&"x".repeat(200))).await.unwrap_err();
    assert_eq!(code(&refused), ErrorCode::InvalidRequest);
    replica.stop().await;
}
