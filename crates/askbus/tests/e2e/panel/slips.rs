//! Slips of the hand, and texts that would pass for others.

use super::fresh_link;
use crate::support::{BINARY, asked, credential, one_question};
use anyhow::{Result, ensure};
use askbus_testkit::{AskbusUp, Browser, McpStdio, Person};
use serde_json::json;

/// A key with Ctrl held, on a part of the card.
async fn with_control(browser: &Browser, part: &str, key: &str) -> Result<()> {
    let script = format!(
        "document.querySelector({}).dispatchEvent(new KeyboardEvent('keydown',
            {{ key: {}, ctrlKey: true, bubbles: true, cancelable: true }}))",
        json!(part),
        json!(key)
    );
    browser.run(&script).await?;
    Ok(())
}

// contract: D4 N3
#[tokio::test]
async fn what_was_given_up_is_not_sent_and_a_link_keeps_its_keys() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let person = up.person().await?;
    let mut agent = McpStdio::connect(up.askbus(), &["mcp"]).await?;
    let question = "Where? See [the plan](https://example.com/plan).";
    agent
        .call(
            1,
            "ask_user",
            one_question(question, &["staging", "production"]),
        )
        .await?;
    asked(&person, question).await?;
    let browser = Browser::open(1100, 960).await?;
    browser.goto(&fresh_link(&person).await?).await?;
    browser.click("button[data-action=ask-back]").await?;
    let back = browser.find("textarea[data-field=ask-back]").await?;
    back.send_keys("which region do you mean").await?;
    back.send_keys("\u{e00c}").await?;
    browser
        .until("document.querySelector('.ask-back').hidden")
        .await?;
    browser.click("input[data-option-id=o1]").await?;
    for part in [".card a[href]", ".card summary", "button[data-action=skip]"] {
        with_control(&browser, part, "Enter").await?;
    }
    browser.find(".card[data-state=waiting]").await?;
    with_control(&browser, ".card input[data-option-id=o1]", "Enter").await?;
    let reply = agent.reply(1).await?;
    let outcome = &reply["result"]["structuredContent"];
    assert_eq!(
        outcome["answers"][0]["options"][0]["label"], "staging",
        "{reply}"
    );
    ensure!(!reply.to_string().contains("which region"), "{reply}");
    browser.close().await
}

// contract: E16
#[tokio::test]
async fn what_turns_the_direction_of_a_text_is_seen_in_a_plan() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let person = up.person().await?;
    let token = credential(&up, "host", "default", "ci").await?;
    let host = Person::bearer(up.url(), &token)?;
    let turn = json!({"session_id": "build", "for_ms": 600_000, "toolset": "studio"});
    let begun = host.post("/api/turns/begin", &turn).await?.body;
    let plan = json!({"context_id": begun["context_id"], "explanation": "why \u{202e}txt.exe", "plan": [
        {"id": "a", "step": "run \u{202e}txt.exe", "status": "in_progress"}]});
    let reply = host.post("/api/studio/task-plans/update", &plan).await?;
    ensure!(reply.status == 200, "{reply:?}");
    let browser = Browser::open(1100, 960).await?;
    browser.goto(&fresh_link(&person).await?).await?;
    browser.goto(&format!("{}/#/plans", up.url())).await?;
    browser.find(".plan").await?;
    browser
        .until("document.querySelector('.plan').textContent.includes('run \\ufffdtxt.exe')")
        .await?;
    let turning = "return /[\\u202a-\\u202e\\u2066-\\u2069]/.test(document.body.textContent)";
    assert_eq!(browser.run(turning).await?, false);
    browser.close().await
}
