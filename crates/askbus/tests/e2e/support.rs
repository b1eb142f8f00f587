//! What several of the tests do.

use anyhow::{Context as _, Result};
use askbus_testkit::{Askbus, AskbusUp, Finished, McpHttp, Person, Process};
use serde_json::{Value, json};

/// The program under test.
pub const BINARY: &str = env!("CARGO_BIN_EXE_askbus");

/// The arguments of `ask_user` for one question.
pub fn one_question(question: &str, options: &[&str]) -> Value {
    json!({"questions": [{"question": question, "options": options}]})
}

/// Waits until a question with this text is before the person.
pub async fn asked(person: &Person, question: &str) -> Result<Value> {
    let shown = person.question(|m| m["question"] == question).await;
    shown.with_context(|| format!("the question {question:?} does not come"))
}

/// The id of a question as it was shown.
pub fn id(shown: &Value) -> &str {
    shown["clarify_id"].as_str().unwrap_or_default()
}

/// The answer that chooses one option of the first question.
pub fn choose(option: &str) -> Value {
    json!({"answers": [{"question_id": "q1", "option_ids": [option]}]})
}

/// The answer in the person's own words.
pub fn words(text: &str) -> Value {
    json!({"answers": [{"question_id": "q1", "option_ids": [], "text": text}]})
}

/// A credential of the single-machine service's own keys.
pub async fn credential(up: &AskbusUp, role: &str, profile: &str, sub: &str) -> Result<String> {
    let args = [
        "credential",
        "issue",
        "--role",
        role,
        "--profile",
        profile,
        "--sub",
        sub,
    ];
    let done = up.askbus().run(&args).await?;
    anyhow::ensure!(done.code == 0, "{done:?}");
    Ok(done.stdout.trim().to_owned())
}

/// Begins a turn that lives by itself and returns its `context_id`.
pub async fn begin_turn(askbus: &Askbus, session: &str, more: &[&str]) -> Result<String> {
    let mut args = vec!["turn", "begin", "--session", session, "--for", "10m"];
    args.extend(more);
    let done = askbus.run(&args).await?;
    anyhow::ensure!(done.code == 0, "{done:?}");
    let first = done.stdout.lines().next().context("no context_id")?;
    Ok(first.trim().to_owned())
}

/// Starts `askbus ask` and waits until its question is before the person.
pub async fn ask(
    askbus: &Askbus,
    person: &Person,
    question: &str,
    more: &[&str],
) -> Result<(Process, String)> {
    let mut args = vec!["ask", question];
    args.extend(more);
    let process = askbus.spawn(&args)?;
    let shown = asked(person, question).await;
    let shown = shown.with_context(|| format!("stderr: {:#?}", process.stderr.all()))?;
    Ok((process, id(&shown).to_owned()))
}

/// The one JSON object on standard output.
pub fn object(done: &Finished) -> Result<Value> {
    serde_json::from_str(done.stdout.trim()).with_context(|| format!("{done:?}"))
}

/// Waits over HTTP by the id of a question for as long as it takes.
pub async fn settled(client: &McpHttp, wait: &Value) -> Result<Value> {
    for id in 100..200 {
        let mut call = client.call(id, "await_answer", wait.clone()).await?;
        let result = call.result().await?;
        if result["structuredContent"]["status"] != "pending" {
            return Ok(result);
        }
    }
    anyhow::bail!("it never settles")
}
