//! All figures, as one object and as a table for people.

use super::cold_session::ColdSessions;
use super::cold_start::{ColdStart, ColdStarts};
use super::machine::Machine;
use super::place::Place;
use super::processes::Resident;
use super::replay::Replay;
use super::samples::short;
use super::submit::Submits;
use super::throughput::Throughput;
use super::waiting::WaitingFigures;
use serde::Serialize;
use std::fmt;

/// Everything that was measured.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// The version of the program.
    pub version: &'static str,
    /// Where.
    pub machine: Option<Machine>,
    /// The agent's side: its MCP server.
    pub cold_start: Option<ColdStarts>,
    /// What was measured on each ledger.
    pub ledgers: Vec<OnLedger>,
    /// What could not be measured.
    pub failed: Vec<Failed>,
}

/// A step that did not come to its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Failed {
    /// On which ledger, or on this machine.
    pub place: String,
    /// Which.
    pub step: String,
    /// Why.
    pub error: String,
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}: {}", self.place, self.step, self.error)
    }
}

/// The figures of one ledger.
#[derive(Debug, Clone, Serialize)]
pub struct OnLedger {
    /// Which.
    pub ledger: Place,
    /// From submitting to the agent's result.
    pub submit_to_result: Option<Submits>,
    /// Many at once.
    pub throughput: Option<Throughput>,
    /// Sessions left alone for long.
    pub cold_session: Option<ColdSessions>,
    /// Many waiting.
    pub waiting: Option<WaitingFigures>,
    /// A long log.
    pub replay: Option<Replay>,
}

/// The name of a figure and what it came to.
pub(crate) type Row = (String, String);

/// Figures as people read them.
pub(crate) trait Rows {
    /// One for each figure.
    fn rows(&self) -> Vec<Row>;
}

impl Report {
    /// Nothing is measured yet.
    pub(crate) const fn nothing() -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION"),
            machine: None,
            cold_start: None,
            ledgers: Vec::new(),
            failed: Vec::new(),
        }
    }

    /// Whether everything was measured that was to be.
    pub fn is_whole(&self) -> bool {
        self.failed.is_empty()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "askbus {}", self.version)?;
        if let Some(machine) = &self.machine {
            let Machine {
                cores, processor, ..
            } = machine;
            let (memory, kernel) = (machine.memory_mib, &machine.kernel);
            write!(f, " on {cores} × {processor}, {memory} MiB, Linux {kernel}")?;
        }
        writeln!(f, "; p50 / p99")?;
        if self.machine.as_ref().is_some_and(|m| !m.optimised) {
            writeln!(
                f,
                "built without optimisation: these figures say nothing of a release"
            )?;
        }
        let mut rows = self.machine.rows();
        rows.extend(self.cold_start.rows());
        table(f, "this machine", &rows)?;
        for on in &self.ledgers {
            table(f, on.ledger.name(), &on.rows())?;
        }
        if !self.is_whole() {
            writeln!(f, "\nnot measured")?;
        }
        for failed in &self.failed {
            writeln!(f, "  {failed}")?;
        }
        Ok(())
    }
}

fn table(f: &mut fmt::Formatter<'_>, title: &str, rows: &[Row]) -> fmt::Result {
    let width = rows
        .iter()
        .map(|(name, _)| name.chars().count())
        .max()
        .unwrap_or(0);
    writeln!(f, "\n{title}")?;
    for (name, value) in rows {
        writeln!(f, "  {name:<width$}  {value}")?;
    }
    Ok(())
}

fn mib(kib: u64) -> String {
    format!("{:.1} MiB", kib as f64 / 1024.0)
}

impl<T: Rows> Rows for Option<T> {
    fn rows(&self) -> Vec<Row> {
        self.as_ref().map(Rows::rows).unwrap_or_default()
    }
}

impl Rows for Machine {
    fn rows(&self) -> Vec<Row> {
        vec![row(
            "the disk: one block written and waited for",
            self.fsync,
        )]
    }
}

impl Rows for ColdStarts {
    fn rows(&self) -> Vec<Row> {
        let mut all = cold_start("askbus mcp", &self.askbus).to_vec();
        match &self.node {
            Some(node) => all.extend(cold_start("least server in Node", node)),
            None => all.push(row("least server in Node", "no node here")),
        }
        all
    }
}

fn cold_start(name: &str, server: &ColdStart) -> [Row; 2] {
    let memory = format!(
        "{} ({} of it no file)",
        mib(server.rss_kib),
        mib(server.anonymous_kib)
    );
    [
        row(
            format!("{name}: start until tools/list is answered"),
            server.until_tools_listed,
        ),
        row(format!("{name}: resident memory then"), memory),
    ]
}

fn memory(processes: &[Resident]) -> String {
    let each = processes
        .iter()
        .map(|p| format!("{} {}", p.process, mib(p.rss_kib)));
    each.collect::<Vec<_>>().join(", ")
}

impl OnLedger {
    /// Not measured yet.
    pub(crate) const fn nothing(ledger: Place) -> Self {
        Self {
            ledger,
            submit_to_result: None,
            throughput: None,
            cold_session: None,
            waiting: None,
            replay: None,
        }
    }
}

impl Rows for OnLedger {
    fn rows(&self) -> Vec<Row> {
        let mut rows = self.submit_to_result.rows();
        rows.extend(self.throughput.rows());
        rows.extend(self.cold_session.rows());
        rows.extend(self.waiting.rows());
        rows.extend(self.replay.rows());
        rows
    }
}

fn row(name: impl Into<String>, value: impl fmt::Display) -> Row {
    (name.into(), value.to_string())
}

impl Rows for Submits {
    fn rows(&self) -> Vec<Row> {
        vec![
            row("person submits (live) → agent has the result", self.live),
            row(
                "person submits (request) → agent has the result",
                self.request,
            ),
        ]
    }
}

impl Rows for Throughput {
    fn rows(&self) -> Vec<Row> {
        let rate = format!(
            "{:.0} ({} questions, {} at once, lost {}, repeated {})",
            self.per_second, self.questions, self.at_once, self.lost, self.repeated
        );
        let cpu = format!(
            "{:.0} µs in services, {:.0} µs in this program",
            self.services_cpu_us, self.own_cpu_us
        );
        vec![
            row("asked and answered a second", rate),
            row("  processor time of one", cpu),
        ]
    }
}

impl Rows for ColdSessions {
    fn rows(&self) -> Vec<Row> {
        let alone = format!("left alone for {} messages", self.messages_between);
        vec![
            row(format!("answer to a session {alone}"), self.cold),
            row("  the next one in the same session", self.warm),
        ]
    }
}

impl Rows for WaitingFigures {
    fn rows(&self) -> Vec<Row> {
        let mut rows = vec![
            row("nothing waits: one more is shown", self.none.shown),
            row("nothing waits: one more is answered", self.none.answered),
        ];
        for w in &self.waiting {
            let n = w.questions;
            let each = short(w.bytes_per_question / 1024.0);
            let opens = short(w.panel_opens_ms);
            rows.extend([
                row(format!("{n} wait: one more is shown"), w.one_more_shown),
                row(
                    format!("{n} wait: one more is answered"),
                    w.one_more_answered,
                ),
                row(format!("{n} wait: memory for each"), format!("{each} KiB")),
                row(format!("{n} wait: memory"), memory(&w.processes)),
                row(format!("{n} wait: a panel opens"), format!("{opens} ms")),
                row(format!("{n} wait: asked a second"), w.asked_per_second),
            ]);
        }
        let d = &self.drained;
        rows.push(row(
            format!("{} answered by requests, a second", d.questions),
            format!(
                "{} (lost {}, repeated {})",
                d.answered_per_second, d.lost, d.repeated
            ),
        ));
        rows
    }
}

impl Rows for Replay {
    fn rows(&self) -> Vec<Row> {
        let log = format!("log of {}", self.events);
        let ready = |ready: &super::replay::Ready| {
            let ms = short(ready.ms);
            row(
                format!("{log}: {} is ready", ready.service),
                format!("{ms} ms"),
            )
        };
        let mut rows: Vec<Row> = self.ready_ms.iter().map(ready).collect();
        rows.push(row(format!("{log}: memory"), memory(&self.processes)));
        rows.push(row(
            format!("{log}: written a second"),
            self.written_per_second,
        ));
        rows
    }
}
