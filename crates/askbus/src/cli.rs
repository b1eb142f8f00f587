//! The command line: a contract that scripts rely on.

use crate::exit;
use crate::said::Said;
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

/// Options of every command; each can also stand in the configuration file or as `ASKBUS_*`.
#[derive(Debug, Args)]
pub(crate) struct Global {
    /// Folder of the single-machine mode [default: ~/.askbus]
    #[arg(long, global = true, value_name = "DIR")]
    pub home: Option<PathBuf>,
    /// Configuration file in TOML [default: config.toml in the home folder]
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Form of the log on standard error
    #[arg(long, global = true, value_name = "FORMAT")]
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

#[derive(Debug, Args)]
pub(crate) struct UpArgs {
    /// Where the panel listens [default: the port of the last start; 127.0.0.1:0 is any]
    #[arg(long, value_name = "ADDR")]
    pub listen: Option<String>,
    /// Keep everything on this NATS server instead of a file
    #[arg(long, value_name = "URL")]
    pub nats: Option<String>,
    /// Further names or addresses that this machine is reached by, comma separated
    #[arg(long, value_name = "NAMES")]
    pub host_names: Option<String>,
    /// Print one JSON line with the addresses when ready
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ServiceArgs {
    /// NATS server
    #[arg(long, value_name = "URL")]
    pub nats: Option<String>,
    /// Tenants to serve: `a,b` or `all,!a` [default: all]
    #[arg(long, value_name = "LIST")]
    pub tenants: Option<String>,
    /// Folder with the public key and the deny list
    #[arg(long, value_name = "DIR")]
    pub signing_dir: Option<PathBuf>,
    /// Unique name of this process [default: made up]
    #[arg(long, value_name = "NAME")]
    pub instance: Option<String>,
    /// Print one JSON line with the address when ready
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct GatewayArgs {
    #[command(flatten)]
    pub service: ServiceArgs,
    /// Where to listen
    #[arg(long, value_name = "ADDR")]
    pub listen: Option<String>,
    /// Where session-binding listens: `host:port`, several of them with commas, or its socket; by
    /// tenant as `acme=h:1;h:2,h:3`
    #[arg(long, value_name = "TARGETS")]
    pub session_binding: Option<String>,
    /// Further names that this gateway is reached by, comma separated
    #[arg(long, value_name = "NAMES")]
    pub host_names: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct SessionBindingArgs {
    #[command(flatten)]
    pub service: ServiceArgs,
    /// Where to listen for gRPC: an address, or the path of a socket
    #[arg(long, value_name = "ADDR")]
    pub listen: Option<String>,
    /// How long an asker or the host of a turn may be missing, in milliseconds
    #[arg(long, value_name = "MS")]
    pub lease_ms: Option<u64>,
    /// Where to show figures at /metrics, to operators [default: nowhere]
    #[arg(long, value_name = "ADDR")]
    pub metrics: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct McpArgs {
    /// Which tools to offer
    #[arg(long, value_name = "NAME")]
    pub toolset: Option<String>,
    /// The profile to ask under
    #[arg(long, value_name = "NAME")]
    pub profile: Option<String>,
    /// A toolset by its launch name
    #[arg(hide = true)]
    pub launch: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct McpAdapterArgs {
    #[command(flatten)]
    pub mcp: McpArgs,
    /// NATS server
    #[arg(long, value_name = "URL")]
    pub nats: Option<String>,
    /// Where session-binding listens: `host:port`, several of them with commas, or its socket
    #[arg(long, value_name = "TARGET")]
    pub session_binding: Option<String>,
    /// Unique name of this process [default: made up]
    #[arg(long, value_name = "NAME")]
    pub instance: Option<String>,
    /// Where to show figures at /metrics, to operators [default: nowhere]
    #[arg(long, value_name = "ADDR")]
    pub metrics: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct AskArgs {
    /// The question
    pub text: String,
    /// An option; may be given several times
    #[arg(long = "choice", value_name = "C")]
    pub choices: Vec<String>,
    /// Several options may be chosen
    #[arg(long)]
    pub multi: bool,
    /// The option you would take, counted from 1
    #[arg(long, value_name = "N")]
    pub recommended: Option<usize>,
    /// How long to wait: `90s`, `5m`, `2h`, `1d`; 0 is for ever [default: for ever]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub timeout: Option<std::time::Duration>,
    /// The session to ask in [default: one of its own]
    #[arg(long, value_name = "S")]
    pub session: Option<String>,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct InboxArgs {
    /// Go on showing what comes
    #[arg(long)]
    pub watch: bool,
    /// JSON Lines, one object per clarification
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct HistoryArgs {
    /// Of one session only
    #[arg(long, value_name = "S")]
    pub session: Option<String>,
    /// How many at most
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub limit: usize,
    /// JSON Lines, one object per clarification
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct AnswerArgs {
    /// The clarification's id, or as many of its first characters as make it unique
    pub id: String,
    #[command(flatten)]
    pub said: Said,
    /// Leave it to the agent; recommendations become assumptions
    #[arg(long, group = "instead")]
    pub skip: bool,
    /// Stop the countdown
    #[arg(long, group = "instead")]
    pub hold: bool,
    /// Say what you need to know first
    #[arg(long, value_name = "TEXT", group = "instead")]
    pub ask_back: Option<String>,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct TurnArgs {
    #[command(subcommand)]
    pub command: TurnCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TurnCommand {
    /// Begin a turn, print its `context_id`, and hold it until standard input closes
    Begin {
        /// The session [default: one of its own]
        #[arg(long, value_name = "S")]
        session: Option<String>,
        /// Return at once; the turn lives this long without anybody holding it
        #[arg(long = "for", value_name = "DURATION", value_parser = parse_duration)]
        lives: Option<std::time::Duration>,
        /// The profile to begin it under
        #[arg(long, value_name = "NAME")]
        profile: Option<String>,
        /// What becomes of its questions when nobody is there: wait, deferred or unattended
        #[arg(long, value_name = "WORD", value_parser = ["wait", "deferred", "unattended"])]
        when_absent: Option<String>,
        /// What becomes of its questions when their time is up: return, adopt or defer
        #[arg(long, value_name = "WORD", value_parser = ["return", "adopt", "defer"])]
        on_timeout: Option<String>,
        /// The language of its instruction and of texts for people: en or zh
        #[arg(long, value_name = "TAG")]
        language: Option<String>,
        /// Print one JSON object instead of the bare id
        #[arg(long)]
        json: bool,
    },
    /// End a turn; whatever waits in it is cancelled
    End {
        /// Its `context_id`
        context: String,
        /// How it ended: completed, failed, stopped or disposed
        #[arg(long, default_value = "completed")]
        outcome: String,
        /// The profile it was begun under
        #[arg(long, value_name = "NAME")]
        profile: Option<String>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct CredentialArgs {
    /// Folder of the keys [default: keys in the home folder]
    #[arg(long, global = true, value_name = "DIR")]
    pub signing_dir: Option<PathBuf>,
    #[command(subcommand)]
    pub command: CredentialCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CredentialCommand {
    /// Make keys if there are none, and what a deployment needs; nothing is overwritten
    Init {
        /// Make keys and pass phrases for services in containers, in folders below this one
        #[arg(long, value_name = "DIR")]
        deploy: Option<PathBuf>,
        /// Give what services read to this user id
        #[arg(long, value_name = "N", requires = "deploy")]
        uid: Option<u32>,
        /// Also make this folder and give it to that user id; may be given several times
        #[arg(long = "owned", value_name = "DIR", requires = "uid")]
        owned: Vec<PathBuf>,
        /// Also make the pass phrase by which these NATS servers know each other, comma separated
        #[arg(long, value_name = "NAMES", requires = "deploy", value_delimiter = ',')]
        nats_servers: Vec<String>,
    },
    /// Make a credential and print it
    Issue {
        /// agent, person, host or operator
        #[arg(long)]
        role: String,
        /// Who: a person's or an agent's name
        #[arg(long)]
        sub: String,
        /// The tenant
        #[arg(long, default_value = "local")]
        tenant: String,
        /// A profile; may be given several times, the first is the default
        #[arg(long = "profile", value_name = "NAME", default_values_t = ["default".to_owned()])]
        profiles: Vec<String>,
        /// A group; may be given several times
        #[arg(long = "group", value_name = "NAME")]
        groups: Vec<String>,
        /// How long it holds
        #[arg(long = "for", value_name = "DURATION", default_value = "30d", value_parser = parse_duration)]
        life: std::time::Duration,
        /// Print one JSON object with the credential and its record
        #[arg(long)]
        json: bool,
    },
    /// List every credential that was made
    List {
        /// JSON Lines
        #[arg(long)]
        json: bool,
    },
    /// Revoke a credential; running services take note at once
    Revoke {
        /// Its id, as `list` shows it
        id: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct HealthcheckArgs {
    /// Which service
    #[arg(value_parser = ["gateway", "session-binding"], default_value = "gateway")]
    pub service: String,
    /// Where it listens [default: this machine's]
    #[arg(long, value_name = "TARGET")]
    pub target: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    pub command: ConfigCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print each value and where it comes from
    Show,
}

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct BenchArgs {
    #[command(subcommand)]
    pub command: Option<BenchCommand>,
    #[command(flatten)]
    pub figures: FiguresArgs,
}

#[derive(Debug, Args)]
pub(crate) struct FiguresArgs {
    /// What to keep the log on: embedded, nats, natssync (waits for the disk) or nats3; may be given
    /// several times
    #[arg(long = "ledger", value_name = "NAME", default_values = ["embedded"])]
    pub ledgers: Vec<askbus_bench::figures::Place>,
    /// The nats-server program, for the ledgers on NATS
    #[arg(long, value_name = "PATH")]
    pub nats_server: Option<PathBuf>,
    /// How many questions wait at once, each time
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [1_000, 10_000, 100_000])]
    pub waiting: Vec<usize>,
    /// How many messages the log holds that is read again
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    pub events: u64,
    /// Only these: submit, throughput, waiting or replay; may be given several times [default: all]
    #[arg(long = "figure", value_name = "NAME")]
    pub figures: Vec<askbus_bench::figures::Figure>,
    /// Everything a few times only, to see that it works; the figures mean little
    #[arg(long)]
    pub quick: bool,
    /// Print one JSON object at the end
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum BenchCommand {
    /// Kill and stop processes while questions wait and answers flow, and check that nothing is lost
    Faults(FaultsArgs),
}

#[derive(Debug, Args)]
pub(crate) struct FaultsArgs {
    /// How many rounds; each hits one victim with one signal
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub rounds: u64,
    /// The first round's seed; further rounds have the next ones [default: the time]
    #[arg(long, value_name = "SEED")]
    pub seed: Option<u64>,
    /// Run the services over this nats-server program instead of a file
    #[arg(long, value_name = "PATH")]
    pub nats_server: Option<PathBuf>,
    /// Print one JSON object at the end
    #[arg(long)]
    pub json: bool,
}

/// Reads the command line. Wrong use exits with 64; help and version with 0.
pub(crate) fn parse() -> Result<Cli, ExitCode> {
    Cli::try_parse().map_err(|error| {
        let asked = matches!(
            error.kind(),
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion
        );
        // Nobody is left to tell when this fails.
        let _ = error.print();
        if asked {
            ExitCode::SUCCESS
        } else {
            ExitCode::from(exit::USAGE)
        }
    })
}

/// `90`, `90s`, `5m`, `2h`, `1d`, `250ms`.
pub(crate) fn parse_duration(text: &str) -> Result<std::time::Duration, String> {
    let split = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let number: u64 = number
        .parse()
        .map_err(|_| format!("{text:?} is not a duration such as 5m"))?;
    let millis = match unit {
        "ms" => 1,
        "" | "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return Err(format!("{unit:?} is not one of ms, s, m, h, d")),
    };
    number
        .checked_mul(millis)
        .map(std::time::Duration::from_millis)
        .ok_or_else(|| format!("{text} is too long"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;
    use std::time::Duration;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn durations() {
        assert_eq!(parse_duration("90"), Ok(Duration::from_secs(90)));
        assert_eq!(parse_duration("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(parse_duration("5m"), Ok(Duration::from_mins(5)));
        assert_eq!(parse_duration("1d"), Ok(Duration::from_hours(24)));
        for bad in [
            "",
            "m",
            "5w",
            "-1s",
            "1.5h",
            "99999999999999999999s",
            "18446744073709551615d",
        ] {
            assert!(parse_duration(bad).is_err(), "{bad}");
        }
    }
}
