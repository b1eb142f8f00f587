//! The protocol's own conformance suite, and its inspector on the command line.

mod expected;

pub use expected::Expected;

use crate::clis::node;
use crate::places::{folder, workspace};
use crate::process::Process;
use crate::program::Program;
use anyhow::{Context as _, Result, bail, ensure};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;
use tempfile::TempDir;

/// Letters of what the suite puts behind the name of a scenario: `-2026-07-28T12-00-00-000Z`.
const STAMP: usize = 25;
/// Looks at every message of a scenario, so there is never a reason for it to fail.
const EVERY_MESSAGE: &str = "wire-schema-valid";

/// One thing that a scenario looked at.
#[derive(Debug, Clone, Deserialize)]
pub struct Check {
    /// Its name.
    pub id: String,
    /// `SUCCESS`, `FAILURE`, `WARNING`, `SKIPPED` or `INFO`.
    pub status: String,
    /// What was wrong.
    #[serde(rename = "errorMessage")]
    pub error: Option<String>,
}

impl Check {
    /// Whether it found a fault.
    pub fn has_failed(&self) -> bool {
        matches!(self.status.as_str(), "FAILURE" | "WARNING")
    }

    /// Whether it found something of the scenario itself to be right.
    pub fn has_succeeded(&self) -> bool {
        self.status == "SUCCESS" && self.id != EVERY_MESSAGE
    }
}

/// What the scenarios found, by their names.
pub type Found = BTreeMap<String, Vec<Check>>;

/// Suite and inspector, as `./test conformance` installs them.
pub struct Conformance {
    place: PathBuf,
    /// The home of what runs.
    home: TempDir,
}

impl Conformance {
    /// What is installed.
    ///
    /// # Errors
    /// When it is not.
    pub fn installed() -> Result<Self> {
        let place = workspace().join("target/tools/conformance");
        if !place.join("installed").exists() {
            bail!("the suite is not installed; ./test conformance brings it");
        }
        let home = folder()?;
        Ok(Self { place, home })
    }

    /// What a revision of the protocol asks of the server at `url`: all of it, or one scenario.
    ///
    /// # Errors
    /// When the suite cannot be run, or ran nothing.
    pub async fn run(&self, url: &str, revision: &str, scenario: Option<&str>) -> Result<Found> {
        let results = folder()?;
        let mut program = self.program("conformance/dist/index.js");
        program.args(["server", "--url", url, "-o"]);
        program.arg(results.path());
        match scenario {
            None => program.args(["--requirements", revision]),
            Some(name) => program.args(["--scenario", name, "--spec-version", revision]),
        };
        // Its exit status is 1 as soon as one scenario fails.
        let done = Process::spawn("the conformance suite", program)?;
        let done = done.finish().await?;
        let mut found = Found::new();
        for entry in std::fs::read_dir(results.path())? {
            let path = entry?.path();
            let name = path.file_name().and_then(|name| name.to_str());
            let name = name.and_then(|name| name.strip_prefix("server-"));
            let name = name.and_then(|name| name.get(..name.len().checked_sub(STAMP)?));
            let name = name.with_context(|| format!("no scenario's: {}", path.display()))?;
            let checks = std::fs::read_to_string(path.join("checks.json"));
            let checks = checks.with_context(|| path.display().to_string())?;
            let checks: Vec<Check> = serde_json::from_str(&checks)?;
            found.entry(name.to_owned()).or_default().extend(checks);
        }
        ensure!(!found.is_empty(), "no scenario was run: {done:#?}");
        Ok(found)
    }

    /// What the inspector prints for a method of the server at `target`: a URL, or a command that it
    /// starts with these variables.
    ///
    /// # Errors
    /// When it fails, or prints no JSON.
    pub async fn inspect(
        &self,
        target: &[&str],
        env: &[(String, String)],
        method: &[&str],
        era: &str,
    ) -> Result<Value> {
        let mut program = self.program("inspector/clients/launcher/build/index.js");
        program.arg("--cli");
        for (name, value) in env {
            program.arg("-e").arg(format!("{name}={value}"));
        }
        program.args(target).args(method);
        program.args(["--protocol-era", era, "--format", "json", "-q"]);
        let done = Process::spawn("the inspector", program)?.finish().await?;
        ensure!(done.code == 0, "{done:#?}");
        let said: Value =
            serde_json::from_str(&done.stdout).with_context(|| format!("{done:#?}"))?;
        Ok(said["result"].clone())
    }

    /// Nothing of this environment but the path.
    fn program(&self, script: &str) -> Program {
        let node = node();
        let system = std::env::var("PATH").unwrap_or_default();
        let mut program = Program::new(node.join("node"));
        let packages = self.place.join("node_modules/@modelcontextprotocol");
        program
            .arg(packages.join(script))
            .env_clear()
            .env("PATH", format!("{}:{system}", node.display()))
            .env("HOME", self.home.path())
            .current_dir(self.home.path());
        program
    }
}
