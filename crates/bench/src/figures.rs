//! What Askbus costs on this machine: latency, throughput, memory and start-up, measured on real
//! services over each kind of ledger, from where agents and people are.

#![allow(
    clippy::cast_precision_loss,
    reason = "counts and sizes far below 2^52 become figures for people"
)]

mod answering;
mod asking;
mod cold_session;
mod cold_start;
mod machine;
mod place;
mod processes;
mod replay;
mod report;
mod samples;
mod story;
mod submit;
mod throughput;
mod waiting;

pub use cold_session::ColdSessions;
pub use cold_start::{ColdStart, ColdStarts};
pub use machine::Machine;
pub use place::Place;
pub use processes::Resident;
pub use replay::{Ready, Replay};
pub use report::{OnLedger, Report};
pub use samples::Spread;
pub use submit::Submits;
pub use throughput::Throughput;
pub use waiting::{Drained, OneMore, Waiting, WaitingFigures};

use anyhow::{Context as _, Result};
use place::Access;
use std::path::PathBuf;
use std::time::Instant;

/// What to measure.
#[derive(Debug, Clone)]
pub struct Options {
    /// The program.
    pub binary: PathBuf,
    /// On which ledgers.
    pub ledgers: Vec<Place>,
    /// The nats-server program; needed for all ledgers but the embedded one.
    pub nats_server: Option<PathBuf>,
    /// How many questions wait at once, each time.
    pub waiting: Vec<usize>,
    /// How long the log is that is read again.
    pub events: u64,
    /// Which figures of each ledger; none: all.
    pub only: Vec<Figure>,
    /// A few times each: for a look at whether everything works. The figures mean little.
    pub quick: bool,
}

/// A group of figures that are measured together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Figure {
    /// From submitting to the agent's result.
    Submit,
    /// Many at once, and sessions left alone meanwhile.
    Throughput,
    /// Many waiting.
    Waiting,
    /// A long log read again.
    Replay,
}

impl std::str::FromStr for Figure {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "submit" => Ok(Figure::Submit),
            "throughput" => Ok(Figure::Throughput),
            "waiting" => Ok(Figure::Waiting),
            "replay" => Ok(Figure::Replay),
            _ => Err(format!(
                "{text:?} is not one of submit, throughput, waiting, replay"
            )),
        }
    }
}

/// How often each thing is done.
struct Times {
    starts: usize,
    syncs: usize,
    rounds: usize,
    cold_sessions: usize,
    tenants: usize,
    questions: usize,
    probes: usize,
}

impl Times {
    const QUICK: Self = Self {
        starts: 2,
        syncs: 5,
        rounds: 5,
        cold_sessions: 3,
        tenants: 2,
        questions: 64,
        probes: 3,
    };
    const FULL: Self = Self {
        starts: 50,
        syncs: 200,
        rounds: 500,
        cold_sessions: 200,
        tenants: 48,
        questions: 60_000,
        probes: 100,
    };
}

/// Measures everything; says on standard error what it is at.
///
/// # Errors
/// When a service does not start or an answer does not come.
pub async fn run(options: &Options) -> Result<Report> {
    let times = if options.quick {
        Times::QUICK
    } else {
        Times::FULL
    };
    let folder = askbus_testkit::folder()?;
    let (binary, path) = (options.binary.clone(), folder.path().to_owned());
    let (starts, syncs) = (times.starts, times.syncs);
    say("this machine, and the start of an agent's server");
    let local = tokio::task::spawn_blocking(move || {
        let machine = Machine::look(&path, syncs)?;
        anyhow::Ok((machine, cold_start::measure(&binary, &path, starts)?))
    });
    let (machine, cold_start) = local.await??;
    let mut ledgers = Vec::with_capacity(options.ledgers.len());
    for place in &options.ledgers {
        let measured = on_ledger(*place, options, &times).await;
        ledgers.push(measured.with_context(|| format!("on {}", place.name()))?);
    }
    Ok(Report {
        version: env!("CARGO_PKG_VERSION"),
        machine,
        cold_start,
        ledgers,
    })
}

async fn on_ledger(place: Place, options: &Options, times: &Times) -> Result<OnLedger> {
    let name = place.name();
    let begun = Instant::now();
    let step = |what: &str| {
        let seconds = begun.elapsed().as_secs_f64();
        say(&format!("{name}, {seconds:.0} s: {what}"));
    };
    let wanted = |figure| options.only.is_empty() || options.only.contains(&figure);
    let deploy = || place.deploy(&options.binary, options.nats_server.as_deref());
    let mut on = OnLedger::nothing(place);

    if wanted(Figure::Submit) {
        step("submit to result");
        let deployment = deploy().await?;
        let access = Access::to(&deployment)?;
        let measured = submit::measure(&deployment, &access, times.rounds).await?;
        on.submit_to_result = Some(measured);
    }
    if wanted(Figure::Throughput) {
        step("many at once");
        let deployment = deploy().await?;
        let access = Access::to(&deployment)?;
        let left_alone = cold_session::Waiting::ask(&access, times.cold_sessions).await?;
        let throughput = throughput::measure(&access, times.tenants, times.questions).await?;
        step("sessions left alone");
        // Each question was asked and settled.
        let between = throughput.questions * 2;
        on.throughput = Some(throughput);
        on.cold_session = Some(left_alone.answer(&access, between).await?);
    }
    if wanted(Figure::Waiting) {
        step("many waiting");
        let deployment = deploy().await?;
        let access = Access::to(&deployment)?;
        on.waiting = Some(waiting::measure(&access, &options.waiting, times.probes).await?);
    }
    if wanted(Figure::Replay) {
        step("a long log");
        on.replay = Some(replay::measure(deploy().await?, options.events).await?);
    }
    step("done");
    Ok(on)
}

fn say(what: &str) {
    eprintln!("bench: {what}");
}
