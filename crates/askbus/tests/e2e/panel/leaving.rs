//! Signing out: nothing of the person stays in the browser, and nothing they wrote goes without a word.

use super::rules::{axe, clean, picture};
use super::{fresh_link, holds_text, says};
use crate::support::{BINARY, asked, choose, id, one_question};
use anyhow::Result;
use askbus_testkit::{AskbusUp, Browser, McpStdio};
use serde_json::json;

/// The keys of what a browser keeps of a person.
const KEPT: &str = "return Object.keys(localStorage).filter((key) => /^askbus\\.(draft|outbox|left|told)/.test(key))";

async fn sign_out(browser: &Browser) -> Result<()> {
    browser.click("#settings summary").await?;
    browser.click("#sign-out").await
}

// contract: E12 D14
#[tokio::test]
async fn what_was_just_typed_is_kept_by_the_service_when_its_person_signs_out() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let person = up.person().await?;
    let mut agent = McpStdio::connect(up.askbus(), &["mcp"]).await?;
    let asking = one_question("What is it called?", &[]);
    agent.call(1, "ask_user", asking).await?;
    asked(&person, "What is it called?").await?;
    let browser = Browser::open(1100, 960).await?;
    browser.goto(&fresh_link(&person).await?).await?;
    let field = ".card[data-state=waiting] textarea[data-question-id=q1]";
    browser.find(field).await?.send_keys("Heron").await?;
    sign_out(&browser).await?;
    browser.find("#sign-in:not([hidden])").await?;
    assert_eq!(browser.run(KEPT).await?, json!([]));
    browser.goto(&fresh_link(&person).await?).await?;
    browser.find(field).await?;
    holds_text(&browser, field, "Heron").await?;
    browser.close().await
}

// contract: E12 D14
#[tokio::test]
async fn what_the_service_does_not_keep_is_named_before_and_who_stays_loses_nothing() -> Result<()>
{
    let up = AskbusUp::start(BINARY).await?;
    let person = up.person().await?;
    let mut agent = McpStdio::connect(up.askbus(), &["mcp"]).await?;
    let asking = one_question("Which colour?", &["red", "blue"]);
    agent.call(1, "ask_user", asking).await?;
    let shown = asked(&person, "Which colour?").await?;
    let browser = Browser::open(320, 640).await?;
    browser.goto(&fresh_link(&person).await?).await?;
    let field = browser.find("textarea[data-question-id=q1]").await?;
    field.send_keys("green, please").await?;
    person.answer(id(&shown), &choose("o1")).await?;
    says(&browser, ".card .kept", "green, please").await?;
    for (button, leaves) in [("stay", false), ("leave", true)] {
        sign_out(&browser).await?;
        browser.find("#leaving[open]").await?;
        says(&browser, "#leaving", "Which colour?").await?;
        says(&browser, "#leaving .kept", "green, please").await?;
        clean(&browser, &axe()?, "leaving").await?;
        picture(&browser, "leaving").await?;
        browser
            .click(&format!("#leaving button[value={button}]"))
            .await?;
        if !leaves {
            browser
                .until("!document.getElementById('leaving').open")
                .await?;
            says(&browser, ".card .kept", "green, please").await?;
            browser.find("[data-connection=online]").await?;
        }
    }
    browser.find("#sign-in:not([hidden])").await?;
    assert_eq!(browser.run(KEPT).await?, json!([]));
    browser.close().await
}

// contract: D14
#[tokio::test]
async fn who_cannot_be_signed_out_is_told_so() -> Result<()> {
    let mut up = AskbusUp::start(BINARY).await?;
    let person = up.person().await?;
    let mut agent = McpStdio::connect(up.askbus(), &["mcp"]).await?;
    agent
        .call(1, "ask_user", one_question("Name?", &[]))
        .await?;
    asked(&person, "Name?").await?;
    let browser = Browser::open(1100, 960).await?;
    browser.goto(&fresh_link(&person).await?).await?;
    let field = ".card[data-state=waiting] textarea[data-question-id=q1]";
    browser.find(field).await?;
    up.kill9().await?;
    browser.find("[data-connection=offline]").await?;
    browser.find(field).await?.send_keys("Heron").await?;
    sign_out(&browser).await?;
    // Nobody can keep it, and nobody is out.
    says(&browser, "#notice", "Not signed out").await?;
    up.restart().await?;
    browser.find("[data-connection=online]").await?;
    holds_text(&browser, field, "Heron").await?;
    browser.close().await
}
