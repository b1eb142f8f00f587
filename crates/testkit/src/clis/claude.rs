//! Claude Code.

use super::{Client, PROMPT, Place, SERVER, set};
use crate::model::Access;
use crate::program::Program;
use anyhow::Result;
use serde_json::json;

pub(super) const CLIENT: Client = Client {
    name: "claude",
    label: "claude-code",
    access: Access::Direct,
    tool: "ask_user",
    prepare,
};

fn prepare(place: &Place) -> Result<Program> {
    let mut server = json!({
        "type": "stdio", "command": place.command(), "args": ["mcp"], "env": place.env(),
    });
    set(&mut server, "timeout", place.limit(1_000));
    let servers = json!({"mcpServers": {SERVER: server}});
    let servers = place.file("mcp.json", &servers.to_string())?;
    let mut program = place.program("node_modules/@anthropic-ai/claude-code-linux-x64/claude")?;
    program
        .args([
            "-p",
            PROMPT,
            "--output-format",
            "json",
            "--strict-mcp-config",
        ])
        .arg("--mcp-config")
        .arg(servers)
        .env("ANTHROPIC_BASE_URL", &place.model)
        .env("ANTHROPIC_API_KEY", "none")
        .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
        .env("DISABLE_AUTOUPDATER", "1");
    if place.is_bypassed() {
        // As root it takes a sandbox to bypass anything; the network is gone, and so is this home.
        program
            .arg("--dangerously-skip-permissions")
            .env("IS_SANDBOX", "1");
    } else {
        program
            .arg("--allowedTools")
            .args(["mcp__askbus__ask_user", "mcp__askbus__await_answer"]);
    }
    Ok(program)
}
