//! `askbus up`: everything in one process.

use crate::person::Person;
use crate::places::{Askbus, folder};
use crate::process::Process;
use anyhow::{Context as _, Result, anyhow};
use serde::Deserialize;
use std::path::Path;
use std::process::ExitStatus;
use tempfile::TempDir;

/// The one line that `askbus up --json` prints when it is ready.
#[derive(Debug, Clone, Deserialize)]
pub struct Announcement {
    /// Where the panel is.
    pub panel_url: String,
    /// A one-time link that signs a browser in.
    pub sign_in_url: String,
    /// Where MCP over HTTP is, if it is.
    pub mcp_url: Option<String>,
}

/// A running `askbus up` with a home of its own.
pub struct AskbusUp {
    askbus: Askbus,
    args: Vec<String>,
    process: Option<Process>,
    announcement: Announcement,
    _home: TempDir,
}

impl AskbusUp {
    /// Starts one on a free port.
    ///
    /// # Errors
    /// When it is not ready within the limit.
    pub async fn start(binary: impl AsRef<Path>) -> Result<Self> {
        Self::start_with(binary, &[], &[]).await
    }

    /// Starts one with more arguments and variables.
    ///
    /// # Errors
    /// When it is not ready within the limit.
    pub async fn start_with(
        binary: impl AsRef<Path>,
        args: &[&str],
        env: &[(&str, &str)],
    ) -> Result<Self> {
        let home = folder()?;
        let mut askbus = Askbus::new(binary.as_ref(), home.path());
        for (name, value) in env {
            askbus = askbus.env(name, *value);
        }
        let args = args.iter().map(|a| (*a).to_owned()).collect::<Vec<_>>();
        let (process, announcement) = launch(&askbus, &args).await?;
        Ok(Self {
            askbus,
            args,
            process: Some(process),
            announcement,
            _home: home,
        })
    }

    /// The program with this home: `askbus ask`, `askbus mcp` …
    pub fn askbus(&self) -> &Askbus {
        &self.askbus
    }

    /// What it said when it became ready.
    pub fn announcement(&self) -> &Announcement {
        &self.announcement
    }

    /// Where it listens, without a slash at the end.
    pub fn url(&self) -> &str {
        self.announcement.panel_url.trim_end_matches('/')
    }

    /// Its process.
    ///
    /// # Errors
    /// When it was killed or stopped.
    pub fn process(&mut self) -> Result<&mut Process> {
        self.process
            .as_mut()
            .ok_or_else(|| anyhow!("askbus up is not running"))
    }

    /// A person signed in through the one-time link.
    ///
    /// # Errors
    /// When the link does not sign in.
    pub async fn person(&self) -> Result<Person> {
        Person::sign_in(self.url(), &self.announcement.sign_in_url).await
    }

    /// Kills it at once (SIGKILL).
    ///
    /// # Errors
    /// When it is not running.
    pub async fn kill9(&mut self) -> Result<()> {
        let mut process = self
            .process
            .take()
            .ok_or_else(|| anyhow!("askbus up is not running"))?;
        process.kill9().await
    }

    /// Asks it to end (SIGTERM).
    ///
    /// # Errors
    /// When it is not running, or does not end within the limit.
    pub async fn stop(&mut self) -> Result<ExitStatus> {
        let mut process = self
            .process
            .take()
            .ok_or_else(|| anyhow!("askbus up is not running"))?;
        process.stop().await
    }

    /// Waits for its end, after it was told to stop.
    ///
    /// # Errors
    /// When it is not running, or does not end within the limit.
    pub async fn stopped(&mut self) -> Result<ExitStatus> {
        let mut process = self
            .process
            .take()
            .ok_or_else(|| anyhow!("askbus up is not running"))?;
        process.wait().await
    }

    /// Starts it again on the same home; the port is the one it had.
    ///
    /// # Errors
    /// When it is not ready within the limit.
    pub async fn restart(&mut self) -> Result<()> {
        self.process = None;
        let (process, announcement) = launch(&self.askbus, &self.args).await?;
        self.process = Some(process);
        self.announcement = announcement;
        Ok(())
    }
}

async fn launch(askbus: &Askbus, more: &[String]) -> Result<(Process, Announcement)> {
    let mut args = vec!["up", "--json"];
    args.extend(more.iter().map(String::as_str));
    let mut process = askbus.spawn(&args)?;
    let line = process.stdout.next().await;
    let line = line?.with_context(|| format!("askbus up ended: {:#?}", process.stderr.all()))?;
    let announcement = serde_json::from_str(&line).with_context(|| format!("not one: {line:?}"))?;
    Ok((process, announcement))
}
