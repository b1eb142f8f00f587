//! What dies, and what then: on a single machine.

use crate::support::{BINARY, asked, choose, id, one_question, words};
use anyhow::Result;
use askbus_testkit::{AskbusUp, McpPython, McpStdio, Signal};
use serde_json::json;
use std::time::{Duration, Instant};

/// One second by contract, and as much again for a machine that is busy with other tests.
const QUICK: Duration = Duration::from_secs(2);

// contract: E11 E12
#[tokio::test]
async fn a_killed_service_comes_back_with_its_questions_and_the_call_is_answered() -> Result<()> {
    let mut up = AskbusUp::start(BINARY).await?;
    let url = up.url().to_owned();
    let person = up.person().await?;
    let mut client = McpPython::connect(up.askbus(), &["mcp"], "legacy").await?;
    let call = client
        .call("ask_user", one_question("Still there?", &["yes", "no"]))
        .await?;
    let shown = asked(&person, "Still there?").await?;
    up.kill9().await?;
    up.restart().await?;
    assert_eq!(up.url(), url, "the address outlives a restart");
    let again = asked(&person, "Still there?").await?;
    assert_eq!(id(&again), id(&shown));
    assert_eq!(again["requested_at"], shown["requested_at"]);
    let taken = person.answer(id(&shown), &choose("o1")).await?;
    assert_eq!(taken.status, 200, "{taken:?}");
    let outcome = &client.outcome(call).await?["structuredContent"];
    assert_eq!(outcome["reason"], "response", "{outcome}");
    assert_eq!(outcome["answers"][0]["options"][0]["label"], "yes");
    Ok(())
}

// contract: E11
#[tokio::test]
async fn an_orderly_stop_cancels_nothing() -> Result<()> {
    let mut up = AskbusUp::start(BINARY).await?;
    let person = up.person().await?;
    let mut client = McpStdio::connect(up.askbus(), &["mcp"]).await?;
    client
        .call(1, "ask_user", one_question("Wait for me?", &[]))
        .await?;
    let shown = asked(&person, "Wait for me?").await?;
    let status = up.stop().await?;
    assert_eq!(status.code(), Some(0));
    up.restart().await?;
    let waiting = person.pending().await?;
    assert_eq!(waiting.len(), 1, "{waiting:?}");
    assert_eq!(id(&waiting[0]), id(&shown));
    person.answer(id(&shown), &words("here")).await?;
    let reply = client.reply(1).await?;
    let outcome = &reply["result"]["structuredContent"];
    assert_eq!(outcome["answers"][0]["text"], "here", "{reply}");
    Ok(())
}

// contract: E11
#[tokio::test]
async fn the_end_of_input_withdraws_the_question_and_ends_the_process() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let person = up.person().await?;
    let mut client = McpStdio::connect(up.askbus(), &["mcp"]).await?;
    client
        .call(1, "ask_user", one_question("Are you there?", &[]))
        .await?;
    let shown = asked(&person, "Are you there?").await?;
    let closed = Instant::now();
    client.process.close_stdin();
    let status = client.process.wait().await?;
    let took = closed.elapsed();
    assert_eq!(status.code(), Some(0));
    assert!(took < QUICK, "it took {took:?}");
    let settled = person.until_settled(id(&shown)).await?;
    assert_eq!(settled["reason"], "cancelled", "{settled}");
    assert_eq!(settled["decided_by"], "system");
    assert_eq!(settled["actor"], json!(null));
    let history = person.settled().await?;
    assert_eq!(history[0]["clarify_id"], shown["clarify_id"]);
    assert_eq!(client.stray_output(), Vec::<String>::new());
    Ok(())
}

// contract: E11
#[tokio::test]
async fn a_cancelled_call_withdraws_its_question_and_gets_no_reply() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let person = up.person().await?;
    let mut client = McpStdio::connect(up.askbus(), &["mcp"]).await?;
    client
        .call(1, "ask_user", one_question("Cancelled?", &[]))
        .await?;
    client
        .call(2, "ask_user", one_question("Kept?", &[]))
        .await?;
    let cancelled = asked(&person, "Cancelled?").await?;
    let kept = asked(&person, "Kept?").await?;
    client
        .notify("notifications/cancelled", json!({"requestId": 1}))
        .await?;
    let settled = person.until_settled(id(&cancelled)).await?;
    assert_eq!(settled["reason"], "cancelled", "{settled}");
    // The other call goes on, and ping is answered meanwhile.
    client.request(3, "ping", json!({})).await?;
    client.reply(3).await?;
    person.answer(id(&kept), &words("kept")).await?;
    client.reply(2).await?;
    let replies = client.process.stdout.all();
    let to_one =
        |l: &&String| serde_json::from_str::<serde_json::Value>(l).is_ok_and(|v| v["id"] == 1);
    assert_eq!(replies.iter().filter(to_one).count(), 0, "{replies:?}");
    Ok(())
}

// contract: E11 E20
#[tokio::test]
async fn a_killed_asker_loses_its_lease() -> Result<()> {
    let up = AskbusUp::start_with(BINARY, &[], &[("ASKBUS_LEASE_MS", "1500")]).await?;
    let person = up.person().await?;
    let mut client = McpStdio::connect(up.askbus(), &["mcp"]).await?;
    client
        .call(1, "ask_user", one_question("Killed?", &[]))
        .await?;
    let shown = asked(&person, "Killed?").await?;
    client.process.signal(Signal::KILL)?;
    let settled = person.until_settled(id(&shown)).await?;
    assert_eq!(settled["reason"], "cancelled", "{settled}");
    Ok(())
}

// contract: E9 E12 N3
#[tokio::test]
async fn a_person_who_goes_away_cancels_nothing_and_finds_everything_again() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let person = up.person().await?;
    let mut client = McpStdio::connect(up.askbus(), &["mcp"]).await?;
    let mut arguments = one_question("Take your time?", &["a", "b"]);
    arguments["timeout_s"] = json!(600);
    client.call(1, "ask_user", arguments).await?;
    let first = asked(&person, "Take your time?").await?;
    // That socket is closed now. The next one shows it again, with less time left.
    let mut socket = person.socket().await?;
    let again = socket.find(|m| m["event"] == "clarify.requested").await?;
    assert_eq!(id(&again), id(&first));
    for name in [
        "run_id",
        "session_id",
        "question",
        "choices",
        "timeout_ms",
        "requested_at",
    ] {
        assert_eq!(again[name], first[name], "{name}");
    }
    assert_eq!(again["timeout_ms"], 600_000);
    assert!(
        again["remaining_timeout_ms"].as_u64() < Some(600_000),
        "{again}"
    );
    socket
        .send(
            &json!({"event": "clarify.respond", "session_id": first["session_id"],
        "clarify_id": id(&first), "response": "b"}),
        )
        .await?;
    let resolved = socket.find(|m| m["event"] == "clarify.resolved").await?;
    assert_eq!(
        (&resolved["resolved"], &resolved["reason"]),
        (&json!(true), &json!("response"))
    );
    let outcome = &client.reply(1).await?["result"]["structuredContent"];
    assert_eq!(
        outcome["answers"][0]["options"][0]["label"], "b",
        "{outcome}"
    );
    // Resolved questions are replayed no more.
    let mut socket = person.socket().await?;
    let ready = socket.find(|m| m["event"] == "ready").await?;
    assert_eq!(ready["pending"], json!([]), "{:?}", socket.heard());
    Ok(())
}
