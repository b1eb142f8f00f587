//! One started process with its whole process group.

use crate::bound::within;
use crate::output::Lines;
use crate::program::Program;
use crate::reaper;
use anyhow::{Context as _, Result, anyhow};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::io::Write as _;
use std::process::{ExitStatus, Stdio};
use tokio::io::AsyncWriteExt as _;
use tokio::net::unix::pipe;
use tokio::process::Child;

/// How a process ended and what it wrote.
#[derive(Debug, Clone)]
pub struct Finished {
    /// Its exit status; -1 when a signal ended it.
    pub code: i32,
    /// What it wrote on standard output.
    pub stdout: String,
    /// What it wrote on standard error.
    pub stderr: String,
}

/// A process of a test. Dropping it kills its whole group.
pub struct Process {
    name: String,
    child: Child,
    group: Option<Pid>,
    stdin: Option<pipe::Sender>,
    /// Its standard output.
    pub stdout: Lines,
    /// Its standard error.
    pub stderr: Lines,
}

impl Process {
    /// Starts `program` as the leader of a group of its own, all three streams piped.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn spawn(name: &str, program: Program) -> Result<Self> {
        let (input, mut stdin) = std::io::pipe()?;
        let mut command = program.into_command();
        command
            .stdin(input)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command.process_group(0).kill_on_drop(true);
        let mut child = command
            .spawn()
            .with_context(|| format!("cannot start {name}"))?;
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        let group = id.and_then(Pid::from_raw);
        if let Some(id) = id {
            reaper::group(id);
        }
        // Its input is the last thing that holds it back; should it be gone already, its status says so.
        let _ = stdin.write_all(b"\n");
        drop(command);
        let stdout = child
            .stdout
            .take()
            .ok_or_else(|| anyhow!("no stdout of {name}"))?;
        let stderr = child
            .stderr
            .take()
            .ok_or_else(|| anyhow!("no stderr of {name}"))?;
        Ok(Self {
            name: name.to_owned(),
            stdin: Some(pipe::Sender::from_owned_fd(stdin.into())?),
            child,
            group,
            stdout: Lines::read(format!("{name}: stdout"), stdout),
            stderr: Lines::read(format!("{name}: stderr"), stderr),
        })
    }

    /// Writes to its standard input.
    ///
    /// # Errors
    /// When it is closed, or nothing is read from it within the limit.
    pub async fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let stdin = self
            .stdin
            .as_mut()
            .ok_or_else(|| anyhow!("{}: stdin is closed", self.name))?;
        let written = async {
            stdin.write_all(bytes).await?;
            stdin.flush().await
        };
        within("input to be read", written)
            .await?
            .with_context(|| format!("{}: stdin", self.name))
    }

    /// Closes its standard input.
    pub fn close_stdin(&mut self) {
        self.stdin = None;
    }

    /// Its process id, as long as it has not been waited for.
    pub fn id(&self) -> Option<u32> {
        self.child.id()
    }

    /// Whether it is still running.
    ///
    /// # Errors
    /// When that cannot be told.
    pub fn is_running(&mut self) -> Result<bool> {
        Ok(self.child.try_wait()?.is_none())
    }

    /// Sends a signal to the process alone.
    ///
    /// # Errors
    /// When it has ended.
    pub fn signal(&self, signal: Signal) -> Result<()> {
        let id = self.child.id().and_then(|id| i32::try_from(id).ok());
        let pid = id
            .and_then(Pid::from_raw)
            .ok_or_else(|| anyhow!("{} has ended", self.name))?;
        Ok(kill_process(pid, signal)?)
    }

    /// Waits for its end.
    ///
    /// # Errors
    /// When it does not end within the limit.
    pub async fn wait(&mut self) -> Result<ExitStatus> {
        let what = format!("the end of {}", self.name);
        let ended = within(&what, self.child.wait()).await;
        let ended = ended.with_context(|| format!("stderr: {:#?}", self.stderr.all()))??;
        self.kill_group();
        Ok(ended)
    }

    /// Closes its input, waits for its end and collects what it wrote.
    ///
    /// # Errors
    /// When it does not end within the limit.
    pub async fn finish(mut self) -> Result<Finished> {
        self.close_stdin();
        self.end().await
    }

    /// Waits for its end, its input still open, and collects what it wrote.
    ///
    /// # Errors
    /// When it does not end within the limit.
    pub async fn end(&mut self) -> Result<Finished> {
        let status = self.wait().await?;
        let join = |lines: Vec<String>| lines.into_iter().map(|l| l + "\n").collect::<String>();
        let stdout = join(self.stdout.to_end().await?);
        let stderr = join(self.stderr.to_end().await?);
        Ok(Finished {
            code: status.code().unwrap_or(-1),
            stdout,
            stderr,
        })
    }

    /// Kills it and its group at once (SIGKILL) and waits until it is gone.
    ///
    /// # Errors
    /// When it is not gone within the limit.
    pub async fn kill9(&mut self) -> Result<()> {
        self.signal(Signal::KILL)?;
        self.wait().await.map(drop)
    }

    /// Asks it to end (SIGTERM) and waits until it has.
    ///
    /// # Errors
    /// When it does not end within the limit.
    pub async fn stop(&mut self) -> Result<ExitStatus> {
        self.signal(Signal::TERM)?;
        self.wait().await
    }

    fn kill_group(&mut self) {
        if let Some(group) = self.group.take() {
            // An error only says that nobody of the group is left.
            let _ = kill_process_group(group, Signal::KILL);
            reaper::done(group.as_raw_nonzero().get());
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill_group();
    }
}
