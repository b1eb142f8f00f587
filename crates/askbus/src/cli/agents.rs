//! Commands by which agents and scripts ask.

use super::duration::parse_duration;
use super::words;
use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct McpArgs {
    /// Which tools to offer: ask, studio or interaction [default: ask]
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
    /// Serve MCP over HTTP here, for many clients, instead of one on standard input
    #[arg(long, value_name = "ADDR")]
    pub listen: Option<String>,
    /// With --listen: the tenants to serve: `all`, `a,b` or `all,!a` [default: all]
    #[arg(long, value_name = "LIST")]
    pub tenants: Option<String>,
    /// With --listen: where the public key is that credentials are checked with
    #[arg(long, value_name = "DIR")]
    pub signing_dir: Option<PathBuf>,
    /// With --listen: names under which it is reached, besides this machine's
    #[arg(long, value_name = "LIST")]
    pub host_names: Option<String>,
    /// Unique name of this process [default: made up]
    #[arg(long, value_name = "NAME")]
    pub instance: Option<String>,
    /// Write one line of JSON on standard output once it is ready
    #[arg(long)]
    pub json: bool,
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
    /// Whom it is meant for: a person's name, person:NAME or group:NAME [default: everybody]
    #[arg(long, value_name = "NAME")]
    pub to: Option<String>,
    /// What becomes of it when nobody is there
    #[arg(long, value_name = "WORD", value_parser = words::when_absent())]
    pub when_absent: Option<String>,
    /// What becomes of it when its time is up
    #[arg(long, value_name = "WORD", value_parser = words::on_timeout())]
    pub on_timeout: Option<String>,
    /// The session to ask in; while somebody else has a turn in it, one beside it, named S~xxxx
    /// [default: one of its own]
    #[arg(long, value_name = "S")]
    pub session: Option<String>,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
}
