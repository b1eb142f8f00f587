//! Beginning and ending turns (E11).

use super::{bound_turn, by_clock, withdrawn};
use crate::{
    BeginCommand, CancelCause, Clarification, ContextId, Event, Holder, ProfileId, Rejection,
    Session, Timestamp, Turn, TurnEnd,
};

pub(super) fn decide_begin(
    state: &Session,
    begin: &BeginCommand,
    now: Timestamp,
) -> Result<Vec<Event>, Rejection> {
    if let Some((turn, end)) = state.latest_turn() {
        if turn.profile != begin.profile {
            return Err(Rejection::ContextExpired);
        }
        if turn.begin_id == begin.begin_id {
            return Ok(Vec::new());
        }
        // Replaced, it would take along what the same process asked elsewhere.
        if end.is_none() && now < turn.cap() && turn.is_begun_by(begin) {
            return Ok(Vec::new());
        }
        if turn.earlier_begins.contains(&begin.begin_id) {
            return Err(Rejection::ContextExpired);
        }
        // A host says what becomes of its sessions. A process without one only knows a name that
        // somebody else knows too, and must not take along what others asked under it.
        if begin.own && end.is_none() && now < turn.cap() {
            return Err(Rejection::SessionTaken);
        }
    }
    let mut events = match state.active_turn() {
        Some(old) => end_turn(state, old, TurnEnd::Replaced, now),
        None => Vec::new(),
    };
    let mut turn = Turn {
        earlier_begins: state
            .latest_turn()
            .map(|(t, _)| t.begins_so_far())
            .unwrap_or_default(),
        work_begun: state.work_begun(),
        ..Turn::begun(begin, now)
    };
    // An instruction takes late messages along; without one they wait for a result.
    if turn.own || !turn.scope().clarify {
        turn.undelivered = state.late().to_vec();
    } else {
        turn.late = state.late().to_vec();
    }
    // Whatever the old turn's plan came to is below the first revision of the next one.
    turn.plan_revision = events
        .iter()
        .find_map(|event| match event {
            Event::Ended { plan, .. } => plan.as_ref().map(|end| end.revision),
            _ => None,
        })
        .unwrap_or(state.plan_revision());
    events.push(Event::Begun { turn });
    Ok(events)
}

pub(super) fn decide_end(
    state: &Session,
    context_id: ContextId,
    profile: &ProfileId,
    end: TurnEnd,
    now: Timestamp,
) -> Result<Vec<Event>, Rejection> {
    match bound_turn(state, context_id, profile)? {
        (_, Some(_)) => Ok(Vec::new()),
        (turn, None) => Ok(end_turn(state, turn, end, now)),
    }
}

/// E11: whatever waits is cancelled before the turn ends, in the same commit.
pub(super) fn end_turn(state: &Session, turn: &Turn, end: TurnEnd, now: Timestamp) -> Vec<Event> {
    // A turn that its own asker held ended because the asker is gone, not by anybody's decision.
    let cause = |c: &Clarification| match &turn.holder {
        Holder::Lease { name, .. }
            if end == TurnEnd::Interrupted && name.as_str() == c.asker_id.as_str() =>
        {
            CancelCause::AskerGone
        }
        _ => CancelCause::TurnEnded,
    };
    let mut events: Vec<Event> = state
        .pending()
        .filter_map(|c| {
            // A question whose own time was up first did time out.
            if now >= c.expires_at() || end == TurnEnd::Expired {
                Some(by_clock(c, now))
            } else {
                withdrawn(c, cause(c), now)
            }
        })
        .collect();
    let mut account = state.account().clone();
    for event in &events {
        account.note(event);
    }
    events.push(Event::Ended {
        context_id: turn.context_id,
        end,
        account: Some(account.figures()),
        plan: state.plan().and_then(|plan| plan.ending(end, now)),
    });
    events
}
