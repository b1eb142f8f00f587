//! What one client sends astray does nothing to the questions of others, and none to its own.

use crate::support::{BINARY, asked, choose, id, one_question};
use anyhow::Result;
use askbus_testkit::{AskbusUp, McpStdio};
use serde_json::json;

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
