//! Codex.

use super::{Client, PROMPT, Place, SERVER};
use crate::model::{Access, NAME};
use crate::program::Program;
use anyhow::Result;
use serde_json::json;
use std::fmt::Write as _;

pub(super) const CLIENT: Client = Client {
    name: "codex",
    label: "codex-mcp-client",
    access: Access::Direct,
    tool: "ask_user",
    prepare,
};

fn prepare(place: &Place) -> Result<Program> {
    place.file(".codex/config.toml", &config(place)?)?;
    let mut program = place.program(
        "node_modules/@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex",
    )?;
    program
        .args(["exec", "--skip-git-repo-check", "--json"])
        .env("MODEL_KEY", "none");
    if place.is_bypassed() {
        program.arg("--dangerously-bypass-approvals-and-sandbox");
    }
    program.arg(PROMPT);
    Ok(program)
}

/// A JSON string is a TOML string too.
fn config(place: &Place) -> Result<String> {
    let base = json!(format!("{}/v1", place.model));
    let command = json!(place.command());
    let mut text = format!(
        r#"model = "{NAME}"
model_provider = "scripted"
check_for_update_on_startup = false
web_search = "disabled"
[analytics]
enabled = false
[feedback]
enabled = false
[features]
plugins = false
[model_providers.scripted]
name = "scripted"
base_url = {base}
wire_api = "responses"
env_key = "MODEL_KEY"
supports_websockets = false
[mcp_servers.{SERVER}]
command = {command}
args = ["mcp"]
required = true
startup_timeout_sec = 60
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
