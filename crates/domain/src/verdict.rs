//! What the author of an answer is told.

use crate::{AnswerId, Clarification, DecidedBy, GoesOn, Outcome, PersonId, Rejection, Response};
use std::sync::Arc;

/// The reply to one answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The answer settled it, or the same content had been given before.
    Settled(Arc<Outcome>),
    /// Another person settled it with other content; the text is kept.
    Conflict(Arc<Outcome>),
    /// It was settled without a person before the answer came; the text is kept.
    Late {
        /// How it had been settled.
        outcome: Arc<Outcome>,
        /// Where the text goes; none when it stays in the history.
        goes_on: Option<GoesOn>,
    },
    /// A late answer was sent on.
    PassedOn(GoesOn),
    /// The countdown is stopped.
    Held,
    /// Not taken; the clarification is as it was and the author keeps the text.
    Refused(Rejection),
}

/// What to tell the author of `response` once it has been decided: a function of the state alone,
/// so that a repeated delivery is told the same. None as long as it has not: that its question is over
/// does not say yet whether it was the author's to answer, nor where the words go.
pub fn verdict(clarification: &Clarification, response: &Response) -> Option<Verdict> {
    let outcome = clarification.outcome.as_ref()?;
    let same = || {
        Outcome::of_person(response, &clarification.questions, outcome.resolved_at)
            .is_ok_and(|again| again.same_content(outcome))
    };
    if same() {
        return Some(Verdict::Settled(Arc::clone(outcome)));
    }
    verdict_of(clarification, &response.actor.person, &response.answer_id)
}

/// What the author of an answer was told, found by its id alone; none when this clarification does not
/// know it.
pub fn verdict_of(
    clarification: &Clarification,
    author: &PersonId,
    answer_id: &AnswerId,
) -> Option<Verdict> {
    let outcome = clarification.outcome.as_ref()?;
    if clarification.was_settled_by(author, answer_id) {
        return Some(Verdict::Settled(Arc::clone(outcome)));
    }
    let note = clarification.late_note(author, answer_id)?;
    Some(if outcome.decided_by() == DecidedBy::Person {
        Verdict::Conflict(Arc::clone(outcome))
    } else {
        Verdict::Late {
            outcome: Arc::clone(outcome),
            goes_on: note.goes_on,
        }
    })
}
