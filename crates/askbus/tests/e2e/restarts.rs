//! Everything is killed and started again, embedded and over NATS: what a question was asked under,
//! what was held, written and sent, and what a turn came to are there afterwards.

mod place;

use crate::support::{asked, begin_turn, id, one_question};
use anyhow::{Context as _, Result};
use askbus_domain::Timestamp;
use askbus_testkit::{McpStdio, Person};
use askbus_wire::proto::{AskRequest, ask_request::Input};
use place::Place;
use serde_json::{Value, json};

/// The policy that most of them start with.
const NONE: &str = "";

macro_rules! everywhere {
    ($($name:ident($config:expr)),* $(,)?) => {
        mod one_machine {
            use super::*;
            $(#[tokio::test]
            async fn $name() -> Result<()> {
                super::$name(Place::one_machine($config).await?).await
            })*
        }
        mod services {
            use super::*;
            $(#[tokio::test]
            async fn $name() -> Result<()> {
                super::$name(Place::services($config).await?).await
            })*
        }
    };
}

everywhere! {
    a_held_question_waits_past_its_deadline_and_ends_at_its_cap(NONE),
    a_draft_outlives_all_parts(NONE),
    a_partial_answer_that_nobody_had_judged_settles_after_a_restart(NONE),
    a_question_keeps_the_policy_it_was_asked_under(FIRST_POLICY),
    the_account_of_a_turn_outlives_all_parts(NONE),
}

async fn card(person: &Person, clarify_id: &str) -> Result<Value> {
    let path = format!("/api/clarifications/{clarify_id}");
    Ok(person.get(&path).await?.body["clarification"].clone())
}

fn moment(object: &Value, name: &str) -> Result<Timestamp> {
    serde_json::from_value(object[name].clone()).with_context(|| format!("{name}: {object}"))
}

// contract: A4 E12 E13
async fn a_held_question_waits_past_its_deadline_and_ends_at_its_cap(
    mut place: Place,
) -> Result<()> {
    let person = place.person("ann").await?;
    let context = begin_turn(&place.askbus("host").await?, "held", &[]).await?;
    let mut grpc = place.grpc().await?;
    // One can wait for days once it is held, the other's caller for eight seconds in all.
    let mut ids = Vec::new();
    for (question, call_limit_ms) in [("Far?", None), ("Near?", Some(8_000))] {
        let arguments = json!({"questions": [{"question": question}], "timeout_s": 3});
        let request = AskRequest {
            context_id: context.clone(),
            asker_id: "tester".into(),
            dialect: "ask".into(),
            input: Some(Input::ArgumentsJson(arguments.to_string())),
            call_limit_ms,
            ..AskRequest::default()
        };
        let asked = grpc.clarify.ask(request).await?.into_inner();
        let held = person.hold(&asked.clarify_id).await?;
        assert_eq!(held.body["verdict"], "held", "{held:?}");
        ids.push(asked.clarify_id);
    }
    let [far, near] = &ids[..] else {
        anyhow::bail!("two questions")
    };
    place.restart().await?;

    let settled = person.until_settled(near).await?;
    assert_eq!(settled["reason"], "timeout", "{settled}");
    let (cap, ended) = (moment(&settled, "cap")?, moment(&settled, "resolved_at")?);
    assert!(ended >= cap, "it ended before its cap: {settled}");
    // By now the deadline of both is long past.
    let waits = card(&person, far).await?;
    assert_eq!(
        (&waits["status"], &waits["held"], &waits["deadline"]),
        (&json!("pending"), &json!(true), &json!(null)),
        "{waits}"
    );
    assert_eq!(waits["held_by"]["person"], "ann", "{waits}");
    assert!(moment(&waits, "cap")? > ended, "{waits}");
    let taken = person.answer(far, &json!({"response": "at last"})).await?;
    assert_eq!(taken.body["reason"], "response", "{taken:?}");
    Ok(())
}

// contract: D4 E12
async fn a_draft_outlives_all_parts(mut place: Place) -> Result<()> {
    let (ann, bob) = (place.person("ann").await?, place.person("bob").await?);
    let mut agent = McpStdio::connect(&place.askbus("agent").await?, &["mcp"]).await?;
    let question = one_question("Where?", &["here", "there"]);
    agent.call(1, "ask_user", question).await?;
    let shown = asked(&ann, "Where?").await?;
    let (mut writes, mut other_tab) = (ann.socket().await?, ann.socket().await?);
    other_tab.find(|m| m["event"] == "ready").await?;
    let draft = json!({"event": "clarify.draft", "clarify_id": id(&shown), "tab": "one",
        "answers": [{"question_id": "q1", "option_ids": ["o2"], "note": "not before noon"}],
        "text": "why not both?"});
    writes.send(&draft).await?;
    // Other tabs hear of it once it is stored.
    other_tab.find(|m| m["event"] == "clarify.draft").await?;
    place.restart().await?;

    let mut again = ann.socket().await?;
    let found = again.find(|m| m["event"] == "clarify.draft").await?;
    assert_eq!(found["own"], true, "{found}");
    assert_eq!(
        (&found["tab"], &found["text"]),
        (&draft["tab"], &draft["text"])
    );
    let answer = &found["answers"][0];
    assert_eq!(answer["option_ids"], json!(["o2"]), "{found}");
    assert_eq!(answer["note"], "not before noon", "{found}");
    // It is still nobody else's.
    let mut others = bob.socket().await?;
    others.find(|m| m["event"] == "ready").await?;
    let told = |m: &&Value| m["event"] == "clarify.draft";
    assert_eq!(others.heard().iter().filter(told).count(), 0);
    let waiting = ann.pending().await?;
    assert_eq!(waiting.len(), 1, "{waiting:?}");
    Ok(())
}

// contract: E11 E12 A2
async fn a_partial_answer_that_nobody_had_judged_settles_after_a_restart(
    mut place: Place,
) -> Result<()> {
    let person = place.person("ann").await?;
    let mut agent = McpStdio::connect(&place.askbus("agent").await?, &["mcp"]).await?;
    let questions = json!({"questions": [
        {"question": "Where?", "options": ["here", "there"], "recommended": 0},
        {"question": "When?", "options": ["now", "later"], "recommended": 0},
    ]});
    agent.call(1, "ask_user", questions).await?;
    let shown = asked(&person, "Where?").await?;
    let answer = json!({"answers": [{"question_id": "q1", "option_ids": ["o2"]}]});
    place.leave_unjudged(&shown, &answer).await?;

    let settled = person.until_settled(id(&shown)).await?;
    assert_eq!(settled["reason"], "response", "{settled}");
    assert_eq!(settled["actor"]["person"], "ann", "{settled}");
    let reply = agent.reply(1).await?;
    let outcome = &reply["result"]["structuredContent"];
    assert_eq!(outcome["reason"], "response", "{reply}");
    // What was left open is named, and no recommendation takes its place.
    assert_eq!(outcome["unanswered"], json!(["q2"]), "{reply}");
    let answers = outcome["answers"].as_array().context("answers")?;
    assert_eq!(answers.len(), 1, "{reply}");
    assert_eq!(answers[0]["options"][0]["label"], "there", "{reply}");
    assert_eq!(outcome["assumptions"], json!([]), "{reply}");
    Ok(())
}

/// Time enough to be killed and changed in.
const FIRST_POLICY: &str = "[policy]\ntimeout = \"8s\"\non_timeout = \"adopt\"\n";

// contract: A4 A5 E12
async fn a_question_keeps_the_policy_it_was_asked_under(mut place: Place) -> Result<()> {
    let person = place.person("ann").await?;
    let askbus = place.askbus("agent").await?;
    let mut agent = McpStdio::connect(&askbus, &["mcp"]).await?;
    let question = |text: &str| json!({"questions": [{"question": text, "options": ["yes", "no"], "recommended": 1}]});
    agent.call(1, "ask_user", question("Before?")).await?;
    let before = asked(&person, "Before?").await?;
    assert_eq!(before["on_timeout"], "adopt", "{before}");
    place.configure("[policy]\ntimeout = \"never\"\non_timeout = \"return\"\n")?;
    place.restart().await?;

    let again = card(&person, id(&before)).await?;
    assert_eq!(again["on_timeout"], "adopt", "{again}");
    agent.call(2, "ask_user", question("After?")).await?;
    let after = asked(&person, "After?").await?;
    assert_eq!(
        (&after["deadline"], &after["on_timeout"]),
        (&json!(null), &json!("return")),
        "{after}"
    );
    let reply = agent.reply(1).await?;
    let outcome = &reply["result"]["structuredContent"];
    assert_eq!(outcome["reason"], "timeout", "{reply}");
    assert_eq!(outcome["answers"], json!([]), "{reply}");
    assert_eq!(outcome["assumptions"][0]["label"], "no", "{reply}");
    let settled = card(&person, id(&before)).await?;
    let ended = moment(&settled, "resolved_at")?;
    let due = before["deadline"].as_i64().context("a deadline")?;
    assert!(ended.unix_millis() >= due, "{settled}");
    Ok(())
}

// contract: A7 A8
async fn the_account_of_a_turn_outlives_all_parts(mut place: Place) -> Result<()> {
    let more = ["--when-absent", "unattended"];
    let context = begin_turn(&place.askbus("host").await?, "night", &more).await?;
    let askbus = place.askbus("agent").await?;
    let askbus = askbus.env("ASKBUS_CONTEXT", &context);
    let ask = async |question: &str| {
        askbus
            .json(&["ask", question, "--choice", "yes", "--json"])
            .await
    };
    // Two in a row that nobody was there for, one before and one after a restart.
    for question in ["First?", "Second?"] {
        let (code, outcome) = ask(question).await?;
        assert_eq!(
            (code, &outcome["reason"]),
            (14, &json!("unattended")),
            "{outcome}"
        );
        place.restart().await?;
    }
    let (code, outcome) = ask("Third?").await?;
    assert_eq!((code, &outcome["reason"]), (16, &json!("off")), "{outcome}");
    let ended = place.host().await?;
    let ended = ended
        .post(
            &format!("/api/turns/{context}/end"),
            &json!({"end": "completed"}),
        )
        .await?;
    assert_eq!(
        (&ended.body["asked"], &ended.body["auto"]),
        (&json!(2), &json!(2)),
        "{ended:?}"
    );
    Ok(())
}
