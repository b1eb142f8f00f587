//! Agents' own programs as people start them without a terminal: each with a home of its own, a
//! scripted model and `askbus mcp` among its MCP servers.

mod claude;
mod codex;
mod dsh;
mod gemini;
mod grok;
mod opencode;
mod pi;
mod qwen;
mod recorder;

pub use recorder::Recording;

use crate::model::{Access, Model};
use crate::places::{Askbus, folder, workspace};
use crate::process::Process;
use crate::program::Program;
use anyhow::{Context as _, Result, bail};
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// What every client calls the server.
const SERVER: &str = "askbus";
/// What the client is told to do.
const PROMPT: &str = "Ask the person which colour they want.";
/// What tells the server of a limit that was raised.
const BUDGET: &str = "ASKBUS_CALL_BUDGET_MS";
/// How long a call may take where the limit is raised.
const RAISED_S: u64 = 3_600;
/// What the server is told where it is to hand calls back.
const SHORT_S: u64 = 3;

/// One client.
pub struct Client {
    /// Its name for `./test clis`, and that of its folder in `crates/testkit/clis`.
    pub name: &'static str,
    /// What it calls itself to an MCP server.
    pub label: &'static str,
    /// How its model reaches the tools of an MCP server.
    pub access: Access,
    /// The tool it asks with, by the name that it is shown.
    pub tool: &'static str,
    prepare: fn(&Place) -> Result<Program>,
}

/// Every client, as [`Client::named`] finds them.
const ALL: [&Client; 9] = [
    &claude::CLIENT,
    &codex::CLIENT,
    &opencode::CLIENT,
    &grok::CLIENT,
    &pi::CLIENT,
    &pi::WITH_ADAPTER,
    &dsh::CLIENT,
    &gemini::CLIENT,
    &qwen::CLIENT,
];

/// What the client does when its model wants to use a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Approval {
    /// Only the tools of Askbus are allowed.
    Tools,
    /// The most permissive mode that it has.
    Bypassed,
}

/// How long the client waits for a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// As long as its configuration can say.
    Raised,
    /// As long as it does by itself.
    Own,
    /// As [`Limit::Raised`], while the server is told that it is 3 s, so that calls are handed back.
    Short,
}

/// Where and how a client runs.
pub struct Place {
    folder: TempDir,
    program: PathBuf,
    model: String,
    command: PathBuf,
    env: Vec<(String, String)>,
    approval: Approval,
    limit: Limit,
}

/// A client at work.
pub struct Run {
    /// Its process.
    pub process: Process,
    _place: Place,
}

impl Client {
    /// The client of this name.
    ///
    /// # Errors
    /// When there is none.
    pub fn named(name: &str) -> Result<&'static Self> {
        let found = ALL.iter().find(|client| client.name == name);
        found
            .copied()
            .with_context(|| format!("no client is named {name}"))
    }

    /// Starts it with `askbus mcp` as this `askbus` would run it.
    ///
    /// # Errors
    /// When its program is missing, or does not start.
    pub fn start(
        &self,
        model: &Model,
        askbus: &Askbus,
        approval: Approval,
        limit: Limit,
    ) -> Result<Run> {
        let place = Place::new(self.name, model, askbus, approval, limit)?;
        let program = (self.prepare)(&place)?;
        self.run(place, program)
    }

    /// Starts it with everything noted down that it sends to its MCP server.
    ///
    /// # Errors
    /// When its program is missing, or does not start.
    pub fn start_recorded(&self, model: &Model, askbus: &Askbus) -> Result<(Run, Recording)> {
        let mut place = Place::new(self.name, model, askbus, Approval::Tools, Limit::Raised)?;
        let mut recording = Recording::of(&mut place)?;
        let program = (self.prepare)(&place)?;
        recording.given_too(&program);
        Ok((self.run(place, program)?, recording))
    }

    fn run(&self, place: Place, program: Program) -> Result<Run> {
        let mut process = Process::spawn(self.name, program)?;
        // As with </dev/null: nobody is at a terminal.
        process.close_stdin();
        Ok(Run {
            process,
            _place: place,
        })
    }

    /// Its version, as its lock names it.
    ///
    /// # Errors
    /// When there is no lock.
    pub fn version(&self) -> Result<String> {
        let lock = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("clis")
            .join(self.name)
            .join("package-lock.json");
        let lock = std::fs::read_to_string(&lock).with_context(|| lock.display().to_string())?;
        let lock: Value = serde_json::from_str(&lock)?;
        let packages = &lock["packages"];
        let wanted = packages[""]["dependencies"].as_object();
        // The folder's last own package is the one that it is about.
        let package = wanted.and_then(|wanted| wanted.keys().next_back());
        let package = package.context("its lock names no package")?;
        let version = packages[format!("node_modules/{package}")]["version"].as_str();
        Ok(version.context("its lock names no version")?.to_owned())
    }
}

impl Place {
    fn new(
        name: &str,
        model: &Model,
        askbus: &Askbus,
        approval: Approval,
        limit: Limit,
    ) -> Result<Self> {
        let program = workspace().join("target/tools/clis").join(name);
        if !program.join("installed").exists() {
            bail!("{name} is not installed; ./test clis {name} brings it");
        }
        let variables = askbus.variables();
        // The home is the client's own business.
        let mut env: Vec<_> = variables.into_iter().filter(|(n, _)| n != "HOME").collect();
        let budget_s = match limit {
            Limit::Raised => Some(RAISED_S),
            Limit::Short => Some(SHORT_S),
            Limit::Own => None,
        };
        if let Some(seconds) = budget_s {
            env.push((BUDGET.to_owned(), (seconds * 1_000).to_string()));
        }
        let folder = folder()?;
        for part in ["home", "work"] {
            std::fs::create_dir(folder.path().join(part))?;
        }
        Ok(Self {
            folder,
            program,
            model: model.url().to_owned(),
            command: askbus.binary().to_owned(),
            env,
            approval,
            limit,
        })
    }

    /// The client's home.
    fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    /// Writes a file below its home.
    fn file(&self, name: &str, text: &str) -> Result<PathBuf> {
        let path = self.home().join(name);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::write(&path, text).with_context(|| path.display().to_string())?;
        Ok(path)
    }

    /// A program of its installation.
    fn program(&self, path: &str) -> Result<Program> {
        let path = self.program.join(path);
        if !path.exists() {
            bail!(
                "{} is missing; is this another kind of machine?",
                path.display()
            );
        }
        Ok(self.bare(&path))
    }

    /// A program of its installation that Node runs.
    fn script(&self, path: &str) -> Result<Program> {
        let script = self.program.join(path);
        if !script.exists() {
            bail!("{} is missing", script.display());
        }
        let mut program = self.bare(&node().join("node"));
        program.arg(script);
        Ok(program)
    }

    /// Nothing of this environment but the path.
    fn bare(&self, path: &Path) -> Program {
        let system = std::env::var("PATH").unwrap_or_default();
        let mut program = Program::new(path);
        program
            .env_clear()
            .env("PATH", format!("{}:{system}", node().display()))
            .env("HOME", self.home())
            .current_dir(self.folder.path().join("work"));
        program
    }

    fn command(&self) -> String {
        self.command.display().to_string()
    }

    /// The variables of the server, as an object.
    fn env(&self) -> Value {
        let env = self.env.iter().cloned().map(|(n, v)| (n, v.into()));
        Value::Object(env.collect::<Map<_, _>>())
    }

    /// The raised limit times `unit`, if it is to be raised.
    fn limit(&self, unit: u64) -> Option<u64> {
        (self.limit != Limit::Own).then_some(RAISED_S * unit)
    }

    fn is_bypassed(&self) -> bool {
        self.approval == Approval::Bypassed
    }
}

/// Sets a field where there is a value for it.
fn set(object: &mut Value, field: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        object[field] = value.into();
    }
}

/// Where Node is.
pub(crate) fn node() -> PathBuf {
    workspace().join("target/tools/node/bin")
}
