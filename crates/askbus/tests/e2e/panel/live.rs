//! The connection: cut and back, killed under somebody who types, and where no socket gets through.

use super::{fresh_link, holds_text, says};
use crate::support::{BINARY, asked, choose, id, one_question};
use anyhow::Result;
use askbus_testkit::{AskbusUp, Balancer, Browser, McpStdio};
use serde_json::json;

/// What is typed where, without an event of the keyboard per letter.
async fn typed(browser: &Browser, field: &str, text: &str) -> Result<()> {
    browser.find(field).await?.send_keys(text).await?;
    Ok(())
}

// contract: E12 D4
#[tokio::test]
async fn a_killed_gateway_takes_nothing_that_was_typed() -> Result<()> {
    let mut up = AskbusUp::start(BINARY).await?;
    let person = up.person().await?;
    let mut agent = McpStdio::connect(up.askbus(), &["mcp"]).await?;
    agent
        .call(1, "ask_user", one_question("What now?", &["a", "b"]))
        .await?;
    asked(&person, "What now?").await?;
    let browser = Browser::open(1100, 960).await?;
    browser.goto(&fresh_link(&person).await?).await?;
    let field = ".card[data-state=waiting] textarea[data-question-id=q1]";
    typed(&browser, field, "half a").await?;
    up.kill9().await?;
    browser
        .find("[data-connection=offline] #banner:not([hidden])")
        .await?;
    typed(&browser, field, " sentence").await?;
    browser.click("button[data-action=submit]").await?;
    says(
        &browser,
        ".card .status-text",
        "as soon as the connection is back",
    )
    .await?;
    // Nothing is sent yet: it can be taken back and written on.
    browser.click("button[data-action=take-back]").await?;
    typed(&browser, field, ".").await?;
    holds_text(&browser, field, "half a sentence.").await?;
    browser.click("button[data-action=submit]").await?;
    up.restart().await?;
    browser.click("#retry").await.or_else(|_| anyhow::Ok(()))?;
    let reply = agent.reply(1).await?;
    let answer = &reply["result"]["structuredContent"]["answers"][0];
    assert_eq!(answer["text"], "half a sentence.", "{reply}");
    browser.find(".card[data-state=settled]").await?;
    browser.close().await
}

// contract: E12
#[tokio::test]
async fn a_cut_connection_comes_back_with_what_was_missed() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let person = up.person().await?;
    let way = Balancer::start(&[up.url()]).await?;
    let mut agent = McpStdio::connect(up.askbus(), &["mcp"]).await?;
    agent
        .call(1, "ask_user", one_question("First?", &["a", "b"]))
        .await?;
    agent
        .call(2, "ask_user", one_question("Second?", &["a", "b"]))
        .await?;
    let (first, second) = (
        asked(&person, "First?").await?,
        asked(&person, "Second?").await?,
    );
    let browser = Browser::open(1100, 960).await?;
    let link = fresh_link(&person).await?.replace(up.url(), &way.url());
    browser.goto(&link).await?;
    let card = |id: &str, more: &str| format!("[data-clarify-id='{id}']{more}");
    browser
        .find(&card(id(&first), "[data-state=waiting]"))
        .await?;
    typed(
        &browser,
        &card(id(&second), " textarea[data-question-id=q1]"),
        "kept",
    )
    .await?;

    way.cut(true);
    browser.find("[data-connection=offline]").await?;
    person.answer(id(&first), &choose("o1")).await?;
    agent
        .call(3, "ask_user", one_question("Third?", &["a"]))
        .await?;
    let third = asked(&person, "Third?").await?;
    way.cut(false);
    browser.find("[data-connection=online]").await?;
    browser
        .find(&card(id(&third), "[data-state=waiting]"))
        .await?;
    let gone = format!(
        "!document.querySelector(\"{}\") || document.querySelector(\"{}\")",
        card(id(&first), ""),
        card(id(&first), "[data-state=settled]")
    );
    browser.until(&gone).await?;
    holds_text(
        &browser,
        &card(id(&second), " textarea[data-question-id=q1]"),
        "kept",
    )
    .await?;
    browser.until("document.title === '(2) Askbus'").await?;
    browser.close().await
}

/// As behind a proxy that knows no WebSocket.
const NO_SOCKETS: &str = "window.WebSocket = class extends EventTarget {
    static OPEN = 1;
    readyState = 3;
    constructor() { super(); setTimeout(() => this.dispatchEvent(new Event('close'))); }
    close() {}
    send() { throw new Error('it never opens'); }
};";

// contract: E12 D9
#[tokio::test]
async fn where_no_socket_gets_through_requests_do() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let person = up.person().await?;
    let mut agent = McpStdio::connect(up.askbus(), &["mcp"]).await?;
    let browser = Browser::open(1100, 960).await?;
    browser.before_pages(NO_SOCKETS).await?;
    browser.goto(&fresh_link(&person).await?).await?;
    browser.find("[data-connection=online]").await?;
    agent
        .call(1, "ask_user", json!({"questions": [{"question": "Still there?", "options": ["yes", "no"]}], "timeout_s": 3600}))
        .await?;
    let shown = asked(&person, "Still there?").await?;
    let card = format!("[data-clarify-id='{}']", id(&shown));
    browser
        .click(&format!("{card} input[data-option-id=o2]"))
        .await?;
    // The hold went through as well, and comes back in what is new.
    browser
        .find(&format!("{card} .clock[data-held=true]"))
        .await?;
    browser
        .click(&format!("{card} button[data-action=submit]"))
        .await?;
    browser.find(&format!("{card}[data-state=settled]")).await?;
    let reply = agent.reply(1).await?;
    let answer = &reply["result"]["structuredContent"]["answers"][0];
    assert_eq!(answer["options"][0]["label"], "no", "{reply}");
    // And what others settle is seen to close.
    agent
        .call(2, "ask_user", one_question("Next?", &["a"]))
        .await?;
    let next = asked(&person, "Next?").await?;
    browser
        .find(&format!(
            "[data-clarify-id='{}'][data-state=waiting]",
            id(&next)
        ))
        .await?;
    person.answer(id(&next), &choose("o1")).await?;
    browser
        .find(&format!(
            "[data-clarify-id='{}'][data-state=settled]",
            id(&next)
        ))
        .await?;
    browser.close().await
}

// contract: E12
#[tokio::test]
async fn after_a_sleep_the_connection_is_made_anew() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let browser = Browser::open(1100, 960).await?;
    let sockets = "const Real = WebSocket; window.opened = 0;
        window.WebSocket = class extends Real { constructor(...given) { super(...given); window.opened += 1; } };";
    browser.before_pages(sockets).await?;
    browser.goto(&up.announcement().sign_in_url).await?;
    browser.find("[data-connection=online]").await?;
    // The clock jumps, as it does when a lid is opened again.
    browser
        .run("const now = Date.now; Date.now = () => now() + 3600_000;")
        .await?;
    browser.until("window.opened === 2").await?;
    browser.find("[data-connection=online]").await?;
    let mut agent = McpStdio::connect(up.askbus(), &["mcp"]).await?;
    agent
        .call(1, "ask_user", one_question("Awake?", &["a"]))
        .await?;
    browser.find(".card[data-state=waiting]").await?;
    browser.close().await
}

// contract: E9 E12
#[tokio::test]
async fn two_browsers_and_a_terminal_on_one_question() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let person = up.person().await?;
    let mut agent = McpStdio::connect(up.askbus(), &["mcp"]).await?;
    agent
        .call(1, "ask_user", one_question("Who is first?", &["a", "b"]))
        .await?;
    let shown = asked(&person, "Who is first?").await?;
    let (one, two) = tokio::try_join!(Browser::open(900, 700), Browser::open(400, 700))?;
    for browser in [&one, &two] {
        browser.goto(&fresh_link(&person).await?).await?;
        browser.find(".card[data-state=waiting]").await?;
    }
    let done = up
        .askbus()
        .run(&["answer", id(&shown), "--choose", "b"])
        .await?;
    assert_eq!(done.code, 0, "{done:?}");
    for browser in [&one, &two] {
        browser.find(".card[data-state=settled]").await?;
        says(browser, ".card .status-text", "Answered by you · terminal").await?;
    }
    // Once more, decided in a browser: the terminal's own answer comes too late and says so.
    agent.reply(1).await?;
    agent
        .call(2, "ask_user", one_question("And now?", &["a", "b"]))
        .await?;
    let next = asked(&person, "And now?").await?;
    let card = format!("[data-clarify-id='{}']", id(&next));
    one.click(&format!("{card} input[data-option-id=o1]"))
        .await?;
    one.click(&format!("{card} button[data-action=submit]"))
        .await?;
    two.find(&format!("{card}[data-state=settled]")).await?;
    let late = up
        .askbus()
        .run(&["answer", id(&next), "--choose", "b"])
        .await?;
    assert_eq!(late.code, 20, "{late:?}");
    one.close().await?;
    two.close().await
}

// contract: E12
#[tokio::test]
async fn a_silent_connection_says_that_it_lives() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let person = up.person().await?;
    // A page does not see pings; other clients do, and are told nothing they do not know.
    let mut page = person.socket_at("/ws?surface=panel").await?;
    let mut other = person.socket().await?;
    let alive = page.find(|m| m["event"] == "alive").await?;
    assert!(alive["server_now"].is_i64(), "{alive}");
    let mut agent = McpStdio::connect(up.askbus(), &["mcp"]).await?;
    agent
        .call(1, "ask_user", one_question("Heard?", &[]))
        .await?;
    other.find(|m| m["question"] == "Heard?").await?;
    assert!(other.heard().iter().all(|m| m["event"] != "alive"));
    Ok(())
}
