//! Answers that come too late: the card says where they go, and their author sends them on.

use super::{fresh_link, says};
use crate::support::{BINARY, ask, asked, choose, id, one_question, words};
use anyhow::Result;
use askbus_testkit::{AskbusUp, Browser, McpStdio, Signal};
use serde_json::{Value, json};

/// From here on what the page answers is on its way until `let_go`.
const SLOW_WAY: &str = "
    const send = WebSocket.prototype.send;
    const held = [];
    WebSocket.prototype.send = function (message) {
        if (String(message).includes('clarify.respond')) held.push([this, message]);
        else send.call(this, message);
    };
    window.letGo = () => {
        WebSocket.prototype.send = send;
        for (const [socket, message] of held.splice(0)) send.call(socket, message);
    };";

/// What rode to the agent with a result.
fn rode(reply: &Value) -> Vec<Value> {
    let late = reply["result"]["structuredContent"]["late"].as_array();
    let text = |m: &Value| m["answers"][0]["text"].clone();
    late.into_iter().flatten().map(text).collect()
}

// contract: E6 E9
#[tokio::test]
async fn who_lost_the_race_sends_their_words_on_from_the_card() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let person = up.person().await?;
    let bob = crate::support::credential(&up, "person", "default", "bob").await?;
    let bob = askbus_testkit::Person::bearer(up.url(), &bob)?;
    let mut agent = McpStdio::connect(up.askbus(), &["mcp"]).await?;
    let question = one_question("Which colour?", &["red", "blue"]);
    agent.call(1, "ask_user", question).await?;
    let shown = asked(&person, "Which colour?").await?;

    let browser = Browser::open(1100, 960).await?;
    browser.goto(&fresh_link(&person).await?).await?;
    let field = browser.find("textarea[data-question-id=q1]").await?;
    field.send_keys("green, please").await?;
    browser.run(SLOW_WAY).await?;
    browser.click("button[data-action=submit]").await?;
    let taken = bob.answer(id(&shown), &choose("o1")).await?;
    assert_eq!(taken.status, 200, "{taken:?}");
    browser.find(".card[data-state=late]").await?;
    let offered = "return !document.querySelector('.card [data-action=pass-on]').hidden";
    assert_eq!(
        browser.run(offered).await?,
        false,
        "what is not judged is not sent on"
    );
    browser.run("letGo()").await?;
    says(
        &browser,
        ".card .status-text",
        "The agent is not told of it unless you send it on.",
    )
    .await?;
    browser.click(".card button[data-action=pass-on]").await?;
    says(
        &browser,
        ".card .status-text",
        "It reaches the agent with its next result.",
    )
    .await?;
    assert_eq!(browser.run(offered).await?, false);
    agent.reply(1).await?;
    agent
        .call(2, "ask_user", one_question("Next?", &["yes"]))
        .await?;
    let next = asked(&person, "Next?").await?;
    person.answer(id(&next), &choose("o1")).await?;
    assert_eq!(rode(&agent.reply(2).await?), [json!("green, please")]);
    // Closed, it stands among what was settled.
    browser
        .click(".card[data-state=late] button[data-action=close]")
        .await?;
    let row = format!("[data-recent-id='{}']", id(&shown));
    says(&browser, &format!("{row} .recent-late"), "green, please").await?;
    says(
        &browser,
        &format!("{row} .recent-late"),
        "It reaches the agent with its next result.",
    )
    .await?;
    browser.close().await
}

// contract: E11
#[tokio::test]
async fn an_answer_to_an_agent_that_is_gone_says_so() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let person = up.person().await?;
    let (mut asking, _) = ask(up.askbus(), &person, "Anybody?", &[]).await?;
    let browser = Browser::open(1100, 960).await?;
    browser.goto(&fresh_link(&person).await?).await?;
    let field = browser.find("textarea[data-question-id=q1]").await?;
    field.send_keys("I am here").await?;
    browser.run(SLOW_WAY).await?;
    browser.click("button[data-action=submit]").await?;
    asking.signal(Signal::INT)?;
    asking.wait().await?;
    browser.find(".card[data-state=late]").await?;
    browser.run("letGo()").await?;
    let gone = "It goes no further: the agent that asked is gone for good.";
    says(&browser, ".card .status-text", gone).await?;
    // Trying again changes nothing, and the words stay where they can be copied.
    browser.click(".card button[data-action=pass-on]").await?;
    browser
        .find(".card button[data-action=pass-on]:enabled")
        .await?;
    says(&browser, ".card .status-text", gone).await?;
    says(&browser, ".card .kept", "I am here").await?;
    browser.close().await
}

// contract: E6 E12
#[tokio::test]
async fn a_late_answer_of_an_earlier_visit_is_sent_on_from_the_history() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let person = up.person().await?;
    let mut agent = McpStdio::connect(up.askbus(), &["mcp"]).await?;
    let question = one_question("Which colour?", &["red", "blue"]);
    agent.call(1, "ask_user", question).await?;
    let shown = asked(&person, "Which colour?").await?;
    person.answer(id(&shown), &choose("o1")).await?;
    agent.reply(1).await?;
    let second = json!({"answers": [{"question_id": "q1", "text": "rather green"}]});
    assert_eq!(person.answer(id(&shown), &second).await?.status, 409);

    let browser = Browser::open(1100, 960).await?;
    browser.goto(&fresh_link(&person).await?).await?;
    let row = format!("[data-recent-id='{}']", id(&shown));
    says(&browser, &format!("{row} .recent-late"), "rather green").await?;
    browser
        .click(&format!("{row} button[data-action=pass-on]"))
        .await?;
    says(
        &browser,
        &format!("{row} .recent-late"),
        "It reaches the agent with its next result.",
    )
    .await?;
    let left = format!("return document.querySelectorAll(\"{row} button\").length");
    assert_eq!(browser.run(&left).await?, 0);
    let place = format!("return document.activeElement.closest(\"{row}\") !== null");
    assert_eq!(browser.run(&place).await?, true);
    browser.close().await
}

// contract: E6 E12
#[tokio::test]
async fn who_looks_at_a_question_sees_that_their_late_words_went_on_or_did_not() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let person = up.person().await?;
    let mut agent = McpStdio::connect(up.askbus(), &["mcp"]).await?;
    let (asking, gone) = ask(up.askbus(), &person, "Of a script?", &[]).await?;
    agent
        .call(
            1,
            "ask_user",
            one_question("Of an agent?", &["red", "blue"]),
        )
        .await?;
    let shown = asked(&person, "Of an agent?").await?;
    person.answer(&gone, &words("first")).await?;
    asking.finish().await?;
    person.answer(id(&shown), &choose("o1")).await?;
    agent.reply(1).await?;
    let browser = Browser::open(1100, 960).await?;
    browser.goto(&fresh_link(&person).await?).await?;
    let second = json!({"answers": [{"question_id": "q1", "text": "rather this"}]});
    for (question, told) in [
        (gone.as_str(), "the agent that asked is gone for good"),
        (id(&shown), "It reaches the agent with its next result."),
    ] {
        assert_eq!(person.answer(question, &second).await?.status, 409);
        browser
            .goto(&format!("{}/#/question/{question}", up.url()))
            .await?;
        browser.click("#past button[data-action=pass-on]").await?;
        let place = if question == gone {
            "#notice-text"
        } else {
            "#past .recent-late"
        };
        says(&browser, place, told).await?;
    }
    // What went nowhere may be tried again, and what went on is not offered any more.
    let left = "return document.querySelectorAll('#past button[data-action=pass-on]').length";
    assert_eq!(browser.run(left).await?, 0);
    browser
        .goto(&format!("{}/#/question/{gone}", up.url()))
        .await?;
    browser
        .find("#past button[data-action=pass-on]:enabled")
        .await?;
    browser.close().await
}
