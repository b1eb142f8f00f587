//! What agents plan and people follow (E16).

use super::History;
use crate::world::Shown;
use askbus_domain::{Event, Plan, SessionId};
use askbus_wire::plan::{snapshot, to_proto};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Every revision of every session's plans, as the log has them: the first is 1, and none is missing.
type Revisions<'a> = BTreeMap<&'a SessionId, Vec<Plan>>;

fn revisions<'a>(history: &'a History<'_>) -> Revisions<'a> {
    let mut sessions: Revisions<'a> = BTreeMap::new();
    for (_, session, event) in history.events() {
        let plans = sessions.entry(session).or_default();
        match event {
            Event::Plan { plan, .. } => plans.push(plan.as_ref().clone()),
            Event::Ended {
                plan: Some(end), ..
            } => {
                let ended = plans.last().map(|plan| plan.ended(end));
                plans.extend(ended);
            }
            _ => {}
        }
    }
    sessions
}

/// Whether an object shows this revision of the session's plan.
fn shows(object: &Value, session: &SessionId, plan: &Plan) -> bool {
    let fields = snapshot(&to_proto(session, plan));
    let same = fields
        .iter()
        .all(|(name, value)| object.get(name) == Some(value));
    same && object.get("explanation").is_some() == plan.explanation.is_some()
}

/// What an object shows, if the log has it.
fn found<'a>(revisions: &'a Revisions<'_>, object: &Value) -> Option<(&'a SessionId, &'a Plan)> {
    let named = object.get("session_id").and_then(Value::as_str);
    let (session, plans) = revisions
        .iter()
        .find(|(id, _)| Some(id.as_str()) == named)?;
    let revision = object.get("revision").and_then(Value::as_u64)?;
    let plan = plans.iter().find(|plan| plan.revision == revision)?;
    shows(object, session, plan).then_some((*session, plan))
}

/// An update counts once in a turn, and its agent is told what it led to then. A process whose turn was
/// taken from it means what it says in its next one too.
pub fn check_planned(history: &History<'_>) -> Vec<String> {
    let revisions = revisions(history);
    let mut broken = Vec::new();
    let mut texts = BTreeSet::new();
    for (_, session, event) in history.events() {
        let Event::Plan { plan, .. } = event else {
            continue;
        };
        let text = plan.steps.first().map(|step| step.step.as_str());
        if !texts.insert((session, &plan.plan_id, text)) {
            broken.push(format!("an update of {session} counts twice: {text:?}"));
        }
    }
    for planned in &history.records.planned {
        let shown = Value::from(snapshot(&planned.shown));
        let own = planned.shown.plan.first().map(|step| &step.step) == Some(&planned.text);
        if !own || found(&revisions, &shown).is_none() {
            broken.push(format!("{} is not what the log has: {shown}", planned.text));
        }
    }
    broken
}

/// Every screen shows plans as the log has them, and of each session the revisions in their order.
pub fn check_followed(history: &History<'_>) -> Vec<String> {
    let revisions = revisions(history);
    let mut broken = Vec::new();
    let mut last: BTreeMap<(u64, &SessionId), u64> = BTreeMap::new();
    let is_plan =
        |object: &Value| object.get("event").and_then(Value::as_str) == Some("plan.updated");
    let shown = history.records.shown.iter();
    for Shown {
        person,
        connection,
        object,
        ..
    } in shown.filter(|shown| is_plan(&shown.object))
    {
        let Some((session, plan)) = found(&revisions, object) else {
            broken.push(format!(
                "{person} sees a plan that the log does not have: {object}"
            ));
            continue;
        };
        let before = last.insert((*connection, session), plan.revision);
        if before.is_some_and(|before| before > plan.revision) {
            broken.push(format!("{person} sees revision {before:?} before {object}"));
        }
    }
    broken
}

/// When everything is over a gateway lists the last revision of each session's plan, and none runs
/// whose turn does not.
pub fn check_listed(history: &History<'_>) -> Vec<String> {
    let revisions = revisions(history);
    let mut broken = Vec::new();
    for list in &history.records.plan_lists {
        let listed = list.get("plans").and_then(Value::as_array);
        let listed: Vec<&Value> = listed.into_iter().flatten().collect();
        for (session, plans) in &revisions {
            let Some(plan) = plans.last() else { continue };
            let shown = listed.iter().filter(|object| shows(object, session, plan));
            if shown.count() != 1 {
                broken.push(format!("{session} ends with {plan:?}, which is not listed"));
            }
        }
        let planning = revisions.values().filter(|plans| !plans.is_empty());
        if listed.len() != planning.count() {
            broken.push(format!("{} plans are listed: {list}", listed.len()));
        }
    }
    broken
}
