//! A program that starts only when somebody watches over it.

use std::ffi::OsStr;
use std::ops::{Deref, DerefMut};
use tokio::process::Command;

/// Waits for one line on standard input, then becomes the program.
const GATE: &str = r#"read -r go && exec "$0" "$@""#;

/// A command for [`crate::Process::spawn`]. What it starts waits until it may go on: when the test dies
/// before the reaper knows of the process, its standard input ends and nothing is left over. A shell
/// reads a pipe byte by byte, so the program finds its whole input.
pub struct Program(Command);

impl Program {
    /// A command that runs `program`.
    pub fn new(program: impl AsRef<OsStr>) -> Self {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", GATE]).arg(program);
        Self(command)
    }

    pub(crate) fn into_command(self) -> Command {
        self.0
    }
}

impl Deref for Program {
    type Target = Command;

    fn deref(&self) -> &Command {
        &self.0
    }
}

impl DerefMut for Program {
    fn deref_mut(&mut self) -> &mut Command {
        &mut self.0
    }
}
