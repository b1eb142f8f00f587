//! The official Python MCP client, driven line by line through `python/mcp_client.py`.

use crate::places::{Askbus, python};
use crate::process::Process;
use crate::program::Program;
use anyhow::{Context as _, Result, anyhow, bail};
use serde_json::{Value, json};
use std::path::Path;

/// A Python client connected to an MCP server of its own.
pub struct McpPython {
    process: Process,
    next: u64,
}

impl McpPython {
    /// Starts `askbus` with `args` (`["mcp"]` …) as its stdio server. `mode` is `legacy` (initialize)
    /// or `auto` (discover first).
    ///
    /// # Errors
    /// When the client is missing, or the handshake fails.
    pub async fn connect(askbus: &Askbus, args: &[&str], mode: &str) -> Result<Self> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("python/mcp_client.py");
        let env: serde_json::Map<String, Value> = askbus
            .variables()
            .into_iter()
            .map(|(name, value)| (name, value.into()))
            .collect();
        let server = json!({
            "command": askbus.binary(), "args": args, "env": env, "cwd": askbus.home(), "mode": mode,
        });
        let mut command = Program::new(python()?);
        command.arg(script).arg(server.to_string());
        let mut client = Self {
            process: Process::spawn("the Python MCP client", command)?,
            next: 0,
        };
        client.event(|e| e["event"] == "ready").await?;
        Ok(client)
    }

    /// The names of the tools the server lists.
    ///
    /// # Errors
    /// When the list fails.
    pub async fn tools(&mut self) -> Result<Vec<String>> {
        let id = self.command(json!({"op": "tools"})).await?;
        let result = self.outcome(id).await?;
        let names = result["tools"].as_array().cloned().unwrap_or_default();
        Ok(names
            .iter()
            .filter_map(|n| n.as_str().map(str::to_owned))
            .collect())
    }

    /// Starts a tool call and returns its number; it goes on while the test does other things.
    ///
    /// # Errors
    /// When the client has ended.
    pub async fn call(&mut self, tool: &str, arguments: Value) -> Result<u64> {
        self.command(json!({"op": "call", "name": tool, "arguments": arguments}))
            .await
    }

    /// Cancels a call that is under way.
    ///
    /// # Errors
    /// When the client has ended.
    pub async fn cancel(&mut self, call: u64) -> Result<()> {
        self.command(json!({"op": "cancel", "call": call}))
            .await
            .map(drop)
    }

    /// The result of a call: `{structuredContent, content, isError, …}`.
    ///
    /// # Errors
    /// When it ends in a protocol error, or not within the limit.
    pub async fn outcome(&mut self, call: u64) -> Result<Value> {
        let event = self.event(move |e| {
            e["id"] == call && matches!(e["event"].as_str(), Some("result" | "error"))
        });
        let event = event.await?;
        match event["event"].as_str() {
            Some("result") => Ok(event["result"].clone()),
            _ => bail!("the call failed: {event}"),
        }
    }

    /// The next event that `wanted` takes: `ready`, `progress`, `result`, `error`, `cancelled`.
    ///
    /// # Errors
    /// When none comes within the limit.
    pub async fn event(&mut self, wanted: impl Fn(&Value) -> bool) -> Result<Value> {
        let parse = |line: &str| serde_json::from_str::<Value>(line).unwrap_or(Value::Null);
        // A copy, so that the next wait sees events that this one passes over.
        let line = self
            .process
            .stdout
            .clone()
            .find(|line| wanted(&parse(line)))
            .await;
        let line = line.with_context(|| format!("stderr: {:#?}", self.process.stderr.all()))?;
        Ok(parse(&line))
    }

    /// Ends the client the orderly way; its server's standard input closes.
    ///
    /// # Errors
    /// When it does not end within the limit.
    pub async fn close(mut self) -> Result<()> {
        self.command(json!({"op": "close"})).await?;
        let done = self.process.finish().await?;
        if done.code != 0 {
            bail!(
                "the Python client ended with {}: {}",
                done.code,
                done.stderr
            );
        }
        Ok(())
    }

    async fn command(&mut self, mut command: Value) -> Result<u64> {
        self.next += 1;
        let object = command
            .as_object_mut()
            .ok_or_else(|| anyhow!("a command is an object"))?;
        object.insert("id".to_owned(), self.next.into());
        self.process
            .write(format!("{command}\n").as_bytes())
            .await?;
        Ok(self.next)
    }
}
