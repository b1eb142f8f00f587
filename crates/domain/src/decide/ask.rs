//! Asking: who may, under which policy, and what settles at once.

use super::{bound_turn, fitting, resolved, riding};
use crate::{
    AskCommand, AskInput, Clock, Dialect, Event, Outcome, Policy, Presence, Rejection, Session,
    Timestamp, Turn, WhenAbsent,
};
use std::sync::Arc;

/// The order of checks is E6's: binding and profile, turn, input, one per session.
pub(super) fn decide_ask(
    state: &Session,
    ask: &AskCommand,
    now: Timestamp,
) -> Result<Vec<Event>, Rejection> {
    let (turn, end) = bound_turn(state, ask.context_id, &ask.profile)?;
    if state.clarifications().any(|c| c.ask_id == ask.ask_id) {
        return Ok(Vec::new());
    }
    if end.is_some() || now >= turn.cap() {
        return Err(Rejection::NoActiveTurn);
    }
    // E15: a turn without the tool answers as if its context did not exist.
    if ask.dialect == Dialect::Studio && !turn.scope().clarify {
        return Err(Rejection::ContextExpired);
    }
    let input = ask.input.as_ref().map_err(Clone::clone)?;
    if state.asked(ask).is_some() {
        return Ok(Vec::new());
    }
    let policy = Policy::in_force(ask.dialect, &ask.policy, &turn.policy, input);
    let anew = starts_anew(state, turn, ask, now);
    let at_once = at_once(state, ask, input, &policy, anew, now);
    let blocked = at_once.as_ref().is_some_and(|o| o.blocked);
    if !blocked && state.pending().count() >= policy.max_pending {
        return Err(match ask.dialect {
            Dialect::Studio => Rejection::Busy,
            Dialect::Ask | Dialect::Interaction => Rejection::TooManyPending {
                limit: policy.max_pending,
            },
        });
    }
    // An id in use would hand this caller the outcome of another question.
    if state.clarification(ask.clarify_id).is_some() {
        return Err(Rejection::Busy);
    }
    let (clock, adjusted) = Clock::start(now, policy.clock, ask.call_limit, turn.cap());
    let mut events = vec![Event::Requested {
        clarify_id: ask.clarify_id,
        ask_id: ask.ask_id.clone(),
        context_id: ask.context_id,
        asker_id: ask.asker_id.clone(),
        asker_ttl: ask.asker_ttl,
        asker: ask.asker.clone(),
        dialect: ask.dialect,
        questions: Arc::clone(&input.questions),
        clock,
        requested_at: now,
        to: turn.addressee(input).cloned(),
        parent: ask.parent.clone().or_else(|| turn.parent.clone()),
        terms: policy.terms,
        adjusted,
        client_turn: ask.client_turn.clone(),
        counted_anew: anew,
        nobody_present: ask.presence == Presence::Absent,
    }];
    events.extend(at_once.map(|outcome| resolved(ask.clarify_id, outcome)));
    fitting(riding(state, events))
}

/// A7: in an adapter's own turn, where no host begins the next one, a row ends in other ways too.
fn starts_anew(state: &Session, turn: &Turn, ask: &AskCommand, now: Timestamp) -> bool {
    let present = ask.presence == Presence::Present;
    let client_turn = ask.client_turn.as_deref();
    turn.own && state.account().starts_anew(client_turn, present, now)
}

/// How a question ends that nobody is going to be asked (A6, A7); none when it waits.
fn at_once(
    state: &Session,
    ask: &AskCommand,
    input: &AskInput,
    policy: &Policy,
    anew: bool,
    now: Timestamp,
) -> Option<Outcome> {
    let questions = &input.questions;
    let limit = policy.unanswered_limit;
    let in_row = if anew { 0 } else { state.account().in_row() };
    // E7 has no word for it: the studio dialect is never blocked.
    if ask.dialect != Dialect::Studio && limit > 0 && in_row >= limit {
        return Some(Outcome::blocked(questions, now));
    }
    if ask.presence != Presence::Absent {
        return None;
    }
    match policy.terms.when_absent {
        WhenAbsent::Wait => None,
        WhenAbsent::Deferred => Some(Outcome::deferred(questions, now)),
        WhenAbsent::Unattended => Some(Outcome::unattended(questions, now)),
    }
}
