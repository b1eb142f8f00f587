//! Rules of accessibility, in every view, size, language and theme.

use super::fresh_link;
use crate::support::{BINARY, asked, credential, id};
use anyhow::{Context as _, Result, ensure};
use askbus_testkit::{AskbusUp, Balancer, Browser, McpStdio, Person, workspace};
use serde_json::{Value, json};
use std::path::PathBuf;

/// What `./test` brought.
pub fn axe() -> Result<String> {
    let path = workspace().join("target/tools/panel/node_modules/axe-core/axe.min.js");
    std::fs::read_to_string(&path).with_context(|| format!("{}: ./test brings it", path.display()))
}

/// Nothing on the page breaks a rule of WCAG 2.2 AA, and nothing sticks out sideways.
pub async fn clean(browser: &Browser, axe: &str, case: &str) -> Result<()> {
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

/// A picture of the whole page for whoever wants to look, in the folder that `ASKBUS_PICTURES` names.
pub async fn picture(browser: &Browser, name: &str) -> Result<()> {
    match std::env::var_os("ASKBUS_PICTURES").map(PathBuf::from) {
        Some(folder) => {
            browser
                .whole_page(&folder.join(format!("{name}.png")))
                .await
        }
        None => Ok(()),
    }
}

/// Shows the page in a language and a theme, as if the person had chosen them.
async fn dressed(browser: &Browser, language: &str, theme: &str) -> Result<()> {
    let set = format!(
        "localStorage.setItem('askbus.language', '\"{language}\"'); localStorage.setItem('askbus.theme', '\"{theme}\"');"
    );
    browser.run(&set).await?;
    browser.page.refresh().await?;
    browser
        .until(&format!(
            "document.documentElement.lang === '{language}' && document.documentElement.dataset.connection === 'online'"
        ))
        .await
}

/// Questions of every kind.
fn gallery() -> Vec<Value> {
    let long = "There is a lot to be said about it. ".repeat(120);
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
        (1..=5)
            .map(|n| json!({"header": format!("第{n}题"), "question": format!("第 {n} 个问题：是否在**今天**部署到生产环境？"), "options": ["是", "否，明天再说"], "recommended": n % 2}))
            .collect(),
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
            dressed(&browser, language, theme).await?;
            let shown = format!(
                "document.querySelectorAll('.card').length === {}",
                gallery.len()
            );
            browser.until(&shown).await?;
            let case = format!("{name}-{language}-{theme}");
            clean(&browser, &axe, &case).await?;
            picture(&browser, &case).await?;
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
        picture(&browser, feature).await?;
        browser.close().await?;
    }
    Ok(())
}

/// A session `build` with a plan.
async fn planned(up: &AskbusUp) -> Result<()> {
    let host = credential(up, "host", "default", "ci").await?;
    let host = Person::bearer(up.url(), &host)?;
    let turn = json!({"session_id": "build", "for_ms": 600_000, "toolset": "studio"});
    let begun = host.post("/api/turns/begin", &turn).await?.body;
    let plan = json!({"context_id": begun["context_id"], "explanation": "分三步进行", "plan": [
        {"id": "a", "step": "look <b>around</b>", "status": "completed"},
        {"id": "b", "step": "a long step ".repeat(16).trim(), "status": "in_progress"},
        {"id": "c", "step": "发布", "status": "pending"}]});
    let reply = host.post("/api/studio/task-plans/update", &plan).await?;
    ensure!(reply.status == 200, "{reply:?}");
    Ok(())
}

// contract: D4
#[tokio::test]
async fn every_view_breaks_no_rule_in_every_theme() -> Result<()> {
    let axe = axe()?;
    let up = AskbusUp::start(BINARY).await?;
    let person = up.person().await?;
    let way = Balancer::start(&[up.url()]).await?;
    planned(&up).await?;
    let mut agent = McpStdio::connect(up.askbus(), &["mcp"]).await?;
    let plan = json!({"plan": [{"id": "a", "step": "look around", "status": "in_progress"}]});
    agent.call(90, "update_plan", plan).await?;
    agent.reply(90).await?;
    for (n, questions) in gallery().iter().enumerate() {
        agent
            .call(n as u64, "ask_user", json!({"questions": questions}))
            .await?;
        let first = questions[0]["question"].as_str().unwrap_or_default();
        asked(&person, first).await?;
    }
    // With those above, thirty questions.
    for n in 6..=24 {
        let question = format!("第 {n} 个问题：是否在**今天**部署？");
        let asking = json!({"questions": [{"question": question, "options": ["是", "否"]}]});
        agent.call(n, "ask_user", asking).await?;
        asked(&person, &question).await?;
    }
    let mut shown = person.pending().await?;
    shown.sort_by_key(|q| q["requested_at"].as_str().map(str::to_owned));
    let ids: Vec<&str> = shown.iter().map(id).collect();
    let [first, second, third, waiting, ..] = ids[..] else {
        anyhow::bail!("{ids:?}");
    };
    let noted = json!({"answers": [{"question_id": "q1", "option_ids": ["o1"], "note": "a note"}]});
    person.answer(first, &noted).await?;
    let back = json!({"action": "ask_back", "text": "what for?"});
    person.answer(second, &back).await?;
    person.answer(third, &json!({"action": "skip"})).await?;
    let late = json!({"answers": [{"question_id": "q1", "text": "来晚的回答"}]});
    person.answer(third, &late).await?;
    let session = shown[0]["session_id"].as_str().unwrap_or_default();
    let views = [
        ("inbox", "#/".to_owned(), ".card[data-state=waiting]"),
        ("session", format!("#/session/{session}"), "#past li"),
        (
            "planned",
            "#/session/build".to_owned(),
            "#session-plan .plan[open]",
        ),
        (
            "waiting",
            format!("#/question/{waiting}"),
            ".card[data-state=waiting]",
        ),
        (
            "settled",
            format!("#/question/{first}"),
            "#past .past[open] .past-body",
        ),
        (
            "late",
            format!("#/question/{third}"),
            "#past .past[open] .past-body",
        ),
        (
            "unknown",
            "#/question/01a22db2-b5ef-72d9-8d4d-32ea513796ea".to_owned(),
            "#past p",
        ),
        (
            "plans",
            "#/plans".to_owned(),
            "#plan-list .plan:nth-child(2)",
        ),
        (
            "history",
            "#/history".to_owned(),
            "#history-list li:nth-child(3)",
        ),
        (
            "nothing",
            "#/history?text=zzzz".to_owned(),
            "#history-state[data-label]",
        ),
    ];
    for (name, width, height) in [("phone", 320, 640), ("desktop", 1280, 900)] {
        let browser = Browser::open(width, height).await?;
        browser
            .before_pages("history.scrollRestoration = 'manual'")
            .await?;
        let link = fresh_link(&person).await?.replace(up.url(), &way.url());
        browser.goto(&link).await?;
        browser.find(".card").await?;
        for (language, theme) in [("en", "light"), ("zh", "dark"), ("zh", "contrast")] {
            dressed(&browser, language, theme).await?;
            for (view, place, there) in &views {
                browser.goto(&format!("{}/{place}", way.url())).await?;
                browser.find(there).await?;
                browser
                    .run("for (const past of document.querySelectorAll('.past')) past.open = true")
                    .await?;
                let case = format!("{view}-{name}-{language}-{theme}");
                clean(&browser, &axe, &case).await?;
                picture(&browser, &case).await?;
            }
            // What an answer is while nobody can take it, and when it was taken.
            browser
                .goto(&format!("{}/{}", way.url(), views[3].1))
                .await?;
            browser.find(".card[data-state=waiting]").await?;
            way.cut(true);
            browser.find("[data-connection=offline]").await?;
            browser.click("fieldset input[data-option-id=o1]").await?;
            browser.click("button[data-action=submit]").await?;
            browser.find(".card[data-state=sending]").await?;
            let case = format!("offline-{name}-{language}-{theme}");
            clean(&browser, &axe, &case).await?;
            picture(&browser, &case).await?;
            browser.click("button[data-action=take-back]").await?;
            browser.find(".card[data-state=waiting]").await?;
            way.cut(false);
            browser.find("[data-connection=online]").await?;
        }
        browser.goto(&format!("{}/#/", way.url())).await?;
        browser.click("#settings summary").await?;
        browser.click("#sign-out").await?;
        browser.find("#sign-in:not([hidden])").await?;
        clean(&browser, &axe, &format!("sign-in-{name}")).await?;
        picture(&browser, &format!("sign-in-{name}")).await?;
        browser.close().await?;
    }
    for id in &ids {
        person.answer(id, &json!({"action": "dismiss"})).await?;
    }
    let browser = Browser::open(900, 700).await?;
    browser.goto(&fresh_link(&person).await?).await?;
    browser.find("#empty:not([hidden])").await?;
    for (language, theme) in [("en", "light"), ("zh", "dark"), ("zh", "contrast")] {
        dressed(&browser, language, theme).await?;
        browser.find("#empty:not([hidden])").await?;
        clean(&browser, &axe, &format!("empty-{language}-{theme}")).await?;
        picture(&browser, &format!("empty-{language}-{theme}")).await?;
    }
    browser.close().await
}
