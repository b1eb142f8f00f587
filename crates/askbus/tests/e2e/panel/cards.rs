//! What a card shows and takes beside its options.

use super::{fresh_link, holds_text, says};
use crate::support::{BINARY, ask, asked, begin_turn, credential, id};
use anyhow::{Context as _, Result};
use askbus_domain::MAX_ANSWER_CHARS;
use askbus_testkit::{AskbusUp, Browser, McpStdio, Person};
use serde_json::json;

// contract: D15
#[tokio::test]
async fn questions_of_sub_agents_stand_under_their_session() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let person = up.person().await?;
    let host = credential(&up, "host", "default", "ci").await?;
    let host = Person::bearer(up.url(), &host)?;
    let sub_agent = async |session: &str, parent: serde_json::Value| {
        let turn =
            json!({"session_id": session, "for_ms": 600_000, "toolset": "ask", "parent": parent});
        let begun = host.post("/api/turns/begin", &turn).await?.body;
        let context = begun["context_id"]
            .as_str()
            .with_context(|| format!("{begun}"))?;
        anyhow::Ok(up.askbus().clone().env("ASKBUS_CONTEXT", context))
    };
    // The sub-agents ask first, one of them on behalf of another, and somebody else in between.
    let tests = sub_agent("tests", json!({"session_id": "main", "name": "tests"})).await?;
    let (_a, of_tests) = ask(&tests, &person, "Tests?", &[]).await?;
    let (_b, other) = ask(up.askbus(), &person, "Other?", &["--session", "other"]).await?;
    let lint = sub_agent("lint", json!({"session_id": "tests"})).await?;
    let (_c, of_lint) = ask(&lint, &person, "Lint?", &[]).await?;

    let browser = Browser::open(1100, 960).await?;
    browser.goto(&fresh_link(&person).await?).await?;
    let groups =
        "return [...document.querySelectorAll('.group')].map((group) => [group.dataset.sessionId,
        [...group.querySelectorAll('.card')].map((card) => card.dataset.clarifyId)])";
    let card = |id: &str| format!("[data-clarify-id='{id}']");
    for id in [&of_tests, &other, &of_lint] {
        browser.find(&card(id)).await?;
    }
    let expected = json!([["main", [of_tests, of_lint]], ["other", [other]]]);
    assert_eq!(browser.run(groups).await?, expected);
    says(
        &browser,
        &format!("{} .subagent", card(&of_tests)),
        "sub-agent tests",
    )
    .await?;
    says(
        &browser,
        &format!("{} .subagent", card(&of_lint)),
        "a sub-agent",
    )
    .await?;

    // What the session asks itself comes first, though it was asked last.
    let main = begin_turn(up.askbus(), "main", &[]).await?;
    let main = up.askbus().clone().env("ASKBUS_CONTEXT", main);
    let (_d, own) = ask(&main, &person, "Main?", &[]).await?;
    browser.find(&card(&own)).await?;
    let expected = json!([["main", [own, of_tests, of_lint]], ["other", [other]]]);
    assert_eq!(browser.run(groups).await?, expected);
    browser.close().await
}

// contract: A2 D4
#[tokio::test]
async fn each_question_takes_a_note() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let person = up.person().await?;
    let mut agent = McpStdio::connect(up.askbus(), &["mcp"]).await?;
    let questions = json!({"questions": [
        {"question": "Where?", "options": ["here", "there"]},
        {"question": "When?", "options": ["now", "later"]},
    ]});
    agent.call(1, "ask_user", questions).await?;
    asked(&person, "Where?").await?;
    let browser = Browser::open(1100, 960).await?;
    browser.goto(&fresh_link(&person).await?).await?;
    for (n, option, note) in [(1, "o2", "mind the gap"), (2, "o1", "before noon")] {
        let question = format!("fieldset:nth-of-type({n})");
        browser
            .click(&format!("{question} input[data-option-id={option}]"))
            .await?;
        browser
            .click(&format!("{question} button[data-action=note]"))
            .await?;
        let field = browser
            .find(&format!("{question} textarea[data-field=note]"))
            .await?;
        field.send_keys(note).await?;
    }
    // It is part of the draft.
    browser.page.refresh().await?;
    let second = "fieldset:nth-of-type(2) textarea[data-field=note]";
    browser.find(second).await?;
    holds_text(&browser, second, "before noon").await?;
    browser.find(second).await?.send_keys(" at best").await?;
    browser.click("button[data-action=submit]").await?;
    let reply = agent.reply(1).await?;
    let answers = &reply["result"]["structuredContent"]["answers"];
    assert_eq!(answers[0]["options"][0]["label"], "there", "{reply}");
    assert_eq!(answers[0]["note"], "mind the gap", "{reply}");
    assert_eq!(answers[1]["note"], "before noon at best", "{reply}");
    browser.close().await
}

// contract: A1
#[tokio::test]
async fn the_panel_keeps_to_the_limits_that_the_service_names() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let person = up.person().await?;
    let mut agent = McpStdio::connect(up.askbus(), &["mcp"]).await?;
    let questions = json!({"questions": [{"header": "Deployment target", "question": "Where?"}]});
    agent.call(1, "ask_user", questions).await?;
    let shown = asked(&person, "Where?").await?;
    assert_eq!(
        shown["questions"][0]["header"], "Deployment target",
        "{shown}"
    );
    let browser = Browser::open(1100, 960).await?;
    browser.goto(&fresh_link(&person).await?).await?;
    browser.find(".header-tag").await?;
    let header = "return document.querySelector('.header-tag').textContent";
    assert_eq!(browser.run(header).await?, "Deployment t");
    // As long as may be, of characters that are two units long each; then one more.
    let fill = |length: usize| {
        format!(
            "const field = document.querySelector('textarea[data-question-id=q1]');
            field.value = '\u{1f600}'.repeat({length});
            field.dispatchEvent(new Event('input', {{bubbles: true}}));
            return document.querySelector('button[data-action=submit]').disabled"
        )
    };
    assert_eq!(browser.run(&fill(MAX_ANSWER_CHARS)).await?, false);
    assert_eq!(browser.run(&fill(MAX_ANSWER_CHARS + 1)).await?, true);
    says(
        &browser,
        "fieldset .warning:not([hidden])",
        "at most 20,000 characters",
    )
    .await?;
    assert_eq!(browser.run(&fill(MAX_ANSWER_CHARS)).await?, false);
    browser.click("button[data-action=submit]").await?;
    let reply = agent.reply(1).await?;
    let answer = &reply["result"]["structuredContent"]["answers"][0]["text"];
    let length = answer.as_str().map(|text| text.chars().count());
    assert_eq!(length, Some(MAX_ANSWER_CHARS));
    assert!(!id(&shown).is_empty());
    browser.close().await
}
