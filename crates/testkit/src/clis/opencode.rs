//! OpenCode.

use super::{Client, PROMPT, Place, SERVER, set};
use crate::model::{Access, NAME};
use crate::program::Program;
use anyhow::Result;
use serde_json::json;

pub(super) const CLIENT: Client = Client {
    name: "opencode",
    label: "opencode",
    access: Access::Direct,
    tool: "ask_user",
    prepare,
};

fn prepare(place: &Place) -> Result<Program> {
    let mut server = json!({
        "type": "local", "command": [place.command(), "mcp"], "environment": place.env(),
    });
    set(&mut server, "timeout", place.limit(1_000));
    let model = json!({"tool_call": true, "limit": {"context": 128_000, "output": 8_192}});
    let provider = json!({
        "npm": "@ai-sdk/openai-compatible", "name": "Scripted", "models": {NAME: model},
        "options": {"baseURL": format!("{}/v1", place.model), "apiKey": "none"},
    });
    let config = json!({
        "model": format!("scripted/{NAME}"), "small_model": format!("scripted/{NAME}"),
        "autoupdate": false, "share": "disabled", "enabled_providers": ["scripted"],
        "provider": {"scripted": provider}, "mcp": {SERVER: server},
    });
    let config = place.file("opencode.json", &config.to_string())?;
    let mut program = place.program("node_modules/opencode-linux-x64/bin/opencode")?;
    program
        .args(["run", "--format", "json", PROMPT])
        .env("OPENCODE_CONFIG", config)
        .env("OPENCODE_DISABLE_AUTOUPDATE", "1")
        .env("OPENCODE_DISABLE_MODELS_FETCH", "1")
        .env("OPENCODE_DISABLE_LSP_DOWNLOAD", "1")
        .env("OPENCODE_DISABLE_DEFAULT_PLUGINS", "1");
    if place.is_bypassed() {
        program.arg("--auto");
    }
    Ok(program)
}
