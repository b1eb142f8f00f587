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

// contract: E9 A8 D15
#[tokio::test(flavor = "multi_thread")]
async fn a_card_tells_what_it_was_asked_under() {
    let world = World::start().await;
    world.begin("local", "s", "default").await;
    ask_nobody(&world, "s", "unattended").await;
    let arguments = json!({
        "questions": [{
            "question": "Which ones?",
            "explanation": "Both may go.",
            "options": ["red", "green", "blue"],
            "multi_select": true,
            "min_select": 1,
            "max_select": 2,
        }],
        "to": "group:ops",
        "timeout_s": 0.2,
        "on_timeout": "adopt",
        "when_absent": "deferred",
    });
    let id = world
        .ask_at(("local", "s"), Dialect::Ask, arguments, now())
        .await
        .to_string();
    let (ann, bob) = (world.grouped("ann", &["ops"]), world.person("bob"));
    for (token, may_answer) in [(&ann, true), (&bob, false)] {
        let mut socket = world.socket("/ws", token).await;
        let event = socket.until(|o| o["clarify_id"] == id.as_str()).await;
        let path = format!("/api/clarifications/{id}");
        let card = world.get(&path, token).await.1["clarification"].clone();
        for told in [&event, &card] {
            assert_eq!(told["to"], json!({"group": "ops"}), "{told}");
            assert_eq!(told["may_answer"], may_answer, "{told}");
            assert_eq!(told["on_timeout"], "adopt", "{told}");
            assert_eq!(told["when_absent"], "deferred", "{told}");
            assert_eq!(
                told["adjusted"],
                json!({"asked": 200, "granted": 1_000, "by": "minimum"}),
                "{told}"
            );
            assert_eq!(told["turn"], json!({"asked": 2, "auto": 1}), "{told}");
            assert_eq!(told["parent"], Value::Null, "{told}");
            let question = &told["questions"][0];
            assert_eq!(question["explanation"], "Both may go.", "{told}");
            assert_eq!(question["select"], json!({"min": 1, "max": 2}), "{told}");
        }
    }
    // A turn that begins counts anew, and what was asked before keeps its figures.
    world.begin("local", "s", "default").await;
    let next = world
        .ask_at(
            ("local", "s"),
            Dialect::Ask,
            json!({"question": "And?"}),
            now(),
        )
        .await;
    world.shown(&bob, next).await;
    for (id, figures) in [
        (id, json!({"asked": 2, "auto": 1})),
        (next.to_string(), json!({"asked": 1, "auto": 0})),
    ] {
        let (_, object) = world.get(&format!("/api/clarifications/{id}"), &bob).await;
        assert_eq!(object["clarification"]["turn"], figures, "{object}");
    }
    world.end().await;
}

// contract: E10
#[tokio::test(flavor = "multi_thread")]
async fn one_question_of_several_may_be_declined() {
    let world = World::start().await;
    let ann = world.person("ann");
    let both = json!({"questions": ["Where?", "When?"]});
    for (session, answers, reason) in [
        (
            "s1",
            json!([{"question_id": "q1", "text": "here"}, {"question_id": "q2", "dismissed": true}]),
            "response",
        ),
        (
            "s2",
            json!([{"question_id": "q1", "dismissed": true}, {"question_id": "q2", "dismissed": true}]),
            "dismissed",
        ),
    ] {
        let id = world.ask(session, Dialect::Ask, both.clone()).await;
        let body = json!({"answers": answers});
        let (status, object) = world.post(&answer_of(id), &ann, body).await;
        assert_eq!(
            (status, &object["reason"]),
            (200, &json!(reason)),
            "{object}"
        );
        let (declined, answered) = match reason {
            "response" => (json!(["q2"]), 1),
            _ => (json!(["q1", "q2"]), 0),
        };
        assert_eq!(object["dismissed_questions"], declined, "{object}");
        assert_eq!(object["unanswered"], declined, "{object}");
        assert_eq!(object["answers"].as_array().unwrap().len(), answered);
    }
    // Declined and answered at once is neither.
    let id = world.ask("s3", Dialect::Ask, both).await;
    let body = json!({"answers": [{"question_id": "q1", "text": "here", "dismissed": true}]});
    let (status, object) = world.post(&answer_of(id), &ann, body).await;
    assert_eq!((status, &object["reason"]), (400, &json!("INVALID_ANSWER")));
    world.end().await;
}

// contract: E6
#[tokio::test(flavor = "multi_thread")]
async fn the_author_of_a_late_answer_sends_it_on() {
    let world = World::start().await;
    let question = json!({"question": "Which?", "options": ["red", "green"]});
    let choose =
        |option: &str, id: &str| json!({"answer_id": id, "answers": [{"option_ids": [option]}]});
    let (ann, bob) = (world.person("ann"), world.person("bob"));
    let mut socket = world.socket("/ws", &bob).await;
    socket.replay().await;
    for (session, over_socket) in [("s1", false), ("s2", true)] {
        let id = world.ask(session, Dialect::Ask, question.clone()).await;
        world.post(&answer_of(id), &ann, choose("o1", "A")).await;
        let (status, object) = world.post(&answer_of(id), &bob, choose("o2", "B")).await;
        assert_eq!((status, &object["verdict"]), (409, &json!("conflict")));
        let path = format!("/api/clarifications/{id}");
        socket
            .until(|o| o["event"] == "clarify.late" && o["clarify_id"] == id.to_string())
            .await;
        let card = world.get(&path, &bob).await.1["clarification"].clone();
        assert_eq!(card["late_answers"][0]["may_pass_on"], true, "{card}");
        assert_eq!(card["late_answers"][0]["goes_on"], Value::Null, "{card}");
        // Nobody else does.
        let pass = json!({"answer_id": "B"});
        let (status, object) = world
            .post(&format!("{path}/pass-on"), &ann, pass.clone())
            .await;
        assert_eq!(
            (status, &object["reason"]),
            (400, &json!("INVALID_ANSWER")),
            "{object}"
        );
        if over_socket {
            socket
                .send(json!({"event": "clarify.pass_on", "clarify_id": id, "answer_id": "B"}))
                .await;
            let passed = socket.until(|o| o["event"] == "clarify.passed_on").await;
            assert_eq!(passed["goes_on"], "next_result", "{passed}");
            assert_eq!(passed["passed_on"], true, "{passed}");
            assert_eq!(passed["answer_id"], "B", "{passed}");
        } else {
            // Twice is once.
            for _ in 0..2 {
                let (status, object) = world
                    .post(&format!("{path}/pass-on"), &bob, pass.clone())
                    .await;
                assert_eq!(status, 200, "{object}");
                assert_eq!(object["verdict"], "passed_on", "{object}");
                assert_eq!(object["goes_on"], "next_result", "{object}");
            }
        }
        let next = world
            .ask_at(("local", session), Dialect::Ask, question.clone(), now())
            .await;
        world.shown(&ann, next).await;
        let (_, object) = world.post(&answer_of(next), &ann, choose("o1", "C")).await;
        let late = object["late"].as_array().unwrap();
        assert_eq!(late.len(), 1, "{object}");
        assert_eq!(late[0]["actor"]["person"], "bob", "{object}");
        assert_eq!(
            late[0]["answers"][0]["options"][0]["label"], "green",
            "{object}"
        );
    }
    world.end().await;
}

// contract: E6
#[tokio::test(flavor = "multi_thread")]
async fn a_late_answer_says_where_it_goes() {
    let world = World::start().await;
    let ann = world.person("ann");
    world.begin("local", "s", "default").await;
    let minutes_ago =
        |n: i64| askbus_domain::Timestamp::from_unix_millis(now().unix_millis() - n * 60_000);
    let asked = json!({"question": "Which?", "timeout_s": 60});
    let id = world
        .ask_at(("local", "s"), Dialect::Ask, asked, minutes_ago(5))
        .await;
    world.shown(&ann, id).await;
    let body = json!({"answers": [{"text": "too late"}]});
    let (status, object) = world.post(&answer_of(id), &ann, body).await;
    assert_eq!(
        (status, &object["verdict"]),
        (409, &json!("late")),
        "{object}"
    );
    assert_eq!(object["goes_on"], "next_result", "{object}");
    let error = object["error"].as_str().unwrap();
    assert!(
        error.contains("reaches the agent with its next result"),
        "{error}"
    );
    world.end().await;
}
