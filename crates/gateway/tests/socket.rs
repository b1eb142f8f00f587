//! The live connection of people.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod world;

use askbus_domain::{Dialect, Millis, SessionId, TenantId, Timestamp};
use serde_json::{Value, json};
use world::{World, now};

fn is(event: &'static str) -> impl Fn(&Value) -> bool {
    move |o| o["event"] == event
}

// contract: E9
#[tokio::test(flavor = "multi_thread")]
async fn a_question_is_replayed_with_what_e9_names_and_answered_by_its_label() {
    let world = World::start().await;
    let asked = json!({"question": "Which?", "choices": ["red", "green"]});
    let id = world.ask("s", Dialect::Studio, asked).await;
    let mut ann = world.socket("/ws", &world.person("ann")).await;
    let mut bob = world.socket("/ws", &world.person("bob")).await;
    let replay = ann.replay().await;
    assert_eq!(replay[0]["event"], "hello");
    assert_eq!(
        (&replay[0]["you"], &replay[0]["tenant"]),
        (&json!("ann"), &json!("local"))
    );
    let limits =
        json!({"answer_chars": 20_000, "shown_header_chars": 12, "frame_bytes": 1024 * 1024});
    assert_eq!(replay[0]["limits"], limits);
    let shown = &replay[1];
    assert_eq!(shown["event"], "clarify.requested");
    assert_eq!(shown["session_id"], "s");
    assert_eq!(shown["run_id"], "run-s");
    assert_eq!(shown["clarify_id"], id.to_string());
    assert_eq!(shown["question"], "Which?");
    assert_eq!(shown["choices"], json!(["red", "green"]));
    assert_eq!(shown["timeout_ms"], 300_000);
    assert_eq!(
        (&shown["held"], &shown["dialect"]),
        (&json!(false), &json!("studio"))
    );
    assert_eq!(shown["questions"][0]["options"][1]["id"], "o2");
    assert_eq!(replay[2]["pending"], json!([id]));
    bob.replay().await;
    let respond = json!({"event": "clarify.respond", "session_id": "s", "clarify_id": id, "response": "green"});
    ann.send(respond).await;
    for socket in [&mut ann, &mut bob] {
        let heard = socket
            .until(|o| o["event"] == "clarify.resolved" && o["seq"].is_u64())
            .await;
        assert_eq!(heard["resolved"], true);
        assert_eq!(
            (&heard["reason"], &heard["decided_by"]),
            (&json!("response"), &json!("person"))
        );
        assert_eq!(heard["actor"], json!({"person": "ann", "surface": "web"}));
        assert_eq!(
            heard["answers"][0]["options"],
            json!([{"id": "o2", "label": "green"}])
        );
        assert_eq!(
            (&heard["run_id"], &heard["session_id"]),
            (&json!("run-s"), &json!("s"))
        );
    }
    drop((ann, bob));
    world.end().await;
}

// contract: E12
#[tokio::test(flavor = "multi_thread")]
async fn a_reconnect_recomputes_the_time_and_replays_the_settled_no_more() {
    let world = World::start().await;
    world.begin("local", "s", "default").await;
    let asked_at = Timestamp::from_unix_millis(now().unix_millis() - 100_000);
    let asked = json!({"question": "Which?"});
    let id = world
        .ask_at(("local", "s"), Dialect::Studio, asked, asked_at)
        .await;
    let ann = world.person("ann");
    world.shown(&ann, id).await;
    let replay = world.socket("/ws", &ann).await.replay().await;
    let left = replay[1]["remaining_timeout_ms"].as_u64().unwrap();
    assert!((150_000..=200_000).contains(&left), "{left}");
    assert_eq!(replay[1]["timeout_ms"], 300_000);
    assert_eq!(replay[1]["requested_at"], asked_at.unix_millis());
    assert_eq!(
        replay[1]["deadline"],
        asked_at.plus(Millis(300_000)).unix_millis()
    );
    let seq = replay[0]["seq"].as_u64().unwrap();
    let mut other = world.socket("/ws", &world.person("bob")).await;
    other
        .send(json!({"event": "clarify.respond", "clarify_id": id, "session_id": "s"}))
        .await;
    // Missing means dismissed (E10).
    let heard = other
        .until(|o| o["event"] == "clarify.resolved" && o["seq"].is_u64())
        .await;
    assert_eq!(heard["reason"], "dismissed");
    let fresh = world.socket("/ws", &ann).await.replay().await;
    assert!(!fresh.iter().any(is("clarify.requested")), "{fresh:?}");
    assert!(!fresh.iter().any(is("clarify.resolved")), "{fresh:?}");
    // Who saw it before hears how it ended.
    let again = world
        .socket(&format!("/ws?after={seq}"), &ann)
        .await
        .replay()
        .await;
    assert!(!again.iter().any(is("clarify.requested")), "{again:?}");
    assert_eq!(
        again.iter().filter(|o| is("clarify.resolved")(o)).count(),
        1,
        "{again:?}"
    );
    world.end().await;
}

// contract: E9 E10
#[tokio::test(flavor = "multi_thread")]
async fn plain_responses() {
    let world = World::start().await;
    let ann = world.person("ann");
    let twins = json!({"questions": [{"question": "q", "options": ["same", "same", "other"]}]});
    for (n, response, reason, options, text) in [
        (0, json!("other"), "response", json!(["o3"]), Value::Null),
        (1, json!(" other "), "response", json!(["o3"]), Value::Null),
        (2, json!("same"), "response", json!([]), json!("same")),
        (3, json!("Other"), "response", json!([]), json!("Other")),
        (4, json!(" \n"), "dismissed", json!([]), Value::Null),
        (5, Value::Null, "dismissed", json!([]), Value::Null),
    ] {
        let session = format!("s{n}");
        let id = world.ask(&session, Dialect::Ask, twins.clone()).await;
        let mut socket = world.socket("/ws", &ann).await;
        let frame = json!({"event": "clarify.respond", "session_id": session, "clarify_id": id, "response": response});
        socket.send(frame).await;
        let own = |o: &Value| {
            o["event"] == "clarify.resolved" && o["answer_id"].is_string() && o["seq"].is_null()
        };
        let reply = socket.until(own).await;
        assert_eq!(
            (&reply["resolved"], &reply["reason"]),
            (&json!(true), &json!(reason)),
            "{reply}"
        );
        let answer = reply["answers"].get(0).cloned().unwrap_or_default();
        let chosen = answer["options"].as_array().cloned().unwrap_or_default();
        let chosen: Vec<_> = chosen.iter().map(|o| o["id"].clone()).collect();
        assert_eq!(
            (json!(chosen), &answer["text"]),
            (options, &text),
            "{reply}"
        );
    }
    world.end().await;
}

// contract: E9
#[tokio::test(flavor = "multi_thread")]
async fn one_text_to_several_questions_is_refused_and_kept() {
    let world = World::start().await;
    let two = json!({"questions": [{"question": "a"}, {"question": "b"}]});
    let id = world.ask("s", Dialect::Ask, two).await;
    let mut socket = world.socket("/ws", &world.person("ann")).await;
    socket.replay().await;
    let frame = json!({"event": "clarify.respond", "session_id": "s", "clarify_id": id, "response": "both"});
    socket.send(frame).await;
    let reply = socket.until(is("clarify.resolved")).await;
    assert_eq!(
        (&reply["resolved"], &reply["reason"]),
        (&json!(false), &json!("INVALID_ANSWER"))
    );
    assert_eq!(reply["stale"], Value::Null);
    assert!(
        reply["error"].as_str().unwrap().contains("2 questions"),
        "{reply}"
    );
    let (tenant, session) = (
        TenantId::new("local").unwrap(),
        SessionId::new("s").unwrap(),
    );
    let drafts = world.bus.drafts.list(&tenant, &session, id).await.unwrap();
    assert_eq!(drafts[0].draft.answers[0].text.as_deref(), Some("both"));
    let full = json!({"event": "clarify.respond", "session_id": "s", "clarify_id": id, "answer_id": "mine",
        "action": "answer", "answers": [{"question_id": "q1", "text": "x"}, {"question_id": "q2", "text": "y"}]});
    socket.send(full).await;
    let reply = socket
        .until(|o| o["answer_id"] == "mine" && o["seq"].is_null())
        .await;
    assert_eq!(reply["answers"].as_array().unwrap().len(), 2, "{reply}");
    drop(socket);
    world.end().await;
}

// contract: E9
#[tokio::test(flavor = "multi_thread")]
async fn a_late_answer_is_stale_and_names_the_winner() {
    let world = World::start().await;
    let id = world.ask("s", Dialect::Ask, json!({"question": "q"})).await;
    let mut ann = world.socket("/ws", &world.person("ann")).await;
    let mut bob = world.socket("/ws", &world.person("bob")).await;
    let frame = |text| json!({"event": "clarify.respond", "session_id": "s", "clarify_id": id, "response": text});
    ann.send(frame("mine")).await;
    ann.until(|o| o["event"] == "clarify.resolved" && o["seq"].is_null())
        .await;
    bob.send(frame("no, mine")).await;
    let reply = bob
        .until(|o| o["event"] == "clarify.resolved" && o["seq"].is_null())
        .await;
    assert_eq!(
        (&reply["resolved"], &reply["stale"]),
        (&json!(false), &json!(true)),
        "{reply}"
    );
    assert_eq!(reply["actor"]["person"], "ann");
    assert!(reply["error"].as_str().unwrap().contains("kept"), "{reply}");
    let late = ann.until(is("clarify.late")).await;
    assert_eq!(late["answers"][0]["text"], "no, mine");
    bob.send(json!({"event": "clarify.respond", "session_id": "zz", "clarify_id": id, "answer_id": "b9"}))
        .await;
    let reply = bob.until(|o| o["reason"] == "UNKNOWN_CLARIFICATION").await;
    assert_eq!(reply["answer_id"], "b9");
    assert_eq!(
        (&reply["resolved"], &reply["kept"]),
        (&json!(false), &json!(false))
    );
    drop((ann, bob));
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn broken_frames_do_not_end_the_connection() {
    let world = World::start().await;
    let id = world.ask("s", Dialect::Ask, json!({"question": "q"})).await;
    let mut socket = world.socket("/ws", &world.person("ann")).await;
    socket.replay().await;
    let broken = [
        "",
        "{",
        "[]",
        "7",
        "null",
        "{\"event\":\"dance\"}",
        "{\"event\":\"clarify.respond\"}",
        "{\"event\":\"clarify.respond\",\"clarify_id\":7}",
    ];
    for frame in broken {
        socket.send_text(frame).await;
        let reply = socket.next().await.unwrap();
        assert_eq!(
            (&reply["event"], &reply["reason"]),
            (&json!("error"), &json!("INVALID_REQUEST")),
            "{frame}"
        );
    }
    for frame in [
        json!({"event": "clarify.respond", "clarify_id": id, "response": 7}),
        json!({"event": "clarify.respond", "clarify_id": id, "answers": "x"}),
        json!({"event": "clarify.draft", "clarify_id": id, "answers": 1}),
    ] {
        socket.send(frame).await;
        assert_eq!(socket.next().await.unwrap()["event"], "error");
    }
    // Nobody reads it to its end, so that its sender may hear of the closed connection first.
    let sent = socket.try_send_text(&"x".repeat(1024 * 1024 + 1)).await;
    let end = socket.next().await;
    let closed = end == Err(Some(1009)) || !sent && end == Err(None);
    assert!(closed, "{end:?}");
    world.end().await;
}

// contract: E9
#[tokio::test(flavor = "multi_thread")]
async fn an_end_is_told_in_the_words_of_e9_with_ours_beside_them() {
    let world = World::start().await;
    let ann = world.person("ann");
    let mut plain = world.socket("/ws?dialect=interaction", &ann).await;
    for (action, spoken, own) in [
        ("ask_back", "response", "ask_back"),
        ("skip", "dismissed", "skipped"),
        ("dismiss", "dismissed", "dismissed"),
    ] {
        let id = world
            .ask(action, Dialect::Ask, json!({"question": "q"}))
            .await;
        let mut socket = world.socket("/ws", &ann).await;
        socket.replay().await;
        let frame =
            json!({"event": "clarify.respond", "clarify_id": id, "action": action, "text": "why?"});
        socket.send(frame.clone()).await;
        let mut seen = 0;
        while seen < 2 {
            // Its author's, and everybody's.
            let heard = socket.until(is("clarify.resolved")).await;
            assert_eq!(
                (&heard["reason"], &heard["outcome_reason"]),
                (&json!(spoken), &json!(own)),
                "{heard}"
            );
            seen += 1;
        }
        let bob = world.person("bob");
        let mut late = world.socket("/ws", &bob).await;
        late.replay().await;
        late.send(json!({"event": "clarify.respond", "clarify_id": id, "response": "me"}))
            .await;
        let stale = late.until(is("clarify.resolved")).await;
        assert_eq!(
            (
                &stale["reason"],
                &stale["outcome_reason"],
                &stale["outcome"]["outcome_reason"]
            ),
            (&json!(spoken), &json!(own), &json!(own)),
            "{stale}"
        );
        let resolved = plain.until(|o| o["type"] == "clarify_resolved").await;
        assert_eq!(resolved["reason"], spoken, "{resolved}");
        let (_, object) = world.get(&format!("/api/clarifications/{id}"), &ann).await;
        assert_eq!(object["clarification"]["reason"], own);
    }
    world.end().await;
}

// contract: D4
#[tokio::test(flavor = "multi_thread")]
async fn two_tabs_do_not_overwrite_each_other() {
    let world = World::start().await;
    let id = world.ask("s", Dialect::Ask, json!({"question": "q"})).await;
    let ann = world.person("ann");
    let mut socket = world.socket("/ws", &ann).await;
    socket.replay().await;
    for (tab, text) in [("t1", "first"), ("t2", "second")] {
        let frame = json!({"event": "clarify.draft", "clarify_id": id, "tab": tab, "answers": [{"text": text}]});
        socket.send(frame).await;
    }
    drop(socket);
    // Saved once a second, and when the socket closes: asked again until both are there.
    let both = async {
        loop {
            let replay = world.socket("/ws", &ann).await.replay().await;
            let drafts = replay.iter().filter(|o| is("clarify.draft")(o));
            let texts: Vec<_> = drafts
                .map(|o| (o["tab"].clone(), o["answers"][0]["text"].clone()))
                .collect();
            if texts.len() == 2 {
                return texts;
            }
        }
    };
    let texts = tokio::time::timeout(world::BOUND, both).await.unwrap();
    assert_eq!(
        texts,
        [
            (json!("t1"), json!("first")),
            (json!("t2"), json!("second"))
        ]
    );
    world.end().await;
}

// contract: D4
#[tokio::test(flavor = "multi_thread")]
async fn drafts_come_back_to_their_author_and_others_see_only_that_somebody_writes() {
    let world = World::start().await;
    let id = world.ask("s", Dialect::Ask, json!({"question": "q"})).await;
    let mut ann = world.socket("/ws", &world.person("ann")).await;
    let mut tab = world.socket("/ws", &world.person("ann")).await;
    let mut bob = world.socket("/ws", &world.person("bob")).await;
    for socket in [&mut ann, &mut tab, &mut bob] {
        socket.replay().await;
    }
    let draft = |text: &str| json!({"event": "clarify.draft", "clarify_id": id, "tab": "t1", "answers": [{"text": text}], "text": null});
    ann.send(draft("se")).await;
    let seen = bob.until(is("clarify.draft")).await;
    assert_eq!(
        (&seen["person"], &seen["writing"]),
        (&json!("ann"), &json!(true))
    );
    assert_eq!(
        (&seen["answers"], &seen["text"]),
        (&Value::Null, &Value::Null),
        "{seen}"
    );
    let own = tab.until(is("clarify.draft")).await;
    assert_eq!(
        (&own["tab"], &own["answers"][0]["text"]),
        (&json!("t1"), &json!("se"))
    );
    // Faster than once a second: only the last is saved, and also when the tab closes at once.
    ann.send(draft("secr")).await;
    ann.send(draft("secret")).await;
    drop(ann);
    let own = tab.until(is("clarify.draft")).await;
    assert_eq!(own["answers"][0]["text"], "secret");
    let replay = world
        .socket("/ws", &world.person("ann"))
        .await
        .replay()
        .await;
    let again = replay.iter().find(|o| is("clarify.draft")(o)).unwrap();
    assert_eq!(again["answers"][0]["text"], "secret");
    let others = world
        .socket("/ws", &world.person("bob"))
        .await
        .replay()
        .await;
    assert!(!others.iter().any(is("clarify.draft")), "{others:?}");
    drop((tab, bob));
    world.end().await;
}

// contract: N2 N5
#[tokio::test(flavor = "multi_thread")]
async fn the_interaction_dialect() {
    let world = World::start().await;
    let asked = json!({"question": "Which?", "choices": ["a", "b"]});
    let id = world.ask("s", Dialect::Interaction, asked).await;
    let path = "/ws?dialect=interaction";
    let mut ann = world.socket(path, &world.person("ann")).await;
    let expected = json!({"type": "clarify_request", "sessionId": "s",
        "data": {"requestId": id, "question": "Which?", "choices": ["a", "b"]}});
    assert_eq!(ann.next().await, Ok(expected.clone()));
    // A disconnect settles nothing.
    drop(ann);
    let mut ann = world.socket(path, &world.person("ann")).await;
    assert_eq!(ann.next().await, Ok(expected));
    ann.send(json!({"type": "clarify_response", "sessionId": "s"}))
        .await;
    assert_eq!(ann.next().await.unwrap()["type"], "clarify_error");
    let answer = |text: &str| json!({"type": "clarify_response", "sessionId": "s", "requestId": id, "answer": text});
    let mut bob = world.socket(path, &world.person("bob")).await;
    bob.next().await.unwrap();
    ann.send(answer("b")).await;
    let ended = json!({"type": "clarify_resolved", "sessionId": "s", "requestId": id, "reason": "response"});
    assert_eq!(ann.next().await, Ok(ended.clone()));
    assert_eq!(bob.next().await, Ok(ended.clone()));
    bob.send(answer("a")).await;
    let refused = bob.next().await.unwrap();
    assert_eq!(
        (&refused["type"], &refused["stale"]),
        (&json!("clarify_error"), &json!(true))
    );
    assert!(
        refused["error"].as_str().unwrap().contains("ann"),
        "{refused}"
    );
    bob.send(answer("b")).await;
    assert_eq!(bob.next().await, Ok(ended));
    drop((ann, bob));
    world.end().await;
}

// contract: E11
#[tokio::test(flavor = "multi_thread")]
async fn a_stopping_gateway_says_so_and_settles_nothing() {
    let mut world = World::start().await;
    let id = world.ask("s", Dialect::Ask, json!({"question": "q"})).await;
    let mut socket = world.socket("/ws", &world.person("ann")).await;
    socket.replay().await;
    world.stop.cancel();
    assert_eq!(socket.next().await, Err(Some(1001)));
    drop(socket);
    let stopped = world.gateway.take().unwrap().join();
    tokio::time::timeout(std::time::Duration::from_secs(6), stopped)
        .await
        .expect("stops in time");
    let (state, _) = world.session("local", "s").await;
    assert!(state.clarification(id).unwrap().is_pending());
    world.end().await;
}
