//! Commands about credentials.

use super::duration::parse_duration;
use clap::{Args, Subcommand};
use std::path::PathBuf;

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
