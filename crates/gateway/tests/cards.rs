//! Whom a question is meant for, and questions that nobody was asked.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod world;

use askbus_credential::Role;
use askbus_domain::{ClarifyId, Dialect, Presence};
use serde_json::{Value, json};
use world::{Asked, World, now};

fn answer_of(id: ClarifyId) -> String {
    format!("/api/clarifications/{id}/answer")
}

// contract: E5
#[tokio::test(flavor = "multi_thread")]
async fn only_those_a_question_is_meant_for_answer_it() {
    let world = World::start().await;
    let addressed = |to: &str| json!({"question": "Ship it?", "options": ["yes", "no"], "to": to});
    let yes = json!({"answers": [{"option_ids": ["o1"]}], "text": "by me"});
    let everybody = [
        world.grouped("ann", &[]),
        world.grouped("bob", &["room:x", "ops"]),
        world.grouped("cid", &["room:y"]),
        world.token(Role::Operator, "owner", "local", &["default"]),
    ];
    for (n, (to, may)) in [
        ("group:room:x", [false, true, false, true]),
        ("cid", [false, false, true, true]),
        ("person:ann", [true, false, false, true]),
    ]
    .into_iter()
    .enumerate()
    {
        for (who, token) in everybody.iter().enumerate() {
            let case = format!("{to}: person {who}");
            let session = format!("s{n}-{who}");
            let id = world.ask(&session, Dialect::Ask, addressed(to)).await;
            let hold = format!("/api/clarifications/{id}/hold");
            let (held, _) = world.post(&hold, token, json!({})).await;
            let (status, object) = world.post(&answer_of(id), token, yes.clone()).await;
            if may[who] {
                assert_eq!((held, status), (200, 200), "{case}: {object}");
                continue;
            }
            assert_eq!((held, status), (403, 403), "{case}: {object}");
            assert_eq!(object["reason"], "NOT_ADDRESSED", "{case}");
            assert_eq!(object["kept"], true, "{case}: {object}");
            let (session, _) = world.session("local", &session).await;
            let question = session.clarification(id).unwrap();
            assert!(question.is_pending(), "{case}");
            assert_eq!(question.held_by, None, "{case}");
        }
    }
    world.end().await;
}

/// Asks when nobody is there.
async fn ask_nobody(world: &World, session: &str, when_absent: &str) -> ClarifyId {
    let arguments = json!({
        "question": "Which one?",
        "options": ["red", "green"],
        "recommended": 1,
        "when_absent": when_absent,
    });
    let asked = Asked {
        dialect: Dialect::Ask,
        arguments,
        presence: Presence::Absent,
    };
    world.ask_as(("local", session), asked, now()).await
}

// contract: E12 A6 A7
#[tokio::test(flavor = "multi_thread")]
async fn what_was_settled_at_once_is_history_and_never_before_anybody() {
    let world = World::start().await;
    let ann = world.person("ann");
    let mut studio = world.socket("/ws", &ann).await;
    studio.replay().await;
    let mut interaction = world.socket("/ws?dialect=interaction", &ann).await;
    world.begin("local", "s", "default").await;
    let mut at_once = Vec::new();
    for (when_absent, reason) in [
        ("unattended", "unattended"),
        ("deferred", "deferred"),
        // Two in a row stayed unanswered.
        ("unattended", "off"),
    ] {
        let id = ask_nobody(&world, "s", when_absent).await;
        at_once.push((id.to_string(), reason));
    }
    let waits = world
        .ask("t", Dialect::Ask, json!({"question": "And now?"}))
        .await
        .to_string();
    let shown = |o: &Value| o["event"] == "clarify.requested" && o["clarify_id"] == waits;
    let told = studio.collect_until(shown).await;
    let requested: Vec<&Value> = told
        .iter()
        .filter(|o| o["event"] == "clarify.requested")
        .map(|o| &o["clarify_id"])
        .collect();
    assert_eq!(requested, [&json!(waits)], "{told:?}");
    // Who follows the history hears how they ended.
    let ended: Vec<(&Value, &Value)> = told
        .iter()
        .filter(|o| o["event"] == "clarify.resolved")
        .map(|o| (&o["clarify_id"], &o["outcome_reason"]))
        .collect();
    let expected: Vec<(Value, Value)> = at_once
        .iter()
        .map(|(id, reason)| (json!(id), json!(reason)))
        .collect();
    let expected: Vec<(&Value, &Value)> = expected.iter().map(|(i, r)| (i, r)).collect();
    assert_eq!(ended, expected);
    // Clients of the other dialect know only what was before them, live and in a replay.
    let mut replayed = world.socket("/ws?dialect=interaction&after=0", &ann).await;
    for socket in [&mut interaction, &mut replayed] {
        let first = socket.next().await.unwrap();
        assert_eq!(first["type"], "clarify_request", "{first}");
        assert_eq!(first["data"]["requestId"], waits, "{first}");
    }
    let (_, pending) = world.get("/api/clarifications", &ann).await;
    let pending = pending["clarifications"].as_array().unwrap();
    assert_eq!(pending.len(), 1, "{pending:?}");
    let (_, settled) = world.get("/api/clarifications?status=settled", &ann).await;
    let settled: Vec<(&Value, &Value)> = settled["clarifications"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| (&c["clarify_id"], &c["reason"]))
        .collect();
    assert_eq!(settled, expected.into_iter().rev().collect::<Vec<_>>());
    world.end().await;
}
