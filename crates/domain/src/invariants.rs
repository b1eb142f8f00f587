//! The laws of one session, as functions that tests, debug builds and the simulator call.

use crate::{Clarification, ClarifyId, Event, Session, Timestamp};
use std::collections::BTreeMap;

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

/// What rides on to the agent was waiting to, and every late message rides once at most.
fn check_rides(before: &Session, event: &Event) -> Result<(), Broken> {
    let riding = match event {
        Event::Resolved { outcome, .. } => &outcome.late,
        Event::Begun { turn } => &turn.late,
        _ => return Ok(()),
    };
    match riding.iter().find(|m| !before.late().contains(m)) {
        Some(message) => Err(Broken(format!(
            "late message {} to {} rides although it does not wait",
            message.answer_id, message.clarify_id
        ))),
        None => Ok(()),
    }
}

/// The whole history of a session, each event with the moment the log stored it: every clarification
/// is asked once and within a turn, is settled once at most, and waits no longer than its turn.
///
/// # Errors
/// The first law that is broken.
pub fn check_history<'a>(
    events: impl Iterator<Item = (Timestamp, &'a Event)>,
) -> Result<(), Broken> {
    let mut session = Session::default();
    let mut asked: BTreeMap<ClarifyId, Clarification> = BTreeMap::new();
    for (at, event) in events {
        check_settles_once(&session, event)?;
        check_rides(&session, event)?;
        match event {
            Event::Begun { turn } if session.pending().next().is_some() => {
                return Err(Broken(format!(
                    "turn {} begins at {at} while a question of the last one waits",
                    turn.context_id
                )));
            }
            Event::Requested { clarify_id, .. } => {
                if session.active_turn().is_none() {
                    return Err(Broken(format!("{clarify_id} is asked outside of a turn")));
                }
                let new = Clarification::requested(event);
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
            if matches!(event, Event::Resolved { .. }) && !clarification.is_pending() {
                return Err(Broken(format!("{id} is settled twice")));
            }
            clarification.evolve(event);
        }
        session.evolve(event);
        if matches!(event, Event::Ended { .. }) {
            check_waits_in_turn(&session)?;
        }
    }
    Ok(())
}
