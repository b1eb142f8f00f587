//! Commands of hosts.

use super::duration::parse_duration;
use super::words;
use clap::{Args, Subcommand};

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
        /// What becomes of its questions when nobody is there
        #[arg(long, value_name = "WORD", value_parser = words::when_absent())]
        when_absent: Option<String>,
        /// What becomes of its questions when their time is up
        #[arg(long, value_name = "WORD", value_parser = words::on_timeout())]
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
