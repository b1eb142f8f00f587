//! Agents' Markdown on the page: rendered, harmless, and as it was written on request.

use super::{fresh_link, says};
use crate::support::{BINARY, asked};
use anyhow::Result;
use askbus_testkit::{AskbusUp, Browser, McpStdio};
use serde_json::json;

const QUESTION: &str = "Which **index** for `orders`?\n\n\
    | column | rows |\n|---|---|\n| `id` | 1 |\n\n\
    ```sql\nCREATE INDEX o ON orders (id);\n```\n\n\
    See [the plan](https://example.org/plan?a=1).\n\n\
    <img src=x onerror=\"document.title = 'broken in'\"><script>document.title = 'broken in'</script>\n\n\
    ![pixel](https://evil.example/pixel.png) [click](javascript:document.title='broken')";

// contract: D4
#[tokio::test]
async fn markdown_is_rendered_and_html_stays_text() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let person = up.person().await?;
    let mut agent = McpStdio::connect(up.askbus(), &["mcp"]).await?;
    let questions = json!({"questions": [{
        "question": QUESTION,
        "explanation": "- **first** this\n- then that",
        "options": [{"label": "Use `btree`", "description": "*small* <b>and</b> fast"}, "`hash`", "<i>none</i>"],
    }]});
    agent.call(1, "ask_user", questions).await?;
    asked(&person, QUESTION).await?;
    let browser = Browser::open(1100, 960).await?;
    browser.goto(&fresh_link(&person).await?).await?;
    browser.find(".card .rendered table").await?;
    let found = browser
        .run(
            "const q = document.querySelector('.card .question-text');
            const link = q.querySelector('a');
            return {
                strong: q.querySelector('strong').textContent,
                code: q.querySelector('pre code').textContent,
                link: [link.href, link.target, link.rel],
                target: q.querySelector('.target').textContent.trim(),
                loads: document.querySelectorAll('.card :is(img, script, iframe, style, link, object)').length,
                links: q.querySelectorAll('a').length,
                html: q.textContent.includes('<img src=x onerror='),
                image: q.textContent.includes('https://evil.example/pixel.png'),
                script: q.textContent.includes('javascript:document.title'),
                explanation: document.querySelectorAll('.explanation li').length,
                options: [...document.querySelectorAll('.option-label')].map((l) => l.textContent),
                codes: document.querySelectorAll('.option-label code').length,
                raw: document.querySelector('.option-description').textContent,
                title: document.title,
            }",
        )
        .await?;
    assert_eq!(
        found,
        json!({
            "strong": "index",
            "code": "CREATE INDEX o ON orders (id);\n",
            "link": ["https://example.org/plan?a=1", "_blank", "noopener noreferrer nofollow"],
            "target": "https://example.org/plan?a=1",
            "loads": 0, "links": 1, "html": true, "image": true, "script": true, "explanation": 2,
            "options": ["Use btree", "hash", "<i>none</i>"], "codes": 2,
            "raw": "*small* <b>and</b> fast", "title": "(1) Askbus",
        })
    );
    // The policy of the page lets nobody else make nodes of HTML.
    let refused = "try { document.createElement('div').innerHTML = '<b>x</b>'; return 'taken'; }
        catch (error) { return error.name; }";
    assert_eq!(browser.run(refused).await?, "TypeError");

    browser.click(".card-menu summary").await?;
    browser.click("[data-action=raw]").await?;
    says(
        &browser,
        ".card .question-text .raw",
        "**index** for `orders`",
    )
    .await?;
    let hidden = "return document.querySelector('.question-text .rendered').hidden";
    assert_eq!(browser.run(hidden).await?, true);

    // What was chosen is told by its own words, not by their looks.
    browser.click("input[data-option-id=o1]").await?;
    browser.click("button[data-action=submit]").await?;
    let reply = agent.reply(1).await?;
    let answer = &reply["result"]["structuredContent"]["answers"][0];
    assert_eq!(answer["options"][0]["label"], "Use `btree`", "{reply}");

    // It reads the same when it is looked up later.
    browser.goto(&format!("{}/#/history", up.url())).await?;
    browser.click("#history-list summary").await?;
    browser.find("#history-list .past-asked table").await?;
    says(&browser, "#history-list [data-chosen=true]", "Use btree").await?;
    browser.close().await
}

// contract: D4 D10
#[tokio::test]
async fn where_there_is_a_line_for_it_markdown_is_said_in_plain_words() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let person = up.person().await?;
    let mut agent = McpStdio::connect(up.askbus(), &["mcp"]).await?;
    let browser = Browser::open(1100, 960).await?;
    browser
        .before_pages(
            "window.told = [];
            window.Notification = class extends EventTarget {
                static permission = 'granted';
                static requestPermission = async () => 'granted';
                constructor(title, options) { super(); window.told.push(options.body); }
                close() {}
            };
            Object.defineProperty(document, 'hasFocus', {value: () => false});
            // The empty page before the first one has no storage.
            try { localStorage.setItem('askbus.notify', 'true'); } catch { }",
        )
        .await?;
    browser.goto(&fresh_link(&person).await?).await?;
    browser.find("[data-connection=online]").await?;
    let questions = json!({"questions": [{
        "question": "**是否**部署 `v2`？\n\n| a | b |\n|---|---|\n| 1 | 2 |",
        "options": ["**Yes**, `now`", "no"],
    }]});
    let plain = "是否部署 v2？ a · b · 1 · 2";
    agent.call(1, "ask_user", questions).await?;
    browser.find(".card[data-state=waiting] table").await?;
    browser
        .until(&format!("window.told[0] === {}", json!(plain)))
        .await?;
    says(&browser, "#live", plain).await?;
    browser.click(".card [data-action=fold]").await?;
    says(&browser, ".card .fold-line", plain).await?;
    browser.click(".card [data-action=fold]").await?;
    browser.click("input[data-option-id=o1]").await?;
    browser.click("button[data-action=submit]").await?;
    says(&browser, ".card .chosen-option", "Yes, now").await?;
    let reply = agent.reply(1).await?;
    let answer = &reply["result"]["structuredContent"]["answers"][0];
    assert_eq!(
        answer["options"][0]["label"], "**Yes**, `now`",
        "the agent is told its own words: {reply}"
    );
    says(&browser, "#recent-list .recent-question", plain).await?;
    says(&browser, "#recent-list .recent-answer", "Yes, now").await?;
    browser.goto(&format!("{}/#/history", up.url())).await?;
    says(&browser, "#history-list .past-question", plain).await?;
    browser.close().await
}

// contract: D4
#[tokio::test]
async fn code_and_cards_are_copied() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let person = up.person().await?;
    let mut agent = McpStdio::connect(up.askbus(), &["mcp"]).await?;
    let questions = json!({"questions": [
        {"question": "```\nls -l\n```", "options": ["yes", {"label": "no", "description": "not *now*"}], "recommended": 1},
        {"question": "When?"},
    ]});
    agent.call(1, "ask_user", questions).await?;
    asked(&person, "```\nls -l\n```").await?;
    let browser = Browser::open(1100, 960).await?;
    // What is copied is looked at here; the clipboard of a browser without a window is nobody's.
    browser
        .before_pages(
            "Object.defineProperty(navigator, 'clipboard', {value: {writeText: async (text) => { window.copied = text; }}});",
        )
        .await?;
    browser.goto(&fresh_link(&person).await?).await?;
    browser.click("[data-action=copy-code]").await?;
    browser.until("window.copied === 'ls -l\\n'").await?;
    browser.click("input[data-option-id=o1]").await?;
    let second = browser
        .find("fieldset:nth-of-type(2) textarea[data-question-id=q2]")
        .await?;
    second.send_keys("today").await?;
    browser.click(".card-menu summary").await?;
    browser.click("[data-action=copy-markdown]").await?;
    browser.until("window.copied.includes('When?')").await?;
    let copied = browser.run("return window.copied").await?;
    let expected = "1. ```\n   ls -l\n   ```\n\n   - [x] yes\n   - [ ] no _(Recommended)_ — not *now*\n\n2. When?\n\n   > today\n";
    assert_eq!(copied, expected);
    browser.close().await
}
