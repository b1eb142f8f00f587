//! The person's own editor, for a text that is too long for a field. Whatever becomes of the editor, no
//! text is lost.

use super::state::EditorTrouble;
use rustix::process::{Pid, Signal, getpgrp, getpid, kill_process, kill_process_group};
use std::env;
use std::io::Write as _;
use std::process::ExitStatus;
use std::time::Duration;
use tempfile::NamedTempFile;
use tokio::process::{Child, Command};
use tokio::time::timeout;

/// What is run where neither variable names an editor.
const FALLBACK: &str = "vi";
/// How long an editor may take that was asked to end.
const PATIENCE: Duration = Duration::from_secs(2);

/// An editor at work on a file that nobody else can read.
pub(super) struct Editor {
    child: Child,
    file: NamedTempFile,
    before: String,
}

impl Editor {
    /// Starts it with a text.
    pub(super) fn start(text: &str) -> Result<Self, EditorTrouble> {
        let failed = |error: std::io::Error| EditorTrouble {
            error: error.to_string(),
            kept: None,
        };
        let file = tempfile::Builder::new()
            .prefix("askbus-")
            .suffix(".md")
            .tempfile();
        let mut file = file.map_err(failed)?;
        file.write_all(text.as_bytes())
            .and_then(|()| file.flush())
            .map_err(failed)?;
        let named = ["VISUAL", "EDITOR"]
            .into_iter()
            .filter_map(|name| env::var(name).ok());
        let editor = named.into_iter().find(|e| !e.trim().is_empty());
        let editor = editor.unwrap_or_else(|| FALLBACK.to_owned());
        // The variables may hold arguments as well; a shell parts them as it does for other programs.
        let child = Command::new("/bin/sh")
            .arg("-c")
            .arg(format!("{editor} \"$1\""))
            .arg("sh")
            .arg(file.path())
            .kill_on_drop(true)
            .spawn()
            .map_err(failed)?;
        Ok(Self {
            child,
            file,
            before: text.to_owned(),
        })
    }

    /// Waits for its end. May be asked again when it was given up.
    pub(super) async fn ended(&mut self) -> std::io::Result<ExitStatus> {
        self.child.wait().await
    }

    /// Ends it with all that it started: who has the terminal next reads its keys alone, and nothing writes
    /// to the file any more.
    pub(super) async fn end(&mut self) {
        let Some(editor) = self.child.id().and_then(|id| i32::try_from(id).ok()) else {
            return;
        };
        // What it started is in our own group, as the shell needs it to stop and continue all of it. Where
        // others are in there too, whoever started this program is.
        let own = getpgrp();
        let ended = if own == getpid() {
            kill_process_group(own, Signal::TERM)
        } else {
            Pid::from_raw(editor).map_or(Ok(()), |editor| kill_process(editor, Signal::TERM))
        };
        if let Err(error) = ended {
            tracing::debug!(%error, "the editor was gone already");
        }
        if timeout(PATIENCE, self.child.wait()).await.is_err()
            && let Err(error) = self.child.kill().await
        {
            tracing::debug!(%error, "the editor could not be ended");
        }
    }

    /// What it left behind.
    pub(super) fn outcome(
        self,
        status: std::io::Result<ExitStatus>,
    ) -> Result<String, EditorTrouble> {
        // An editor may put another file in the place of the one it was given: it is read by its name.
        let bytes = std::fs::read(self.file.path());
        let error = match (&bytes, status) {
            (_, Err(error)) => error.to_string(),
            (Err(error), _) => error.to_string(),
            (_, Ok(status)) if !status.success() => status.to_string(),
            (Ok(bytes), Ok(_)) => match std::str::from_utf8(bytes) {
                Ok(text) => return Ok(text.strip_suffix('\n').unwrap_or(text).to_owned()),
                Err(error) => error.to_string(),
            },
        };
        let changed = bytes.is_ok_and(|bytes| bytes != self.before.as_bytes());
        let kept = if changed { self.file.keep().ok() } else { None };
        Err(EditorTrouble {
            error,
            kept: kept.map(|(_, path)| path.display().to_string()),
        })
    }
}
