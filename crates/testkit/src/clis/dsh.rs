//! DeepSeek Harness.

use super::{Client, PROMPT, Place, SERVER, set};
use crate::model::{Access, NAME};
use crate::program::Program;
use anyhow::Result;
use serde_json::json;

pub(super) const CLIENT: Client = Client {
    name: "dsh",
    label: "dsh-mcp-client",
    access: Access::Direct,
    tool: "ask_user",
    prepare,
};

fn prepare(place: &Place) -> Result<Program> {
    let model = json!({"id": NAME, "contextWindow": 65_536, "maxTokens": 4_096});
    let provider = json!({
        "displayName": "Scripted", "apiKeyEnv": "MODEL_KEY", "api": "openai-completions",
        "baseURL": format!("{}/v1", place.model), "models": [model],
    });
    let mut server = json!({
        "serverName": SERVER, "transport": "stdio", "command": place.command(), "args": ["mcp"],
        "failOnStartupError": true, "env": place.env(),
    });
    set(&mut server, "toolCallTimeoutMs", place.limit(1_000));
    let row = json!({
        "id": "mcp-askbus", "name": "@deepseek-ai/dsh-mcp-client", "config": server,
    });
    // JSON is YAML too.
    let patch = json!([
        {"id": "llm-pi-ai", "config": {"providers": {"scripted": provider}}},
        {"id": "agent-default-model", "config": {"provider": "scripted", "model": NAME}},
        {"insert": [row]},
    ]);
    let patch = place.file("patch.yml", &patch.to_string())?;
    let mut program = place.script("node_modules/.bin/dsh")?;
    program
        .args(["--profile", "headless", "--patch"])
        .arg(patch)
        .arg(PROMPT)
        .env("MODEL_KEY", "none")
        .env("DSH_TELEMETRY_MODE", "DISABLED");
    Ok(program)
}
