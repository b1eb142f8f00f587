//! What a person does in a card beside answering, and what others see of it.

use super::{fresh_link, holds_text, says};
use crate::support::{BINARY, asked, id, one_question};
use anyhow::Result;
use askbus_testkit::{AskbusUp, Browser, McpStdio};
use serde_json::{Value, json};

// contract: D4
#[tokio::test]
async fn what_is_no_answer_has_controls_of_its_own_and_takes_along_what_was_filled_in() -> Result<()>
{
    let up = AskbusUp::start(BINARY).await?;
    let person = up.person().await?;
    let mut agent = McpStdio::connect(up.askbus(), &["mcp"]).await?;
    let browser = Browser::open(1100, 960).await?;
    browser.goto(&fresh_link(&person).await?).await?;
    browser.find("[data-connection=online]").await?;
    for (n, reason) in [(1, "skipped"), (2, "dismissed"), (3, "ask_back")] {
        let first = format!("Where for {reason}?");
        let questions = json!({"questions": [
            {"question": first, "options": ["here", "there"]}, {"question": "When?"},
        ]});
        agent.call(n, "ask_user", questions).await?;
        let shown = asked(&person, &first).await?;
        let card = format!("[data-clarify-id='{}']", id(&shown));
        let within_card = |part: &str| format!("{card} {part}");
        browser
            .click(&within_card("input[data-option-id=o2]"))
            .await?;
        match reason {
            "skipped" => {
                browser
                    .click(&within_card("button[data-action=skip]"))
                    .await?;
            }
            "dismissed" => {
                // All of them; one alone is declined where it stands.
                says(&browser, &within_card("button[data-action=dismiss]"), "all").await?;
                browser
                    .click(&within_card("button[data-action=dismiss]"))
                    .await?;
            }
            _ => {
                browser
                    .click(&within_card("button[data-action=ask-back]"))
                    .await?;
                let active = browser.page.active_element().await?;
                active.send_keys("Which of the two?").await?;
                browser
                    .click(&within_card("button[data-action=ask-back-send]"))
                    .await?;
            }
        }
        browser.find(&format!("{card}[data-state=settled]")).await?;
        let reply = agent.reply(n).await?;
        let outcome = &reply["result"]["structuredContent"];
        assert_eq!(
            (&outcome["reason"], &outcome["answers"]),
            (&json!(reason), &json!([])),
            "{reply}"
        );
        assert_eq!(
            outcome["partial"][0]["options"][0]["label"], "there",
            "{reply}"
        );
        let text = match reason {
            "ask_back" => json!("Which of the two?"),
            _ => Value::Null,
        };
        assert_eq!(outcome["text"], text, "{reply}");
    }
    browser.close().await
}

/// As if each question had been asked a little more than a minute ago.
const EARLIER: &str = "
    const Real = WebSocket;
    window.WebSocket = class extends Real {
        addEventListener(kind, listener, ...more) {
            if (kind !== 'message') return super.addEventListener(kind, listener, ...more);
            super.addEventListener(kind, (event) => {
                const message = JSON.parse(event.data);
                if (message.event === 'clarify.requested') message.requested_at -= 61_000;
                listener({data: JSON.stringify(message)});
            });
        }
    };";

// contract: A4
#[tokio::test]
async fn the_clock_counts_down_until_somebody_acts_and_everybody_sees_that() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let person = up.person().await?;
    let mut agent = McpStdio::connect(up.askbus(), &["mcp"]).await?;
    let asking =
        json!({"questions": [{"question": "In time?", "options": ["a"]}], "timeout_s": 1800});
    agent.call(1, "ask_user", asking).await?;
    let shown = asked(&person, "In time?").await?;
    let (one, two) = tokio::try_join!(Browser::open(900, 700), Browser::open(900, 700))?;
    one.before_pages(EARLIER).await?;
    for browser in [&one, &two] {
        browser.goto(&fresh_link(&person).await?).await?;
        browser.find(".card[data-state=waiting]").await?;
    }
    // A question that was asked just now does not hurry anybody.
    two.find(".clock[data-phase=hidden]").await?;
    one.find(".clock[data-phase=countdown][data-urgent=false]")
        .await?;
    one.until("/^29:[0-5]\\d left$/.test(document.querySelector('.clock-text').textContent)")
        .await?;
    let before = "return document.querySelector('.clock-text').textContent";
    let before = one.run(before).await?;
    one.until(&format!(
        "document.querySelector('.clock-text').textContent !== {before}"
    ))
    .await?;
    // Neither a look nor the pointer is an act; a key is.
    one.run(
        "const field = document.querySelector('textarea[data-question-id=q1]'); field.focus();
        field.dispatchEvent(new PointerEvent('pointermove', {bubbles: true}));
        field.dispatchEvent(new KeyboardEvent('keydown', {key: 'Tab', bubbles: true}));
        field.dispatchEvent(new KeyboardEvent('keydown', {key: 'Shift', bubbles: true}));",
    )
    .await?;
    let waiting = person.pending().await?;
    assert_eq!(waiting[0]["held"], false, "{waiting:?}");
    one.find("textarea[data-question-id=q1]")
        .await?
        .send_keys("x")
        .await?;
    for browser in [&one, &two] {
        browser
            .find(".clock[data-held=true][data-phase=waiting]")
            .await?;
        says(browser, ".clock-text", "Held by you").await?;
        browser
            .find(".clock [data-action=hold][hidden]")
            .await
            .map(drop)?;
    }
    let waiting = person.pending().await?;
    assert_eq!(
        (&waiting[0]["held"], &waiting[0]["clarify_id"]),
        (&json!(true), &json!(id(&shown))),
        "{waiting:?}"
    );
    one.close().await?;
    two.close().await
}

// contract: D4
#[tokio::test]
async fn what_comes_and_goes_moves_neither_the_focus_nor_what_is_looked_at() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let person = up.person().await?;
    let mut agent = McpStdio::connect(up.askbus(), &["mcp"]).await?;
    for n in 0..3 {
        let asking = json!({"questions": [{"question": format!("Number {n}?"), "options": ["a", "b", "c"]}], "timeout_s": 4000 + n});
        agent.call(n, "ask_user", asking).await?;
    }
    let first = asked(&person, "Number 0?").await?;
    let last = asked(&person, "Number 2?").await?;
    let browser = Browser::open(1100, 700).await?;
    browser.goto(&fresh_link(&person).await?).await?;
    let field = format!(
        "[data-clarify-id='{}'] textarea[data-question-id=q1]",
        id(&last)
    );
    browser.find(&field).await?.send_keys("typed").await?;
    let place = format!(
        "return Math.round(document.querySelector(\"{field}\").getBoundingClientRect().top)"
    );
    let before = browser.run(&place).await?;
    let scrolled = browser.run("return scrollY").await?;
    assert!(
        scrolled.as_f64().is_some_and(|y| y > 100.0),
        "what is written in is far down the page: {scrolled}"
    );
    // Above it one comes, with the nearest deadline of all, and one goes.
    let soon = json!({"questions": [{"question": "First of all?", "options": ["a", "b", "c", "d", "e"]}], "timeout_s": 1000});
    agent.call(9, "ask_user", soon).await?;
    let came = asked(&person, "First of all?").await?;
    browser
        .find(&format!("[data-clarify-id='{}']", id(&came)))
        .await?;
    browser
        .until(&format!(
            "document.querySelector('.card').dataset.clarifyId === '{}'",
            id(&came)
        ))
        .await?;
    assert_eq!(browser.run(&place).await?, before, "nothing moved");
    person
        .answer(id(&first), &json!({"action": "dismiss"}))
        .await?;
    browser
        .until(&format!(
            "document.querySelector(\"[data-clarify-id='{}']\") === null",
            id(&first)
        ))
        .await?;
    assert_eq!(browser.run(&place).await?, before, "nothing moved");
    let focused = format!("document.activeElement === document.querySelector(\"{field}\")");
    browser.until(&focused).await?;
    let active = browser.page.active_element().await?;
    active.send_keys(" on").await?;
    holds_text(&browser, &field, "typed on").await?;
    browser.close().await
}

// contract: D4
#[tokio::test]
async fn the_language_follows_the_browser_until_somebody_chooses_one() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let person = up.person().await?;
    let mut agent = McpStdio::connect(up.askbus(), &["mcp"]).await?;
    agent
        .call(1, "ask_user", one_question("Name?", &["a"]))
        .await?;
    asked(&person, "Name?").await?;
    let browser = Browser::open(1100, 700).await?;
    browser
        .before_pages(
            "Object.defineProperty(navigator, 'languages', {value: ['fr-CA', 'zh-TW', 'en']});",
        )
        .await?;
    browser.goto(&fresh_link(&person).await?).await?;
    browser
        .until("document.documentElement.lang === 'zh'")
        .await?;
    let field = "textarea[data-question-id=q1]";
    browser.find(field).await?.send_keys("half").await?;
    says(&browser, "button[data-action=submit]", "发送").await?;
    let choose = |what: &str, value: &str| {
        format!(
            "const select = document.getElementById('{what}'); select.value = '{value}'; select.dispatchEvent(new Event('change'))"
        )
    };
    // Chosen, it holds for what is on the page, and what is typed stays.
    browser.run(&choose("language", "en")).await?;
    browser
        .until("document.documentElement.lang === 'en'")
        .await?;
    says(&browser, "button[data-action=submit]", "Send").await?;
    holds_text(&browser, field, "half").await?;
    browser.run(&choose("theme", "dark")).await?;
    let dark = "getComputedStyle(document.documentElement).colorScheme === 'dark' && document.documentElement.dataset.theme === 'dark'";
    browser.until(dark).await?;
    browser.page.refresh().await?;
    browser.find(field).await?;
    browser
        .until("document.documentElement.lang === 'en'")
        .await?;
    browser.until(dark).await?;
    holds_text(&browser, field, "half").await?;
    // And given up, the browser is followed again.
    browser.run(&choose("language", "")).await?;
    browser
        .until("document.documentElement.lang === 'zh'")
        .await?;
    browser.close().await
}
