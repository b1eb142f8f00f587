//! Who comes for the first time, or by a wrong way, is told how to go on.

use super::{fresh_link, says};
use crate::support::{BINARY, asked, credential, id};
use anyhow::Result;
use askbus_testkit::{AskbusUp, Browser, McpStdio};
use serde_json::json;

// contract: D14
#[tokio::test]
async fn a_used_link_leads_on_and_a_wrong_credential_is_named() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let link = up.announcement().sign_in_url.clone();
    let browser = Browser::open(1100, 960).await?;
    browser.goto(&link).await?;
    browser.find("[data-connection=online]").await?;
    // Who is signed in already is led to the panel.
    browser.goto(&link).await?;
    browser.find("[data-connection=online]").await?;
    browser.until("location.search === ''").await?;
    browser
        .run("document.getElementById('settings').open = true")
        .await?;
    browser.click("#sign-out").await?;
    browser.find("#sign-in:not([hidden])").await?;
    // Who is not is told so.
    browser.goto(&link).await?;
    says(&browser, "#sign-in-error", "That link was used before").await?;
    let agent = credential(&up, "agent", "default", "bot").await?;
    browser.find("#credential").await?.send_keys(&agent).await?;
    browser.click("#sign-in-button").await?;
    says(&browser, "#sign-in-error", "is not a person’s").await?;
    browser.close().await
}

// contract: A1
#[tokio::test]
async fn an_empty_inbox_says_how_to_ask_and_counts_what_this_person_may_answer() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let person = up.person().await?;
    let browser = Browser::open(1100, 960).await?;
    browser.goto(&fresh_link(&person).await?).await?;
    browser.find("#empty-how:not([hidden]) pre").await?;
    let mut agent = McpStdio::connect(up.askbus(), &["mcp"]).await?;
    credential(&up, "person", "default", "bob").await?;
    // Somebody of that name has to be there.
    credential(&up, "person", "default", "bob").await?;
    let bobs = json!({"questions": [{"question": "For Bob?"}], "to": "bob"});
    agent.call(1, "ask_user", bobs).await?;
    asked(&person, "For Bob?").await?;
    browser.find(".card[data-state=waiting]").await?;
    browser.find(".count[data-count='0']").await?;
    let mine = json!({"questions": [{"question": "For me?"}]});
    agent.call(2, "ask_user", mine).await?;
    let shown = asked(&person, "For me?").await?;
    browser.find(".count[data-count='1']").await?;
    // What somebody else is to answer stands last, though it was asked first.
    let first = format!(
        "document.querySelector('.card').dataset.clarifyId === '{}'",
        id(&shown)
    );
    browser.until(&first).await?;
    browser
        .goto(&format!("{}/#/session/nobody", up.url()))
        .await?;
    says(&browser, "#past", "Nothing is known of this session").await?;
    browser.close().await
}

// contract: D4 A4
#[tokio::test]
async fn asking_back_is_given_up_by_escape_and_until_when_there_is_time_is_always_said()
-> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let person = up.person().await?;
    let mut agent = McpStdio::connect(up.askbus(), &["mcp"]).await?;
    let question =
        json!({"questions": [{"question": "Deploy?", "options": ["yes"]}], "timeout_s": 3600});
    agent.call(1, "ask_user", question).await?;
    asked(&person, "Deploy?").await?;
    let browser = Browser::open(1100, 960).await?;
    browser.goto(&fresh_link(&person).await?).await?;
    says(
        &browser,
        ".clock[data-phase=hidden] .clock-text",
        "Open until",
    )
    .await?;
    browser.click(".card button[data-action=ask-back]").await?;
    says(
        &browser,
        ".card button[data-action=ask-back]",
        "Answer instead",
    )
    .await?;
    let field = browser.find("[data-field=ask-back]").await?;
    field.send_keys("\u{e00c}").await?;
    browser
        .until("document.querySelector('.card .ask-back').hidden")
        .await?;
    let focused = "document.activeElement.dataset.action === 'ask-back'";
    browser.until(focused).await?;
    browser.close().await
}
