//! Beside the inbox: one question or session alone, plans, the history; and what is recommended.

use super::{fresh_link, says};
use crate::support::{BINARY, asked, begin_turn, choose, credential, id, one_question};
use anyhow::{Context as _, Result};
use askbus_testkit::{AskbusUp, Browser, McpStdio, Person};
use serde_json::json;

// contract: D4 A5
#[tokio::test]
async fn what_is_recommended_is_sent_as_the_persons_own_choice() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let person = up.person().await?;
    let mut agent = McpStdio::connect(up.askbus(), &["mcp"]).await?;
    let questions = json!({"questions": [
        {"question": "Where?", "options": ["here", "there"], "recommended": 1},
        {"question": "When?", "options": ["now", "later"], "recommended": 0},
        {"question": "Why?"},
    ]});
    agent.call(1, "ask_user", questions.clone()).await?;
    asked(&person, "Where?").await?;
    let browser = Browser::open(1100, 960).await?;
    browser.goto(&fresh_link(&person).await?).await?;
    browser.find("button[data-action=submit]:disabled").await?;
    let chosen = "return document.querySelectorAll('input:checked').length";
    assert_eq!(browser.run(chosen).await?, 0, "nothing is chosen by itself");
    browser
        .click("button[data-action=submit-recommended]")
        .await?;
    let reply = agent.reply(1).await?;
    let outcome = &reply["result"]["structuredContent"];
    assert_eq!(
        (&outcome["reason"], &outcome["decided_by"]),
        (&json!("response"), &json!("person")),
        "{reply}"
    );
    let labels: Vec<_> = outcome["answers"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|a| a["options"][0]["label"].clone())
        .collect();
    assert_eq!(labels, [json!("there"), json!("now")], "{outcome}");
    assert_eq!(outcome["unanswered"], json!(["q3"]), "{outcome}");
    assert_eq!(outcome["assumptions"], json!([]), "{outcome}");

    // Who has begun keeps what they chose: only the rest is filled in, and nothing is sent by that.
    agent.call(2, "ask_user", questions).await?;
    asked(&person, "Where?").await?;
    let card = ".card[data-state=waiting] ";
    browser
        .click(&format!(
            "{card} fieldset:nth-of-type(1) input[data-option-id=o1]"
        ))
        .await?;
    browser.until("document.querySelector('.card[data-state=waiting] [data-action=submit-recommended]').hidden").await?;
    browser
        .click(&format!("{card} button[data-action=choose-recommended]"))
        .await?;
    browser
        .find(&format!(
            "{card} fieldset:nth-of-type(2) input[data-option-id=o1]:checked"
        ))
        .await?;
    says(
        &browser,
        ".card[data-state=waiting] .progress",
        "2 of 3 answered",
    )
    .await?;
    browser
        .click(&format!("{card} button[data-action=submit]"))
        .await?;
    let reply = agent.reply(2).await?;
    let answers = &reply["result"]["structuredContent"]["answers"];
    assert_eq!(
        (
            &answers[0]["options"][0]["label"],
            &answers[1]["options"][0]["label"]
        ),
        (&json!("here"), &json!("now")),
        "{reply}"
    );
    browser.close().await
}

// contract: E16
#[tokio::test]
async fn a_plan_is_seen_to_go_on_and_to_end() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let person = up.person().await?;
    let host = credential(&up, "host", "default", "ci").await?;
    let host = Person::bearer(up.url(), &host)?;
    let turn = json!({"session_id": "build", "for_ms": 600_000, "toolset": "studio"});
    let begun = host.post("/api/turns/begin", &turn).await?.body;
    let context = begun["context_id"]
        .as_str()
        .with_context(|| format!("{begun}"))?
        .to_owned();
    let update = async |first: &str, second: &str| {
        let plan = json!({"context_id": context, "explanation": "in two steps", "plan": [
            {"id": "a", "step": "look <b>around</b>", "status": first}, {"id": "b", "step": "mend", "status": second}]});
        let reply = host.post("/api/studio/task-plans/update", &plan).await?;
        anyhow::ensure!(reply.status == 200, "{reply:?}");
        anyhow::Ok(())
    };
    update("in_progress", "pending").await?;
    let browser = Browser::open(1100, 960).await?;
    browser.goto(&fresh_link(&person).await?).await?;
    browser.find("#inbox:not([hidden])").await?;
    browser.click("#nav a[data-view=plans]").await?;
    says(&browser, "#plan-list .plan-title", "0 of 2 done").await?;
    says(&browser, "#plan-list .pill", "Running").await?;
    says(&browser, "#plan-list .step", "look <b>around</b>").await?;
    update("completed", "in_progress").await?;
    says(&browser, "#plan-list .plan-title", "1 of 2 done").await?;
    browser.find("#plan-list [data-status=in_progress]").await?;
    host.post(
        &format!("/api/turns/{context}/end"),
        &json!({"end": "completed"}),
    )
    .await?;
    says(&browser, "#plan-list .pill", "Ended").await?;
    browser
        .find("#plan-list li[data-status=pending]:nth-child(2)")
        .await?;
    // It is there after a reload, and above the session's questions.
    browser.page.refresh().await?;
    says(&browser, "#plan-list .pill", "Ended").await?;
    browser.click("#plan-list a").await?;
    browser.find("#session-plan .plan[open]").await?;
    browser.close().await
}

// contract: E16 E9
#[tokio::test]
async fn a_plan_says_whose_it_is_as_a_question_does() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let person = up.person().await?;
    let git = up.askbus().home().join(".git");
    std::fs::create_dir(&git)?;
    std::fs::write(git.join("HEAD"), "ref: refs/heads/feature/login\n")?;
    let mut agent = McpStdio::connect(up.askbus(), &["mcp"]).await?;
    let plan = json!({"plan": [{"id": "a", "step": "look", "status": "in_progress"}]});
    agent.call(1, "update_plan", plan).await?;
    agent.reply(1).await?;
    agent
        .call(2, "ask_user", one_question("Whose?", &["a"]))
        .await?;
    let asker = asked(&person, "Whose?").await?["asker"].clone();
    assert_eq!(asker["branch"], "feature/login", "{asker}");
    assert_eq!(asker["client"], "askbus-test 1", "{asker}");
    let plans = person.get("/api/plans").await?.body;
    assert_eq!(plans["plans"][0]["asker"], asker, "{plans}");

    let browser = Browser::open(1100, 960).await?;
    browser.goto(&fresh_link(&person).await?).await?;
    browser.find(".card[data-state=waiting]").await?;
    let parts = |of: &str| {
        format!(
            "return [...document.querySelectorAll('{of} > .asker-client, {of} > .asker-part:not(.asker-session)')]
                .map((part) => part.textContent)"
        )
    };
    let of_question = browser.run(&parts(".group > .asker")).await?;
    let expected = json!([
        asker["client"],
        asker["host"],
        asker["cwd"],
        asker["branch"]
    ]);
    assert_eq!(of_question, expected);
    // Above its session's questions it needs no second name.
    browser.find(".group .plan .plan-asker[hidden]").await?;
    browser.click("#nav a[data-view=plans]").await?;
    browser.find("#plan-list .plan-asker:not([hidden])").await?;
    let of_plan = browser.run(&parts("#plan-list .plan-asker")).await?;
    assert_eq!(of_plan, expected);
    browser.close().await
}

// contract: N3 E9
#[tokio::test]
async fn the_history_is_searched_and_a_link_leads_to_one_question() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let person = up.person().await?;
    let mut agent = McpStdio::connect(up.askbus(), &["mcp"]).await?;
    let mut ids = Vec::new();
    for (n, question) in ["Paint it red?", "Paint it blue?"].into_iter().enumerate() {
        agent
            .call(n as u64, "ask_user", one_question(question, &["yes", "no"]))
            .await?;
        let shown = asked(&person, question).await?;
        person.answer(id(&shown), &choose("o1")).await?;
        agent.reply(n as u64).await?;
        ids.push(id(&shown).to_owned());
    }
    let last = one_question("Paint it green?", &["yes", "no"]);
    agent.call(9, "ask_user", last).await?;
    let open = id(&asked(&person, "Paint it green?").await?).to_owned();

    let browser = Browser::open(1100, 960).await?;
    browser.goto(&fresh_link(&person).await?).await?;
    // The count that comes beside it moves it.
    browser.until("document.title === '(1) Askbus'").await?;
    browser.click("#nav a[data-view=history]").await?;
    browser
        .until("document.querySelectorAll('#history-list > li').length === 2")
        .await?;
    browser
        .find("#history-text")
        .await?
        .send_keys("blue\n")
        .await?;
    browser
        .until("document.querySelectorAll('#history-list > li').length === 1")
        .await?;
    browser
        .until("location.hash === '#/history?text=blue'")
        .await?;
    browser.click("#history-list summary").await?;
    says(&browser, "#history-list [data-chosen=true]", "yes").await?;
    // A link to what is over, and one to what waits.
    let place = |id: &str| format!("{}/#/question/{id}", up.url());
    browser.goto(&place(&ids[0])).await?;
    says(&browser, "#past .past-asked", "Paint it red?").await?;
    browser.goto(&place(&open)).await?;
    browser
        .find(&format!("[data-clarify-id='{open}'][data-state=waiting]"))
        .await?;
    browser.click("input[data-option-id=o2]").await?;
    browser.click("button[data-action=submit]").await?;
    let reply = agent.reply(9).await?;
    assert_eq!(
        reply["result"]["structuredContent"]["answers"][0]["options"][0]["label"], "no",
        "{reply}"
    );
    // When the card has gone, what became of it takes its place.
    says(&browser, "#past .past-how", "Answered by you").await?;
    browser
        .goto(&place("01a22db2-b5ef-72d9-8d4d-32ea513796ea"))
        .await?;
    says(&browser, "#past", "There is no such question").await?;
    browser.close().await
}

// contract: D10
#[tokio::test]
async fn filters_say_which_sessions_wait_and_how_many() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let person = up.person().await?;
    let mut asking = Vec::new();
    for (session, question) in [("one", "Alpha?"), ("one", "Beta?"), ("two", "Gamma?")] {
        let context = if asking.is_empty() || session == "two" {
            begin_turn(up.askbus(), session, &[]).await?
        } else {
            String::new()
        };
        let askbus = up.askbus().clone();
        let askbus = if context.is_empty() {
            asking_as(&asking, &askbus)
        } else {
            askbus.env("ASKBUS_CONTEXT", &context)
        };
        let process = crate::support::ask(&askbus, &person, question, &[]).await?;
        asking.push((askbus, process));
    }
    let browser = Browser::open(1100, 960).await?;
    browser.goto(&fresh_link(&person).await?).await?;
    browser
        .until("document.querySelectorAll('.card').length === 3")
        .await?;
    browser.until("document.title === '(3) Askbus'").await?;
    let icon = "return document.getElementById('icon').href.startsWith('data:image/svg')";
    assert_eq!(browser.run(icon).await?, true);
    let sessions = "return [...document.querySelectorAll('#filter-session option')].map((o) => o.textContent.replace(/.* · /, ''))";
    assert_eq!(
        browser.run(sessions).await?,
        json!(["All sessions", "one (2)", "two (1)"])
    );
    let field = browser.find("#filter-text").await?;
    field.send_keys("gam").await?;
    browser
        .until("document.querySelectorAll('.card').length === 1")
        .await?;
    browser.until("document.title === '(3) Askbus'").await?;
    field.clear().await?;
    browser.find("#filter-text").await?.send_keys("zzz").await?;
    browser.find("#nothing:not([hidden])").await?;
    browser.click("#filter-clear").await?;
    browser
        .until("document.querySelectorAll('.card').length === 3")
        .await?;
    browser.run("const s = document.getElementById('filter-session'); s.value = 'two'; s.dispatchEvent(new Event('change'))").await?;
    browser
        .until(
            "location.hash === '#/session/two' && document.querySelectorAll('.card').length === 1",
        )
        .await?;
    browser.close().await
}

/// The program as the first question of the session was asked with.
fn asking_as<T>(
    asking: &[(askbus_testkit::Askbus, T)],
    fallback: &askbus_testkit::Askbus,
) -> askbus_testkit::Askbus {
    asking
        .first()
        .map_or_else(|| fallback.clone(), |(askbus, _)| askbus.clone())
}
