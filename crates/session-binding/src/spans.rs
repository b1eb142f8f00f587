//! What a session-binding shows of its work in traces: ids, numbers and words, never what was asked
//! or answered.

use crate::commands::Work;
use crate::projection::Key;
use crate::service::Core;
use askbus_domain::{ClarifyId, Command, Commit, Event, Verdict};
use askbus_telemetry::{Kind, Span};
use askbus_wire::codec::event_names;

/// The name of this service in traces.
const SERVICE: &str = "askbus-session-binding";

/// Begins a piece of work on a session's behalf.
pub(crate) fn begin(name: &'static str, kind: Kind, parent: Option<&str>) -> Span {
    Span::begin(SERVICE, name, kind, parent)
}

/// Notes the session.
pub(crate) fn note_session(span: &mut Span, key: &Key) {
    span.note("askbus.tenant", || key.0.to_string());
    span.note("askbus.session", || key.1.to_string());
}

/// The traces of the questions that these events settle, and of the caller, the one that counts
/// first. What ends a turn or a wait belongs to the question that it ends; everything else to
/// whoever caused it.
pub(crate) fn traces(
    core: &Core,
    work: &Work,
    events: &[Event],
    caller: Option<&str>,
) -> Vec<String> {
    let settled = events.iter().filter_map(|event| match event {
        Event::Resolved { clarify_id, .. } => core.projection.trace_of(*clarify_id),
        _ => None,
    });
    let mut traces: Vec<String> = settled.map(|trace| trace.to_string()).collect();
    if let Some(caller) = caller {
        let at = if ends(work) { traces.len() } else { 0 };
        traces.insert(at, caller.to_owned());
    }
    traces
}

fn ends(work: &Work) -> bool {
    match work {
        Work::Lost(_) => true,
        Work::Command(command) => matches!(
            command,
            Command::End { .. } | Command::Expire { .. } | Command::ExpireTurn { .. }
        ),
        Work::Ask(..) | Work::Past(..) | Work::Record(_) => false,
    }
}

/// The append of a commit.
pub(crate) fn append(commit: &Commit, traces: &[String]) -> Span {
    let mut span = begin("append", Kind::Producer, traces.first().map(String::as_str));
    for other in traces.iter().skip(1) {
        span.link(Some(other));
    }
    span.note("askbus.tenant", || commit.tenant.to_string());
    span.note("askbus.session", || commit.session_id.to_string());
    span.note("askbus.events", || event_names(commit));
    if let Some(id) = commit.events.iter().find_map(Event::clarify_id) {
        note_question(&mut span, id);
    }
    let reason = commit.events.iter().find_map(|event| match event {
        Event::Resolved { outcome, .. } => Some(outcome.reason),
        _ => None,
    });
    if let Some(reason) = reason {
        span.note("askbus.reason", || reason.as_str());
    }
    span
}

/// What a verdict is called.
pub(crate) const fn verdict_word(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Settled(_) => "settled",
        Verdict::Conflict(_) => "conflict",
        Verdict::Late { .. } => "late",
        Verdict::Held => "held",
        Verdict::PassedOn(_) => "passed_on",
        Verdict::Refused(_) => "refused",
    }
}

/// Notes the question.
pub(crate) fn note_question(span: &mut Span, id: ClarifyId) {
    span.note("askbus.clarify_id", || id.to_string());
}
