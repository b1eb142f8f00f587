//! Frames of a socket: long ones, and many at once.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod world;

use askbus_credential::Role;
use askbus_domain::{ClarifyId, Dialect};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use world::{World, now};

// contract: N3 E12
#[tokio::test(flavor = "multi_thread")]
async fn what_is_too_large_is_refused_by_its_name_and_the_connection_stays() {
    let world = World::start().await;
    let question = |n: usize| json!({"question": format!("Number {n}?")});
    let questions: Vec<Value> = (0..5).map(question).collect();
    let id = world
        .ask("s", Dialect::Ask, json!({"questions": questions}))
        .await;
    let mut socket = world.socket("/ws", &world.person("ann")).await;
    let hello = socket.until(|o| o["event"] == "hello").await;
    assert_eq!(hello["limits"]["frame_bytes"], 1024 * 1024);
    let answers = |text: &str| -> Vec<Value> {
        let answer = |n| json!({"question_id": format!("q{n}"), "text": text});
        (1..=5).map(answer).collect()
    };
    // Each text is short enough; together they are more than is kept of one answer.
    let long = "答".repeat(19_000);
    socket
        .send(
            json!({"event": "clarify.respond", "clarify_id": id, "answer_id": "long",
            "action": "answer", "answers": answers(&long)}),
        )
        .await;
    let refused = socket.until(|o| o["event"] == "clarify.resolved").await;
    assert_eq!(
        (
            &refused["resolved"],
            &refused["reason"],
            &refused["answer_id"]
        ),
        (&json!(false), &json!("TOO_LARGE"), &json!("long")),
        "{refused}"
    );
    assert_eq!(refused["clarify_id"], id.to_string());
    socket
        .send(json!({"event": "clarify.draft", "clarify_id": id, "text": "x".repeat(300 * 1024)}))
        .await;
    let error = socket.until(|o| o["event"] == "error").await;
    assert_eq!(error["reason"], "TOO_LARGE", "{error}");
    socket
        .send(
            json!({"event": "clarify.respond", "clarify_id": id, "answer_id": "short",
            "action": "answer", "answers": answers("so")}),
        )
        .await;
    let settled = socket.until(|o| o["event"] == "clarify.resolved").await;
    assert_eq!(settled["resolved"], true, "{settled}");
    world.end().await;
}

// contract: A4 N3
#[tokio::test(flavor = "multi_thread")]
async fn of_many_at_once_each_is_taken() {
    let world = World::start().await;
    let mut ids: BTreeSet<String> = BTreeSet::new();
    let mut last: Option<ClarifyId> = None;
    for session in 0..10 {
        let session = format!("s{session}");
        world.begin("local", &session, "default").await;
        for n in 0..10 {
            let asked = json!({"question": format!("Which, {n}?"), "options": ["a", "b"], "timeout_s": 900});
            let id = world
                .ask_at(("local", &session), Dialect::Ask, asked, now())
                .await;
            ids.insert(id.to_string());
            last = Some(id);
        }
    }
    let ann = world.person("ann");
    world.shown(&ann, last.unwrap()).await;
    let mut socket = world.socket("/ws", &ann).await;
    socket.replay().await;
    for id in &ids {
        socket
            .send(json!({"event": "clarify.hold", "clarify_id": id}))
            .await;
    }
    let mut held = BTreeSet::new();
    while held.len() < ids.len() {
        let object = socket.next().await.unwrap();
        assert_ne!(object["event"], "error", "{object}");
        if object["event"] == "clarify.held" {
            held.insert(object["clarify_id"].as_str().unwrap().to_owned());
        }
    }
    assert_eq!(held, ids);
    world.end().await;
}

// contract: E12
#[tokio::test(flavor = "multi_thread")]
async fn a_credential_that_was_revoked_does_nothing_more_over_an_open_socket() {
    let world = World::start().await;
    let (token, token_id) = world.issued(Role::Person, "ann", "local", &["default"]);
    let id = world
        .ask("s", Dialect::Ask, json!({"question": "Approve?"}))
        .await;
    let mut socket = world.socket("/ws", &token).await;
    socket.replay().await;
    world.revoke(&token_id);
    let onlooker = world.person("onlooker");
    // Revoked once a new request is refused: the list is read when its file changes.
    while world.get("/api/me", &token).await.0 == 200 {
        tokio::task::yield_now().await;
    }
    socket
        .send(json!({"event": "clarify.respond", "clarify_id": id, "response": "yes"}))
        .await;
    assert_eq!(socket.next().await, Err(Some(1008)));
    let (_, waiting) = world.get("/api/clarifications", &onlooker).await;
    assert_eq!(waiting["clarifications"].as_array().unwrap().len(), 1);
    world.end().await;
}
