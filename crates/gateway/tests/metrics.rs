//! Figures: who may see them, and what they say.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod world;

use askbus_credential::Role;
use askbus_domain::Dialect;
use serde_json::json;
use world::{Setup, World};

async fn page(world: &World, token: &str) -> (u16, String) {
    let request = world.http.get(world.url("/metrics"));
    let response = request.bearer_auth(token).send().await.unwrap();
    (response.status().as_u16(), response.text().await.unwrap())
}

#[track_caller]
fn has(page: &str, line: &str) {
    assert!(page.lines().any(|l| l == line), "{line} is not in\n{page}");
}

// contract: D14
#[tokio::test(flavor = "multi_thread")]
async fn only_operators_see_figures_and_only_those_of_their_tenant() {
    let world = World::start().await;
    world.ask("s", Dialect::Ask, json!({"question": "q"})).await;
    let bare = world.http.get(world.url("/metrics")).send().await.unwrap();
    assert_eq!(bare.status(), 401, "a script of this machine is nobody");
    for role in [Role::Agent, Role::Person, Role::Host] {
        let token = world.token(role, "who", "local", &["default"]);
        assert_eq!(page(&world, &token).await.0, 403, "{role:?}");
    }
    let local = world.token(Role::Operator, "ops", "local", &["default"]);
    let acme = world.token(Role::Operator, "ops", "acme", &["default"]);
    let all = world.token(Role::Operator, "ops", "*", &["default"]);
    let waits = "askbus_gateway_waiting{tenant=\"local\"} 1.0";
    for (token, sees) in [(&local, true), (&acme, false), (&all, true)] {
        let (status, text) = page(&world, token).await;
        assert_eq!(status, 200, "{text}");
        assert_eq!(text.contains("tenant=\"local\""), sees, "{text}");
        assert_eq!(text.lines().any(|l| l == waits), sees, "{text}");
        has(&text, "askbus_gateway_slow_consumers_total 0");
        let none_yet = "askbus_gateway_sent_total{tenant=\"local\",verdict=\"settled\"} 0";
        assert_eq!(text.lines().any(|l| l == none_yet), sees, "{text}");
    }
    // The fence stands before this route as before every other.
    let elsewhere = world.http.get(world.url("/metrics")).bearer_auth(&local);
    let elsewhere = elsewhere.header("origin", "http://evil.example");
    assert_eq!(elsewhere.send().await.unwrap().status(), 403);
    world.end().await;

    let theirs = World::with(Setup {
        tenants: "acme",
        ..Setup::default()
    })
    .await;
    let local = theirs.token(Role::Operator, "ops", "local", &["default"]);
    assert_ne!(page(&theirs, &local).await.0, 200, "it is not served here");
    theirs.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_figures_after_a_known_story() {
    let world = World::start().await;
    let ann = world.person("ann");
    let ops = world.token(Role::Operator, "ops", "local", &["default"]);
    let mut socket = world.socket("/ws", &ann).await;
    socket.replay().await;
    let first = world.ask("s", Dialect::Ask, json!({"question": "1"})).await;
    world.ask("t", Dialect::Ask, json!({"question": "2"})).await;
    world.shown(&ann, first).await;
    let path = format!("/api/clarifications/{first}/answer");
    let answer = |id: &str, text: &str| json!({"answer_id": id, "answers": [{"question_id": "q1", "option_ids": [], "text": text}]});
    assert_eq!(world.post(&path, &ann, answer("a", "yes")).await.0, 200);
    assert_eq!(world.post(&path, &ann, answer("b", "no")).await.0, 409);
    let (status, text) = page(&world, &ops).await;
    assert_eq!(status, 200);
    for line in [
        "askbus_gateway_sent_total{tenant=\"local\",verdict=\"settled\"} 1",
        "askbus_gateway_sent_total{tenant=\"local\",verdict=\"conflict\"} 1",
        "askbus_gateway_sent_total{tenant=\"local\",verdict=\"not_sent\"} 0",
        "askbus_gateway_verdict_seconds_count{tenant=\"local\"} 2",
        "askbus_gateway_waiting{tenant=\"local\"} 1.0",
        "askbus_gateway_sockets{tenant=\"local\"} 1.0",
        "askbus_gateway_drafts_lost_total{tenant=\"local\"} 0",
        "askbus_gateway_log_lag 0.0",
        "askbus_gateway_slow_consumers_total 0",
    ] {
        has(&text, line);
    }
    assert!(!text.contains("yes"), "{text}");
    world.end().await;
}
