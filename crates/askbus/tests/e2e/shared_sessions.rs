//! One name of a session that several know: each keeps its own turn, and nobody's question is lost.

use crate::support::{BINARY, ask, asked, begin_turn, credential, id, object, one_question, words};
use anyhow::{Context as _, Result, ensure};
use askbus_testkit::{AskbusUp, McpStdio, Person, Process};
use serde_json::{Value, json};

/// Has the person answer, and `askbus ask` say so; the session it asked in.
async fn answered(mut asking: Process, person: &Person, id: &str, text: &str) -> Result<String> {
    person.answer(id, &words(text)).await?;
    let done = asking.end().await?;
    ensure!(done.code == 0, "{done:?}");
    let outcome = object(&done)?;
    ensure!(outcome["answers"][0]["text"] == text, "{outcome}");
    let session = outcome["session_id"].as_str().context("no session")?;
    Ok(session.to_owned())
}

/// A session's name with a part of the process's own.
fn is_beside(session: &str, name: &str) -> bool {
    let part = session.strip_prefix(name).and_then(|s| s.strip_prefix('~'));
    part.is_some_and(|part| part.len() == 4)
}

// contract: E11
#[tokio::test]
async fn two_scripts_that_name_one_session_are_both_answered() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let (askbus, person) = (up.askbus(), up.person().await?);
    let named = ["--session", "shared", "--json"];
    let (first, one) = ask(askbus, &person, "First?", &named).await?;
    let (second, two) = ask(askbus, &person, "Second?", &named).await?;
    let session = answered(second, &person, &two, "to the second").await?;
    assert!(is_beside(&session, "shared"), "{session}");
    assert_eq!(
        answered(first, &person, &one, "to the first").await?,
        "shared"
    );
    // The name is free again.
    let (third, three) = ask(askbus, &person, "Third?", &named).await?;
    assert_eq!(
        answered(third, &person, &three, "to the third").await?,
        "shared"
    );
    Ok(())
}

// contract: E11
#[tokio::test]
async fn two_agents_of_one_project_are_both_answered() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let person = up.person().await?;
    let project = up.askbus().clone().env("ASKBUS_SESSION", "proj");
    let mut agents = Vec::new();
    for question in ["Mine?", "Yours?"] {
        let mut agent = McpStdio::connect(&project, &["mcp"]).await?;
        agent
            .call(1, "ask_user", one_question(question, &[]))
            .await?;
        let shown = asked(&person, question).await?;
        agents.push((agent, id(&shown).to_owned(), question));
    }
    let pending = person.pending().await?;
    let sessions: Vec<_> = pending.iter().map(|q| q["session_id"].as_str()).collect();
    ensure!(sessions.len() == 2, "{pending:#?}");
    assert!(sessions.contains(&Some("proj")), "{sessions:?}");
    let beside = sessions.iter().flatten().any(|s| is_beside(s, "proj"));
    assert!(beside, "{sessions:?}");
    for (agent, clarify_id, question) in &mut agents {
        person.answer(clarify_id, &words(question)).await?;
        let reply = agent.reply(1).await?;
        let said = &reply["result"]["structuredContent"];
        assert_eq!(said["answers"][0]["text"], *question, "{reply}");
        // And again, where it asked before.
        agent
            .call(
                2,
                "ask_user",
                one_question(&format!("{question} Again?"), &[]),
            )
            .await?;
        let shown = asked(&person, &format!("{question} Again?")).await?;
        person.answer(id(&shown), &words("yes")).await?;
        let reply = agent.reply(2).await?;
        assert_eq!(reply["result"]["structuredContent"]["reason"], "response");
    }
    Ok(())
}

// contract: E5 E11 E20
#[tokio::test]
async fn a_script_does_not_take_a_session_from_its_host() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let (askbus, person) = (up.askbus(), up.person().await?);
    let context = begin_turn(askbus, "build", &[]).await?;
    let in_turn = askbus.clone().env("ASKBUS_CONTEXT", &context);
    let mut agent = McpStdio::connect(&in_turn, &["mcp"]).await?;
    agent
        .call(1, "ask_user", one_question("Of the agent?", &[]))
        .await?;
    let of_agent = asked(&person, "Of the agent?").await?;
    let named = ["--session", "build", "--json"];
    let (script, of_script) = ask(askbus, &person, "Of the script?", &named).await?;
    let session = answered(script, &person, &of_script, "script").await?;
    assert!(is_beside(&session, "build"), "{session}");
    person.answer(id(&of_agent), &words("agent")).await?;
    let reply = agent.reply(1).await?;
    let said = &reply["result"]["structuredContent"];
    assert_eq!(said["answers"][0]["text"], "agent", "{reply}");

    let host = Person::bearer(up.url(), &credential(&up, "host", "default", "ci").await?)?;
    let path = |what| format!("/api/turns/{context}/{what}");
    let held = host.post(&path("hold"), &json!({})).await?;
    assert_eq!((held.status, &held.body["ended"]), (200, &Value::Null));
    // Nor does an agent's credential, over HTTP or with the id.
    let token = credential(&up, "agent", "default", "bot").await?;
    let robot = Person::bearer(up.url(), &token)?;
    let begin = json!({"session_id": "build", "policy": {"when_absent": "unattended"}});
    for (path, body) in [
        ("/api/turns/begin".to_owned(), begin),
        (path("hold"), json!({})),
        (path("end"), json!({"end": "stopped"})),
        (path("tool-use"), json!({"tool": "Write"})),
    ] {
        let refused = robot.post(&path, &body).await?;
        let told = (refused.status, refused.body["reason"].as_str());
        assert_eq!(told, (403, Some("FORBIDDEN")), "{path}");
    }
    let held = host.post(&path("hold"), &json!({})).await?;
    assert_eq!((held.status, &held.body["ended"]), (200, &Value::Null));
    Ok(())
}
