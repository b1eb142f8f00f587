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
    pub submit_to_result: Submits,
    /// Many at once.
    pub throughput: Throughput,
    /// Sessions left alone for long.
    pub cold_session: ColdSessions,
    /// Many waiting.
    pub waiting: WaitingFigures,
    /// A long log.
    pub replay: Replay,
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
    fn rows(&self) -> Vec<Row> {
        let mut rows = Vec::new();
        let mut row = |name: String, value: String| rows.push((name, value));
        let submit = &self.submit_to_result;
        row(
            "person submits (live) → agent has the result".into(),
            submit.live.to_string(),
        );
        row(
            "person submits (request) → agent has the result".into(),
            submit.request.to_string(),
        );
        let t = &self.throughput;
        row(
            "asked and answered a second".into(),
            format!(
                "{:.0} ({} questions, {} at once, lost {}, repeated {})",
                t.per_second, t.questions, t.at_once, t.lost, t.repeated
            ),
        );
        row(
            "  processor time of one".into(),
            format!(
                "{:.0} µs in services, {:.0} µs in this program",
                t.services_cpu_us, t.own_cpu_us
            ),
        );
        let cold = &self.cold_session;
        row(
            format!(
                "answer to a session left alone for {} messages",
                cold.messages_between
            ),
            cold.cold.to_string(),
        );
        row(
            "  the next one in the same session".into(),
            cold.warm.to_string(),
        );
        let none = &self.waiting.none;
        row(
            "nothing waits: one more is shown".into(),
            none.shown.to_string(),
        );
        row(
            "nothing waits: one more is answered".into(),
            none.answered.to_string(),
        );
        for w in &self.waiting.waiting {
            let n = w.questions;
            row(
                format!("{n} wait: one more is shown"),
                w.one_more_shown.to_string(),
            );
            row(
                format!("{n} wait: one more is answered"),
                w.one_more_answered.to_string(),
            );
            row(
                format!("{n} wait: memory for each"),
                format!("{} KiB", short(w.bytes_per_question / 1024.0)),
            );
            row(format!("{n} wait: memory"), memory(&w.processes));
            row(
                format!("{n} wait: a panel opens"),
                format!("{} ms", short(w.panel_opens_ms)),
            );
            row(
                format!("{n} wait: asked a second"),
                format!("{:.0}", w.asked_per_second),
            );
        }
        let d = &self.waiting.drained;
        row(
            format!("{} answered by requests, a second", d.questions),
            format!(
                "{:.0} (lost {}, repeated {})",
                d.answered_per_second, d.lost, d.repeated
            ),
        );
        let r = &self.replay;
        for ready in &r.ready_ms {
            row(
                format!("log of {}: {} is ready", r.events, ready.service),
                format!("{} ms", short(ready.ms)),
            );
        }
        row(format!("log of {}: memory", r.events), memory(&r.processes));
        row(
            format!("log of {}: written a second", r.events),
            format!("{:.0}", r.written_per_second),
        );
        rows
    }
}
