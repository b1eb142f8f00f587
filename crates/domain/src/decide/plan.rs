//! Planning: whose turn may show a plan, and what an update makes of it (E16).

use super::{bound_turn, fitting};
use crate::{Event, PlanCommand, Rejection, Session, Timestamp};
use std::sync::Arc;

/// The order of checks is E6's: binding and profile, turn, input. Questions of the turn do not matter
/// to it, nor it to them (E15).
pub(super) fn decide_update(
    state: &Session,
    update: &PlanCommand,
    now: Timestamp,
) -> Result<Vec<Event>, Rejection> {
    let (turn, end) = bound_turn(state, update.context_id, &update.profile)?;
    let planning = state.planning();
    if planning.knows(&update.update_id) {
        return Ok(Vec::new());
    }
    if end.is_some() || now >= turn.cap() {
        return Err(Rejection::NoActiveTurn);
    }
    // A turn without the card answers as if its context did not exist.
    if !turn.scope().plan {
        return Err(Rejection::ContextExpired);
    }
    let input = update.input.as_ref().map_err(Clone::clone)?;
    fitting(vec![Event::Plan {
        update_id: update.update_id.clone(),
        context_id: update.context_id,
        asker: update.asker.clone(),
        plan: Arc::new(planning.next(update.plan_id, turn, input, now)),
    }])
}
