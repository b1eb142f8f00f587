//! A real terminal: a shell in a window of tmux, its keys and what is on its screen.

use crate::bound::within;
use crate::output::Lines;
use crate::places::{Askbus, folder};
use crate::process::Process;
use crate::program::Program;
use anyhow::{Context as _, Result, ensure};
use rustix::process::{Pid, Signal, kill_process};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;

/// The shell says so when it takes a command.
const PROMPT: &str = "ready>";
/// No line of tmux's own, and Esc is Esc at once.
const SETTINGS: &str = "set -g status off\nset -s escape-time 0\n";
/// The same shell on every machine.
const SHELL: &str = "exec env 'PS1=ready> ' /bin/sh -i";

/// A shell in a terminal of its own, where `askbus` is the program under test.
pub struct Tmux {
    program: Askbus,
    socket: PathBuf,
    _server: Process,
    _client: Process,
    /// Says that something was written to the screen.
    news: Lines,
    _folder: TempDir,
}

impl Tmux {
    /// Opens one of a size, with the variables of the program.
    ///
    /// # Errors
    /// When tmux is missing, or the shell is not ready within the limit.
    pub async fn open(program: &Askbus, columns: u16, rows: u16) -> Result<Self> {
        let folder = folder()?;
        let settings = folder.path().join("tmux.conf");
        std::fs::write(&settings, SETTINGS)?;
        let socket = folder.path().join("tmux");
        let program = program
            .clone()
            .env("askbus", program.binary().display().to_string());
        let mut server = tmux(&program, &socket);
        server.arg("-D").arg("-f").arg(&settings);
        let server = Process::spawn("tmux", server).context("tmux is needed; ./test brings it")?;
        let (columns, rows) = (columns.to_string(), rows.to_string());
        let opened = async {
            // There is nothing to wait on until the server listens.
            let begin = ["new-session", "-d", "-x", &columns, "-y", &rows, SHELL];
            while run(&program, &socket, &begin).await.is_err() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        within("a session of tmux", opened).await?;
        let mut client = tmux(&program, &socket);
        client.args(["-N", "-C", "attach", "-f", "ignore-size"]);
        let client = Process::spawn("tmux -C", client)?;
        let news = client.stdout.clone();
        let this = Self {
            program,
            socket,
            _server: server,
            _client: client,
            news,
            _folder: folder,
        };
        this.until("a prompt", |screen| screen.contains(PROMPT))
            .await?;
        Ok(this)
    }

    /// Presses keys by tmux's names of them: `Enter`, `Escape`, `Down`, `C-c`.
    ///
    /// # Errors
    /// When tmux does not take them.
    pub async fn keys(&self, keys: &[&str]) -> Result<()> {
        let mut args = vec!["send-keys"];
        args.extend(keys);
        self.run(&args).await.map(drop)
    }

    /// Types a text.
    ///
    /// # Errors
    /// When tmux does not take it.
    pub async fn types(&self, text: &str) -> Result<()> {
        self.run(&["send-keys", "-l", "--", text]).await.map(drop)
    }

    /// Types a command for the shell, in which `$askbus` is the program.
    ///
    /// # Errors
    /// When tmux does not take it.
    pub async fn command(&self, line: &str) -> Result<()> {
        self.types(line).await?;
        self.keys(&["Enter"]).await
    }

    /// Gives the window another size.
    ///
    /// # Errors
    /// When tmux does not.
    pub async fn resize(&self, columns: u16, rows: u16) -> Result<()> {
        let (columns, rows) = (columns.to_string(), rows.to_string());
        self.run(&["resize-window", "-x", &columns, "-y", &rows])
            .await
            .map(drop)
    }

    /// What is on the screen.
    ///
    /// # Errors
    /// When tmux does not say.
    pub async fn screen(&self) -> Result<String> {
        self.run(&["capture-pane", "-p"]).await
    }

    /// What is on the screen with the sequences that colour it.
    ///
    /// # Errors
    /// When tmux does not say.
    pub async fn colored_screen(&self) -> Result<String> {
        self.run(&["capture-pane", "-p", "-e"]).await
    }

    /// Waits for a screen that `wanted` takes.
    ///
    /// # Errors
    /// When there is none within the limit; the last one is shown.
    pub async fn until(&self, what: &str, wanted: impl Fn(&str) -> bool) -> Result<String> {
        let mut news = self.news.clone();
        let mut last = String::new();
        let seen = async {
            loop {
                last = self.screen().await?;
                if wanted(&last) {
                    return anyhow::Ok(());
                }
                ensure!(news.next().await?.is_some(), "tmux ended");
            }
        };
        let seen = within(what, seen).await;
        seen.and_then(|done| done)
            .with_context(|| format!("{what}; on the screen:\n{last}"))?;
        Ok(last)
    }

    /// Waits until these words are on the screen.
    ///
    /// # Errors
    /// When they are not within the limit.
    pub async fn shows(&self, words: &str) -> Result<String> {
        self.until(words, |screen| screen.contains(words)).await
    }

    /// Whether the program has the whole screen.
    ///
    /// # Errors
    /// When tmux does not say.
    pub async fn is_full_screen(&self) -> Result<bool> {
        let on = self
            .run(&["display-message", "-p", "#{alternate_on}"])
            .await?;
        Ok(on.trim() == "1")
    }

    /// Sends a signal to what the shell runs.
    ///
    /// # Errors
    /// When it runs nothing.
    pub async fn signal(&self, signal: Signal) -> Result<()> {
        let shell = self.run(&["display-message", "-p", "#{pane_pid}"]).await?;
        let shell = shell.trim();
        let children = std::fs::read_to_string(format!("/proc/{shell}/task/{shell}/children"))?;
        let child = children
            .split_whitespace()
            .next()
            .context("the shell runs nothing")?;
        let child = Pid::from_raw(child.parse()?).context("no process")?;
        Ok(kill_process(child, signal)?)
    }

    async fn run(&self, args: &[&str]) -> Result<String> {
        run(&self.program, &self.socket, args).await
    }
}

fn tmux(program: &Askbus, socket: &Path) -> Program {
    let mut command = Program::new("tmux");
    command
        .env_clear()
        .envs(program.variables())
        .current_dir(program.home());
    // Its own screens are told in UTF-8 whatever the program is told.
    command
        .env("LC_CTYPE", "C.UTF-8")
        .env("TERM", "xterm-256color");
    if let Some(path) = std::env::var_os("PATH") {
        command.env("PATH", path);
    }
    command.arg("-u").arg("-S").arg(socket);
    command
}

async fn run(program: &Askbus, socket: &Path, args: &[&str]) -> Result<String> {
    let mut command = tmux(program, socket);
    // No client starts a server: it would outlive the test.
    command.arg("-N").args(args);
    let done = Process::spawn(&format!("tmux {}", args.join(" ")), command)?
        .finish()
        .await?;
    ensure!(done.code == 0, "{done:?}");
    Ok(done.stdout)
}
