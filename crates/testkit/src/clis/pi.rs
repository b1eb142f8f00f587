//! pi, with its own MCP and with pi-mcp-adapter in its place.

use super::{Client, PROMPT, Place, SERVER, set};
use crate::model::{Access, NAME};
use crate::program::Program;
use anyhow::Result;
use serde_json::json;

pub(super) const CLIENT: Client = Client {
    name: "pi",
    label: "pi",
    access: Access::Direct,
    tool: "ask_user",
    prepare: with_own_mcp,
};

pub(super) const WITH_ADAPTER: Client = Client {
    name: "pi-mcp-adapter",
    label: "pi-mcp-askbus",
    access: Access::Direct,
    tool: "ask_user",
    prepare: with_adapter,
};

fn with_own_mcp(place: &Place) -> Result<Program> {
    let mut server = json!({
        "command": place.command(), "args": ["mcp"], "exposure": "direct", "env": place.env(),
    });
    set(&mut server, "timeout", place.limit(1));
    let servers = json!({"mcpServers": {SERVER: server}});
    place.file(".pi/agent/mcp.json", &servers.to_string())?;
    pi(place)
}

fn with_adapter(place: &Place) -> Result<Program> {
    let mut server = json!({
        "command": place.command(), "args": ["mcp"], "lifecycle": "eager", "env": place.env(),
    });
    set(&mut server, "requestTimeoutMs", place.limit(1_000));
    let servers = json!({"settings": {"directTools": true}, "mcpServers": {SERVER: server}});
    place.file(".pi/agent/mcp.json", &servers.to_string())?;
    let mut program = pi(place)?;
    program
        .arg("-e")
        .arg(place.program.join("node_modules/pi-mcp-adapter/index.ts"));
    Ok(program)
}

fn pi(place: &Place) -> Result<Program> {
    let provider = json!({
        "baseUrl": format!("{}/v1", place.model), "apiKey": "none", "api": "openai-completions",
        "models": [{"id": NAME}],
    });
    let models = json!({"providers": {"scripted": provider}});
    place.file(".pi/agent/models.json", &models.to_string())?;
    let settings = json!({"enableInstallTelemetry": false});
    place.file(".pi/agent/settings.json", &settings.to_string())?;
    let mut program = place.script("node_modules/.bin/pi")?;
    program
        .args(["-p", "--model", &format!("scripted/{NAME}"), PROMPT])
        .env("PI_OFFLINE", "1")
        .env("PI_TELEMETRY", "0")
        .env("PI_SKIP_VERSION_CHECK", "1");
    Ok(program)
}
