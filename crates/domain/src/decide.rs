//! The one place that decides: a state and a command in, events or a refusal out.

use crate::{
    Answer, AskCommand, BeginCommand, CancelCause, Clarification, Clock, Command, ContextId,
    Dialect, Event, Holder, LateAnswer, MAX_COMMIT_BYTES, Millis, Outcome, ProfileId, Rejection,
    Session, Timestamp, Turn, TurnEnd,
};
use std::sync::Arc;

/// What follows from `command` in `state` at `now`. No events means that nothing changes: the
/// command was done before, or there is nothing to do. Total: no input makes it panic.
pub fn decide(state: &Session, command: &Command, now: Timestamp) -> Result<Vec<Event>, Rejection> {
    if state.is_unreadable() {
        return Err(Rejection::UpgradeNeeded);
    }
    match command {
        Command::Begin(begin) => decide_begin(state, begin, now),
        Command::End {
            context_id,
            profile,
            end,
        } => decide_end(state, *context_id, profile, *end, now),
        Command::Ask(ask) => decide_ask(state, ask, now),
        Command::Answer(answer) => {
            let clarification = state
                .clarification(answer.clarify_id)
                .ok_or(Rejection::UnknownClarification)?;
            decide_answer(clarification, answer, now)
        }
        Command::Hold {
            clarify_id,
            actor,
            stored_at,
        } => {
            let clarification = state
                .clarification(*clarify_id)
                .ok_or(Rejection::UnknownClarification)?;
            if !clarification.is_pending() || clarification.held_by.is_some() {
                return Ok(Vec::new());
            }
            if *stored_at > clarification.expires_at() {
                return Ok(vec![timed_out(clarification, now)]);
            }
            Ok(vec![Event::Held {
                clarify_id: *clarify_id,
                actor: actor.clone(),
            }])
        }
        Command::Cancel {
            clarify_id,
            profile,
        } => {
            let clarification = state
                .clarification(*clarify_id)
                .ok_or(Rejection::UnknownClarification)?;
            if state.profile() != Some(profile) {
                return Err(Rejection::UnknownClarification);
            }
            Ok(withdrawn(clarification, CancelCause::Withdrawn, now)
                .into_iter()
                .collect())
        }
        Command::Expire { clarify_id } => Ok(state
            .clarification(*clarify_id)
            .filter(|c| c.is_pending() && now >= c.expires_at())
            .map(|c| timed_out(c, now))
            .into_iter()
            .collect()),
        Command::ExpireTurn { context_id } => Ok(match state.active_turn() {
            Some(turn) if turn.context_id == *context_id && now >= turn.cap() => {
                end_turn(state, turn, TurnEnd::Expired, now)
            }
            _ => Vec::new(),
        }),
        Command::AskerLost { asker_id } => Ok(state
            .pending()
            .filter(|c| c.asker_id == *asker_id)
            .filter_map(|c| withdrawn(c, CancelCause::AskerGone, now))
            .collect()),
        Command::HolderLost { name: lost } => Ok(match state.active_turn() {
            Some(turn) if matches!(&turn.holder, Holder::Lease { name, .. } if name == lost) => {
                end_turn(state, turn, TurnEnd::Interrupted, now)
            }
            _ => Vec::new(),
        }),
    }
}

fn decide_begin(
    state: &Session,
    begin: &BeginCommand,
    now: Timestamp,
) -> Result<Vec<Event>, Rejection> {
    if let Some((turn, _)) = state.latest_turn() {
        if turn.profile != begin.profile {
            return Err(Rejection::ContextExpired);
        }
        if turn.begin_id == begin.begin_id {
            return Ok(Vec::new());
        }
        if turn.earlier_begins.contains(&begin.begin_id) {
            return Err(Rejection::ContextExpired);
        }
    }
    let mut events = match state.active_turn() {
        Some(old) => end_turn(state, old, TurnEnd::Replaced, now),
        None => Vec::new(),
    };
    events.push(Event::Begun {
        turn: Turn {
            context_id: begin.context_id,
            begin_id: begin.begin_id.clone(),
            run_id: begin.run_id.clone(),
            profile: begin.profile.clone(),
            holder: begin.holder.clone(),
            begun_at: now,
            earlier_begins: state
                .latest_turn()
                .map(|(t, _)| t.begins_so_far())
                .unwrap_or_default(),
        },
    });
    Ok(events)
}

/// E6: unknown, expired and foreign contexts are one refusal.
fn bound_turn<'a>(
    state: &'a Session,
    context_id: ContextId,
    profile: &ProfileId,
) -> Result<(&'a Turn, Option<TurnEnd>), Rejection> {
    match state.latest_turn() {
        Some((turn, end)) if turn.context_id == context_id && turn.profile == *profile => {
            Ok((turn, end))
        }
        _ => Err(Rejection::ContextExpired),
    }
}

fn decide_end(
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
fn end_turn(state: &Session, turn: &Turn, end: TurnEnd, now: Timestamp) -> Vec<Event> {
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
                Some(timed_out(c, now))
            } else {
                withdrawn(c, cause(c), now)
            }
        })
        .collect();
    events.push(Event::Ended {
        context_id: turn.context_id,
        end,
    });
    events
}

/// The order of checks is E6's: binding and profile, turn, input, one per session.
fn decide_ask(state: &Session, ask: &AskCommand, now: Timestamp) -> Result<Vec<Event>, Rejection> {
    let (turn, end) = bound_turn(state, ask.context_id, &ask.profile)?;
    if state.clarifications().any(|c| c.ask_id == ask.ask_id) {
        return Ok(Vec::new());
    }
    if end.is_some() || now >= turn.cap() {
        return Err(Rejection::NoActiveTurn);
    }
    let input = ask.input.as_ref().map_err(Clone::clone)?;
    let limit = ask.dialect.pending_limit();
    if state.pending().count() >= limit {
        return Err(match ask.dialect {
            Dialect::Studio => Rejection::Busy,
            Dialect::Ask | Dialect::Interaction => Rejection::TooManyPending { limit },
        });
    }
    // An id in use would hand this caller the outcome of another question.
    if state.clarification(ask.clarify_id).is_some() {
        return Err(Rejection::Busy);
    }
    let event = Event::Requested {
        clarify_id: ask.clarify_id,
        ask_id: ask.ask_id.clone(),
        context_id: ask.context_id,
        asker_id: ask.asker_id.clone(),
        asker_ttl: ask.asker_ttl,
        asker: ask.asker.clone(),
        dialect: ask.dialect,
        questions: Arc::clone(&input.questions),
        clock: Clock::start(
            now,
            input.timeout.for_dialect(ask.dialect),
            ask.call_limit,
            turn.cap(),
        ),
        requested_at: now,
    };
    fitting(vec![event])
}

/// Refuses what would not fit one commit, so that nothing is decided that cannot be written.
fn fitting(events: Vec<Event>) -> Result<Vec<Event>, Rejection> {
    // Room for the envelope beside the events.
    let fits = serde_json::to_vec(&events).is_ok_and(|json| json.len() + 2_048 <= MAX_COMMIT_BYTES);
    if fits {
        Ok(events)
    } else {
        Err(Rejection::TooLarge)
    }
}

/// What an answer to a question of an earlier turn leads to. Such a question is settled (its turn
/// is over), so the answer is late, the same again, or known.
pub fn decide_past(
    state: &Session,
    clarification: &Clarification,
    answer: &Answer,
    now: Timestamp,
) -> Result<Vec<Event>, Rejection> {
    if state.is_unreadable() {
        return Err(Rejection::UpgradeNeeded);
    }
    decide_answer(clarification, answer, now)
}

fn decide_answer(
    clarification: &Clarification,
    answer: &Answer,
    now: Timestamp,
) -> Result<Vec<Event>, Rejection> {
    let response = &answer.response;
    let questions = &clarification.questions;
    let late = |mut events: Vec<Event>| {
        events.push(Event::Late {
            clarify_id: clarification.id,
            late: LateAnswer {
                response: response.clone(),
                answers: response.resolve(questions).unwrap_or_default(),
                stored_at: answer.stored_at,
            },
        });
        events
    };
    if let Some(outcome) = &clarification.outcome {
        let known = clarification.was_settled_by(response)
            || clarification.was_late(response)
            || Outcome::of_person(response, questions, answer.stored_at)
                .is_ok_and(|again| again.same_content(outcome));
        return if known {
            Ok(Vec::new())
        } else {
            fitting(late(Vec::new()))
        };
    }
    if answer.stored_at > clarification.expires_at() {
        return fitting(late(vec![timed_out(clarification, now)]));
    }
    let outcome = Outcome::of_person(response, questions, answer.stored_at)?;
    fitting(vec![Event::Resolved {
        clarify_id: clarification.id,
        outcome: Arc::new(outcome),
    }])
}

/// What came too late shows that the time is up, even to a clock that is a little behind.
fn timed_out(clarification: &Clarification, now: Timestamp) -> Event {
    let now = now.max(clarification.expires_at());
    let outcome = Outcome::timeout(&clarification.questions, now);
    Event::Resolved {
        clarify_id: clarification.id,
        outcome: Arc::new(outcome),
    }
}

fn withdrawn(clarification: &Clarification, cause: CancelCause, now: Timestamp) -> Option<Event> {
    let outcome = Outcome::cancelled(&clarification.questions, cause, now);
    clarification.is_pending().then(|| Event::Resolved {
        clarify_id: clarification.id,
        outcome: Arc::new(outcome),
    })
}

/// How long after its moment a replica settles what is due: 0–500 ms, spread by the
/// clarification's id so that replicas do not all try at once.
pub fn expiry_jitter(seed: u128) -> Millis {
    Millis(u64::try_from(seed % 500).unwrap_or(0))
}
