//! What people do: answer, hold, send a late answer on.

use super::{by_clock, fitting, resolved, riding};
use crate::late::asked_text;
use crate::{
    Actor, Answer, AnswerId, Clarification, Command, DecidedBy, Event, GoesOn, InvalidAnswer,
    LateAnswer, LateMessage, LateNote, MAX_LATE, Outcome, PersonId, Rejection, Response, Rights,
    Session, Timestamp, TurnEnd, Verdict,
};

/// Decides about a command of a person that concerns `clarification`, of this turn or an earlier
/// one.
pub(super) fn decide_by_person(
    state: &Session,
    clarification: &Clarification,
    command: &Command,
    now: Timestamp,
) -> Result<Vec<Event>, Rejection> {
    match command {
        Command::Answer(answer) => decide_answer(state, clarification, answer, now),
        Command::Hold {
            actor,
            rights,
            stored_at,
            ..
        } => decide_hold(state, clarification, actor, rights, *stored_at, now),
        Command::PassOn {
            answer_id, person, ..
        } => decide_pass_on(state, clarification, answer_id, person),
        // Nothing else comes from people.
        _ => Err(Rejection::UnknownClarification),
    }
}

fn check_addressed(
    clarification: &Clarification,
    rights: &Rights,
    person: &PersonId,
) -> Result<(), Rejection> {
    match &clarification.to {
        Some(to) if !to.allows(rights, person) => Err(Rejection::NotAddressed),
        _ => Ok(()),
    }
}

fn decide_hold(
    state: &Session,
    clarification: &Clarification,
    actor: &Actor,
    rights: &Rights,
    stored_at: Timestamp,
    now: Timestamp,
) -> Result<Vec<Event>, Rejection> {
    if !clarification.is_pending() || clarification.held_by.is_some() {
        return Ok(Vec::new());
    }
    check_addressed(clarification, rights, &actor.person)?;
    if stored_at > clarification.expires_at() {
        return Ok(riding(state, vec![by_clock(clarification, now)]));
    }
    Ok(vec![Event::Held {
        clarify_id: clarification.id,
        actor: actor.clone(),
    }])
}

fn decide_answer(
    state: &Session,
    clarification: &Clarification,
    answer: &Answer,
    now: Timestamp,
) -> Result<Vec<Event>, Rejection> {
    let response = &answer.response;
    let questions = &clarification.questions;
    if let Some(outcome) = &clarification.outcome {
        let known = clarification.was_settled_by(&response.actor.person, &response.answer_id)
            || clarification.was_late(response)
            || Outcome::of_person(response, questions, answer.stored_at)
                .is_ok_and(|again| again.same_content(outcome));
        if known {
            return Ok(Vec::new());
        }
    }
    check_addressed(clarification, &answer.rights, &response.actor.person)?;
    if let Some(outcome) = &clarification.outcome {
        let by_person = outcome.decided_by() == DecidedBy::Person;
        check_late(clarification, response)?;
        return fitting(vec![late(state, clarification, answer, by_person)]);
    }
    if answer.stored_at > clarification.expires_at() {
        check_late(clarification, response)?;
        let mut events = riding(state, vec![by_clock(clarification, now)]);
        // What rode with that makes room in the queue.
        let mut after = state.clone();
        for event in &events {
            after.evolve(event);
        }
        events.push(late(&after, clarification, answer, false));
        return fitting(events);
    }
    let outcome = Outcome::of_person(response, questions, answer.stored_at)?;
    let events = vec![resolved(clarification.id, outcome)];
    fitting(riding(state, events))
}

/// Answers that a clarification keeps of one person after it is over.
const MAX_LATE_OF_ONE: usize = 20;
/// Answers that a clarification keeps after it is over.
const MAX_LATE_OF_ALL: usize = 200;

/// Whether a late answer can be kept whole: what its author is told to be kept, they find again.
fn check_late(clarification: &Clarification, response: &Response) -> Result<(), InvalidAnswer> {
    response.matched(&clarification.questions)?;
    let own = |note: &&LateNote| note.person == response.actor.person;
    let (limit, whose) = match clarification.late.iter().filter(own).count() {
        MAX_LATE_OF_ONE.. => (MAX_LATE_OF_ONE, "of yours"),
        _ if clarification.late.len() >= MAX_LATE_OF_ALL => (MAX_LATE_OF_ALL, "to it"),
        _ => return Ok(()),
    };
    Err(InvalidAnswer::TooManyLate { limit, whose })
}

/// The note of an answer that came too late. Where a person had decided, it waits for its author to
/// send it on; else it goes on by itself.
fn late(state: &Session, clarification: &Clarification, answer: &Answer, by_person: bool) -> Event {
    let late = LateAnswer::of(clarification, &answer.response, answer.stored_at);
    let asked = asked_text(&clarification.questions);
    let says = LateMessage::of(clarification.id, &asked, &late).is_some();
    Event::Late {
        clarify_id: clarification.id,
        goes_on: (says && !by_person).then(|| route(state)),
        late,
        asked,
    }
}

/// Where a late message of this session goes now.
fn route(state: &Session) -> GoesOn {
    let way = match state.latest_turn() {
        Some((_, None)) => GoesOn::NextResult,
        // A process that asked for itself and is gone, or a session that was disposed of, does not
        // come again.
        Some((turn, Some(end))) if !turn.own && end != TurnEnd::Disposed => GoesOn::NextTurn,
        _ => GoesOn::Nowhere,
    };
    if way.is_on_its_way() && state.late().len() >= MAX_LATE {
        GoesOn::QueueFull
    } else {
        way
    }
}

fn decide_pass_on(
    state: &Session,
    clarification: &Clarification,
    answer_id: &AnswerId,
    person: &PersonId,
) -> Result<Vec<Event>, Rejection> {
    let message = clarification
        .late_note(person, answer_id)
        .and_then(|note| Some((note, note.message.as_ref()?)));
    let Some((note, message)) = message else {
        return Err(InvalidAnswer::NothingToPassOn.into());
    };
    let goes_on = route(state);
    if note.way().is_some() || !goes_on.is_on_its_way() {
        return Ok(Vec::new());
    }
    fitting(vec![Event::PassedOn {
        clarify_id: clarification.id,
        goes_on,
        message: message.as_ref().clone(),
    }])
}

/// What to tell a person who sent a late answer on, once that has been decided.
pub fn pass_on_verdict(
    state: &Session,
    clarification: &Clarification,
    answer_id: &AnswerId,
    person: &PersonId,
) -> Verdict {
    let note = clarification.late_note(person, answer_id);
    let sent = note.and_then(LateNote::way);
    Verdict::PassedOn(sent.unwrap_or_else(|| route(state)))
}
