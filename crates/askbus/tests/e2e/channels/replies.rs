//! A reply counts once, and for the question that it is for.

use super::place::Place;
use super::{ANN, ask, name, text, up, verdict};
use anyhow::{Context as _, Result, ensure};
use askbus_testkit::{AskbusUp, Hook, HookMessage, McpStdio, Signal};
use serde_json::{Value, json};

fn several() -> Value {
    json!({"questions": [
        {"question": "Target?", "options": ["staging", "prod"]},
        {"question": "Drop the table?", "options": ["drop", "keep"]},
        {"question": "Which grade?", "options": ["B", "A"]}]})
}

/// Sends the message with this id.
async fn send(hook: &Hook, at: &str, id: &str, body: Value) -> Result<Value> {
    let (status, said) = hook.reply(at, "team", id, &body).await?;
    ensure!(status == 200, "{said}");
    Ok(said)
}

/// The labels that were chosen, question by question.
fn labels(outcome: &Value) -> Vec<&str> {
    let answers = outcome["answers"].as_array().into_iter().flatten();
    let label = answers.map(|answer| answer["options"][0]["label"].as_str().unwrap_or_default());
    label.collect()
}

/// Asks three questions in one call.
async fn asked(up: &AskbusUp, hook: &Hook) -> Result<(McpStdio, HookMessage)> {
    let mut client = McpStdio::connect(up.askbus(), &["mcp"]).await?;
    client.call(1, "ask_user", several()).await?;
    let told = hook.told("question.asked", "Target?").await?;
    Ok((client, told))
}

async fn outcome(client: &mut McpStdio) -> Result<Value> {
    Ok(client.reply(1).await?["result"]["structuredContent"].clone())
}

// contract: A2, N4
#[tokio::test]
async fn the_same_message_answers_no_second_question_of_a_clarification() -> Result<()> {
    let hook = Hook::start().await?;
    let (mut up, _config) = up(&[hook.table("team", ANN)]).await?;
    let (mut client, _) = asked(&up, &hook).await?;
    let one = json!({"text": "1"});
    let said = send(&hook, up.url(), "m1", one.clone()).await?;
    assert_eq!(verdict(&said), "kept", "{said}");
    assert!(text(&said).contains("(2/3) Drop the table?"), "{said}");
    assert!(
        said["buttons"][0]["reply"]
            .as_str()
            .unwrap()
            .ends_with(".2 a"),
        "{said}"
    );
    up.kill9().await?;
    up.restart().await?;
    for _ in 0..2 {
        let again = send(&hook, up.url(), "m1", one.clone()).await?;
        assert_eq!(again, said, "nothing was answered by it");
    }
    let back = send(&hook, up.url(), "m2", json!({"text": "/back"})).await?;
    assert!(text(&back).contains("(1/3) Target?"), "{back}");
    for id in ["m1", "m2"] {
        let again = send(&hook, up.url(), id, one.clone()).await?;
        assert_eq!(text(&again), text(&back), "{id}");
    }
    for (id, reply) in [("m3", "2"), ("m4", "keep"), ("m5", "2")] {
        let said = send(&hook, up.url(), id, json!({"text": reply})).await?;
        let expected = if id == "m5" { "settled" } else { "kept" };
        assert_eq!(verdict(&said), expected, "{said}");
    }
    assert_eq!(labels(&outcome(&mut client).await?), ["prod", "keep", "A"]);
    Ok(())
}

// contract: N4
#[tokio::test]
async fn the_same_message_answers_nothing_that_is_asked_after_it_counted() -> Result<()> {
    let hook = Hook::start().await?;
    let (up, _config) = up(&[hook.table("team", ANN)]).await?;
    let choices = ["--choice", "yes", "--choice", "no"];
    let (first, a) = ask(&up, &hook, &[&["Restart it?"][..], &choices].concat()).await?;
    let one = json!({"text": "1"});
    let said = send(&hook, up.url(), "m1", one.clone()).await?;
    assert_eq!(verdict(&said), "settled", "{said}");
    first.finish().await?;
    // One answered a part of what somebody else ended.
    let (_client, several) = asked(&up, &hook).await?;
    let part = send(&hook, up.url(), "m2", one.clone()).await?;
    assert_eq!(verdict(&part), "kept", "{part}");
    let whole = json!({"text": "/dismiss"});
    assert_eq!(
        verdict(&send(&hook, up.url(), "m3", whole.clone()).await?),
        "settled"
    );
    let (mut second, b) = ask(
        &up,
        &hook,
        &[&["Delete production?"][..], &choices].concat(),
    )
    .await?;
    for (id, told, expected) in [
        ("m1", &a, "settled"),
        ("m2", &several, "kept"),
        ("m3", &several, "settled"),
    ] {
        let again = send(&hook, up.url(), id, one.clone()).await?;
        assert_eq!(verdict(&again), expected, "{id}: {again}");
        assert_eq!(
            again["clarify_id"], told.body["clarify_id"],
            "{id}: {again}"
        );
    }
    assert!(second.is_running()?, "{b:?}");
    let said = send(&hook, up.url(), "m4", json!({"text": "2"})).await?;
    assert_eq!(said["clarify_id"], b.body["clarify_id"], "{said}");
    assert_eq!(verdict(&said), "settled", "{said}");
    // What came too late says so again, and is kept once.
    let late = json!({"text": "1", "reply_to": b.body["clarify_id"]});
    let said = send(&hook, up.url(), "m5", late.clone()).await?;
    assert_eq!(verdict(&said), "conflict", "{said}");
    assert_eq!(send(&hook, up.url(), "m5", late).await?, said);
    let settled = up.person().await?.settled().await?;
    let deleted = settled
        .iter()
        .find(|s| s["clarify_id"] == b.body["clarify_id"]);
    let late = &deleted.context("not settled")?["late_answers"];
    assert_eq!(late.as_array().map(Vec::len), Some(1), "{late}");
    Ok(())
}

// contract: A2, N4
#[tokio::test]
async fn a_button_or_a_quote_answers_the_question_under_which_it_stood() -> Result<()> {
    let hook = Hook::start().await?;
    let (up, _config) = up(&[hook.table("team", ANN)]).await?;
    let (mut client, told) = asked(&up, &hook).await?;
    let press = async |button: &Value| {
        let reply = button["reply"].as_str().unwrap_or_default();
        hook.say(up.url(), "team", reply).await
    };
    let first = &told.body["buttons"];
    let said = press(&first[0]).await?;
    assert_eq!(verdict(&said), "kept", "{said}");
    let second = said["buttons"].clone();
    // Pressed twice, and the other one.
    for button in [&first[0], &first[1], &first[1]] {
        let again = press(button).await?;
        assert_eq!(verdict(&again), "kept", "{again}");
        assert_eq!(text(&again), text(&said), "{again}");
    }
    let heading = told.body["messages"][0].clone();
    let quote = json!({"text": "1", "reply_to": heading});
    let again = send(&hook, up.url(), "q1", quote).await?;
    assert_eq!(text(&again), text(&said), "{again}");
    assert_eq!(verdict(&press(&first[1]).await?), "kept");
    let said = press(&second[1]).await?;
    assert!(text(&said).contains("(3/3) Which grade?"), "{said}");
    let quote = json!({"text": "1", "reply_to": heading});
    let again = send(&hook, up.url(), "q2", quote).await?;
    assert_eq!(text(&again), text(&said), "{again}");
    // Labels that are letters of each other.
    let said = press(&said["buttons"][0]).await?;
    assert_eq!(verdict(&said), "settled", "{said}");
    assert_eq!(
        labels(&outcome(&mut client).await?),
        ["staging", "keep", "B"]
    );
    Ok(())
}

// contract: N4
#[tokio::test]
async fn a_quoted_list_and_an_empty_reference_name_nothing() -> Result<()> {
    let hook = Hook::start().await?;
    let (up, _config) = up(&[hook.table("team", ANN)]).await?;
    let choices = ["--choice", "x1", "--choice", "x2"];
    let (first, one) = ask(&up, &hook, &[&["First?"][..], &choices].concat()).await?;
    let (second, _) = ask(&up, &hook, &[&["Second?"][..], &choices].concat()).await?;
    let list = hook.say(up.url(), "team", "1").await?;
    assert_eq!(verdict(&list), "ambiguous", "{list}");
    let shown = hook.say(up.url(), "team", "/list").await?;
    for (n, quoted) in [list, shown].iter().enumerate() {
        let reply = json!({"text": "1", "reply_to": text(quoted)});
        let said = send(&hook, up.url(), &format!("l{n}"), reply).await?;
        assert_eq!(verdict(&said), "ambiguous", "{said}");
    }
    // Chinese keyboards have a colon of their own.
    let said = hook
        .say(up.url(), "team", &format!("＃{}：1", name(&one)))
        .await?;
    assert_eq!(verdict(&said), "settled", "{said}");
    assert!(text(&said).contains("Chosen: x1"), "{said}");
    let mistaken = hook.say(up.url(), "team", "#zz9 1").await?;
    assert_eq!(verdict(&mistaken), "unknown", "{mistaken}");
    let held = hook
        .say(up.url(), "team", &format!("#{} /hold", name(&one)))
        .await?;
    assert_eq!(verdict(&held), "over", "{held}");
    let empty = json!({"text": "2", "reply_to": " ", "from": ""});
    let said = send(&hook, up.url(), "e1", empty).await?;
    assert_eq!(verdict(&said), "settled", "{said}");
    for process in [first, second] {
        assert_eq!(process.finish().await?.code, 0);
    }
    let settled = up.person().await?.settled().await?;
    let late = settled
        .iter()
        .filter(|s| s["late_answers"].as_array().is_some_and(|l| !l.is_empty()));
    assert_eq!(late.count(), 0, "a command is no late answer: {settled:#?}");
    Ok(())
}

// contract: N4
#[tokio::test]
async fn what_was_written_before_a_question_is_not_about_it_however_late_it_is_signed() -> Result<()>
{
    let hook = Hook::start().await?;
    let (up, _config) = up(&[hook.table("team", ANN)]).await?;
    let (_asking, told) = ask(&up, &hook, &["Delete production?", "--choice", "yes"]).await?;
    let before = json!({"text": "1", "written_at": "2020-01-01T00:00:00Z"});
    let said = send(&hook, up.url(), "w1", before).await?;
    assert_eq!(verdict(&said), "nothing_waits", "{said}");
    // Nobody signs what is not written yet.
    let after = json!({"text": "1", "written_at": "2999-01-01T00:00:00Z"});
    let said = send(&hook, up.url(), "w2", after).await?;
    assert_eq!(verdict(&said), "settled", "{said}");
    assert_eq!(said["clarify_id"], told.body["clarify_id"]);
    Ok(())
}

// contract: A2, N4
#[tokio::test]
async fn nothing_is_judged_while_what_was_answered_so_far_cannot_be_read() -> Result<()> {
    let hook = Hook::start().await?;
    let table = hook.table("team", &format!("tenant = \"acme\"\n{ANN}"));
    let place = Place::of(&[table], &[&[]]).await?;
    let mut client = McpStdio::connect(&place.asker, &["mcp"]).await?;
    client.call(1, "ask_user", several()).await?;
    hook.told("question.asked", "Target?").await?;
    let gateway = place.gateways[0].address.clone();
    let said = hook.say(&gateway, "team", "1").await?;
    assert_eq!(verdict(&said), "kept", "{said}");
    place.nats.signal(Signal::STOP)?;
    let unread = hook.say(&gateway, "team", "2").await;
    place.nats.signal(Signal::CONT)?;
    let unread = unread?;
    assert_eq!(verdict(&unread), "not_sent", "{unread}");
    assert!(text(&unread).contains("cannot be read"), "{unread}");
    for (reply, expected) in [("2", "kept"), ("2", "settled")] {
        let said = hook.say(&gateway, "team", reply).await?;
        assert_eq!(verdict(&said), expected, "{said}");
    }
    assert_eq!(
        labels(&outcome(&mut client).await?),
        ["staging", "keep", "A"]
    );
    Ok(())
}

// contract: N4
#[tokio::test]
async fn every_question_of_hundreds_can_be_answered_and_the_first_that_ended_still_hears()
-> Result<()> {
    const SESSIONS: usize = 9;
    const EACH: usize = 23;
    let hook = Hook::start().await?;
    let (up, _config) = up(&[hook.table("team", ANN)]).await?;
    let mut clients = Vec::new();
    for session in 0..SESSIONS {
        let mut client = McpStdio::connect(up.askbus(), &["mcp"]).await?;
        for n in 0..EACH {
            let question = format!("Question {session}.{n}?");
            let arguments = json!({"question": question, "choices": ["yes", "no"]});
            client
                .call(u64::try_from(n)? + 1, "ask_user", arguments)
                .await?;
        }
        clients.push(client);
    }
    let asked = |seen: &[HookMessage]| {
        let asked = seen
            .iter()
            .filter(|m| m.taken && m.body["type"] == "question.asked");
        asked.map(|m| m.body.clone()).collect::<Vec<_>>()
    };
    let seen = hook
        .until("all are told", |seen| asked(seen).len() == SESSIONS * EACH)
        .await?;
    let mut all = asked(&seen);
    all.sort_by(|a, b| a["requested_at"].as_str().cmp(&b["requested_at"].as_str()));
    let (first, last) = (&all[0], &all[all.len() - 1]);
    let list = hook.say(up.url(), "team", "1").await?;
    assert_eq!(verdict(&list), "ambiguous", "{list}");
    assert!(text(&list).contains("And 107 more"), "{list}");
    let pressed = last["buttons"][0]["reply"].as_str().context("no button")?;
    let said = hook.say(up.url(), "team", pressed).await?;
    assert_eq!(
        (verdict(&said), &said["clarify_id"]),
        ("settled", &last["clarify_id"]),
        "{said}"
    );
    for (n, one) in all.iter().take(110).enumerate() {
        let reply = json!({"text": "1", "reply_to": one["clarify_id"]});
        let said = send(&hook, up.url(), &format!("a{n}"), reply).await?;
        assert_eq!(verdict(&said), "settled", "{said}");
    }
    for (id, reference) in [
        ("late1", first["clarify_id"].clone()),
        ("late2", first["name"].clone()),
    ] {
        let reply = json!({"text": "2", "reply_to": reference});
        let said = send(&hook, up.url(), id, reply).await?;
        assert_eq!(
            (verdict(&said), &said["clarify_id"]),
            ("conflict", &first["clarify_id"]),
            "{said}"
        );
    }
    Ok(())
}
