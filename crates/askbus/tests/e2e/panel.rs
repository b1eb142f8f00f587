//! The main path: an agent asks over MCP, a person answers in a browser.

mod access;
mod acting;
mod cards;
mod crowd;
mod endings;
mod first_visit;
mod late;
mod leaving;
mod live;
mod places;
pub mod rules;
mod slips;
mod tabs;
mod text;
mod unreachable;
mod views;
mod whose;

use crate::support::{BINARY, asked, credential, id, one_question};
use anyhow::{Context as _, Result};
use askbus_testkit::{AskbusUp, Browser, McpPython, McpStdio, Person, within, workspace};
use serde_json::json;
use std::path::PathBuf;

/// Where a picture of the panel is wanted, if it is.
fn screenshot_path() -> Option<PathBuf> {
    if let Some(path) = std::env::var_os("ASKBUS_SCREENSHOT") {
        return Some(path.into());
    }
    let update = std::env::var("UPDATE_SCREENSHOT").is_ok_and(|v| v == "1");
    update.then(|| workspace().join("docs/screenshot.png"))
}

// contract: A1 A2 A3 D4 N3
#[tokio::test]
async fn the_official_client_asks_and_a_person_answers_in_the_browser() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let mut client = McpPython::connect(up.askbus(), &["mcp"], "legacy").await?;
    assert!(client.tools().await?.contains(&"ask_user".to_owned()));
    let call = client.call("ask_user", json!({"questions": [{
        "header": "Storage",
        "question": "Which database should the orders service use?",
        "options": [
            {"label": "PostgreSQL", "description": "One more service to run; transactions across orders and stock."},
            {"label": "SQLite", "description": "No service at all; a single writer."},
            {"label": "Keep the CSV files", "description": "Nothing changes now; the report stays slow."},
        ],
        "recommended": 0,
    }]})).await?;

    let browser = Browser::open(1100, 960).await?;
    browser.goto(&up.announcement().sign_in_url).await?;
    browser
        .find("[data-clarify-id][data-state=waiting]")
        .await?;
    let chosen = browser
        .run("return document.querySelectorAll('input:checked').length")
        .await?;
    assert_eq!(chosen, 0, "nothing is chosen before the person chooses");
    browser.click("input[data-option-id=o2]").await?;
    // Choosing never submits.
    browser
        .find("[data-clarify-id][data-state=waiting] input[data-option-id=o2]:checked")
        .await?;
    if let Some(path) = screenshot_path() {
        // Colours on their way are no picture of anything.
        let settle = "document.getAnimations().forEach((change) => change.finish())";
        browser.run(settle).await?;
        browser.screenshot(&path).await?;
    }
    browser
        .click("[data-clarify-id] button[data-action=submit]")
        .await?;
    browser
        .find("[data-clarify-id][data-state=settled]")
        .await?;

    let result = client.outcome(call).await?;
    assert_ne!(result["isError"], true, "{result}");
    let outcome = &result["structuredContent"];
    assert_eq!(outcome["status"], "settled", "{outcome}");
    assert_eq!(outcome["reason"], "response");
    assert_eq!(outcome["decided_by"], "person");
    assert_eq!(outcome["actor"], json!({"person": "me", "surface": "web"}));
    assert_eq!(
        outcome["answers"][0]["options"],
        json!([{"id": "o2", "label": "SQLite"}])
    );
    assert_eq!(
        outcome["assumptions"],
        json!([]),
        "the recommendation was not taken: {outcome}"
    );
    client.close().await?;
    browser.close().await
}

// contract: D4
#[tokio::test]
async fn on_a_phone_the_last_option_and_the_button_can_be_reached() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let mut client = McpPython::connect(up.askbus(), &["mcp"], "auto").await?;
    let long = |n: usize| {
        format!(
            "Option {n}: {}",
            "a rather long line of reasons ".repeat(12)
        )
    };
    let options: Vec<String> = (1..=20).map(long).collect();
    let question = format!(
        "Which one? {}",
        "There is a lot to be said about it. ".repeat(60)
    );
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    let call = client
        .call("ask_user", one_question(&question, &options))
        .await?;

    let browser = Browser::open(375, 667).await?;
    browser.goto(&up.announcement().sign_in_url).await?;
    browser
        .find("[data-clarify-id][data-state=waiting]")
        .await?;
    let width = browser
        .run("return [innerWidth, document.documentElement.scrollWidth]")
        .await?;
    assert_eq!(width, json!([375, 375]), "nothing may stick out sideways");
    browser.click("input[data-option-id=o20]").await?;
    browser.click("button[data-action=submit]").await?;
    browser
        .find("[data-clarify-id][data-state=settled]")
        .await?;

    let outcome = &client.outcome(call).await?["structuredContent"];
    assert_eq!(
        outcome["answers"][0]["options"][0]["id"], "o20",
        "{outcome}"
    );
    browser.close().await
}

/// Waits until a field of the page holds this text.
async fn holds_text(browser: &Browser, field: &str, text: &str) -> Result<()> {
    let script = "const [field, text, done] = arguments;
        const look = () => {
            if (document.querySelector(field)?.value === text) done(true);
            else requestAnimationFrame(look);
        };
        look();";
    let arguments = vec![json!(field), json!(text)];
    let seen = within(text, browser.page.execute_async(script, arguments)).await;
    if let Ok(Ok(_)) = seen {
        return Ok(());
    }
    let held = "return [...document.querySelectorAll('textarea')].map((t) => t.value)";
    let held = browser.run(held).await?;
    anyhow::bail!(
        "{field} holds {held}, not {text:?}: {seen:?}; {}",
        browser.text().await
    )
}

/// Waits until what a part of the page says holds this text.
async fn says(browser: &Browser, part: &str, text: &str) -> Result<()> {
    let script = "const [part, text, done] = arguments;
        const look = () => {
            const said = [...document.querySelectorAll(part)].map((node) => node.textContent);
            if (said.some((words) => words.includes(text))) done(true);
            else requestAnimationFrame(look);
        };
        look();";
    let arguments = vec![json!(part), json!(text)];
    match within(text, browser.page.execute_async(script, arguments)).await {
        Ok(Ok(_)) => Ok(()),
        other => anyhow::bail!(
            "{part} does not say {text:?}: {other:?}; the page says: {}",
            browser.text().await
        ),
    }
}

// contract: D4 E12
#[tokio::test]
async fn a_reload_loses_neither_the_question_nor_what_was_written() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let mut client = McpPython::connect(up.askbus(), &["mcp"], "legacy").await?;
    let call = client
        .call("ask_user", one_question("What should it be called?", &[]))
        .await?;
    let browser = Browser::open(900, 700).await?;
    browser.goto(&up.announcement().sign_in_url).await?;
    let field = "[data-clarify-id][data-state=waiting] textarea[data-question-id=q1]";
    browser.find(field).await?.send_keys("Heron").await?;
    // Saved by the service, so that another browser has it as well.
    let second = Browser::open(900, 700).await?;
    let link = up.person().await;
    assert!(link.is_err(), "the link was spent by the first browser");
    let person = askbus_testkit::Person::bearer(
        up.url(),
        &crate::support::credential(&up, "person", "default", "me").await?,
    )?;
    let link = person.post("/api/sign-in-link", &json!({})).await?;
    second
        .goto(link.body["url"].as_str().unwrap_or_default())
        .await?;
    second.find(field).await?;
    holds_text(&second, field, "Heron").await?;
    browser.page.refresh().await?;
    browser.find(field).await?;
    holds_text(&browser, field, "Heron").await?;
    browser.click("button[data-action=submit]").await?;
    let outcome = &client.outcome(call).await?["structuredContent"];
    assert_eq!(outcome["answers"][0]["text"], "Heron", "{outcome}");
    second.find("[data-clarify-id][data-state=settled]").await?;
    Ok(())
}

// contract: E11
#[tokio::test]
async fn a_card_says_that_its_agent_is_gone_while_its_lease_lasts() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let person = up.person().await?;
    let mut client = McpStdio::connect(up.askbus(), &["mcp"]).await?;
    client
        .call(1, "ask_user", one_question("Still there?", &[]))
        .await?;
    let shown = asked(&person, "Still there?").await?;
    let mut socket = person.socket().await?;
    let browser = Browser::open(1100, 960).await?;
    let link = person.post("/api/sign-in-link", &json!({})).await?;
    browser
        .goto(link.body["url"].as_str().unwrap_or_default())
        .await?;
    browser
        .find(".card[data-state=waiting] .gone[hidden]")
        .await?;
    client.process.kill9().await?;
    let told = socket.find(|m| m["event"] == "clarify.asker").await?;
    assert_eq!(
        (&told["clarify_id"], &told["disconnected"]),
        (&json!(id(&shown)), &json!(true)),
        "{told}"
    );
    browser
        .find(".card[data-state=waiting] .gone:not([hidden])")
        .await?;
    assert!(browser.text().await.contains("Agent disconnected"));
    browser.close().await
}

/// A link that signs a browser in as this person.
async fn fresh_link(person: &Person) -> Result<String> {
    let link = person.post("/api/sign-in-link", &json!({})).await?;
    let url = link.body["url"].as_str();
    Ok(url.with_context(|| format!("{link:?}"))?.to_owned())
}

// contract: A1 E10
#[tokio::test]
async fn bounds_hold_one_question_is_declined_and_what_is_for_others_is_locked() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let person = up.person().await?;
    let mut agent = McpStdio::connect(up.askbus(), &["mcp"]).await?;
    credential(&up, "person", "default", "bob").await?;
    let foreign = json!({"questions": [{"question": "Bob?", "options": ["yes"]}], "to": "bob"});
    agent.call(1, "ask_user", foreign).await?;
    let bobs = id(&asked(&person, "Bob?").await?).to_owned();
    let questions = json!({"questions": [
        {"question": "Which?", "explanation": "Two at most fit.", "multi_select": true,
            "options": ["a", "b", "c"], "min_select": 1, "max_select": 2},
        {"question": "When?"},
    ]});
    agent.call(2, "ask_user", questions).await?;
    let own = id(&asked(&person, "Which?").await?).to_owned();

    let browser = Browser::open(1100, 960).await?;
    browser.goto(&fresh_link(&person).await?).await?;
    let card = |selector: &str| format!("[data-clarify-id='{own}'] {selector}");
    browser.find(&card(".explanation")).await?;
    let locked = format!(
        "const card = document.querySelector(\"[data-clarify-id='{bobs}']\"); \
         return [card.querySelector('.actions').hidden, card.querySelector('input').disabled, \
         card.querySelector('.addressee').textContent.includes('bob')]"
    );
    assert_eq!(browser.run(&locked).await?, json!([true, true, true]));
    for option in ["o1", "o2", "o3"] {
        browser
            .click(&card(&format!("input[data-option-id={option}]")))
            .await?;
    }
    browser
        .find(&card("button[data-action=submit]:disabled"))
        .await?;
    browser.find(&card(".several.warning")).await?;
    browser.click(&card("input[data-option-id=o3]")).await?;
    browser
        .find(&card("button[data-action=submit]:enabled"))
        .await?;
    browser
        .click(&card("fieldset:nth-of-type(2) button[data-action=decline]"))
        .await?;
    browser.click(&card("button[data-action=submit]")).await?;
    let result = agent.reply(2).await?;
    let outcome = &result["result"]["structuredContent"];
    assert_eq!(outcome["reason"], "response", "{result}");
    let chosen = outcome["answers"][0]["options"].as_array();
    assert_eq!(chosen.map(Vec::len), Some(2), "{outcome}");
    assert_eq!(outcome["dismissed_questions"], json!(["q2"]), "{outcome}");
    browser.close().await
}

// contract: N3
#[tokio::test]
async fn the_note_of_a_draft_from_elsewhere_goes_along() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let person = up.person().await?;
    let mut agent = McpStdio::connect(up.askbus(), &["mcp"]).await?;
    let asking = one_question("Where?", &["here", "there"]);
    agent.call(1, "ask_user", asking).await?;
    let shown = asked(&person, "Where?").await?;
    let mut elsewhere = person.socket().await?;
    elsewhere
        .send(
            &json!({"event": "clarify.draft", "clarify_id": id(&shown), "tab": "elsewhere",
            "answers": [{"question_id": "q1", "option_ids": ["o2"], "note": "by noon"}]}),
        )
        .await?;
    let browser = Browser::open(1100, 960).await?;
    browser.goto(&fresh_link(&person).await?).await?;
    browser.find("input[data-option-id=o2]:checked").await?;
    browser.find(".note:not([hidden])").await?;
    // The panel saves its own draft of it, and sends it.
    browser.click("input[data-option-id=o1]").await?;
    browser.click("button[data-action=submit]").await?;
    let result = agent.reply(1).await?;
    let answer = &result["result"]["structuredContent"]["answers"][0];
    assert_eq!(answer["options"][0]["id"], "o1", "{result}");
    assert_eq!(answer["note"], "by noon", "{result}");
    browser.close().await
}
