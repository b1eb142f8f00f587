//! The connection: cut and back, killed under somebody who types, and where no socket gets through.

use super::{fresh_link, holds_text, says};
use crate::support::{BINARY, asked, choose, id, one_question};
use anyhow::Result;
use askbus_testkit::{AskbusUp, Balancer, Browser, McpStdio, Person, Tmux};
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

// contract: D4 E12
#[tokio::test]
async fn where_no_socket_gets_through_drafts_go_and_come_as_well() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let person = up.person().await?;
    let bob = crate::support::credential(&up, "person", "default", "bob").await?;
    let bob = Person::bearer(up.url(), &bob)?;
    let mut agent = McpStdio::connect(up.askbus(), &["mcp"]).await?;
    agent
        .call(1, "ask_user", one_question("What now?", &["a", "b"]))
        .await?;
    let shown = asked(&person, "What now?").await?;
    let mut bobs = bob.socket().await?;
    let (one, two) = tokio::try_join!(Browser::open(900, 700), Browser::open(900, 700))?;
    for browser in [&one, &two] {
        browser.before_pages(NO_SOCKETS).await?;
        browser.goto(&fresh_link(&person).await?).await?;
        browser.find(".card[data-state=waiting]").await?;
    }
    let field = ".card[data-state=waiting] textarea[data-question-id=q1]";
    typed(&one, field, "from here").await?;
    // Another browser of the same person has the words, another person sees that somebody writes.
    holds_text(&two, field, "from here").await?;
    let writing = bobs.find(|m| m["event"] == "clarify.draft").await?;
    assert_eq!(writing["person"], "me", "{writing}");
    assert!(writing.get("answers").is_none(), "{writing}");
    bobs.send(
        &json!({"event": "clarify.draft", "clarify_id": id(&shown), "tab": "b",
            "answers": [{"question_id": "q1", "option_ids": [], "text": "secret"}]}),
    )
    .await?;
    for browser in [&one, &two] {
        says(browser, ".card .writing:not([hidden])", "bob").await?;
        holds_text(browser, field, "from here").await?;
    }
    // The service has them: they outlive this browser and everything it kept.
    one.run("localStorage.clear(); sessionStorage.clear();")
        .await?;
    one.page.refresh().await?;
    one.find(field).await?;
    holds_text(&one, field, "from here").await?;
    one.close().await?;
    two.close().await
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

/// Waits until a browser shows that a card is over, and how.
async fn closed(browser: &Browser, id: &str, how: &str) -> Result<()> {
    let card = format!("[data-clarify-id='{id}']");
    browser.find(&format!("{card}[data-state=settled]")).await?;
    says(browser, &format!("{card} .status-text"), how).await
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
    let tmux = Tmux::open(up.askbus(), 80, 24).await?;
    tmux.command("$askbus inbox --watch").await?;
    tmux.shows("> Who is first?").await?;
    // Answered in the terminal, it closes in both browsers.
    tmux.keys(&["Enter"]).await?;
    tmux.shows("( ) 2. b").await?;
    tmux.types("2s").await?;
    tmux.shows("> Send answer <").await?;
    tmux.keys(&["Enter"]).await?;
    for browser in [&one, &two] {
        closed(browser, id(&shown), "Answered by you · terminal").await?;
    }
    let reply = agent.reply(1).await?;
    let answer = &reply["result"]["structuredContent"]["answers"][0];
    assert_eq!(answer["options"][0]["label"], "b", "{reply}");

    // Answered in one browser, it closes in the other and in the terminal, where somebody writes.
    agent
        .call(2, "ask_user", one_question("And now?", &["a", "b"]))
        .await?;
    let next = asked(&person, "And now?").await?;
    tmux.types("x").await?;
    tmux.shows("> And now?").await?;
    tmux.keys(&["Enter"]).await?;
    tmux.shows("( ) 1. a").await?;
    tmux.types("t").await?;
    tmux.types("in the middle of it").await?;
    tmux.shows("│ in the middle of it").await?;
    let card = format!("[data-clarify-id='{}']", id(&next));
    one.click(&format!("{card} input[data-option-id=o1]"))
        .await?;
    one.click(&format!("{card} button[data-action=submit]"))
        .await?;
    closed(&two, id(&next), "Answered by you").await?;
    let screen = tmux.shows("Answered by you (").await?;
    assert!(screen.contains("→ in the middle of it"), "kept: {screen}");

    // And an answer that is given after that comes too late and says so.
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
