//! What a client tells its MCP server about itself: its environment and the lines that it sends.

use super::Place;
use crate::places::workspace;
use crate::program::Program;
use anyhow::{Context as _, Result};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

/// Stands between the client and the server.
const SCRIPT: &str = r#"#!/bin/sh
env >>"$0.environment"
tee -a "$0.lines" | "$0.server" "$@"
"#;

/// Variables that a shell sets by itself.
const OF_SHELL: [&str; 4] = ["PWD", "OLDPWD", "SHLVL", "_"];

/// What a name that holds one of these stands for is nobody's business.
const SECRETS: [&str; 3] = ["KEY", "SECRET", "TOKEN"];
/// What stands for it.
const LEFT_OUT: &str = "(left out)";

/// What a client was heard to say; complete once it has ended.
pub struct Recording {
    script: PathBuf,
    /// The client's own folder, which no two runs share.
    folder: String,
    /// Variables that say nothing of the client.
    given: BTreeSet<String>,
}

impl Recording {
    /// Puts a recorder in front of the server.
    pub(super) fn of(place: &mut Place) -> Result<Self> {
        let script = place.file("askbus", SCRIPT)?;
        std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755))?;
        let server = place.home().join("askbus.server");
        std::os::unix::fs::symlink(&place.command, server)?;
        place.command.clone_from(&script);
        Ok(Self {
            script,
            folder: place.folder.path().display().to_string(),
            given: place.env.iter().map(|(name, _)| name.clone()).collect(),
        })
    }

    /// Nor do those that the client itself was started with.
    pub(super) fn given_too(&mut self, program: &Program) {
        let names = program.as_std().get_envs().map(|(name, _)| name);
        self.given
            .extend(names.map(|name| name.to_string_lossy().into_owned()));
    }

    /// Who the client says it is, what it says about a call of `tool`, and what it adds to the
    /// environment of a server.
    ///
    /// # Errors
    /// When it did not call the tool.
    pub fn read(&self, tool: &str) -> Result<Value> {
        let lines = self.part("lines")?;
        let messages = lines.lines().filter_map(|l| serde_json::from_str(l).ok());
        let messages: Vec<Value> = messages.collect();
        let call = messages
            .iter()
            .find(|m| m["method"] == "tools/call" && m["params"]["name"] == tool)
            .with_context(|| format!("{tool} was not called: {lines}"))?;
        let started = messages.iter().find(|m| m["method"] == "initialize");
        let handshake = started.map(|m| {
            json!({
                "protocolVersion": m["params"]["protocolVersion"],
                "clientInfo": m["params"]["clientInfo"],
                "capabilities": m["params"]["capabilities"],
            })
        });
        let said = json!({
            "initialize": handshake,
            "meta": call["params"]["_meta"],
            "environment": self.environment()?,
        });
        Ok(self.trimmed(&said))
    }

    /// The variables that the client added to what it and its server were given.
    fn environment(&self) -> Result<Value> {
        let text = self.part("environment")?;
        let variables: BTreeMap<&str, &str> =
            text.lines().filter_map(|l| l.split_once('=')).collect();
        let own = variables
            .into_iter()
            .filter(|(name, _)| !OF_SHELL.contains(name) && !self.given.contains(*name))
            .map(|(name, value)| (name.to_owned(), value.into()));
        Ok(Value::Object(own.collect::<Map<_, _>>()))
    }

    fn part(&self, name: &str) -> Result<String> {
        let path = format!("{}.{name}", self.script.display());
        std::fs::read_to_string(&path).context(path)
    }

    /// The same without what is this machine's alone, and without secrets.
    fn trimmed(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => self.text(text).into(),
            Value::Array(all) => all.iter().map(|v| self.trimmed(v)).collect(),
            Value::Object(all) => {
                let trimmed = all.iter().map(|(name, value)| {
                    let secret = SECRETS.iter().any(|secret| name.contains(secret));
                    let value = if secret && value.is_string() {
                        LEFT_OUT.into()
                    } else {
                        self.trimmed(value)
                    };
                    (name.clone(), value)
                });
                Value::Object(trimmed.collect())
            }
            other => other.clone(),
        }
    }

    fn text(&self, text: &str) -> String {
        let flat = self.folder.replace('/', "-");
        let text = text
            .replace(&self.folder, "/home/agent")
            .replace(&flat, "-home-agent");
        let other_place = text.starts_with('/') && !text.starts_with("/home/agent");
        if other_place || text.contains(&workspace().display().to_string()) {
            return LEFT_OUT.to_owned();
        }
        text
    }
}
