//! Runs seeds: `--seed N` repeats one, `--seeds A..B` runs many and stops at nothing.

use askbus_simulator::{Report, run};
use clap::Parser;
use std::ops::Range;
use std::process::ExitCode;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

/// A run is one thread that takes and gives back all the time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// A seed that takes longer goes round in circles while time stands still.
const LONGEST: Duration = Duration::from_mins(5);

/// A whole bus on time that is made up, driven by a seed.
#[derive(Parser)]
struct Args {
    /// One seed, with all that the log and the inbox took in; what services say of it goes to
    /// standard error at the level of RUST_LOG.
    #[arg(long, conflicts_with = "seeds")]
    seed: Option<u64>,
    /// Many seeds, the last one excluded.
    #[arg(long, value_parser = range, default_value = "0..200")]
    seeds: Range<u64>,
}

fn range(text: &str) -> Result<Range<u64>, String> {
    let ends = text.split_once("..").ok_or("give a range such as 0..100")?;
    let end = |text: &str| text.parse().map_err(|e| format!("{text:?}: {e}"));
    Ok(end(ends.0)?..end(ends.1)?)
}

/// Runs a seed while somebody watches who ends everything when it does not come to an end.
fn run_watched(seed: u64) -> Report {
    let (done, waiting) = mpsc::channel::<()>();
    let watch = std::thread::spawn(move || {
        if waiting.recv_timeout(LONGEST) == Err(RecvTimeoutError::Timeout) {
            println!("seed {seed} does not end: {}", reproduction(seed));
            std::process::exit(1);
        }
    });
    let report = run(seed);
    drop(done);
    // It ends when nobody can be waited for any more.
    let _ = watch.join();
    report
}

fn reproduction(seed: u64) -> String {
    format!("cargo run -p askbus-simulator -- --seed {seed}")
}

fn main() -> ExitCode {
    let args = Args::parse();
    tracing_subscriber::fmt()
        .with_env_filter(tracing_subscriber::EnvFilter::from_default_env())
        .with_writer(std::io::stderr)
        .without_time()
        .init();
    let seeds = args
        .seed
        .map_or(args.seeds, |seed| seed..seed.saturating_add(1));
    let begun = Instant::now();
    let (mut failed, mut commits, mut asked, mut sent) = (0_u64, 0, 0, 0);
    for seed in seeds.clone() {
        let report = run_watched(seed);
        commits += report.commits;
        asked += report.asked;
        sent += report.sent;
        if args.seed.is_some() {
            for line in &report.story {
                println!("{line}");
            }
        }
        if !report.broken.is_empty() {
            failed += 1;
            println!("seed {seed}: {}", reproduction(seed));
            for broken in report.broken {
                println!("  {broken}");
            }
        }
    }
    let count = seeds.end.saturating_sub(seeds.start);
    println!(
        "{count} seeds, {failed} failed; {asked} questions, {sent} messages of people, {commits} commits in {:.1?}",
        begun.elapsed()
    );
    if failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
