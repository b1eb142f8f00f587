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
    pub machine: Machine,
    /// The agent's side: its MCP server.
    pub cold_start: ColdStarts,
    /// What was measured on each ledger.
    pub ledgers: Vec<OnLedger>,
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
type Row = (String, String);

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let machine = &self.machine;
        writeln!(
            f,
            "askbus {} on {} × {}, {} MiB, Linux {}; p50 / p99",
            self.version, machine.cores, machine.processor, machine.memory_mib, machine.kernel
        )?;
        if !machine.optimised {
            writeln!(
                f,
                "built without optimisation: these figures say nothing of a release"
            )?;
        }
        let mut rows = vec![(
            "the disk: one block written and waited for".to_owned(),
            machine.fsync.to_string(),
        )];
        rows.extend(cold_starts(&self.cold_start));
        table(f, "this machine", &rows)?;
        for on in &self.ledgers {
            table(f, on.ledger.name(), &on.rows())?;
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

fn cold_starts(measured: &ColdStarts) -> Vec<Row> {
    let rows = |name: &str, server: &ColdStart| {
        let memory = format!(
            "{} ({} of it no file)",
            mib(server.rss_kib),
            mib(server.anonymous_kib)
        );
        [
            (
                format!("{name}: start until tools/list is answered"),
                server.until_tools_listed.to_string(),
            ),
            (format!("{name}: resident memory then"), memory),
        ]
    };
    let mut all = rows("askbus mcp", &measured.askbus).to_vec();
    match &measured.node {
        Some(node) => all.extend(rows("least server in Node", node)),
        None => all.push(("least server in Node".to_owned(), "no node here".to_owned())),
    }
    all
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

    fn rows(&self) -> Vec<Row> {
        let mut rows = Vec::new();
        rows.extend(self.submit_to_result.iter().flat_map(submits));
        rows.extend(self.throughput.iter().flat_map(throughput));
        rows.extend(self.cold_session.iter().flat_map(cold_sessions));
        rows.extend(self.waiting.iter().flat_map(waiting));
        rows.extend(self.replay.iter().flat_map(replay));
        rows
    }
}

fn row(name: impl Into<String>, value: impl fmt::Display) -> Row {
    (name.into(), value.to_string())
}

fn submits(s: &Submits) -> [Row; 2] {
    [
        row("person submits (live) → agent has the result", s.live),
        row("person submits (request) → agent has the result", s.request),
    ]
}

fn throughput(t: &Throughput) -> [Row; 2] {
    let rate = format!(
        "{:.0} ({} questions, {} at once, lost {}, repeated {})",
        t.per_second, t.questions, t.at_once, t.lost, t.repeated
    );
    let cpu = format!(
        "{:.0} µs in services, {:.0} µs in this program",
        t.services_cpu_us, t.own_cpu_us
    );
    [
        row("asked and answered a second", rate),
        row("  processor time of one", cpu),
    ]
}

fn cold_sessions(c: &ColdSessions) -> [Row; 2] {
    let alone = format!("left alone for {} messages", c.messages_between);
    [
        row(format!("answer to a session {alone}"), c.cold),
        row("  the next one in the same session", c.warm),
    ]
}

fn waiting(figures: &WaitingFigures) -> Vec<Row> {
    let mut rows = vec![
        row("nothing waits: one more is shown", figures.none.shown),
        row("nothing waits: one more is answered", figures.none.answered),
    ];
    for w in &figures.waiting {
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
    let d = &figures.drained;
    rows.push(row(
        format!("{} answered by requests, a second", d.questions),
        format!(
            "{} (lost {}, repeated {})",
            d.answered_per_second, d.lost, d.repeated
        ),
    ));
    rows
}

fn replay(r: &Replay) -> Vec<Row> {
    let log = format!("log of {}", r.events);
    let ready = |ready: &super::replay::Ready| {
        let ms = short(ready.ms);
        row(
            format!("{log}: {} is ready", ready.service),
            format!("{ms} ms"),
        )
    };
    let mut rows: Vec<Row> = r.ready_ms.iter().map(ready).collect();
    rows.push(row(format!("{log}: memory"), memory(&r.processes)));
    rows.push(row(
        format!("{log}: written a second"),
        r.written_per_second,
    ));
    rows
}
