//! The laws of one session, as functions that tests, debug builds and the simulator call.

mod planned;
mod riding;

use crate::{Clarification, ClarifyId, DecidedBy, Dialect, Event, Outcome, Session, Timestamp};
use planned::Planned;
use riding::Riding;
use std::collections::{BTreeMap, BTreeSet};

/// A law that was broken, in words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Broken(String);

/// Nothing waits unless a turn is active (E11).
///
/// # Errors
/// Which clarification waits all the same.
pub fn check_waits_in_turn(session: &Session) -> Result<(), Broken> {
    match session.pending().next() {
        Some(waits) if session.active_turn().is_none() => Err(Broken(format!(
            "clarification {} waits although no turn is active",
            waits.id
        ))),
        _ => Ok(()),
    }
}

/// A plan runs only while its turn is on (E16).
///
/// # Errors
/// Which plan runs all the same.
pub fn check_plan_runs_in_turn(session: &Session) -> Result<(), Broken> {
    match session.plan() {
        Some(plan) if plan.is_running() && session.active_turn().is_none() => Err(Broken(format!(
            "plan {} runs although no turn is active",
            plan.plan_id
        ))),
        _ => Ok(()),
    }
}

/// An event settles nothing that is settled already, in the state before it.
///
/// # Errors
/// Which clarification is settled twice.
pub fn check_settles_once(before: &Session, event: &Event) -> Result<(), Broken> {
    match event {
        Event::Resolved { clarify_id, .. }
            if before
                .clarification(*clarify_id)
                .is_some_and(|c| !c.is_pending()) =>
        {
            Err(Broken(format!(
                "clarification {clarify_id} is settled twice"
            )))
        }
        _ => Ok(()),
    }
}

/// A clarification times out when its time is up and not before, and a person settles it only by an
/// answer that was stored by then (A4).
///
/// # Errors
/// Which clarification is settled too early or too late.
pub fn check_in_time(before: &Clarification, outcome: &Outcome) -> Result<(), Broken> {
    let (deadline, at) = (before.expires_at(), outcome.resolved_at);
    let early = outcome.is_by_clock() && at < deadline;
    let late = outcome.decided_by() == DecidedBy::Person && at > deadline;
    if before.is_pending() && (early || late) {
        let how = outcome.reason.as_str();
        return Err(Broken(format!(
            "clarification {} is settled as {how} at {at}, its time is up at {deadline}",
            before.id
        )));
    }
    Ok(())
}

/// What waits already with the same questions, of the same asker and for the same people.
fn same_waits(session: &Session, new: &Clarification) -> Option<ClarifyId> {
    let resumes = |c: &Clarification| c.dialect == Dialect::Ask;
    let same = |c: &&Clarification| {
        resumes(c)
            && resumes(new)
            && (&c.asker_id, &c.questions) == (&new.asker_id, &new.questions)
            && (&c.to, &c.parent) == (&new.to, &new.parent)
    };
    session.pending().find(same).map(|c| c.id)
}

/// The whole history of a session, each event with the moment the log stored it: every turn is begun
/// once; every clarification is asked once and within a turn, is settled once at most and in time, and
/// waits no longer than its turn; every late message that is on its way arrives, once; the revisions of
/// its plans grow one by one, and only the agent completes a step.
///
/// # Errors
/// The first law that is broken.
pub fn check_history<'a>(
    events: impl Iterator<Item = (Timestamp, &'a Event)>,
) -> Result<(), Broken> {
    let mut session = Session::default();
    let mut begun = BTreeSet::new();
    let mut riding = Riding::default();
    let mut planned = Planned::default();
    let mut asked: BTreeMap<ClarifyId, Clarification> = BTreeMap::new();
    for (at, event) in events {
        check_settles_once(&session, event)?;
        riding.take(session.latest_turn(), event)?;
        planned.take(&session, event)?;
        match event {
            Event::Begun { turn } if !begun.insert(&turn.begin_id) => {
                return Err(Broken(format!(
                    "turn {} was begun before as {}",
                    turn.context_id, turn.begin_id
                )));
            }
            Event::Begun { turn } if session.pending().next().is_some() => {
                return Err(Broken(format!(
                    "turn {} begins at {at} while a question of the last one waits",
                    turn.context_id
                )));
            }
            Event::Requested {
                clarify_id, ask_id, ..
            } => {
                if session.active_turn().is_none() {
                    return Err(Broken(format!("{clarify_id} is asked outside of a turn")));
                }
                // A call that is repeated asks once.
                if session.clarifications().any(|c| c.ask_id == *ask_id) {
                    return Err(Broken(format!("{clarify_id} was asked before by {ask_id}")));
                }
                let new = Clarification::requested(event);
                if let Some(same) = new.as_ref().and_then(|new| same_waits(&session, new)) {
                    return Err(Broken(format!(
                        "{clarify_id} is asked although {same} waits"
                    )));
                }
                if new.and_then(|c| asked.insert(*clarify_id, c)).is_some() {
                    return Err(Broken(format!("{clarify_id} is asked twice")));
                }
            }
            _ => {}
        }
        if let Some(id) = event.clarify_id() {
            let Some(clarification) = asked.get_mut(&id) else {
                return Err(Broken(format!("{id} was never asked")));
            };
            if let Event::Resolved { outcome, .. } = event {
                if !clarification.is_pending() {
                    return Err(Broken(format!("{id} is settled twice")));
                }
                check_in_time(clarification, outcome)?;
            }
            clarification.evolve(event);
        }
        session.evolve(event);
        if matches!(event, Event::Ended { .. }) {
            check_waits_in_turn(&session)?;
            check_plan_runs_in_turn(&session)?;
        }
    }
    riding.end()
}
