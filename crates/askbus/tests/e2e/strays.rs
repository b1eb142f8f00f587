//! What one client sends astray does nothing to the questions of others, and none to its own.

use crate::support::{BINARY, asked, choose, credential, id, one_question};
use anyhow::{Context as _, Result};
use askbus_testkit::{AskbusUp, Era, McpHttp, McpStdio};
use serde_json::{Value, json};

// contract: E11 E12
#[tokio::test]
async fn a_wait_cancelled_in_one_process_leaves_the_question_of_another() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let person = up.person().await?;
    let mut asking = McpStdio::connect(up.askbus(), &["mcp"]).await?;
    asking
        .call(1, "ask_user", one_question("Mine?", &["yes"]))
        .await?;
    let shown = asked(&person, "Mine?").await?;
    let mut other = McpStdio::connect(up.askbus(), &["mcp"]).await?;
    let wait = json!({"name": "await_answer", "arguments": {"clarify_id": id(&shown)}, "_meta": {"progressToken": "t"}});
    other.request(1, "tools/call", wait).await?;
    let waits = |m: &serde_json::Value| {
        let text = m["params"]["message"].as_str().unwrap_or_default();
        text.contains("Waiting for a person")
    };
    other.message(waits).await?;
    let cancel = json!({"requestId": 1, "reason": "it took too long"});
    other.notify("notifications/cancelled", cancel).await?;
    // What it does of itself is done by the time it is gone.
    other.process.close_stdin();
    assert_eq!(other.process.wait().await?.code(), Some(0));
    let card = person.pending().await?;
    assert_eq!(card.len(), 1, "{card:?}");
    assert_eq!(card[0]["disconnected"], false, "{card:?}");
    person.answer(id(&shown), &choose("o1")).await?;
    let reply = asking.reply(1).await?;
    assert_eq!(
        reply["result"]["structuredContent"]["reason"], "response",
        "{reply}"
    );
    Ok(())
}

/// Both would be answered, and one of the answers would reach nobody.
// contract: E13
#[tokio::test]
async fn two_requests_under_one_id_are_one_card() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let person = up.person().await?;
    let mut client = McpStdio::connect(up.askbus(), &["mcp"]).await?;
    client
        .call(77, "ask_user", one_question("First?", &["yes"]))
        .await?;
    let shown = asked(&person, "First?").await?;
    client
        .call(77, "ask_user", one_question("Second?", &["yes"]))
        .await?;
    let refused = client.message(|m| m.get("error").is_some()).await?;
    assert_eq!(refused["error"]["code"], -32600, "{refused}");
    assert_eq!(refused["id"], json!(null), "{refused}");
    assert_eq!(person.pending().await?.len(), 1);
    person.answer(id(&shown), &choose("o1")).await?;
    let reply = client.reply(77).await?;
    let outcome = &reply["result"]["structuredContent"];
    assert_eq!(outcome["clarify_id"], shown["clarify_id"], "{reply}");
    Ok(())
}

/// An agent writes nobody's log full: neither with what it makes up nor by hanging up.
// contract: E4
#[tokio::test]
async fn a_long_name_and_a_call_hung_up_leave_nothing_in_the_log() -> Result<()> {
    let mut up = AskbusUp::start(BINARY).await?;
    let person = up.person().await?;
    let long = "n".repeat(900_000);
    let short = format!("{}…", "n".repeat(100));
    let requests = [
        (
            "tools/call",
            json!({"name": long, "arguments": {}}),
            format!("there is no tool \"{short}\" here"),
        ),
        (&long, json!({}), short.clone()),
    ];
    let mut stdio = McpStdio::connect(up.askbus(), &["mcp"]).await?;
    for (n, (method, params, message)) in (1..).zip(&requests) {
        stdio.request(n, method, params.clone()).await?;
        let reply = stdio.reply(n).await?;
        assert_eq!(reply["error"]["message"], *message);
    }
    assert_eq!(stdio.process.finish().await?.stderr, "");

    let url = up.announcement().mcp_url.clone().context("no mcp_url")?;
    let token = credential(&up, "agent", "default", "coder").await?;
    let client = McpHttp::connect(&url, &token, Era::Handshake, "tester").await?;
    for (method, params, message) in &requests {
        let refused = client.request(1, method, params.clone()).await.err();
        let refused = refused.context("it was taken")?.to_string();
        let body = refused
            .strip_prefix("400 Bad Request: ")
            .context("no 400")?;
        let reply: Value = serde_json::from_str(body)?;
        assert_eq!(
            (&reply["id"], &reply["error"]["message"]),
            (&json!(1), &json!(message))
        );
    }
    for era in [Era::Handshake, Era::Stateless] {
        let client = McpHttp::connect(&url, &token, era, "tester").await?;
        let question = format!("Hung up, {era:?}?");
        let call = client
            .call(2, "ask_user", one_question(&question, &[]))
            .await?;
        let shown = asked(&person, &question).await?;
        let mut socket = person.socket().await?;
        drop(call);
        let gone = |m: &Value| m["clarify_id"] == shown["clarify_id"] && m["disconnected"] == true;
        socket.find(gone).await?;
    }
    let mut log = up.process()?.stderr.clone();
    assert!(up.stop().await?.success());
    assert_eq!(log.to_end().await?, Vec::<String>::new());
    Ok(())
}
