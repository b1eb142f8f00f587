//! For everybody: rules of accessibility, the keyboard alone, input methods, every size and language.

use super::{fresh_link, says};
use crate::support::{BINARY, asked, id, one_question};
use anyhow::{Context as _, Result, ensure};
use askbus_testkit::{AskbusUp, Browser, McpStdio, workspace};
use serde_json::{Value, json};
use std::path::PathBuf;

/// What `./test` brought.
fn axe() -> Result<String> {
    let path = workspace().join("target/tools/panel/node_modules/axe-core/axe.min.js");
    std::fs::read_to_string(&path).with_context(|| format!("{}: ./test brings it", path.display()))
}

/// Nothing on the page breaks a rule of WCAG 2.2 AA, and nothing sticks out sideways.
async fn clean(browser: &Browser, axe: &str, case: &str) -> Result<()> {
    browser
        .until("document.getAnimations().every((a) => a.playState !== 'running')")
        .await?;
    // What stands under the head of the page is no target of its own.
    browser.run("scrollTo(0, 0)").await?;
    // What is out of sight is not laid out; asked for its place, it would lie over its neighbours.
    let lay_out = "for (const node of document.querySelectorAll('.card, .past-list > li'))
        node.style.contentVisibility = 'visible'";
    browser.run(lay_out).await?;
    let script = format!("{axe}; window.axe = axe;");
    browser.run(&script).await?;
    let run = "const done = arguments[0];
        axe.run({runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']})
            .then((found) => done(found.violations.map((v) => [v.id, v.nodes.map((n) => [n.html.slice(0, 200), n.failureSummary, n.any.map((a) => a.data)])])));";
    let found = browser.page.execute_async(run, Vec::new()).await?;
    ensure!(found == json!([]), "{case}: {found}");
    let width = browser
        .run("const root = document.documentElement; return [root.clientWidth, root.scrollWidth]")
        .await?;
    ensure!(width[0] == width[1], "{case}: {width}");
    Ok(())
}

/// A folder for pictures, if they are wanted.
fn pictures() -> Option<PathBuf> {
    std::env::var_os("ASKBUS_PICTURES").map(PathBuf::from)
}

/// Questions of every kind.
fn gallery() -> Vec<Value> {
    let long = "There is a lot to be said about it. ".repeat(110);
    let options: Vec<String> = (1..=4)
        .map(|n| format!("{n} {}", "reason ".repeat(70)))
        .collect();
    let markdown = "Which **one**?\n\n```sh\nrm -rf /a/very/long/path/that/does/not/fit/on/a/small/screen/at/all\n```\n\n\
        | a | b |\n|---|---|\n| 1 | 2 |\n\n> quoted\n\n1. first\n2. second\n\n[docs](https://example.org/a/very/long/path)";
    vec![
        json!([{"header": "Kind", "question": markdown, "options": [{"label": "`a`", "description": "**bold**"}, "b"], "recommended": 0}]),
        json!([{"question": long.chars().take(4_000).collect::<String>(), "options": options}]),
        json!([{"question": "x".repeat(500), "options": ["y".repeat(500), "z"]}]),
        json!([
            {"question": "هل ننشر الآن؟", "options": ["نعم", "لا"], "recommended": 1},
            {"question": "🎉 出荷しますか？ 👩‍👩‍👧‍👦", "options": ["👍", "👎", "🤷"], "multi_select": true, "min_select": 1, "max_select": 2},
            {"question": "<script>alert(1)</script><img src=x>", "options": ["</fieldset>", "<b>"]},
        ]),
    ]
}

// contract: D4
#[tokio::test]
async fn the_panel_breaks_no_rule_in_any_size_language_and_theme() -> Result<()> {
    let axe = axe()?;
    let up = AskbusUp::start(BINARY).await?;
    let person = up.person().await?;
    let mut agent = McpStdio::connect(up.askbus(), &["mcp"]).await?;
    let gallery = gallery();
    for (n, questions) in gallery.iter().enumerate() {
        let asking = json!({"questions": questions, "timeout_s": 100_000});
        agent.call(n as u64, "ask_user", asking).await?;
    }
    for (name, width, height) in [
        ("phone", 360, 740),
        ("narrow", 320, 568),
        ("desktop", 1280, 900),
    ] {
        let browser = Browser::open(width, height).await?;
        // A reload goes back to where the page was, sooner or later.
        browser
            .before_pages("history.scrollRestoration = 'manual'")
            .await?;
        browser.goto(&fresh_link(&person).await?).await?;
        for (language, theme) in [
            ("en", "light"),
            ("zh", "dark"),
            ("en", "dark"),
            ("zh", "light"),
            ("en", "contrast"),
        ] {
            let set = format!(
                "localStorage.setItem('askbus.language', '\"{language}\"'); localStorage.setItem('askbus.theme', '\"{theme}\"');"
            );
            browser.run(&set).await?;
            browser.page.refresh().await?;
            let shown = format!(
                "document.querySelectorAll('.card').length === {}",
                gallery.len()
            );
            browser.until(&shown).await?;
            browser
                .until(&format!("document.documentElement.lang === '{language}'"))
                .await?;
            let case = format!("{name}-{language}-{theme}");
            clean(&browser, &axe, &case).await?;
            if let Some(folder) = pictures() {
                browser
                    .screenshot(&folder.join(format!("{case}.png")))
                    .await?;
            }
            if name == "narrow" && theme != "contrast" {
                continue;
            }
            browser.click("#settings summary").await?;
            clean(&browser, &axe, &format!("{case} settings")).await?;
            browser.click("#settings summary").await?;
            browser.run("document.querySelector('.card-menu').open = true; document.querySelector('[data-action=ask-back]').click()").await?;
            clean(&browser, &axe, &format!("{case} open")).await?;
        }
        browser.close().await?;
    }
    for (feature, value, holds) in [
        (
            "prefers-contrast",
            "more",
            "document.documentElement.dataset.contrast === 'more'",
        ),
        (
            "forced-colors",
            "active",
            "matchMedia('(forced-colors: active)').matches",
        ),
        (
            "prefers-reduced-motion",
            "reduce",
            "getComputedStyle(document.querySelector('.quiet')).transitionProperty === 'none'",
        ),
        (
            "prefers-color-scheme",
            "dark",
            "getComputedStyle(document.body).backgroundColor === 'rgb(17, 19, 24)'",
        ),
    ] {
        let browser = Browser::open(900, 800).await?;
        browser
            .devtools(
                "Emulation.setEmulatedMedia",
                json!({"features": [{"name": feature, "value": value}]}),
            )
            .await?;
        browser.goto(&fresh_link(&person).await?).await?;
        browser.find(".card[data-state=waiting]").await?;
        browser
            .until(holds)
            .await
            .with_context(|| format!("{feature}: {value}"))?;
        clean(&browser, &axe, feature).await?;
        if let Some(folder) = pictures() {
            browser
                .screenshot(&folder.join(format!("{feature}.png")))
                .await?;
        }
        browser.close().await?;
    }
    let mut shown = person.pending().await?;
    shown.sort_by_key(|q| q["requested_at"].as_str().map(str::to_owned));
    let ids: Vec<&str> = shown.iter().map(id).collect();
    person
        .answer(
            ids[0],
            &json!({"answers": [{"question_id": "q1", "option_ids": ["o1"], "note": "a note"}]}),
        )
        .await?;
    person
        .answer(ids[1], &json!({"action": "ask_back", "text": "what for?"}))
        .await?;
    let browser = Browser::open(360, 740).await?;
    browser.goto(&fresh_link(&person).await?).await?;
    browser
        .until("document.querySelectorAll('#recent-list > li').length === 2")
        .await?;
    browser.goto(&format!("{}/#/history", up.url())).await?;
    browser
        .until("document.querySelectorAll('#history-list > li').length === 2")
        .await?;
    browser
        .run("for (const past of document.querySelectorAll('.past')) past.open = true")
        .await?;
    clean(&browser, &axe, "history").await?;
    if let Some(folder) = pictures() {
        browser.screenshot(&folder.join("history.png")).await?;
    }
    browser.goto(&format!("{}/#/plans", up.url())).await?;
    browser.find("#plans:not([hidden])").await?;
    clean(&browser, &axe, "plans").await?;
    browser.click("#settings summary").await?;
    browser.click("#sign-out").await?;
    browser.find("#sign-in:not([hidden])").await?;
    clean(&browser, &axe, "sign-in").await?;
    browser.close().await
}

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
