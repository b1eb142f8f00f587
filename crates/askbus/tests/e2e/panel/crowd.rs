//! Ten thousand questions on one page, what the page weighs, and how people are told.

use super::{fresh_link, says};
use crate::support::{BINARY, asked, one_question};
use anyhow::{Context as _, Result};
use askbus_testkit::{AskbusUp, Browser, McpStdio};
use serde_json::{Value, json};

/// Puts this many made-up questions before the end of what the service says first.
fn crowd(count: usize) -> String {
    format!(
        "const Real = WebSocket;
        window.WebSocket = class extends Real {{
            addEventListener(kind, listener, ...more) {{
                if (kind !== 'message') return super.addEventListener(kind, listener, ...more);
                super.addEventListener(kind, (event) => {{
                    const message = JSON.parse(event.data);
                    if (message.event !== 'ready') return listener(event);
                    for (let n = 0; n < {count}; n += 1) {{
                        const id = `made-up-${{n}}`;
                        message.pending.push(id);
                        listener({{data: JSON.stringify({{
                            event: 'clarify.requested', clarify_id: id, session_id: `s${{n % 500}}`, seq: message.seq,
                            requested_at: Date.now() - n, deadline: n % 3 ? Date.now() + 3600_000 + n * 1000 : null, cap: null,
                            questions: [{{id: 'q1', question: `Question number ${{n}}?`, options: [{{id: 'o1', label: 'yes'}}, {{id: 'o2', label: 'no'}}]}}],
                            asker: {{client: n % 2 ? 'codex' : 'claude', cwd: `/src/p${{n % 500}}`}},
                        }})}});
                    }}
                    listener({{data: JSON.stringify(message)}});
                }});
            }}
        }};"
    )
}

// contract: D4 D10
#[tokio::test]
async fn ten_thousand_wait_and_the_page_stays_small_and_in_order() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let person = up.person().await?;
    let browser = Browser::open(1100, 960).await?;
    browser.before_pages(&crowd(10_000)).await?;
    let seen = "window.longest = 0;
        new PerformanceObserver((list) => { for (const e of list.getEntries()) window.longest = Math.max(window.longest, e.duration); })
            .observe({type: 'longtask', buffered: true});";
    browser.before_pages(seen).await?;
    browser.goto(&fresh_link(&person).await?).await?;
    browser.until("document.title === '(10000) Askbus'").await?;
    browser
        .until("document.querySelectorAll('.card').length >= 40")
        .await?;
    let cards = "return document.querySelectorAll('.card').length";
    let first = browser.run(cards).await?.as_u64().context("a count")?;
    assert!(first <= 200, "{first} cards of 10 000 are on the page");
    // The nearest deadline stands first: of the made-up ones the second.
    let top = "return document.querySelector('.card').dataset.clarifyId";
    assert_eq!(browser.run(top).await?, "made-up-1");
    // More come where the person gets to.
    browser
        .run("document.getElementById('more').scrollIntoView()")
        .await?;
    browser
        .until(&format!(
            "document.querySelectorAll('.card').length > {first}"
        ))
        .await?;
    browser
        .find("#filter-text")
        .await?
        .send_keys("number 9999")
        .await?;
    browser
        .until("document.querySelectorAll('.card').length === 1")
        .await?;
    browser
        .run("document.getElementById('filter-clear').click()")
        .await?;

    // What comes now is on the page as with few, and typing goes on.
    browser.run("scrollTo(0, 0)").await?;
    let mut agent = McpStdio::connect(up.askbus(), &["mcp"]).await?;
    let field = "[data-clarify-id=made-up-1] textarea[data-question-id=q1]";
    browser.find(field).await?.send_keys("typed").await?;
    let soon =
        json!({"questions": [{"question": "And this?", "options": ["a"]}], "timeout_s": 1800});
    browser.run("window.longest = 0").await?;
    agent.call(1, "ask_user", soon).await?;
    says(&browser, ".card .question-text", "And this?").await?;
    browser
        .until(&format!(
            "document.querySelector('{field}').value === 'typed'"
        ))
        .await?;
    browser
        .until("document.activeElement.dataset.questionId === 'q1'")
        .await?;
    let longest = browser.run("return window.longest").await?;
    println!("with 10 000 waiting, one more kept the page busy for {longest} ms at most");
    browser.close().await
}

/// A list of the panel's own, in which more are over than there is room for, and one waits.
const OVER: &str = "
    const done = arguments[0];
    const entry = (n, state) => ({state, kept: false, request: {session_id: 's', clarify_id: `c${n}`, requested_at: n,
        deadline: null, cap: null, questions: [], asker: null, parent: null}});
    import('/assets/list.js').then(({ListView}) => {
        const root = document.createElement('div');
        const list = new ListView(root, {
            card: (entry) => ({element: Object.assign(document.createElement('article'), {id: entry.request.clarify_id})}),
            pinned: (entry) => entry.state !== 'waiting',
            plan: () => undefined,
            more: () => {},
        });
        list.show([...Array.from({length: 200}, (_, n) => entry(n, 'settled')), entry(200, 'waiting')]);
        done([root.querySelectorAll('article').length, root.querySelector('#c200') !== null]);
    }, (error) => done(String(error)));";

// contract: D4
#[tokio::test]
async fn what_is_over_takes_the_place_of_nothing_that_waits() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let browser = Browser::open(1100, 960).await?;
    browser.goto(&up.announcement().sign_in_url).await?;
    browser.find("[data-connection=online]").await?;
    let shown = browser.page.execute_async(OVER, Vec::new()).await?;
    assert_eq!(shown, json!([201, true]));
    browser.close().await
}

// contract: D4
#[tokio::test]
async fn a_cold_load_is_small() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let browser = Browser::open(1100, 960).await?;
    browser.goto(&up.announcement().sign_in_url).await?;
    browser.find("[data-connection=online]").await?;
    let loaded = browser
        .run(
            "return [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
                .filter((e) => !e.name.includes('/api/'))
                .map((e) => [e.name.replace(location.origin, ''), e.transferSize, e.decodedBodySize])",
        )
        .await?;
    let files = loaded.as_array().context("a list")?;
    let sum = |at: usize| files.iter().filter_map(|f| f[at].as_u64()).sum::<u64>();
    println!(
        "{} files, {} bytes on the way, {} unpacked",
        files.len(),
        sum(1),
        sum(2)
    );
    assert!(files.len() > 20, "{loaded}");
    // A browser estimates 300 bytes of headers for each, and has some files already, so that this is no
    // measure. With nothing of it in the browser, not even what the page of the link needs: the files alone.
    let uncached = json!({"cacheDisabled": true});
    browser.devtools("Network.enable", json!({})).await?;
    browser
        .devtools("Network.setCacheDisabled", uncached)
        .await?;
    browser.page.refresh().await?;
    browser.find("[data-connection=online]").await?;
    let bodies = browser
        .run(
            "return [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
                .filter((e) => !e.name.includes('/api/')).map((e) => [e.name, e.encodedBodySize])",
        )
        .await?;
    let bodies = bodies.as_array().context("a list")?;
    let styles = bodies
        .iter()
        .find(|b| b[0].as_str().is_some_and(|n| n.ends_with("styles.css")));
    let styles = styles.and_then(|b| b[1].as_u64()).unwrap_or(0);
    assert!(styles > 1_000, "{bodies:?}");
    let all: u64 = bodies.iter().filter_map(|b| b[1].as_u64()).sum();
    println!("{all} bytes of files");
    assert!(all < 100_000, "{all} bytes: {bodies:?}");
    browser.close().await
}

/// Counts what the page plays and shows.
const WATCHED: &str = "
    window.told = [];
    window.Notification = class extends EventTarget {
        static permission = 'granted';
        static requestPermission = async () => 'granted';
        constructor(title, options) { super(); window.told.push([title, options.body, options.tag]); }
        close() {}
    };
    window.badges = [];
    navigator.setAppBadge = async (count) => { window.badges.push(count); };
    navigator.clearAppBadge = async () => { window.badges.push(0); };
    Object.defineProperty(document, 'hasFocus', {value: () => false});";

// contract: D10
#[tokio::test]
async fn a_person_is_told_once_whatever_tabs_are_open() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let person = up.person().await?;
    let browser = Browser::open(1100, 960).await?;
    browser.before_pages(WATCHED).await?;
    browser.goto(&fresh_link(&person).await?).await?;
    browser.find("[data-connection=online]").await?;
    let mut agent = McpStdio::connect(up.askbus(), &["mcp"]).await?;
    // Nobody is told by a sound or a notification who did not ask for it.
    agent
        .call(1, "ask_user", one_question("Quiet?", &["a"]))
        .await?;
    let shown = asked(&person, "Quiet?").await?;
    browser
        .find(&format!(
            "[data-clarify-id='{}']",
            crate::support::id(&shown)
        ))
        .await?;
    let told = "return [window.told.length, document.documentElement.dataset.chimes ?? '0']";
    assert_eq!(browser.run(told).await?, json!([0, "0"]));
    browser.click("#settings summary").await?;
    browser.click("#sound").await?;
    browser.click("#notify").await?;
    browser
        .until("document.documentElement.dataset.chimes === '1'")
        .await?;

    let first = browser.page.window().await?;
    let second = browser.page.new_window(true).await?.handle;
    browser.page.switch_to_window(second).await?;
    browser.before_pages(WATCHED).await?;
    browser.goto(up.url()).await?;
    browser.find("[data-connection=online]").await?;
    browser.find(".card").await?;
    agent
        .call(2, "ask_user", one_question("Loud?", &["a"]))
        .await?;
    let loud = asked(&person, "Loud?").await?;
    let card = format!("[data-clarify-id='{}']", crate::support::id(&loud));
    browser.find(&card).await?;
    let mut all: Vec<Value> = Vec::new();
    let mut chimes = 0;
    browser.page.switch_to_window(first).await?;
    browser.find(&card).await?;
    // Whichever tab told it: both have seen it now, and the one that did not tell will not.
    for window in browser.page.windows().await? {
        browser.page.switch_to_window(window).await?;
        browser.until("localStorage.length > 0").await?;
        let done = format!(
            "Object.keys(localStorage).some((k) => k.startsWith('askbus.told') && localStorage[k].includes('{}'))",
            crate::support::id(&loud)
        );
        browser.until(&done).await?;
        let now = browser
            .run("return [window.told, Number(document.documentElement.dataset.chimes ?? 0)]")
            .await?;
        all.extend(now[0].as_array().cloned().unwrap_or_default());
        chimes += now[1].as_u64().unwrap_or_default();
    }
    assert_eq!(all.len(), 1, "{all:?}");
    assert_eq!(
        (&all[0][1], &all[0][2]),
        (&json!("Loud?"), &json!(crate::support::id(&loud)))
    );
    // One when it was switched on, and one for the question unless that came right after it.
    assert!((1..=2).contains(&chimes), "{chimes}");
    // The application's badge says how many wait.
    browser.until("window.badges.at(-1) === 2").await?;
    // A reload tells nothing again.
    browser.page.refresh().await?;
    browser.find(&card).await?;
    assert_eq!(browser.run(told).await?, json!([0, "0"]));
    browser.close().await
}
