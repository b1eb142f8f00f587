//! A bare JSON-RPC peer of a stdio MCP server: for garbage, cancels, and the end of input.

use crate::places::Askbus;
use crate::process::Process;
use anyhow::Result;
use serde_json::{Value, json};

/// A server on standard input and output, spoken to line by line.
pub struct McpStdio {
    /// The server.
    pub process: Process,
}

impl McpStdio {
    /// Starts `askbus` with `args` (`["mcp"]` …) and says nothing yet.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start(askbus: &Askbus, args: &[&str]) -> Result<Self> {
        Ok(Self {
            process: askbus.spawn(args)?,
        })
    }

    /// Starts it and shakes hands.
    ///
    /// # Errors
    /// When there is no answer within the limit.
    pub async fn connect(askbus: &Askbus, args: &[&str]) -> Result<Self> {
        Self::hello(askbus.spawn(args)?).await
    }

    /// Shakes hands with a server that runs, whoever started it.
    ///
    /// # Errors
    /// When there is no answer within the limit.
    pub async fn hello(process: Process) -> Result<Self> {
        let mut client = Self { process };
        let info = json!({"name": "askbus-test", "version": "1"});
        let hello = json!({
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info,
        });
        client.request(0, "initialize", hello).await?;
        client.reply(0).await?;
        client
            .notify("notifications/initialized", json!({}))
            .await?;
        Ok(client)
    }

    /// Writes bytes as they are.
    ///
    /// # Errors
    /// When the server has closed its input.
    pub async fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.process.write(bytes).await
    }

    /// Sends a request and does not wait.
    ///
    /// # Errors
    /// When the server has closed its input.
    pub async fn request(&mut self, id: u64, method: &str, params: Value) -> Result<()> {
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.write(format!("{message}\n").as_bytes()).await
    }

    /// Sends a `tools/call` and does not wait.
    ///
    /// # Errors
    /// When the server has closed its input.
    pub async fn call(&mut self, id: u64, tool: &str, arguments: Value) -> Result<()> {
        self.request(
            id,
            "tools/call",
            json!({"name": tool, "arguments": arguments}),
        )
        .await
    }

    /// Sends a notification.
    ///
    /// # Errors
    /// When the server has closed its input.
    pub async fn notify(&mut self, method: &str, params: Value) -> Result<()> {
        let message = json!({"jsonrpc": "2.0", "method": method, "params": params});
        self.write(format!("{message}\n").as_bytes()).await
    }

    /// The reply to a request, whole.
    ///
    /// # Errors
    /// When none comes within the limit.
    pub async fn reply(&mut self, id: u64) -> Result<Value> {
        self.message(move |m| m["id"] == id && m.get("method").is_none())
            .await
    }

    /// The first message, of all that came or will come, that `wanted` takes.
    ///
    /// # Errors
    /// When none comes within the limit.
    pub async fn message(&mut self, wanted: impl Fn(&Value) -> bool) -> Result<Value> {
        let parse = |line: &str| serde_json::from_str::<Value>(line).unwrap_or(Value::Null);
        let line = self
            .process
            .stdout
            .clone()
            .find(|line| wanted(&parse(line)))
            .await?;
        Ok(parse(&line))
    }

    /// Every line of its output that is not one JSON object: there must be none.
    pub fn stray_output(&self) -> Vec<String> {
        let is_object = |l: &str| serde_json::from_str::<Value>(l).is_ok_and(|v| v.is_object());
        self.process
            .stdout
            .all()
            .into_iter()
            .filter(|l| !is_object(l))
            .collect()
    }
}
