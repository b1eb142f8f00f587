//! Who knows the log from elsewhere: from a gateway that is ahead, or from another log.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod world;

use askbus_domain::{AskerInfo, parse_plan};
use askbus_domain::{Command, Dialect, PlanCommand, PlanId, ProfileId, TurnEnd, UpdateId};
use serde_json::{Value, json};
use std::sync::Arc;
use world::second::Late;
use world::{Socket, World, now};

/// A session whose plan has ended with its turn.
async fn planned_once(world: &World, session: &str) {
    let context_id = world.begin("local", session, "default").await;
    let profile = ProfileId::new("default").unwrap();
    let plan = json!({"plan": [{"id": "a", "step": "look", "status": "completed"}]});
    let show = Command::UpdatePlan(Box::new(PlanCommand {
        update_id: UpdateId::new("u").unwrap(),
        plan_id: PlanId::from_uuid(uuid::Uuid::now_v7()),
        context_id,
        profile: profile.clone(),
        asker: AskerInfo::default(),
        input: parse_plan(&plan),
    }));
    world.write("local", session, &show, now()).await;
    let end = Command::End {
        context_id,
        profile,
        end: TurnEnd::Completed,
    };
    world.write("local", session, &end, now()).await;
}

fn named(events: &[Value]) -> Vec<&str> {
    events.iter().filter_map(|e| e["event"].as_str()).collect()
}

// contract: E12
#[tokio::test(flavor = "multi_thread")]
async fn who_comes_from_another_log_is_told_what_is_the_case() {
    let world = World::start().await;
    let ann = world.person("ann");
    planned_once(&world, "over").await;
    let id = world
        .ask("s", Dialect::Ask, json!({"question": "Here?"}))
        .await;
    let last = world.bus.ledger.last_seq().await.unwrap();
    // As after the folder was removed under an open page: this log has never been there.
    let ahead = last + 1_000;
    let mut socket = world.socket(&format!("/ws?after={ahead}"), &ann).await;
    let told = socket.replay().await;
    let expected = ["hello", "clarify.requested", "plan.updated", "ready"];
    assert_eq!(named(&told), expected, "{told:?}");
    assert_eq!(told[0]["seq"], last, "from where it goes on");
    assert_eq!(told[3]["pending"], json!([id.to_string()]));

    let path = format!("/api/events?after={ahead}");
    let (status, body) = world.get(&path, &ann).await;
    let told = body["events"].as_array().unwrap();
    assert_eq!((status, named(told)), (200, expected.to_vec()), "{body}");
    assert_eq!(body["seq"], last);
    world.end().await;
}

/// A gateway that shows the log late, and what somebody knows of it from another one.
async fn behind(world: &World, opens_when_asked: bool) -> (world::second::Second, u64, String) {
    let late = Late::new(Arc::clone(&world.bus.ledger), opens_when_asked);
    let mut bus = world.bus.clone();
    bus.ledger = late.clone();
    let second = world.second(&bus).await;
    late.shut();
    let id = world
        .ask("s", Dialect::Ask, json!({"question": "Which?"}))
        .await;
    let known = world.bus.ledger.last_seq().await.unwrap();
    (second, known, id.to_string())
}

// contract: E12
#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_that_is_behind_says_nothing_before_it_has_caught_up() {
    let mut world = World::start().await;
    let ann = world.person("ann");
    let (second, known, id) = behind(&world, true).await;
    let own = std::mem::replace(&mut world.address, second.address());
    let mut socket: Socket = world.socket(&format!("/ws?after={known}"), &ann).await;
    let told = socket.replay().await;
    assert!(told[0]["seq"].as_u64().unwrap() >= known, "{told:?}");
    let ready = told.last().unwrap();
    assert_eq!(ready["pending"], json!([id]), "it still waits");
    drop(socket);
    world.address = own;
    second.end().await;
    world.end().await;
}

// contract: E12
#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_that_stays_behind_sends_people_elsewhere() {
    let mut world = World::start().await;
    let ann = world.person("ann");
    let (second, known, _) = behind(&world, false).await;
    let own = std::mem::replace(&mut world.address, second.address());
    let (path, events) = (
        format!("/ws?after={known}"),
        format!("/api/events?after={known}"),
    );
    let closed = async { world.socket(&path, &ann).await.next().await };
    let (closed, (status, body)) = tokio::join!(closed, world.get(&events, &ann));
    assert_eq!(closed, Err(Some(1013)), "try again, elsewhere");
    assert_eq!(
        (status, &body["reason"]),
        (503, &json!("UNAVAILABLE")),
        "{body}"
    );
    world.address = own;
    second.end().await;
    world.end().await;
}
