//! What the rounds came to, as one object.

use super::check::Kind;
use super::plan::Plan;
use super::round::Round;
use super::{Options, count};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

/// The object that `askbus bench faults --json` prints last.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// Rounds played to their end.
    pub rounds: u64,
    /// Rounds that could not be played to their end.
    pub unfinished: u64,
    /// The seed of the first round.
    pub seed: u64,
    /// Whether over NATS.
    pub nats: bool,
    /// Questions asked.
    pub asked: u64,
    /// Questions settled by a person's answer.
    pub answered: u64,
    /// Answers that came too late and are kept.
    pub late: u64,
    /// Questions withdrawn because their asker or their turn was gone.
    pub cancelled: u64,
    /// Revisions of a plan that its host was told are stored.
    pub plan_revisions: u64,
    /// What the channel was told, each once.
    pub notices: u64,
    /// What it was told again, under the same name.
    pub repeated: u64,
    /// Answers, questions, outcomes or plans that are gone, and questions that the channel was not told of.
    pub lost: u64,
    /// Questions, updates of a plan or notices with two truths.
    pub double: u64,
    /// Ended questions that went on.
    pub resurrected: u64,
    /// Rounds by victim and signal.
    pub victims: BTreeMap<String, u64>,
    /// The rounds that failed.
    pub failed: Vec<Failed>,
    /// How long all of it took.
    pub seconds: f64,
}

/// A round that failed.
#[derive(Debug, Clone, Serialize)]
pub struct Failed {
    /// Its seed.
    pub seed: u64,
    /// Who was hit, and how.
    pub victim: String,
    /// What was found.
    pub what: Vec<String>,
    /// The command that plays it again.
    pub again: String,
}

impl Report {
    pub(super) fn new(options: &Options) -> Self {
        Self {
            rounds: 0,
            unfinished: 0,
            seed: options.seed,
            nats: options.nats_server.is_some(),
            asked: 0,
            answered: 0,
            late: 0,
            cancelled: 0,
            plan_revisions: 0,
            notices: 0,
            repeated: 0,
            lost: 0,
            double: 0,
            resurrected: 0,
            victims: BTreeMap::new(),
            failed: Vec::new(),
            seconds: 0.0,
        }
    }

    /// Adds a round.
    pub(super) fn add(
        &mut self,
        options: &Options,
        plan: &Plan,
        victim: String,
        played: anyhow::Result<Round>,
    ) {
        *self.victims.entry(victim.clone()).or_default() += 1;
        let what = match played {
            Ok(round) => {
                self.rounds += 1;
                self.asked += round.asked;
                self.answered += round.answered;
                self.late += round.late;
                self.cancelled += round.cancelled;
                self.plan_revisions += round.plan_revisions;
                self.notices += round.notices;
                self.repeated += round.repeated;
                self.lost += count(&round.findings, Kind::Lost);
                self.double += count(&round.findings, Kind::Double);
                self.resurrected += count(&round.findings, Kind::Resurrected);
                round.findings.iter().map(ToString::to_string).collect()
            }
            Err(error) => {
                self.unfinished += 1;
                vec![format!("{error:#}")]
            }
        };
        if !what.is_empty() {
            self.failed.push(Failed {
                seed: plan.seed,
                victim,
                what,
                again: again(options, plan.seed),
            });
        }
    }

    /// Whether every promise was kept, in every round.
    pub fn is_clean(&self) -> bool {
        self.failed.is_empty()
    }
}

fn again(options: &Options, seed: u64) -> String {
    let nats = options.nats_server.as_ref();
    let nats = nats.map(|path| format!(" --nats-server {}", path.display()));
    let nats = nats.unwrap_or_default();
    format!("askbus bench faults --rounds 1 --seed {seed}{nats}")
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            rounds,
            asked,
            answered,
            late,
            cancelled,
            plan_revisions,
            notices,
            repeated,
            lost,
            double,
            resurrected,
            unfinished,
            seconds,
            ..
        } = self;
        writeln!(
            f,
            "{rounds} rounds in {seconds:.0} s, {unfinished} not played to their end"
        )?;
        writeln!(
            f,
            "{asked} asked, {answered} answered, {late} late, {cancelled} withdrawn"
        )?;
        writeln!(
            f,
            "{plan_revisions} revisions of a plan, {notices} notices in a chat, {repeated} of them again"
        )?;
        write!(f, "{lost} lost, {double} double, {resurrected} resurrected")
    }
}
