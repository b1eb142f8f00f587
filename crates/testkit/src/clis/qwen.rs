//! Qwen Code.

use super::{Client, PROMPT, Place, SERVER, set};
use crate::model::{Access, NAME};
use crate::program::Program;
use anyhow::Result;
use serde_json::json;

pub(super) const CLIENT: Client = Client {
    name: "qwen",
    label: "qwen-cli-mcp-client-askbus",
    access: Access::Through {
        tool: "tool_call",
        name: "name",
        arguments: "arguments",
        prefix: "mcp__askbus__",
    },
    tool: "ask_user",
    prepare,
};

fn prepare(place: &Place) -> Result<Program> {
    let mut server = json!({
        "command": place.command(), "args": ["mcp"], "trust": true, "env": place.env(),
    });
    set(&mut server, "timeout", place.limit(1_000));
    let mut settings = json!({
        "security": {"auth": {"selectedType": "openai"}},
        "privacy": {"usageStatisticsEnabled": false}, "telemetry": {"enabled": false},
        "general": {"enableAutoUpdate": false}, "mcpServers": {SERVER: server},
    });
    set(
        &mut settings,
        "mcp",
        place
            .limit(1_000)
            .map(|limit| json!({"toolIdleTimeoutMs": limit})),
    );
    place.file(".qwen/settings.json", &settings.to_string())?;
    let mut program = place.script("node_modules/.bin/qwen")?;
    program
        .args(["--model", NAME, "-p", PROMPT])
        .env("OPENAI_API_KEY", "none")
        .env("OPENAI_BASE_URL", format!("{}/v1", place.model))
        .env("OPENAI_MODEL", NAME);
    if place.is_bypassed() {
        program.arg("--yolo");
    }
    Ok(program)
}
