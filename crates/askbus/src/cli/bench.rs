//! Commands that put the program to the test.

use clap::{Args, Subcommand};
use std::path::PathBuf;

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
