//! The one place that decides: a state and a command in, events or a refusal out.

mod answer;
mod ask;
mod plan;
mod turn;

pub use answer::pass_on_verdict;

use crate::{
    CancelCause, Clarification, ClarifyId, Command, ContextId, Event, Holder, MAX_COMMIT_BYTES,
    Millis, OnTimeout, Outcome, ProfileId, Rejection, Session, Timestamp, Turn, TurnEnd, is_work,
};
use std::sync::Arc;

/// What follows from `command` in `state` at `now`. No events means that nothing changes: the
/// command was done before, or there is nothing to do. Total: no input makes it panic.
pub fn decide(state: &Session, command: &Command, now: Timestamp) -> Result<Vec<Event>, Rejection> {
    if state.is_unreadable() {
        return Err(Rejection::UpgradeNeeded);
    }
    let asked = |id: &ClarifyId| {
        state
            .clarification(*id)
            .ok_or(Rejection::UnknownClarification)
    };
    match command {
        Command::Begin(begin) => turn::decide_begin(state, begin, now),
        Command::End {
            context_id,
            profile,
            end,
        } => turn::decide_end(state, *context_id, profile, *end, now),
        Command::Ask(ask) => ask::decide_ask(state, ask, now),
        Command::UpdatePlan(update) => plan::decide_update(state, update, now),
        Command::Answer(answer) => {
            answer::decide_by_person(state, asked(&answer.clarify_id)?, command, now)
        }
        Command::Hold { clarify_id, .. } | Command::PassOn { clarify_id, .. } => {
            answer::decide_by_person(state, asked(clarify_id)?, command, now)
        }
        Command::Cancel {
            clarify_id,
            profile,
        } => {
            let clarification = asked(clarify_id)?;
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
            .map_or_else(Vec::new, |c| riding(state, vec![by_clock(c, now)]))),
        Command::ExpireTurn { context_id } => Ok(match state.active_turn() {
            Some(turn) if turn.context_id == *context_id && now >= turn.cap() => {
                turn::end_turn(state, turn, TurnEnd::Expired, now)
            }
            _ => Vec::new(),
        }),
        Command::ToolUse {
            context_id,
            profile,
            tool,
        } => {
            let (_, end) = bound_turn(state, *context_id, profile)?;
            let begins = end.is_none() && !state.work_begun() && is_work(tool);
            let worked = || Event::Worked {
                context_id: *context_id,
                tool: tool.chars().take(MAX_TOOL_CHARS).collect(),
            };
            Ok(begins.then(worked).into_iter().collect())
        }
        Command::AskerLost { asker_id } => Ok(state
            .pending()
            .filter(|c| c.asker_id == *asker_id)
            .filter_map(|c| withdrawn(c, CancelCause::AskerGone, now))
            .collect()),
        Command::HolderLost { name: lost } => Ok(match state.active_turn() {
            Some(turn) if matches!(&turn.holder, Holder::Lease { name, .. } if name == lost) => {
                turn::end_turn(state, turn, TurnEnd::Interrupted, now)
            }
            _ => Vec::new(),
        }),
    }
}

/// A tool's name in the log at most, in characters.
const MAX_TOOL_CHARS: usize = 200;

/// What a person's act leads to that concerns a question of an earlier turn. Such a question is
/// settled (its turn is over), so an answer is late, the same again, or known.
pub fn decide_past(
    state: &Session,
    clarification: &Clarification,
    command: &Command,
    now: Timestamp,
) -> Result<Vec<Event>, Rejection> {
    if state.is_unreadable() {
        return Err(Rejection::UpgradeNeeded);
    }
    answer::decide_by_person(state, clarification, command, now)
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

fn fits(events: &[Event]) -> bool {
    // Room for the envelope beside the events.
    serde_json::to_vec(events).is_ok_and(|json| json.len() + 2_048 <= MAX_COMMIT_BYTES)
}

/// Refuses what would not fit one commit, so that nothing is decided that cannot be written.
fn fitting(events: Vec<Event>) -> Result<Vec<Event>, Rejection> {
    if fits(&events) {
        Ok(events)
    } else {
        Err(Rejection::TooLarge)
    }
}

/// Lets the session's late messages ride with the first outcome among `events` that its asker is
/// there to read. Where they do not fit, they wait on: nothing is refused for their sake.
fn riding(state: &Session, mut events: Vec<Event>) -> Vec<Event> {
    if state.late().is_empty() {
        return events;
    }
    let mut with = events.clone();
    let outcome = with.iter_mut().find_map(|event| match event {
        Event::Resolved { outcome, .. } if outcome.reason.is_read() => Some(outcome),
        _ => None,
    });
    if let Some(outcome) = outcome {
        Arc::make_mut(outcome).late = state.late().to_vec();
        if fits(&with) {
            events = with;
        }
    }
    events
}

/// What a deadline makes of a clarification (A5). What came too late shows that the time is up, even
/// to a clock that is a little behind.
fn by_clock(clarification: &Clarification, now: Timestamp) -> Event {
    let now = now.max(clarification.expires_at());
    let questions = &clarification.questions;
    let outcome = match clarification.terms.on_timeout {
        OnTimeout::Return => Outcome::timeout(questions, now),
        OnTimeout::Adopt => Outcome::timeout(questions, now).adopting(questions),
        OnTimeout::Defer => Outcome {
            timed_out: true,
            ..Outcome::deferred(questions, now)
        },
    };
    resolved(clarification.id, outcome)
}

fn resolved(clarify_id: ClarifyId, outcome: Outcome) -> Event {
    Event::Resolved {
        clarify_id,
        outcome: Arc::new(outcome),
    }
}

fn withdrawn(clarification: &Clarification, cause: CancelCause, now: Timestamp) -> Option<Event> {
    let outcome = Outcome::cancelled(&clarification.questions, cause, now);
    clarification
        .is_pending()
        .then(|| resolved(clarification.id, outcome))
}

/// How long after its moment a replica settles what is due: 0–500 ms, spread by the
/// clarification's id so that replicas do not all try at once.
pub fn expiry_jitter(seed: u128) -> Millis {
    Millis(u64::try_from(seed % 500).unwrap_or(0))
}
