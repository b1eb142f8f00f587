//! For everybody: the keyboard alone, and input methods.

use super::{fresh_link, says};
use crate::support::{BINARY, asked, one_question};
use anyhow::Result;
use askbus_testkit::{AskbusUp, Browser, McpStdio};
use serde_json::json;

/// Presses Tab until the focus is on what the selector names.
async fn tab_to(browser: &Browser, css: &str) -> Result<()> {
    let there = format!(
        "return Boolean(document.activeElement?.matches({}))",
        json!(css)
    );
    for _ in 0..60 {
        if browser.run(&there).await? == true {
            return Ok(());
        }
        press(browser, "\u{e004}").await?;
    }
    anyhow::bail!("Tab does not lead to {css}")
}

/// A key where the focus is.
async fn press(browser: &Browser, key: &str) -> Result<()> {
    let focused = browser.page.active_element().await?;
    focused.send_keys(key).await?;
    Ok(())
}

/// Notes where the focus is: a name that is the same each time, and whether it can be seen there.
const FOCUS: &str = "
    const groups = new Map();
    window.numbered = () => {
        const can = 'a[href], button:not(:disabled), input:not(:disabled), select, textarea, summary, [tabindex=\"0\"]';
        const seen = (node) => node.checkVisibility({visibilityProperty: true}) && node.tabIndex >= 0;
        const radios = new Set();
        return [...document.querySelectorAll(can)].filter((node) => {
            if (!seen(node)) return false;
            if (node.type !== 'radio') return true;
            // Of options of which one may be chosen, one takes the focus: the arrows walk them.
            if (radios.has(node.name)) return false;
            radios.add(node.name);
            return true;
        });
    };
    window.marked = (node) => {
        const look = (of) => { const s = getComputedStyle(of); return [s.outlineStyle, s.outlineWidth, s.outlineColor, s.boxShadow, s.borderColor].join(); };
        const around = [node, node.closest('.option'), node.closest('label')].filter((n) => n !== null);
        const focused = around.map(look);
        node.blur();
        const blurred = around.map(look);
        node.focus();
        return focused.join() !== blurred.join();
    };";

// contract: D4
#[tokio::test]
async fn tab_walks_every_control_in_the_order_of_the_page_and_shows_where_it_is() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let person = up.person().await?;
    let mut agent = McpStdio::connect(up.askbus(), &["mcp"]).await?;
    let questions = json!({"questions": [
        {"question": "```\nls\n```", "options": ["a", "b", "c"], "recommended": 0},
        {"question": "How many?", "options": ["x", "y"], "multi_select": true},
    ], "timeout_s": 86_400});
    agent.call(1, "ask_user", questions).await?;
    asked(&person, "```\nls\n```").await?;
    let settled = json!({"questions": [{"question": "Over?", "options": ["a"]}]});
    agent.call(2, "ask_user", settled).await?;
    let over = asked(&person, "Over?").await?;
    person
        .answer(crate::support::id(&over), &crate::support::choose("o1"))
        .await?;
    let browser = Browser::open(1100, 960).await?;
    browser.before_pages(FOCUS).await?;
    for (place, shown) in [
        ("#/", ".card[data-state=waiting]"),
        ("#/history", "#history-list summary"),
        ("#/plans", "#plans:not([hidden])"),
    ] {
        if place == "#/" {
            browser.goto(&fresh_link(&person).await?).await?;
        } else {
            browser.goto(&format!("{}/{place}", up.url())).await?;
        }
        browser.find(shown).await?;
        browser.find("[data-connection=online]").await?;
        if place == "#/" {
            browser
                .until("document.querySelectorAll('#recent-list li').length === 1")
                .await?;
            browser
                .run("document.querySelector('[data-action=ask-back]').click()")
                .await?;
        }
        // From the very beginning of the page.
        browser
            .run("document.activeElement.blur(); scrollTo(0, 0); const top = document.createElement('span'); top.tabIndex = -1; document.body.prepend(top); top.focus(); top.remove();")
            .await?;
        for n in 0.. {
            // What is passed may change what there is: a clock that stands needs no button to stop it.
            let all = browser.run("return numbered().length").await?;
            let all = all.as_u64().unwrap_or_default();
            assert!(all > 5, "{place}: {all}");
            if n >= all {
                break;
            }
            press(&browser, "\u{e004}").await?;
            let at = format!(
                "const there = document.activeElement; const all = numbered(); \
                 return [all.indexOf(there), there.outerHTML.slice(0, 160), marked(there), all[{n}]?.outerHTML.slice(0, 160)]"
            );
            let at = browser.run(&at).await?;
            assert_eq!(at[0], json!(n), "{place}: {at}");
            assert_eq!(at[2], true, "{place}: the focus cannot be seen: {at}");
        }
    }
    browser.close().await
}

// contract: D4
#[tokio::test]
async fn everything_is_done_with_the_keyboard_alone() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let person = up.person().await?;
    let mut agent = McpStdio::connect(up.askbus(), &["mcp"]).await?;
    let questions = json!({"questions": [
        {"question": "Which?", "options": ["a", "b", "c"]},
        {"question": "How many?", "options": ["x", "y"], "multi_select": true},
    ]});
    agent.call(1, "ask_user", questions).await?;
    asked(&person, "Which?").await?;
    let browser = Browser::open(1100, 960).await?;
    browser.goto(&fresh_link(&person).await?).await?;
    browser.find(".card[data-state=waiting]").await?;
    tab_to(&browser, ".skip-link").await?;
    press(&browser, "\u{e007}").await?;
    browser
        .until("document.activeElement.id === 'main'")
        .await?;
    tab_to(&browser, ".card [data-action=fold]").await?;
    press(&browser, "\u{e007}").await?;
    browser.find(".card[data-folded=true]").await?;
    press(&browser, "\u{e007}").await?;
    browser.find(".card[data-folded=false]").await?;
    tab_to(&browser, "input[data-option-id=o1]").await?;
    // Arrows walk the options; choosing sends nothing.
    press(&browser, "\u{e015}").await?;
    browser.find("input[data-option-id=o2]:checked").await?;
    tab_to(&browser, "fieldset:nth-of-type(2) input[data-option-id=o1]").await?;
    press(&browser, " ").await?;
    tab_to(
        &browser,
        "fieldset:nth-of-type(2) textarea[data-question-id=q2]",
    )
    .await?;
    press(&browser, "two\u{e007}lines").await?;
    browser.find(".card[data-state=waiting]").await?;
    tab_to(&browser, "button[data-action=submit]").await?;
    press(&browser, "\u{e007}").await?;
    browser.find(".card[data-state=settled]").await?;
    let kept = "return document.activeElement.closest('.card') !== null";
    assert_eq!(
        browser.run(kept).await?,
        true,
        "the focus stays in the card"
    );
    let reply = agent.reply(1).await?;
    let answers = &reply["result"]["structuredContent"]["answers"];
    assert_eq!(answers[0]["options"][0]["label"], "b", "{reply}");
    assert_eq!(
        (&answers[1]["options"][0]["label"], &answers[1]["text"]),
        (&json!("x"), &json!("two\nlines")),
        "{reply}"
    );
    browser.close().await
}

// contract: D4
#[tokio::test]
async fn a_key_that_belongs_to_an_input_method_sends_nothing() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let person = up.person().await?;
    let mut agent = McpStdio::connect(up.askbus(), &["mcp"]).await?;
    agent
        .call(1, "ask_user", one_question("叫什么？", &["甲"]))
        .await?;
    asked(&person, "叫什么？").await?;
    let browser = Browser::open(1100, 960).await?;
    browser.goto(&fresh_link(&person).await?).await?;
    browser.click("textarea[data-question-id=q1]").await?;
    // Chromium's own composition.
    browser
        .devtools(
            "Input.imeSetComposition",
            json!({"text": "ni", "selectionStart": 2, "selectionEnd": 2}),
        )
        .await?;
    browser
        .devtools("Input.insertText", json!({"text": "你好"}))
        .await?;
    browser
        .until("document.querySelector('textarea[data-question-id=q1]').value === '你好'")
        .await?;
    // Whichever order a browser has, with the keys that would send otherwise.
    let orders = "
        const field = document.querySelector('textarea[data-question-id=q1]');
        const key = (type, more) => field.dispatchEvent(new KeyboardEvent(type, {key: 'Enter', ctrlKey: true, bubbles: true, cancelable: true, ...more}));
        const composing = (type) => field.dispatchEvent(new CompositionEvent(type, {bubbles: true}));
        // Chromium and Firefox: the press is part of the composition.
        composing('compositionstart'); key('keydown', {isComposing: true, keyCode: 229}); composing('compositionend'); key('keyup');
        // Safari: the composition ends first, the press follows and does not look like a part of it.
        composing('compositionstart'); composing('compositionend'); key('keydown', {keyCode: 229}); key('keyup');
        composing('compositionstart'); composing('compositionend'); key('keydown'); key('keyup');
        return document.querySelector('.card').dataset.state;";
    assert_eq!(browser.run(orders).await?, "waiting");
    let sends = "document.querySelector('textarea[data-question-id=q1]').dispatchEvent(
        new KeyboardEvent('keydown', {key: 'Enter', ctrlKey: true, bubbles: true, cancelable: true}))";
    browser.run(sends).await?;
    says(&browser, ".card .status-text", "Answered by you").await?;
    let reply = agent.reply(1).await?;
    assert_eq!(
        reply["result"]["structuredContent"]["answers"][0]["text"], "你好",
        "{reply}"
    );
    browser.close().await
}
