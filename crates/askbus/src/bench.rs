//! `askbus bench`: this very program, started as real services and looked at from outside.

use crate::cli::{BenchArgs, BenchCommand, FaultsArgs, FiguresArgs};
use crate::exit::{Failure, UNAVAILABLE, USAGE};
use crate::output;
use askbus_bench::faults::{self, Options};
use askbus_bench::figures::{self, Place};
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

/// Runs what was asked for.
pub(crate) async fn run(args: &BenchArgs) -> Result<ExitCode, Failure> {
    match &args.command {
        Some(BenchCommand::Faults(args)) => faults(args).await,
        None => figures(&args.figures).await,
    }
}

/// Measures it.
async fn figures(args: &FiguresArgs) -> Result<ExitCode, Failure> {
    let on_nats = args.ledgers.iter().find(|l| **l != Place::Embedded);
    if let (Some(ledger), None) = (on_nats, &args.nats_server) {
        let text = format!("--ledger {} needs --nats-server PATH", ledger.name());
        return Err(Failure::new(USAGE, text));
    }
    let options = figures::Options {
        binary: std::env::current_exe()?,
        ledgers: args.ledgers.clone(),
        nats_server: args.nats_server.clone(),
        waiting: args.waiting.clone(),
        events: args.events,
        only: args.figures.clone(),
        quick: args.quick,
    };
    let report = figures::run(&options, |line| {
        output::remark(format_args!("bench: {line}"));
    })
    .await;
    output::text(&report)?;
    if args.json {
        let line = serde_json::to_string(&report).map_err(|e| Failure::new(UNAVAILABLE, e))?;
        output::line(line)?;
    }
    Ok(if report.is_whole() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Kills and stops parts of it. No handler is set for Ctrl-C: it ends this process, and whatever
/// was started goes with it.
async fn faults(args: &FaultsArgs) -> Result<ExitCode, Failure> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let options = Options {
        binary: std::env::current_exe()?,
        rounds: args.rounds,
        seed: args
            .seed
            .unwrap_or_else(|| now.unwrap_or_default().as_secs()),
        nats_server: args.nats_server.clone(),
    };
    let report = faults::run(&options, |line| output::remark(line)).await;
    if args.json {
        let line = serde_json::to_string(&report).map_err(|e| Failure::new(UNAVAILABLE, e))?;
        output::line(line)?;
    } else {
        output::line(&report)?;
    }
    Ok(if report.is_clean() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
