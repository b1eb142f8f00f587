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
mod steps;
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
pub use report::{Failed, OnLedger, Report};
pub use samples::Spread;
pub use submit::Submits;
pub use throughput::Throughput;
pub use waiting::{Drained, OneMore, Waiting, WaitingFigures};

use anyhow::Result;
use place::Access;
use std::path::{Path, PathBuf};
use steps::Steps;
use tokio::task::spawn_blocking;

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

/// Measures everything. `tell` hears what it is at and, as soon as a step is done, its figures. A step
/// that fails takes nothing of the others with it: the report names it.
pub async fn run(options: &Options, tell: impl FnMut(&str)) -> Report {
    let times = if options.quick {
        Times::QUICK
    } else {
        Times::FULL
    };
    let mut steps = Steps::new(tell);
    let mut report = Report::nothing();
    steps.place("this machine");
    let binary = options.binary.clone();
    let (starts, syncs) = (times.starts, times.syncs);
    let looking = in_folder(move |folder| Machine::look(folder, syncs));
    report.machine = steps.step("the disk", Box::pin(looking)).await;
    let starting = in_folder(move |folder| cold_start::measure(&binary, folder, starts));
    let starting = steps.step("the start of an agent's server", Box::pin(starting));
    report.cold_start = starting.await;
    for place in &options.ledgers {
        report.ledgers.push(OnLedger::nothing(*place));
        if let Some(on) = report.ledgers.last_mut() {
            Box::pin(on_ledger(on, options, &times, &mut steps)).await;
        }
    }
    report.failed = steps.failed();
    report
}

/// Runs what blocks in a folder of its own.
async fn in_folder<T: Send + 'static>(
    body: impl FnOnce(&Path) -> Result<T> + Send + 'static,
) -> Result<T> {
    let folder = askbus_testkit::folder()?;
    spawn_blocking(move || body(folder.path())).await?
}

async fn on_ledger<T: FnMut(&str)>(
    on: &mut OnLedger,
    options: &Options,
    times: &Times,
    steps: &mut Steps<T>,
) {
    let place = on.ledger;
    steps.place(place.name());
    let wanted = |figure| options.only.is_empty() || options.only.contains(&figure);
    let deploy = || place.deploy(&options.binary, options.nats_server.as_deref());

    if wanted(Figure::Submit) {
        let measuring = async {
            let deployment = deploy().await?;
            let access = Access::to(&deployment)?;
            submit::measure(&deployment, &access, times.rounds).await
        };
        on.submit_to_result = steps.step("submit to result", Box::pin(measuring)).await;
    }
    if wanted(Figure::Throughput) {
        Box::pin(many_at_once(on, deploy(), times, steps)).await;
    }
    if wanted(Figure::Waiting) {
        let measuring = async {
            let deployment = deploy().await?;
            let access = Access::to(&deployment)?;
            waiting::measure(&access, &options.waiting, times.probes).await
        };
        on.waiting = steps.step("many waiting", Box::pin(measuring)).await;
    }
    if wanted(Figure::Replay) {
        let measuring = async { replay::measure(deploy().await?, options.events).await };
        on.replay = steps.step("a long log", Box::pin(measuring)).await;
    }
}

/// Both figures come of one deployment: sessions are left alone while the others are at work.
async fn many_at_once<T: FnMut(&str)>(
    on: &mut OnLedger,
    deploying: impl Future<Output = Result<crate::deployment::Deployment>>,
    times: &Times,
    steps: &mut Steps<T>,
) {
    let measuring = async {
        let deployment = deploying.await?;
        let access = Access::to(&deployment)?;
        let left_alone = cold_session::Waiting::ask(&access, times.cold_sessions).await?;
        let throughput = throughput::measure(&access, times.tenants, times.questions).await?;
        Ok((throughput, (deployment, access, left_alone)))
    };
    let measured = steps.step_with("many at once", Box::pin(measuring)).await;
    let Some((throughput, (deployment, access, left_alone))) = measured else {
        return;
    };
    // Each question was asked and settled.
    let between = throughput.questions * 2;
    on.throughput = Some(throughput);
    let answering = left_alone.answer(&access, between);
    on.cold_session = steps.step("sessions left alone", Box::pin(answering)).await;
    drop(deployment);
}
