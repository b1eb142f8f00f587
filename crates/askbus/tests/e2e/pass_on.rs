//! Words that came too late, and how they still reach the agent.

use crate::support::{BINARY, ask, asked, begin_turn, choose, credential, id, one_question};
use anyhow::Result;
use askbus_testkit::{Askbus, AskbusUp, McpStdio, Person};
use serde_json::{Value, json};

/// What rode to the agent with a result.
fn rode(reply: &Value) -> Vec<(Value, Value)> {
    let late = reply["result"]["structuredContent"]["late"].as_array();
    let told = |m: &Value| {
        (
            m["actor"]["person"].clone(),
            m["answers"][0]["text"].clone(),
        )
    };
    late.into_iter().flatten().map(told).collect()
}

// contract: E6 A2
#[tokio::test]
async fn who_lost_sends_their_words_on_from_the_terminal() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let person = up.person().await?;
    let token = credential(&up, "person", "default", "bob").await?;
    let bobs = up.askbus().clone().env("ASKBUS_CREDENTIAL", token);
    let mut agent = McpStdio::connect(up.askbus(), &["mcp"]).await?;
    let question = one_question("Which colour?", &["red", "blue"]);
    agent.call(1, "ask_user", question).await?;
    let shown = asked(&person, "Which colour?").await?;
    person.answer(id(&shown), &choose("o1")).await?;
    agent.reply(1).await?;

    // Nothing of theirs came late yet.
    let pass_on = ["answer", id(&shown), "--pass-on"];
    let early = bobs.run(&pass_on).await?;
    assert_eq!(early.code, 64, "{early:?}");
    let late = bobs
        .run(&["answer", id(&shown), "--text", "green, please"])
        .await?;
    assert_eq!(late.code, 20, "{late:?}");
    let hint = format!("askbus answer {} --pass-on", id(&shown));
    assert!(late.stdout.contains(&hint), "{late:?}");
    let past = bobs.run(&["history"]).await?;
    for words in ["too late, by bob", "green, please", &hint] {
        assert!(past.stdout.contains(words), "{words}: {past:?}");
    }
    // It is theirs alone to send on.
    let foreign = up.askbus().run(&pass_on).await?;
    assert_eq!(foreign.code, 64, "{foreign:?}");
    let wrong = bobs
        .run(&[&pass_on[..], &["--text", "and more"]].concat())
        .await?;
    assert_eq!(wrong.code, 64, "{wrong:?}");

    // Twice is once.
    for _ in 0..2 {
        let (code, said) = bobs.json(&[&pass_on[..], &["--json"]].concat()).await?;
        assert_eq!((code, &said["verdict"]), (0, &json!("passed_on")), "{said}");
        assert_eq!(said["goes_on"], "next_result", "{said}");
        assert_eq!(
            (&said["status"], &said["reason"]),
            (&json!("settled"), &json!("response"))
        );
        assert_eq!(said["actor"]["person"], "me", "{said}");
    }
    let past = bobs.run(&["history"]).await?;
    assert!(
        past.stdout
            .contains("reaches the agent with its next result"),
        "{past:?}"
    );
    for (call, expected) in [
        (2, vec![(json!("bob"), json!("green, please"))]),
        (3, vec![]),
    ] {
        let question = one_question(&format!("Next {call}?"), &["yes"]);
        agent.call(call, "ask_user", question).await?;
        let next = asked(&person, &format!("Next {call}?")).await?;
        person.answer(id(&next), &choose("o1")).await?;
        assert_eq!(rode(&agent.reply(call).await?), expected);
    }
    Ok(())
}

/// A question that nobody answered in time, in a turn that is over, and an answer to it.
async fn too_late(askbus: &Askbus, context: &str) -> Result<Value> {
    let in_turn = askbus.clone().env("ASKBUS_CONTEXT", context);
    let (code, outcome) = in_turn
        .json(&["ask", "Quick?", "--timeout", "1s", "--json"])
        .await?;
    assert_eq!(code, 12, "{outcome}");
    let ended = askbus.run(&["turn", "end", context]).await?;
    assert_eq!(ended.code, 0, "{ended:?}");
    let text = ["--text", "use the second one", "--json"];
    let (code, said) = askbus
        .json(&[&["answer", id(&outcome)], &text[..]].concat())
        .await?;
    assert_eq!(
        (code, &said["goes_on"]),
        (20, &json!("next_turn")),
        "{said}"
    );
    Ok(outcome)
}

/// Whether a turn that began is told of the answer: in its instruction and by itself, or in neither.
fn is_told(begun: &Value, outcome: &Value) -> bool {
    let instruction = begun["instruction"].as_str().unwrap_or_default();
    let told = instruction.contains("use the second one");
    let late = begun["late"].as_array().map(Vec::as_slice);
    assert_eq!(late.map(<[_]>::len), Some(usize::from(told)), "{begun}");
    for message in late.unwrap_or_default() {
        assert_eq!(message["clarify_id"], outcome["clarify_id"], "{message}");
        assert_eq!(message["asked"], "Quick?", "{message}");
        assert_eq!(message["actor"]["surface"], "terminal", "{message}");
        assert!(message["actor"]["person"].is_string(), "{message}");
        let answer = &message["answers"][0];
        assert_eq!(answer["text"], "use the second one", "{message}");
    }
    told
}

// contract: E14
#[tokio::test]
async fn what_nobody_decided_goes_on_by_itself_with_the_next_turn() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let person = up.person().await?;
    let _open = person.socket().await?;
    let context = begin_turn(up.askbus(), "build", &[]).await?;
    let outcome = too_late(up.askbus(), &context).await?;
    let begin = ["turn", "begin", "--session", "build", "--for", "10m"];
    let begin = [&begin[..], &["--json"]].concat();
    for told in [true, false] {
        let (_, begun) = up.askbus().json(&begin).await?;
        assert_eq!(is_told(&begun, &outcome), told, "{begun}");
    }
    // The same over HTTP.
    let host = Person::bearer(up.url(), &credential(&up, "host", "default", "ci").await?)?;
    let context = begin_turn(up.askbus(), "other", &[]).await?;
    let outcome = too_late(up.askbus(), &context).await?;
    for told in [true, false] {
        let turn = json!({"session_id": "other", "for_ms": 600_000});
        let begun = host.post("/api/turns/begin", &turn).await?;
        assert_eq!(is_told(&begun.body, &outcome), told, "{begun:?}");
    }
    Ok(())
}

// contract: E6 A2
#[tokio::test]
async fn nobody_is_told_to_send_words_on_to_an_agent_that_is_gone() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let person = up.person().await?;
    let (asking, clarify_id) = ask(up.askbus(), &person, "Anybody?", &["--timeout", "1s"]).await?;
    assert_eq!(asking.finish().await?.code, 12);
    let late = ["answer", &clarify_id, "--text", "I am here"];
    let late = up.askbus().run(&late).await?;
    assert_eq!(late.code, 20, "{late:?}");
    assert!(late.stdout.contains("goes no further"), "{late:?}");
    assert!(!late.stdout.contains("--pass-on"), "{late:?}");
    Ok(())
}

fn words_alone(text: &str) -> Value {
    json!({"action": "answer", "text": text})
}

/// The words of `late`, as a list of late answers has them.
fn words_of(late: &Value) -> Vec<&str> {
    let late = late.as_array().into_iter().flatten();
    late.filter_map(|l| l["answers"][0]["text"].as_str())
        .collect()
}

// contract: E6 A2
#[tokio::test]
async fn whatever_is_said_to_be_kept_is_found_again_and_the_rest_is_said_not_to_be() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let person = up.person().await?;
    let (asking, clarify_id) = ask(up.askbus(), &person, "Which one?", &["--choice", "a"]).await?;
    person.answer(&clarify_id, &choose("o1")).await?;
    asking.finish().await?;
    let path = format!("/api/clarifications/{clarify_id}");
    let mut kept = Vec::new();
    for name in ["ann", "bob"] {
        let token = credential(&up, "person", "default", name).await?;
        let late = Person::bearer(up.url(), &token)?;
        for n in 0..20 {
            let words = format!("{name} {n}");
            let told = late.answer(&clarify_id, &words_alone(&words)).await?;
            assert_eq!(
                (told.status, &told.body["kept"]),
                (409, &json!(true)),
                "{told:?}"
            );
            kept.push(words);
        }
        let unfit =
            json!({"answers": [{"question_id": "q1", "option_ids": ["o9"], "text": "and this"}]});
        for (sent, status) in [
            (words_alone("once more"), 400),
            (words_alone(&"x".repeat(20_001)), 400),
            (unfit, 400),
        ] {
            let told = late.answer(&clarify_id, &sent).await?;
            assert_eq!(
                (told.status, &told.body["kept"]),
                (status, &json!(false)),
                "{told:?}"
            );
            let error = told.body["error"].as_str().unwrap_or_default();
            assert!(error.contains("is over"), "{error}");
            assert!(error.contains("keep it where you wrote it"), "{error}");
        }
    }
    let shown = person.get(&path).await?;
    assert_eq!(words_of(&shown.body["clarification"]["late_answers"]), kept);
    let past = person.settled().await?;
    assert_eq!(words_of(&past[0]["late_answers"]), kept);
    Ok(())
}
