//! The hosts' routes for turns, as far as the gateway alone decides; what session-binding makes of
//! them is tested through the whole program.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod world;

use askbus_credential::Role;
use serde_json::{Value, json};
use world::World;

const ROUTES: [&str; 4] = [
    "/api/turns/begin",
    "/api/turns/0197f0f6-0000-4000-8000-000000000001/hold",
    "/api/turns/0197f0f6-0000-4000-8000-000000000001/end",
    "/api/turns/0197f0f6-0000-4000-8000-000000000001/tool-use",
];

fn told((status, body): &(u16, Value)) -> (u16, &str) {
    assert_eq!(body["ok"], false, "{body}");
    (*status, body["reason"].as_str().unwrap())
}

/// The least that a call has to say.
fn least(route: &str) -> Value {
    if route.ends_with("/end") {
        return json!({"end": "completed"});
    }
    json!({})
}

// contract: E20
#[tokio::test(flavor = "multi_thread")]
async fn how_a_turn_ended_is_said_and_not_guessed() {
    let world = World::start().await;
    let host = world.token(Role::Host, "ci", "local", &["default"]);
    let end = ROUTES.iter().find(|route| route.ends_with("/end")).unwrap();
    for body in [json!({}), json!({"end": ""}), json!({"profile": "default"})] {
        let refused = world.post(end, &host, body).await;
        assert_eq!(told(&refused), (400, "INVALID_REQUEST"));
        let said = refused.1["error"].as_str().unwrap();
        assert!(said.contains("completed"), "{said}");
    }
    world.end().await;
}

// contract: E6
#[tokio::test(flavor = "multi_thread")]
async fn without_a_session_binding_every_call_says_that_nothing_was_done() {
    let world = World::start().await;
    let host = world.token(Role::Host, "ci", "local", &["default"]);
    for route in ROUTES {
        let refused = world.post(route, &host, least(route)).await;
        assert_eq!(told(&refused), (503, "UNAVAILABLE"), "{route}");
    }
    world.end().await;
}

// contract: E6 D14
#[tokio::test(flavor = "multi_thread")]
async fn turns_are_a_hosts_alone() {
    let world = World::start().await;
    for route in ROUTES {
        for role in [Role::Person, Role::Operator, Role::Agent] {
            let token = world.token(role, "ann", "local", &["default"]);
            let refused = world.post(route, &token, json!({})).await;
            assert_eq!(told(&refused), (403, "FORBIDDEN"), "{route}");
        }
        let refused = world.post(route, "no-credential", json!({})).await;
        assert_eq!(told(&refused), (401, "UNAUTHENTICATED"), "{route}");
    }
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_is_not_understood_is_refused_before_anything_is_called() {
    let world = World::start().await;
    let host = world.token(Role::Host, "ci", "local", &["default"]);
    for route in ROUTES {
        for (body, named) in [
            (json!({"contextid": "x"}), "contextid"),
            (json!({"profile": 7}), "7"),
            (json!("profile"), "object"),
            (json!([]), "object"),
        ] {
            let refused = world.post(route, &host, body).await;
            assert_eq!(told(&refused), (400, "INVALID_REQUEST"), "{route}");
            let said = refused.1["error"].as_str().unwrap();
            assert!(said.contains(named), "{route}: {said}");
        }
    }
    world.end().await;
}
