//! A log so long that sessions that were over long before are read last: people see the same as before.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod world;

use askbus_domain::{
    AskerInfo, ClarifyId, Command, Dialect, PlanCommand, PlanId, ProfileId, TurnEnd, UpdateId,
    parse_plan,
};
use serde_json::{Value, json};
use world::{World, now};

/// Messages that are read first, whatever they are about.
const LATEST: u64 = 20;

/// All of the history, in pages of so many.
async fn history(world: &World, token: &str, limit: usize) -> Vec<Value> {
    let (mut all, mut before) = (Vec::new(), String::new());
    loop {
        let path = format!("/api/history?limit={limit}{before}");
        let (status, body) = world.get(&path, token).await;
        assert_eq!(status, 200, "{body}");
        all.extend(body["clarifications"].as_array().unwrap().clone());
        match body["next"].as_u64() {
            Some(next) => before = format!("&before={next}"),
            None => return all,
        }
    }
}

async fn plans(world: &World, token: &str) -> Vec<Value> {
    let (status, body) = world.get("/api/plans", token).await;
    assert_eq!(status, 200, "{body}");
    body["plans"].as_array().unwrap().clone()
}

/// Asks in a turn of a session's own, and somebody answers.
async fn answered(world: &World, session: &str) -> ClarifyId {
    let asked = json!({"question": format!("What of {session}?")});
    let id = world.ask(session, Dialect::Ask, asked).await;
    answer(world, "ann", id, &format!("this of {session}")).await;
    id
}

async fn answer(world: &World, who: &str, id: ClarifyId, text: &str) {
    let path = format!("/api/clarifications/{id}/answer");
    let said = json!({"answers": [{"question_id": "q1", "text": text}]});
    let (_, body) = world.post(&path, &world.person(who), said).await;
    assert!(body["verdict"].is_string(), "{body}");
}

async fn plan(world: &World, session: &str) {
    let (state, _) = world.session("local", session).await;
    let input = json!({"plan": [{"id": "a", "step": session, "status": "in_progress"}]});
    let show = Command::UpdatePlan(Box::new(PlanCommand {
        update_id: UpdateId::new(format!("plan-{session}")).unwrap(),
        plan_id: PlanId::from_uuid(uuid::Uuid::now_v7()),
        context_id: state.active_turn().unwrap().context_id,
        profile: ProfileId::new("default").unwrap(),
        asker: AskerInfo::default(),
        input: parse_plan(&input),
    }));
    world.write("local", session, &show, now()).await;
}

async fn end(world: &World, session: &str) {
    let (state, _) = world.session("local", session).await;
    let end = Command::End {
        context_id: state.active_turn().unwrap().context_id,
        profile: ProfileId::new("default").unwrap(),
        end: TurnEnd::Completed,
    };
    world.write("local", session, &end, now()).await;
}

// contract: E12 E16 E19
#[tokio::test(flavor = "multi_thread")]
async fn the_history_and_the_plans_are_the_same_after_a_restart_with_a_long_log() {
    let mut world = World::start().await;
    let ann = world.person("ann");
    // One goes on from the very first to the last, and what it came to lies between the others.
    answered(&world, "goes on").await;
    let mut old = Vec::new();
    for n in 0..5 {
        let session = format!("old {n}");
        old.push(answered(&world, &session).await);
        plan(&world, &session).await;
        end(&world, &session).await;
    }
    let again = json!({"question": "And again?"});
    let again = world
        .ask_at(("local", "goes on"), Dialect::Ask, again, now())
        .await;
    world.shown(&ann, again).await;
    answer(&world, "ann", again, "yes").await;
    for n in 0..2 * LATEST {
        let session = format!("new {n}");
        plan_alone(&world, &session).await;
    }
    let last = answered(&world, "last").await;
    world.shown_over(&ann, last).await;
    let (before, planned) = (history(&world, &ann, 100).await, plans(&world, &ann).await);
    assert_eq!(before.len(), 8, "{before:?}");
    assert_eq!(planned.len(), 5 + 2 * usize::try_from(LATEST).unwrap());

    world.reopen(LATEST).await;
    for limit in [100, 1, 3] {
        assert_eq!(history(&world, &ann, limit).await, before, "{limit}");
    }
    assert_eq!(plans(&world, &ann).await, planned);

    // Who answers one of them too late, at once after a start, is not lost either.
    world.reopen(LATEST).await;
    answer(&world, "bob", old[0], "too late").await;
    let marker = answered(&world, "marker").await;
    world.shown_over(&ann, marker).await;
    let after = history(&world, &ann, 100).await;
    assert_eq!(after.len(), 9);
    let of_old = after.iter().find(|o| o["clarify_id"] == old[0].to_string());
    let late = &of_old.unwrap()["late_answers"][0];
    assert_eq!(late["actor"]["person"], "bob", "{late}");
    world.end().await;
}

/// A session that shows a plan and is over.
async fn plan_alone(world: &World, session: &str) {
    world.begin("local", session, "default").await;
    plan(world, session).await;
    end(world, session).await;
}
