//! A chat that cannot be reached is said where its people are.

use super::{ANN, up};
use crate::panel::rules::{axe, clean, picture};
use crate::support::{asked, credential};
use anyhow::Result;
use askbus_testkit::{Browser, Hook, HookAnswer, Person};
use serde_json::json;

// contract: N4
#[tokio::test]
async fn the_panel_and_the_terminal_say_which_chat_cannot_be_reached() -> Result<()> {
    let hook = Hook::start().await?;
    hook.answer(HookAnswer::Status(500));
    let (up, _config) = up(&[hook.table("team", ANN)]).await?;
    let person = up.person().await?;
    let browser = Browser::open(1100, 960).await?;
    let link = person.post("/api/sign-in-link", &json!({})).await?;
    let link = link.body["url"].as_str().unwrap_or_default().to_owned();
    browser.goto(&link).await?;
    browser.find("[data-connection=online]").await?;
    browser.find("#channels[hidden]").await?;
    let _asking = up.askbus().spawn(&["ask", "Anybody?", "--choice", "yes"])?;
    asked(&person, "Anybody?").await?;
    hook.until("an attempt", |seen| !seen.is_empty()).await?;
    browser.find("#channels:not([hidden])").await?;
    browser.click("#channels summary").await?;
    let said = "document.getElementById('channels').textContent";
    for words in [
        "1 chat cannot be reached",
        "team",
        "1 message waits",
        "it answered 500",
    ] {
        browser
            .until(&format!("{said}.includes('{words}')"))
            .await?;
    }
    clean(&browser, &axe()?, "an unreachable chat").await?;
    picture(&browser, "unreachable-chat").await?;
    let inbox = up.askbus().run(&["inbox"]).await?;
    assert_eq!(
        inbox.stderr,
        "askbus: the chat team cannot be reached (it answered 500); not delivered there: 1\n"
    );
    // Who may not see what is not delivered hears nothing of it.
    let other = credential(&up, "person", "other", "bob").await?;
    let other = Person::bearer(up.url(), &other)?;
    assert_eq!(
        other.get("/api/channels").await?.body["channels"],
        json!([])
    );
    hook.answer(HookAnswer::Status(200));
    hook.told("question.asked", "Anybody?").await?;
    // It is known when it is looked at again.
    browser.page.refresh().await?;
    browser.find("[data-connection=online]").await?;
    browser.find("#channels[hidden]").await?;
    let inbox = up.askbus().run(&["inbox"]).await?;
    assert_eq!(inbox.stderr, "");
    browser.close().await
}
