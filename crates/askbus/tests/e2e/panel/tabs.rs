//! Several tabs of one browser.

use super::{fresh_link, holds_text};
use crate::support::{BINARY, asked, one_question};
use anyhow::{Context as _, Result};
use askbus_testkit::{AskbusUp, Browser, McpStdio};
use serde_json::json;

/// How many drafts the browser keeps.
const DRAFTS: &str =
    "Object.keys(localStorage).filter((key) => key.startsWith('askbus.draft.')).length";

/// A copy of a tab begins with all that the tab keeps for itself, its name among it. Under the name of a
/// machine without TLS browsers have no locks.
// contract: E12 D4
#[tokio::test]
async fn a_copy_of_a_tab_writes_under_a_name_of_its_own() -> Result<()> {
    let name = "askbus.test";
    let up = AskbusUp::start_with(BINARY, &["--host-names", name], &[]).await?;
    let person = up.person().await?;
    let mut agent = McpStdio::connect(up.askbus(), &["mcp"]).await?;
    agent
        .call(1, "ask_user", one_question("Name?", &[]))
        .await?;
    asked(&person, "Name?").await?;
    let field = ".card[data-state=waiting] textarea[data-question-id=q1]";
    for (host, locks) in [("127.0.0.1", true), (name, false)] {
        let browser = Browser::open(1100, 960).await?;
        let link = fresh_link(&person).await?.replace("127.0.0.1", host);
        browser.goto(&link).await?;
        browser.find(field).await?;
        let has = browser.run("return navigator.locks !== undefined").await?;
        assert_eq!(has, json!(locks), "{host}");
        let first = browser.page.window().await?;
        let own = browser.run("return sessionStorage['askbus.tab']").await?;
        browser.run("window.open(location.href)").await?;
        let windows = browser.page.windows().await?;
        let second = windows.iter().find(|window| **window != first);
        let second = second.context("a second window")?.clone();
        browser.page.switch_to_window(second).await?;
        let element = browser.find(field).await?;
        let other = browser.run("return sessionStorage['askbus.tab']").await?;
        assert_ne!(own, other, "{host}");
        element.clear().await?;
        element.send_keys(&format!("second of {host}")).await?;
        browser.page.switch_to_window(first).await?;
        let element = browser.find(field).await?;
        element.clear().await?;
        element.send_keys(&format!("first of {host}")).await?;
        browser.until(&format!("{DRAFTS} === 2")).await?;
        browser.page.refresh().await?;
        browser.find(field).await?;
        holds_text(&browser, field, &format!("first of {host}")).await?;
        let after = browser.run("return sessionStorage['askbus.tab']").await?;
        assert_eq!(own, after, "a reload keeps the name");
        browser.close().await?;
    }
    Ok(())
}
