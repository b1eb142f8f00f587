//! How long an agent waits for its MCP server, and what the server then holds in memory; beside the
//! least that one in Node can be.

use super::processes::resident;
use super::samples::{Samples, Spread};
use anyhow::{Context as _, Result};
use serde::Serialize;
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

/// Answers `initialize` and `tools/list`, and nothing else.
const NODE: &str = r"
const lines = require('node:readline').createInterface({ input: process.stdin });
lines.on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const result = method === 'initialize'
    ? { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'least', version: '1' } }
    : { tools: [{ name: 'ask_user', description: 'Asks.', inputSchema: { type: 'object' } }] };
  process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, result }) + '\n');
});
";

/// One MCP server.
#[derive(Debug, Clone, Serialize)]
pub struct ColdStart {
    /// From its start until it has answered `tools/list`.
    pub until_tools_listed: Spread,
    /// Its resident memory then, the median.
    pub rss_kib: u64,
    /// What of it is no file: heap and stacks.
    pub anonymous_kib: u64,
}

/// `askbus mcp`, and the least server in Node if Node is there.
#[derive(Debug, Clone, Serialize)]
pub struct ColdStarts {
    /// `askbus mcp`.
    pub askbus: ColdStart,
    /// A few lines of JavaScript; none when there is no `node`.
    pub node: Option<ColdStart>,
}

/// Starts each of them this many times. Blocks.
pub(crate) fn measure(binary: &Path, folder: &Path, times: usize) -> Result<ColdStarts> {
    let askbus = || {
        let mut command = Command::new(binary);
        command.arg("mcp").env_clear().env("HOME", folder);
        command.env("ASKBUS_HOME", folder);
        command
    };
    let script = folder.join("least.js");
    std::fs::write(&script, NODE)?;
    let node = || {
        let mut command = Command::new("node");
        command.arg(&script);
        command
    };
    let has_node = Command::new("node")
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    Ok(ColdStarts {
        askbus: server(askbus, times).context("askbus mcp")?,
        node: has_node
            .then(|| server(node, times))
            .transpose()
            .context("node")?,
    })
}

fn server(command: impl Fn() -> Command, times: usize) -> Result<ColdStart> {
    // The first one also reads the program from the disk.
    once(command())?;
    let mut samples = Samples::default();
    let mut memory = Vec::with_capacity(times);
    for _ in 0..times {
        let (took, resident) = once(command())?;
        samples.add(took);
        memory.push(resident);
    }
    memory.sort_unstable();
    let (rss_kib, anonymous_kib) = memory.get(memory.len() / 2).copied().unwrap_or_default();
    Ok(ColdStart {
        until_tools_listed: samples.spread(),
        rss_kib,
        anonymous_kib,
    })
}

fn once(mut command: Command) -> Result<(std::time::Duration, (u64, u64))> {
    let begun = Instant::now();
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let mut input = child.stdin.take().context("no input")?;
    let mut output = BufReader::new(child.stdout.take().context("no output")?);
    let mut say = |message: Value| writeln!(input, "{message}");
    let mut hear = || {
        let mut line = String::new();
        output.read_line(&mut line)?;
        serde_json::from_str::<Value>(&line).with_context(|| format!("not a reply: {line:?}"))
    };
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "askbus-bench", "version": "1"}});
    say(json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello}))?;
    hear()?;
    say(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))?;
    say(json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}))?;
    let listed = hear()?;
    let took = begun.elapsed();
    let memory = resident(child.id());
    anyhow::ensure!(listed["result"]["tools"].is_array(), "no tools: {listed}");
    drop(input);
    child.wait()?;
    Ok((took, memory))
}
