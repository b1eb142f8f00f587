//! Grok Build.

use super::{Client, PROMPT, Place, SERVER};
use crate::model::{Access, NAME};
use crate::program::Program;
use anyhow::Result;
use serde_json::json;
use std::fmt::Write as _;

pub(super) const CLIENT: Client = Client {
    name: "grok",
    label: "grok-shell-askbus",
    access: Access::Through {
        tool: "use_tool",
        name: "tool_name",
        arguments: "tool_input",
        prefix: "askbus__",
    },
    tool: "ask_user",
    prepare,
};

fn prepare(place: &Place) -> Result<Program> {
    place.file(".grok/config.toml", &config(place)?)?;
    let mut program = place.program("grok")?;
    program
        .args(["-p", PROMPT, "-m", "scripted", "--output-format", "json"])
        .env("GROK_DISABLE_AUTOUPDATER", "1");
    if place.is_bypassed() {
        program.arg("--always-approve");
    } else {
        program
            .args(["--allow", "MCPTool(askbus__ask_user)"])
            .args(["--allow", "MCPTool(askbus__await_answer)"])
            .args(["--allow", "MCPTool(askbus__update_plan)"]);
    }
    Ok(program)
}

/// A JSON string is a TOML string too.
fn config(place: &Place) -> Result<String> {
    let base = json!(format!("{}/v1", place.model));
    let command = json!(place.command());
    let mut text = format!(
        r#"[cli]
auto_update = false
[features]
telemetry = false
feedback = false
[models]
default = "scripted"
[model.scripted]
model = "{NAME}"
base_url = {base}
name = "Scripted"
api_key = "none"
api_backend = "chat_completions"
context_window = 128000
[mcp_servers.{SERVER}]
command = {command}
args = ["mcp"]
"#
    );
    if let Some(limit) = place.limit(1) {
        writeln!(text, "tool_timeout_sec = {limit}")?;
    }
    writeln!(text, "[mcp_servers.{SERVER}.env]")?;
    for (name, value) in &place.env {
        writeln!(text, "{name} = {}", json!(value))?;
    }
    Ok(text)
}
