//! The command line: a contract that scripts rely on.

mod agents;
mod bench;
mod credential;
mod duration;
mod hosts;
mod moment;
#[cfg(test)]
mod named;
mod people;
mod services;
mod words;

pub(crate) use agents::{AskArgs, McpAdapterArgs, McpArgs};
pub(crate) use bench::{BenchArgs, BenchCommand, FaultsArgs, FiguresArgs};
pub(crate) use credential::{CredentialArgs, CredentialCommand};
pub(crate) use duration::parse_duration;
pub(crate) use hosts::{TurnArgs, TurnCommand};
pub(crate) use people::{AnswerArgs, HistoryArgs, InboxArgs};
pub(crate) use services::{
    ConfigArgs, GatewayArgs, HealthcheckArgs, ServiceArgs, SessionBindingArgs, UpArgs,
};

use crate::exit;
use clap::error::ErrorKind;
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;
use std::process::ExitCode;

/// The question bus between headless coding agents and the people who decide.
#[derive(Debug, Parser)]
#[command(name = "askbus", version, about, disable_help_subcommand = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub options: Global,
    #[command(subcommand)]
    pub command: Command,
}

/// What stands above the options of every command, so that a command's own stand together.
const EVERYWHERE: &str = "Options of every command";

/// Options of every command; each can also stand in the configuration file or as `ASKBUS_*`.
#[derive(Debug, Args)]
pub(crate) struct Global {
    /// Folder of the single-machine mode [default: ~/.askbus]
    #[arg(long, global = true, value_name = "DIR", help_heading = EVERYWHERE)]
    pub home: Option<PathBuf>,
    /// Configuration file in TOML [default: config.toml in the home folder]
    #[arg(long, global = true, value_name = "FILE", help_heading = EVERYWHERE)]
    pub config: Option<PathBuf>,
    /// Form of the log on standard error
    #[arg(long, global = true, value_name = "FORMAT", help_heading = EVERYWHERE)]
    pub log_format: Option<LogFormat>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum LogFormat {
    Text,
    Json,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run everything on this machine in one process
    Up(UpArgs),
    /// Run the gateway: panel, WebSocket, HTTP, the one public listener
    Gateway(GatewayArgs),
    /// Run a session-binding: owns sessions, deadlines and leases
    SessionBinding(SessionBindingArgs),
    /// Run an MCP adapter as a service on the bus, for one client on standard input and output
    McpAdapter(McpAdapterArgs),
    /// The stdio MCP server that an agent starts
    Mcp(McpArgs),
    /// Ask a person and wait for the answer
    Ask(AskArgs),
    /// What waits for an answer
    Inbox(InboxArgs),
    /// How questions ended
    History(HistoryArgs),
    /// Answer a question
    Answer(AnswerArgs),
    /// Begin or end a turn as a host
    Turn(TurnArgs),
    /// Make, list and revoke credentials
    Credential(CredentialArgs),
    /// Ask a service whether it is healthy
    Healthcheck(HealthcheckArgs),
    /// Show the configuration in force
    Config(ConfigArgs),
    /// Put this program to the test on this machine, with services of its own
    Bench(BenchArgs),
}

impl Command {
    /// What of its log is worth showing unless `RUST_LOG` says otherwise.
    pub(crate) const fn default_log(&self) -> &'static str {
        match self {
            Command::Gateway(_) | Command::SessionBinding(_) | Command::McpAdapter(_) => {
                "info,async_nats=warn"
            }
            // It breaks things on purpose.
            Command::Bench(_) => "off",
            _ => "warn,async_nats=error",
        }
    }
}

/// Reads the command line. Wrong use exits with 64; help and version with 0.
pub(crate) fn parse() -> Result<Cli, ExitCode> {
    Cli::try_parse().map_err(|error| {
        let asked = matches!(
            error.kind(),
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion
        );
        let printed = error.print();
        match printed {
            _ if !asked => ExitCode::from(exit::USAGE),
            Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
                exit::fail(exit::OUTPUT, &error)
            }
            Ok(()) | Err(_) => ExitCode::SUCCESS,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
