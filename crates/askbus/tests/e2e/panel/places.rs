//! Who is somewhere in a list stays there, whatever is drawn anew.

use super::fresh_link;
use crate::support::{BINARY, asked, choose, credential, id, one_question};
use anyhow::{Result, ensure};
use askbus_testkit::{AskbusUp, Browser, McpStdio, Person};
use serde_json::{Value, json};

const FOCUSED: &str = "return [document.activeElement.tagName, document.activeElement.closest('[data-past-id], [data-plan-of]')?.dataset.pastId
    ?? document.activeElement.closest('[data-plan-of]')?.dataset.planOf]";

// contract: D4
#[tokio::test]
async fn what_is_read_below_a_session_stays_open_when_more_of_it_is_over() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let person = up.person().await?;
    let mut agent = McpStdio::connect(up.askbus(), &["mcp"]).await?;
    let first = one_question("First?", &["a"]);
    agent.call(1, "ask_user", first).await?;
    let first = asked(&person, "First?").await?;
    person.answer(id(&first), &choose("o1")).await?;
    agent.reply(1).await?;
    let browser = Browser::open(1100, 960).await?;
    browser.goto(&fresh_link(&person).await?).await?;
    let session = first["session_id"].as_str().unwrap_or_default();
    browser
        .goto(&format!("{}/#/session/{session}", up.url()))
        .await?;
    browser.click("#past summary").await?;
    browser.find("#past .past[open] .past-body").await?;
    browser
        .run("document.querySelector('#past summary').focus()")
        .await?;
    let second = one_question("Second?", &["a"]);
    agent.call(2, "ask_user", second).await?;
    let second = asked(&person, "Second?").await?;
    person.answer(id(&second), &choose("o1")).await?;
    browser
        .until("document.querySelectorAll('#past li').length === 2")
        .await?;
    let at = browser.run(FOCUSED).await?;
    assert_eq!(at, json!(["SUMMARY", id(&first)]));
    let open = format!(
        "return document.querySelector('[data-past-id=\"{}\"] .past').open",
        id(&first)
    );
    assert_eq!(browser.run(&open).await?, true);
    browser.close().await
}

/// A host's session with a plan, and what shows its next revision.
async fn planned(host: &Person, session: &str) -> Result<Value> {
    let turn = json!({"session_id": session, "for_ms": 600_000, "toolset": "studio"});
    let begun = host.post("/api/turns/begin", &turn).await?.body;
    show(host, &begun["context_id"], "pending").await?;
    Ok(begun["context_id"].clone())
}

async fn show(host: &Person, context: &Value, status: &str) -> Result<()> {
    let plan =
        json!({"context_id": context, "plan": [{"id": "a", "step": "look", "status": status}]});
    let reply = host.post("/api/studio/task-plans/update", &plan).await?;
    ensure!(reply.status == 200, "{reply:?}");
    Ok(())
}

// contract: D4 E16
#[tokio::test]
async fn plans_stay_where_they_are_while_they_go_on() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let person = up.person().await?;
    let token = credential(&up, "host", "default", "ci").await?;
    let host = Person::bearer(up.url(), &token)?;
    let one = planned(&host, "one").await?;
    planned(&host, "two").await?;
    let browser = Browser::open(1100, 960).await?;
    browser.goto(&fresh_link(&person).await?).await?;
    browser.click("#nav a[data-view=plans]").await?;
    let order = "[...document.querySelectorAll('#plan-list .plan')].map((plan) => plan.dataset.planOf).join()";
    browser.until(&format!("{order} === 'two,one'")).await?;
    browser
        .run("document.querySelector('[data-plan-of=two] summary').focus()")
        .await?;
    show(&host, &one, "in_progress").await?;
    browser
        .find("[data-plan-of=one] [data-status=in_progress]")
        .await?;
    assert_eq!(browser.run(&format!("return {order}")).await?, "two,one");
    assert_eq!(browser.run(FOCUSED).await?, json!(["SUMMARY", "two"]));
    // A third one comes before both, and the focus stays.
    planned(&host, "three").await?;
    browser
        .until(&format!("{order} === 'three,two,one'"))
        .await?;
    assert_eq!(browser.run(FOCUSED).await?, json!(["SUMMARY", "two"]));
    browser.close().await
}

// contract: D4
#[tokio::test]
async fn what_is_kept_below_a_card_is_the_same_when_the_connection_goes_and_comes() -> Result<()> {
    let mut up = AskbusUp::start(BINARY).await?;
    let person = up.person().await?;
    let mut agent = McpStdio::connect(up.askbus(), &["mcp"]).await?;
    let asking = one_question("Which?", &["a", "b"]);
    agent.call(1, "ask_user", asking).await?;
    let shown = asked(&person, "Which?").await?;
    let browser = Browser::open(1100, 960).await?;
    browser.goto(&fresh_link(&person).await?).await?;
    let field = browser.find("textarea[data-question-id=q1]").await?;
    field.send_keys("neither").await?;
    person.answer(id(&shown), &choose("o1")).await?;
    browser.find(".kept button[data-action=copy]").await?;
    let focus = "const copy = document.querySelector('.kept button[data-action=copy]');
        copy.focus(); window.copy = copy";
    browser.run(focus).await?;
    up.kill9().await?;
    browser.find("[data-connection=offline]").await?;
    let same = "return document.activeElement === window.copy";
    assert_eq!(browser.run(same).await?, true);
    up.restart().await?;
    browser.find("[data-connection=online]").await?;
    assert_eq!(browser.run(same).await?, true);
    browser.close().await
}
