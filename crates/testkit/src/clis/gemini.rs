//! Gemini CLI.

use super::{Client, PROMPT, Place, SERVER, set};
use crate::model::Access;
use crate::program::Program;
use anyhow::Result;
use serde_json::json;

pub(super) const CLIENT: Client = Client {
    name: "gemini",
    label: "gemini-cli-mcp-client",
    access: Access::Direct,
    // Without a terminal it hides every tool named ask_user, as it has one of that name itself.
    tool: "ask_person",
    prepare,
};

fn prepare(place: &Place) -> Result<Program> {
    let mut server = json!({
        "command": place.command(), "args": ["mcp"], "trust": true, "env": place.env(),
    });
    set(&mut server, "timeout", place.limit(1_000));
    let settings = json!({
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "privacy": {"usageStatisticsEnabled": false}, "telemetry": {"enabled": false},
        "general": {"enableAutoUpdate": false}, "mcpServers": {SERVER: server},
    });
    place.file(".gemini/settings.json", &settings.to_string())?;
    let mut program = place.script("node_modules/.bin/gemini")?;
    program
        .args(["-m", "gemini-2.5-pro", "--skip-trust", "-p", PROMPT])
        .env("GEMINI_API_KEY", "none")
        .env("GOOGLE_GEMINI_BASE_URL", &place.model);
    if place.is_bypassed() {
        program.arg("--yolo");
    }
    Ok(program)
}
