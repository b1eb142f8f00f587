//! One browser and several people: what one of them wrote never goes out in the name of another.

use super::{fresh_link, says};
use crate::support::{BINARY, asked, credential, one_question};
use anyhow::Result;
use askbus_testkit::{AskbusUp, Browser, McpStdio};
use serde_json::json;

/// What another tab of this browser does to sign somebody in.
async fn another_tab_signs_in(browser: &Browser, token: &str) -> Result<()> {
    let body = json!({"credential": token}).to_string();
    let script = format!(
        "return fetch('/api/sign-in', {{ method: 'POST', body: {} }}).then((a) => a.status)",
        json!(body)
    );
    assert_eq!(browser.run(&script).await?, json!(200));
    Ok(())
}

// contract: E12 D4
#[tokio::test]
async fn an_answer_that_waits_to_be_sent_stays_its_authors() -> Result<()> {
    let mut up = AskbusUp::start(BINARY).await?;
    let person = up.person().await?;
    let bob = credential(&up, "person", "default", "bob").await?;
    let mut agent = McpStdio::connect(up.askbus(), &["mcp"]).await?;
    agent
        .call(1, "ask_user", one_question("Approve?", &["a", "b"]))
        .await?;
    let waiting = asked(&person, "Approve?").await?;
    let browser = Browser::open(1100, 960).await?;
    browser.goto(&fresh_link(&person).await?).await?;
    browser.find("[data-connection=online]").await?;
    another_tab_signs_in(&browser, &bob).await?;
    up.kill9().await?;
    browser.find("[data-connection=offline]").await?;
    let field = ".card[data-state=waiting] textarea[data-question-id=q1]";
    browser.find(field).await?.send_keys("mine alone").await?;
    browser.click("button[data-action=submit]").await?;
    up.restart().await?;
    // The page is bob's now; nothing of what stood there is.
    browser
        .until("document.getElementById('who').textContent.includes('bob')")
        .await?;
    browser.find(".card[data-state=waiting]").await?;
    let empty = format!("document.querySelector('{field}').value === ''");
    browser.until(&empty).await?;
    let person = up.person().await?;
    assert_eq!(person.pending().await?.len(), 1, "nobody has answered");
    // It is sent when its author is back.
    browser.goto(&fresh_link(&person).await?).await?;
    let reply = agent.reply(1).await?;
    let outcome = &reply["result"]["structuredContent"];
    assert_eq!(outcome["actor"]["person"], "me", "{reply}");
    assert_eq!(outcome["answers"][0]["text"], "mine alone", "{reply}");
    assert_eq!(outcome["clarify_id"], waiting["clarify_id"]);
    browser.close().await
}

// contract: D14
#[tokio::test]
async fn who_signs_out_in_one_tab_is_signed_out_in_all() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let person = up.person().await?;
    let browser = Browser::open(1100, 960).await?;
    browser.goto(&fresh_link(&person).await?).await?;
    browser.find("[data-connection=online]").await?;
    let out = "return fetch('/api/sign-out', { method: 'POST', body: '{}' }).then((a) => a.status)";
    assert_eq!(browser.run(out).await?, json!(200));
    browser.find("#sign-in:not([hidden])").await?;
    says(&browser, "#sign-in", "Sign in").await?;
    browser.close().await
}
