//! What clients say of themselves, recorded, so that whoever reads it is tested with the real thing.

use crate::story::Stage;
use anyhow::{Context as _, Result, ensure};
use askbus_testkit::clis::Client;
use askbus_testkit::model::Asker;
use askbus_testkit::workspace;
use serde_json::Value;

/// What it says when it asks is what `crates/testkit/clis/NAME/recorded.json` holds.
pub async fn the_same_as_recorded(name: &str) -> Result<()> {
    let mut stage = Stage::set(name).await?;
    let (mut run, recording) = stage
        .client
        .start_recorded(&stage.model, stage.up.askbus())?;
    let id = stage.asked(&run).await?;
    let seen = stage.answered(&id, &mut run).await?;
    let mut now = recording.read(stage.client.tool)?;
    let result = seen.conversation.results.last().context("no result")?;
    now["model_reads"] = read_of(result).into();
    documented(stage.client)?;
    compare(&now, name, "recorded.json")
}

/// A sub-agent's question is shown under the session of the agent that started it.
pub async fn a_sub_agent_as_recorded(name: &str) -> Result<()> {
    let mut stage = Stage::set_for(name, Asker::SubAgent).await?;
    let (mut run, recording) = stage
        .client
        .start_recorded(&stage.model, stage.up.askbus())?;
    let shown = stage.shown(&run).await?;
    let id = shown["clarify_id"].as_str().context("no id")?;
    stage.answered(id, &mut run).await?;
    let now = recording.read(stage.client.tool)?;
    let turn = &now["meta"]["x-codex-turn-metadata"];
    let (session, thread) = (&turn["session_id"], &turn["thread_id"]);
    ensure!(session != thread, "it asked as the agent itself: {now:#}");
    ensure!(
        shown["parent"]["session_id"] == *session && shown["session_id"] == *thread,
        "shown: {shown:#}\nsaid: {now:#}"
    );
    compare(&now, name, "recorded-sub-agent.json")
}

/// Compares with what was recorded in this file, or writes it with `UPDATE_RECORDED=1`.
fn compare(now: &Value, name: &str, file: &str) -> Result<()> {
    let file = workspace()
        .join("crates/testkit/clis")
        .join(name)
        .join(file);
    if std::env::var("UPDATE_RECORDED").is_ok_and(|v| v == "1") {
        let mut text = serde_json::to_string_pretty(now)?;
        text.push('\n');
        std::fs::write(&file, text)?;
    }
    let recorded = std::fs::read_to_string(&file).with_context(|| file.display().to_string())?;
    let recorded: Value = serde_json::from_str(&recorded)?;
    ensure!(
        now["model_reads"] == recorded["model_reads"] && shape(now) == shape(&recorded),
        "recorded: {recorded:#}\nnow: {now:#}"
    );
    Ok(())
}

/// The table of what was seen names the client as it ran here.
fn documented(client: &Client) -> Result<()> {
    let version = format!("| {} | `{}` |", client.version()?, client.label);
    let page = std::fs::read_to_string(workspace().join("docs/clients.md"))?;
    ensure!(
        page.contains(&version),
        "docs/clients.md does not say {version}"
    );
    Ok(())
}

/// A result is a text and an object with the same content; this is what of it the model was given.
fn read_of(result: &str) -> &'static str {
    let object = result.contains("clarify_id");
    // The object says it too, in its `message`.
    let said = result.matches("The person answered.").count();
    let text = said > usize::from(object);
    match (text, object) {
        (true, true) => "both",
        (true, false) => "the text",
        (false, true) => "the object",
        (false, false) => "neither",
    }
}

/// What every field is, whatever it says.
fn shape(value: &Value) -> Value {
    match value {
        Value::Null => Value::Null,
        Value::Bool(_) => "boolean".into(),
        Value::Number(_) => "number".into(),
        Value::String(_) => "text".into(),
        Value::Array(all) => all.iter().map(shape).collect(),
        Value::Object(all) => all.iter().map(|(k, v)| (k.clone(), shape(v))).collect(),
    }
}
