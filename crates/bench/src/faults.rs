//! `askbus bench faults`: rounds in which something is killed or stopped while a hundred questions
//! wait and answers flow. Afterwards what people and agents were told is checked against the log.

mod agents;
mod board;
mod cast;
mod chat;
mod check;
mod log;
mod observer;
mod people;
mod plan;
mod planner;
mod report;
mod round;
mod seen;

pub use report::{Failed, Report};

use check::Kind;
use plan::Plan;
use std::path::PathBuf;
use std::time::Instant;

/// Findings of one round that are shown; the object at the end has all of them.
const SHOWN: usize = 12;

/// What to do.
#[derive(Debug, Clone)]
pub struct Options {
    /// The program.
    pub binary: PathBuf,
    /// How many rounds.
    pub rounds: u64,
    /// The seed of the first round; each further one has the next.
    pub seed: u64,
    /// The nats-server program; none: the embedded log.
    pub nats_server: Option<PathBuf>,
}

/// Plays the rounds one after the other. `tell` hears a line about each.
pub async fn run(options: &Options, tell: impl Fn(&str)) -> Report {
    let begun = Instant::now();
    let mut report = Report::new(options);
    for seed in (0..options.rounds).map(|round| options.seed.wrapping_add(round)) {
        let plan = Plan::of(seed, options.nats_server.is_some());
        let victim = format!("{} {}", plan.victim, plan.hit);
        let started = Instant::now();
        let played = round::play(options, &plan).await;
        let seconds = started.elapsed().as_secs_f64();
        let what = match &played {
            Ok(round) => {
                let (asked, answered, late) = (round.asked, round.answered, round.late);
                let cancelled = round.cancelled;
                format!("{asked} asked, {answered} answered, {late} late, {cancelled} withdrawn")
            }
            Err(error) => format!("not played to its end: {error:#}"),
        };
        let (after, down) = (plan.after, plan.down);
        tell(&format!(
            "seed {seed}: {victim} after {after} answers for {down:?}: {what}; {seconds:.1} s"
        ));
        report.add(options, &plan, victim, played);
        if let Some(failed) = report.failed.last().filter(|failed| failed.seed == seed) {
            for line in failed.what.iter().take(SHOWN) {
                tell(&format!("  {line}"));
            }
            if let Some(more) = failed
                .what
                .len()
                .checked_sub(SHOWN)
                .filter(|more| *more > 0)
            {
                tell(&format!("  and {more} more"));
            }
            tell(&format!("  again: {}", failed.again));
        }
    }
    report.seconds = begun.elapsed().as_secs_f64();
    report
}

fn count(findings: &[check::Finding], kind: Kind) -> u64 {
    findings.iter().filter(|f| f.kind == kind).count() as u64
}
