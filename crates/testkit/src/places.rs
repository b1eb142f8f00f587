//! Where the tools of the tests are, and the program under test.

use crate::process::{Finished, Process};
use crate::program::Program;
use crate::reaper;
use anyhow::{Context as _, Result, bail};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// The root of the source tree.
pub fn workspace() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here).to_path_buf()
}

fn tool(variable: &str, place: &str) -> Result<PathBuf> {
    let path = match std::env::var_os(variable) {
        Some(path) => PathBuf::from(path),
        None => workspace().join("target/tools").join(place),
    };
    if !path.exists() {
        bail!(
            "{} is missing; run ./test, which brings it, or set {variable}",
            path.display()
        );
    }
    Ok(path)
}

/// The nats-server program (`NATS_SERVER`, else the one `./test` brought).
///
/// # Errors
/// When it is not there.
pub fn nats_server() -> Result<PathBuf> {
    tool("NATS_SERVER", "nats-server")
}

/// A Python with the official MCP client (`ASKBUS_TEST_PYTHON`, else the one `./test` made).
///
/// # Errors
/// When it is not there.
pub fn python() -> Result<PathBuf> {
    tool("ASKBUS_TEST_PYTHON", "venv/bin/python")
}

/// A temporary folder, removed on drop, and in any case when this process is gone.
///
/// # Errors
/// When it cannot be made.
pub fn folder() -> Result<TempDir> {
    let dir = tempfile::Builder::new().prefix("askbus-test-").tempdir()?;
    reaper::folder(dir.path());
    Ok(dir)
}

/// The program under test, run with a home of its own and nothing of this environment but PATH.
#[derive(Debug, Clone)]
pub struct Askbus {
    binary: PathBuf,
    home: PathBuf,
    env: Vec<(String, String)>,
}

impl Askbus {
    /// `binary` with `ASKBUS_HOME=home`.
    pub fn new(binary: impl Into<PathBuf>, home: impl Into<PathBuf>) -> Self {
        Self {
            binary: binary.into(),
            home: home.into(),
            env: Vec::new(),
        }
    }

    /// With one more variable.
    #[must_use]
    pub fn env(mut self, name: &str, value: impl Into<String>) -> Self {
        self.env.push((name.to_owned(), value.into()));
        self
    }

    /// The path of the program.
    pub fn binary(&self) -> &Path {
        &self.binary
    }

    /// Its `ASKBUS_HOME`.
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// The variables it runs with, `PATH` apart.
    pub fn variables(&self) -> Vec<(String, String)> {
        let home = self.home.display().to_string();
        let mut all = vec![
            ("HOME".to_owned(), home.clone()),
            ("ASKBUS_HOME".to_owned(), home),
        ];
        all.extend(self.env.iter().cloned());
        all
    }

    /// A command with these arguments.
    pub fn command(&self, args: &[&str]) -> Program {
        let mut command = Program::new(&self.binary);
        command
            .args(args)
            .env_clear()
            .envs(self.variables())
            .current_dir(&self.home);
        if let Some(path) = std::env::var_os("PATH") {
            command.env("PATH", path);
        }
        command
    }

    /// Starts it, with a standard input to write to.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn spawn(&self, args: &[&str]) -> Result<Process> {
        Process::spawn(&format!("askbus {}", args.join(" ")), self.command(args))
    }

    /// Runs it to its end with no input.
    ///
    /// # Errors
    /// When it cannot be started or does not end within the limit.
    pub async fn run(&self, args: &[&str]) -> Result<Finished> {
        self.spawn(args)?.finish().await
    }

    /// Runs it and reads its standard output as one JSON object; any exit status.
    ///
    /// # Errors
    /// When it does not end, or prints something else.
    pub async fn json(&self, args: &[&str]) -> Result<(i32, serde_json::Value)> {
        let done = self.run(args).await?;
        let value = serde_json::from_str(done.stdout.trim())
            .with_context(|| format!("askbus {}: {done:?}", args.join(" ")))?;
        Ok((done.code, value))
    }
}
