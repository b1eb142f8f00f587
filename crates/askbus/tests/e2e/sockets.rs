//! Clients that know only the older words: E9's fields, and the one-question dialect.

use crate::support::{BINARY, ask, id, words};
use anyhow::Result;
use askbus_testkit::{AskbusUp, McpStdio, Person};
use reqwest::Method;
use serde_json::{Value, json};

/// Two questions in one call, which only newer clients can answer.
async fn two_questions(up: &AskbusUp, person: &Person) -> Result<(McpStdio, Value)> {
    let mut client = McpStdio::connect(up.askbus(), &["mcp"]).await?;
    let questions = json!({"questions": [{"question": "First?"}, {"question": "Second?"}]});
    client.call(1, "ask_user", questions).await?;
    let shown = person.question(|m| m["question"] == "First?").await?;
    Ok((client, shown))
}

// contract: E9 E12
#[tokio::test]
async fn a_client_that_knows_only_the_first_fields_can_answer() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let me = up.person().await?;
    let (asking, clarify_id) = ask(
        up.askbus(),
        &me,
        "Plain?",
        &["--choice", "yes", "--choice", "no"],
    )
    .await?;
    let (mut watching, mut answering) = (me.socket().await?, me.socket().await?);
    let shown = answering
        .find(|m| m["event"] == "clarify.requested")
        .await?;
    assert_eq!(shown["choices"], json!(["yes", "no"]));
    for name in ["run_id", "session_id"] {
        assert!(shown[name].is_string(), "{name}: {shown}");
    }
    for name in ["timeout_ms", "remaining_timeout_ms", "requested_at"] {
        assert!(shown[name].is_u64(), "{name}: {shown}");
    }
    let answer = |response: &str| {
        json!({"event": "clarify.respond", "session_id": shown["session_id"],
            "clarify_id": clarify_id, "response": response})
    };
    answering.send(&answer("no")).await?;
    let heard = watching.find(|m| m["event"] == "clarify.resolved").await?;
    assert_eq!(
        (&heard["resolved"], &heard["reason"]),
        (&json!(true), &json!("response"))
    );
    assert_eq!(heard["run_id"], shown["run_id"]);
    assert_eq!(
        asking.finish().await?.stdout,
        "no\n",
        "the label of a choice is that choice"
    );
    watching.send(&answer("yes")).await?;
    let refused = watching.find(|m| m["resolved"] == false).await?;
    assert_eq!(
        (&refused["stale"], &refused["kept"]),
        (&json!(true), &json!(true)),
        "{refused}"
    );
    Ok(())
}

// contract: E9 E10
#[tokio::test]
async fn one_text_does_not_answer_two_questions_and_is_kept() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let me = up.person().await?;
    let (mut client, shown) = two_questions(&up, &me).await?;
    let mut socket = me.socket().await?;
    socket
        .send(
            &json!({"event": "clarify.respond", "session_id": shown["session_id"],
        "clarify_id": id(&shown), "response": "both"}),
        )
        .await?;
    let refused = socket.find(|m| m["resolved"] == false).await?;
    assert_eq!(
        (&refused["reason"], &refused["kept"]),
        (&json!("INVALID_ANSWER"), &json!(true))
    );
    assert_eq!(me.pending().await?.len(), 1);
    // What was written is this person's draft now.
    let mut later = me.socket().await?;
    let draft = later.find(|m| m["event"] == "clarify.draft").await?;
    assert!(draft.to_string().contains("both"), "{draft}");
    // A newer client answers one of the two; the other is listed, not filled in.
    assert_eq!(me.answer(id(&shown), &words("first")).await?.status, 200);
    let outcome = &client.reply(1).await?["result"]["structuredContent"];
    assert_eq!(outcome["reason"], "response", "{outcome}");
    assert_eq!(
        outcome["answers"].as_array().map(Vec::len),
        Some(1),
        "{outcome}"
    );
    assert_eq!(outcome["unanswered"], json!(["q2"]), "{outcome}");
    Ok(())
}

// contract: N2 N3 N5
#[tokio::test]
async fn the_one_question_dialect_is_spoken_on_its_own_socket() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let me = up.person().await?;
    let (asking, clarify_id) = ask(
        up.askbus(),
        &me,
        "Short?",
        &["--choice", "yes", "--choice", "no"],
    )
    .await?;
    let mut socket = me.socket_at("/ws?dialect=interaction").await?;
    let mut other = me.socket_at("/ws?dialect=interaction").await?;
    let shown = socket.find(|m| m["type"] == "clarify_request").await?;
    let data = json!({"requestId": clarify_id, "question": "Short?", "choices": ["yes", "no"]});
    assert_eq!(shown["data"], data);
    assert!(shown["sessionId"].is_string());
    socket
        .send(
            &json!({"type": "clarify_response", "sessionId": shown["sessionId"],
        "requestId": clarify_id, "answer": "yes"}),
        )
        .await?;
    for socket in [&mut socket, &mut other] {
        let resolved = socket.find(|m| m["type"] == "clarify_resolved").await?;
        let expected = json!({"type": "clarify_resolved", "sessionId": shown["sessionId"],
            "requestId": clarify_id, "reason": "response"});
        assert_eq!(resolved, expected);
    }
    assert_eq!(asking.finish().await?.stdout, "yes\n");

    // It cannot show two questions; it shows neither them nor their end.
    let (mut client, shown) = two_questions(&up, &me).await?;
    me.answer(id(&shown), &json!({"action": "dismiss"})).await?;
    client.reply(1).await?;
    let (asking, clarify_id) = ask(up.askbus(), &me, "Next?", &[]).await?;
    socket
        .find(|m| m["data"]["requestId"] == clarify_id.as_str())
        .await?;
    assert!(
        !format!("{:?}", socket.heard()).contains(id(&shown)),
        "{:?}",
        socket.heard()
    );
    me.answer(&clarify_id, &words("fine")).await?;
    assert_eq!(asking.finish().await?.code, 0);
    Ok(())
}

/// A browser's text may end in the middle of a character: what can be read of it counts.
// contract: E9
#[tokio::test]
async fn words_cut_in_the_middle_of_a_character_are_taken() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let me = up.person().await?;
    let (asking, clarify_id) = ask(up.askbus(), &me, "By socket?", &[]).await?;
    let mut socket = me.socket().await?;
    let shown = socket.find(|m| m["event"] == "clarify.requested").await?;
    let session = &shown["session_id"];
    let frame = format!(
        r#"{{"event": "clarify.respond", "session_id": {session}, "clarify_id": "{clarify_id}",
            "response": "cut \ud83d"}}"#
    );
    socket.send_text(&frame).await?;
    assert_eq!(asking.finish().await?.stdout, "cut \u{fffd}\n");

    let (asking, clarify_id) = ask(up.askbus(), &me, "By HTTP?", &[]).await?;
    let path = format!("/api/clarifications/{clarify_id}/answer");
    let body = br#"{"action": "answer", "text": "\ude00 cut"}"#.to_vec();
    let told = me.send(Method::POST, &path, body).await?;
    assert_eq!(told.status, 200, "{told:?}");
    assert_eq!(asking.finish().await?.stdout, "\u{fffd} cut\n");
    Ok(())
}
