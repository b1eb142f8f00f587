//! Commands that run services, and look at them.

use clap::{Args, Subcommand};
use std::path::PathBuf;

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
    /// Where the MCP adapter listens that serves HTTP: `host:port`, several of them with commas
    /// [default: no MCP over HTTP]
    #[arg(long, value_name = "TARGET")]
    pub mcp_adapter: Option<String>,
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
pub(crate) struct HealthcheckArgs {
    /// Which service
    #[arg(value_parser = ["gateway", "mcp-adapter", "session-binding"], default_value = "gateway")]
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
