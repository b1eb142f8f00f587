//! How a question reads once it is over: what was chosen, noted and assumed, and words nobody sent.

use super::{fresh_link, says};
use crate::support::{BINARY, asked, choose, id, one_question};
use anyhow::Result;
use askbus_testkit::{AskbusUp, Browser, McpStdio, within};
use serde_json::json;

// contract: A5 E9
#[tokio::test]
async fn what_the_agent_assumes_is_shown_wherever_its_question_is() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let person = up.person().await?;
    let mut agent = McpStdio::connect(up.askbus(), &["mcp"]).await?;
    let question = json!({"questions": [{"question": "Which port?", "options": ["8080", "8081"], "recommended": 1}]});
    agent.call(1, "ask_user", question).await?;
    let shown = asked(&person, "Which port?").await?;
    let browser = Browser::open(1100, 960).await?;
    browser.goto(&fresh_link(&person).await?).await?;
    browser.click(".card button[data-action=skip]").await?;
    let assumed = "The agent assumes, and nobody chose: 8081";
    says(&browser, ".card[data-state=settled] .assumed", assumed).await?;
    let row = format!("[data-recent-id='{}'] .assumed", id(&shown));
    says(&browser, &row, assumed).await?;
    browser
        .goto(&format!("{}/#/question/{}", up.url(), id(&shown)))
        .await?;
    says(&browser, ".past .assumed", assumed).await?;
    // In the terminal too.
    let history = up.askbus().run(&["history"]).await?;
    let said = "assumed by the agent, chosen by nobody: 8081";
    assert!(history.stdout.contains(said), "{history:?}");
    browser.close().await
}

// contract: D4
#[tokio::test]
async fn a_note_is_called_one_and_is_no_part_of_the_answer() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let person = up.person().await?;
    let asking = crate::support::ask(up.askbus(), &person, "Deploy?", &["--choice", "yes"]).await?;
    let (mut asking, clarify_id) = asking;
    let args = [
        "answer",
        &clarify_id,
        "--choose",
        "yes",
        "--note",
        "by noon",
    ];
    let taken = up.askbus().run(&args).await?;
    assert_eq!(taken.code, 0, "{taken:?}");
    assert_eq!(
        taken.stdout,
        "Taken:\n  Deploy?\n    → yes\n    → note: by noon\n"
    );
    let done = asking.end().await?;
    assert_eq!(done.stdout, "yes\n", "{done:?}");
    assert!(done.stderr.contains("Note: by noon"), "{done:?}");
    let browser = Browser::open(1100, 960).await?;
    browser.goto(&fresh_link(&person).await?).await?;
    browser
        .goto(&format!("{}/#/question/{clarify_id}", up.url()))
        .await?;
    says(&browser, ".past .chosen-text", "Note: by noon").await?;
    browser.close().await
}

// contract: E9 N3
#[tokio::test]
async fn words_of_another_tab_stay_when_their_question_is_settled_elsewhere() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let person = up.person().await?;
    let mut agent = McpStdio::connect(up.askbus(), &["mcp"]).await?;
    let question = one_question("Which colour?", &["red", "blue"]);
    agent.call(1, "ask_user", question).await?;
    let shown = asked(&person, "Which colour?").await?;
    let browser = Browser::open(1100, 960).await?;
    browser.goto(&fresh_link(&person).await?).await?;
    let field = browser.find("textarea[data-question-id=q1]").await?;
    field.send_keys("green, please").await?;
    let kept = "Object.keys(localStorage).some((key) => key.startsWith('askbus.draft.'))";
    browser.until(kept).await?;
    // From now on this is another tab: the first one's words are not its own.
    browser
        .run("sessionStorage.removeItem('askbus.tab')")
        .await?;
    browser.page.refresh().await?;
    browser.find(".card[data-state=waiting]").await?;
    person.answer(id(&shown), &choose("o1")).await?;
    browser.find(".card[data-state=settled]").await?;
    assert_eq!(browser.run(&format!("return {kept}")).await?, true);
    browser.page.refresh().await?;
    says(&browser, ".card .kept", "green, please").await?;
    browser.click(".card button[data-action=close]").await?;
    browser.until(&format!("!{kept}")).await?;
    browser.close().await
}

// contract: E12 D4
#[tokio::test]
async fn a_short_word_is_not_found_in_what_was_said_by_chance() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let person = up.person().await?;
    let mut agent = McpStdio::connect(up.askbus(), &["mcp"]).await?;
    agent
        .call(1, "ask_user", one_question("How many?", &["none"]))
        .await?;
    let shown = asked(&person, "How many?").await?;
    let browser = Browser::open(1100, 960).await?;
    browser.goto(&fresh_link(&person).await?).await?;
    let field = browser.find("textarea[data-question-id=q1]").await?;
    field.send_keys("1").await?;
    // The same person elsewhere; the digit stands in every id and moment of what comes back.
    let five = json!({"answers": [{"question_id": "q1", "text": "five"}]});
    person.answer(id(&shown), &five).await?;
    browser.find(".card[data-state=settled]").await?;
    says(&browser, ".card .kept", "1").await?;
    browser.close().await
}

/// While it is told to, an answer goes out and does not arrive.
const LOST: &str = "
    const send = WebSocket.prototype.send;
    WebSocket.prototype.send = function (text) {
        if (!window.lost || !String(text).includes('clarify.respond')) send.call(this, text);
    };
";

// contract: E12 N5
#[tokio::test]
async fn what_may_have_been_sent_cannot_be_taken_back() -> Result<()> {
    let mut up = AskbusUp::start(BINARY).await?;
    let person = up.person().await?;
    let mut agent = McpStdio::connect(up.askbus(), &["mcp"]).await?;
    agent
        .call(1, "ask_user", one_question("Go?", &["yes", "no"]))
        .await?;
    asked(&person, "Go?").await?;
    let browser = Browser::open(1100, 960).await?;
    browser.before_pages(LOST).await?;
    browser.goto(&fresh_link(&person).await?).await?;
    browser.click("input[data-option-id=o1]").await?;
    browser.run("window.lost = true").await?;
    browser.click("button[data-action=submit]").await?;
    browser.find(".card[data-state=sending]").await?;
    up.kill9().await?;
    says(&browser, ".card .status-text", "may have been sent").await?;
    let offered = "document.querySelector('button[data-action=take-back]:not([hidden])') !== null";
    assert_eq!(browser.run(&format!("return {offered}")).await?, false);
    // Only the service knows, and is asked.
    browser.run("window.lost = false").await?;
    up.restart().await?;
    let reply = agent.reply(1).await?;
    let answer = &reply["result"]["structuredContent"]["answers"][0];
    assert_eq!(answer["options"][0]["label"], "yes", "{reply}");
    browser.find(".card[data-state=settled]").await?;
    browser.close().await
}

// contract: E12 D4
#[tokio::test]
async fn a_browser_without_room_says_that_the_page_alone_has_the_answer() -> Result<()> {
    let mut up = AskbusUp::start(BINARY).await?;
    let person = up.person().await?;
    let mut agent = McpStdio::connect(up.askbus(), &["mcp"]).await?;
    agent
        .call(1, "ask_user", one_question("Room?", &["yes", "no"]))
        .await?;
    asked(&person, "Room?").await?;
    let browser = Browser::open(1100, 960).await?;
    let full = "Storage.prototype.setItem = () => { throw new DOMException('full', 'QuotaExceededError'); };";
    browser.before_pages(full).await?;
    browser.goto(&fresh_link(&person).await?).await?;
    browser.click("input[data-option-id=o1]").await?;
    up.kill9().await?;
    browser.find("[data-connection=offline]").await?;
    browser.click("button[data-action=submit]").await?;
    says(&browser, "#notice", "in this page only").await?;
    let leaving = "const leave = new Event('beforeunload', { cancelable: true });
        window.dispatchEvent(leave); return leave.defaultPrevented";
    assert_eq!(browser.run(leaving).await?, true);
    up.restart().await?;
    let reply = agent.reply(1).await?;
    let answer = &reply["result"]["structuredContent"]["answers"][0];
    assert_eq!(answer["options"][0]["label"], "yes", "{reply}");
    browser.find(".card[data-state=settled]").await?;
    assert_eq!(browser.run(leaving).await?, false);
    browser.close().await
}

// contract: D4
#[tokio::test]
async fn who_is_in_the_list_of_what_is_over_stays_there_when_more_is() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let person = up.person().await?;
    let mut agent = McpStdio::connect(up.askbus(), &["mcp"]).await?;
    let browser = Browser::open(1100, 960).await?;
    browser.goto(&fresh_link(&person).await?).await?;
    for (nth, question) in [(1, "First?"), (2, "Second?")] {
        agent
            .call(nth, "ask_user", one_question(question, &["a"]))
            .await?;
        let shown = asked(&person, question).await?;
        person.answer(id(&shown), &choose("o1")).await?;
        let listed = format!("document.querySelectorAll('.recent-item').length === {nth}");
        browser.until(&listed).await?;
        browser
            .run("document.querySelector('.recent-link').focus()")
            .await?;
    }
    let third = one_question("Third?", &["a"]);
    agent.call(3, "ask_user", third).await?;
    let shown = asked(&person, "Third?").await?;
    person.answer(id(&shown), &choose("o1")).await?;
    browser
        .until("document.querySelectorAll('.recent-item').length === 3")
        .await?;
    let focused = browser
        .run("return document.activeElement.textContent")
        .await?;
    assert_eq!(focused, "Second?");
    browser.close().await
}

/// An answer under way in a browser that becomes full, as a page after it finds it.
const FULL: &str = "const done = arguments[0];
    import('/assets/outbox.js').then(({ Outbox }) => {
        const submission = { session_id: 's', clarify_id: 'c', answer_id: 'a', action: 'answer', answers: [], text: 'x' };
        const request = { clarify_id: 'c', questions: [{ id: 'q1' }], html: { q1: { question: '<p>long</p>'.repeat(50) } } };
        const again = () => { const page = new Outbox(); page.start('t.p'); return [page.get('c')?.answer_id ?? null, page.hasLeft('c')]; };
        const page = new Outbox();
        page.start('t.p');
        page.put(request, submission);
        const told = [again()];
        let size = 1 << 20;
        for (let n = 0; size >= 1; n += 1) {
            try { localStorage.setItem('fill' + n, 'x'.repeat(size)); } catch { size = size >> 1; }
        }
        told.push(page.leaves('c'), again());
        // Nothing but the answer is there any more: not even a word fits.
        page.stays('c');
        localStorage.removeItem('askbus.outbox.t.p.c');
        const bare = { ...request, html: {} };
        page.put(bare, submission);
        size = 1 << 20;
        for (let n = 1000; size >= 1; n += 1) {
            try { localStorage.setItem('fill' + n, 'x'.repeat(size)); } catch { size = size >> 1; }
        }
        told.push(page.leaves('c'), again(), page.holdsAlone);
        localStorage.clear();
        done(told);
    });";

// contract: E12 N5
#[tokio::test]
async fn an_answer_that_went_out_is_no_unsent_one_after_a_reload_of_a_full_browser() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let person = up.person().await?;
    let browser = Browser::open(1100, 960).await?;
    browser.goto(&fresh_link(&person).await?).await?;
    browser.find("#inbox:not([hidden])").await?;
    let told = within(
        "a full browser",
        browser.page.execute_async(FULL, Vec::new()),
    )
    .await??;
    let expected = json!([
        ["a", false],
        // The mark has no room of its own; the question's pictures make room for it.
        true,
        ["a", true],
        // No room at all: then the page says so, and no later one calls it unsent.
        false,
        [null, false],
        true
    ]);
    assert_eq!(told, expected);
    browser.close().await
}
