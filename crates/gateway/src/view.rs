//! A card as JSON: for the HTTP routes and, in E9's words, for sockets.

use crate::askers::Asker;
use crate::caller::Person;
use crate::markdown;
use crate::projection::Card;
use crate::reply::outcome_fields;
use askbus_domain::{Addressee, LateAnswer, LateNote, Outcome, Timestamp};
use serde_json::{Map, Value, json};

fn fields(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

/// Whom a question is meant for and what it was asked under, as each form of a card tells it. Nobody
/// without a name may answer.
fn terms(card: &Card, person: Option<&Person>) -> Map<String, Value> {
    let c = &card.clarification;
    fields(json!({
        "to": c.to,
        "room_id": c.to.as_ref().and_then(Addressee::room),
        "may_answer": person.is_some_and(|p| p.may_answer(c)),
        "parent": c.parent,
        "on_timeout": c.terms.on_timeout,
        "when_absent": c.terms.when_absent,
        "language": c.terms.language,
        "adjusted": c.adjusted,
        "turn": card.turn.now(),
    }))
}

/// The texts of its questions as plain words, where they are written otherwise, for lists and news.
fn plain(card: &Card) -> Option<(String, Value)> {
    let plain = markdown::plain_of_questions(card.clarification.questions.iter());
    (!plain.is_empty()).then(|| ("plain".to_owned(), plain.into()))
}

/// What is remembered of where a late answer goes.
fn note<'a>(card: &'a Card, late: &LateAnswer) -> Option<&'a LateNote> {
    let (person, id) = (&late.response.actor.person, &late.response.answer_id);
    card.clarification.late_note(person, id)
}

/// An answer that came after the end. Its author may send it on unless it goes on already.
fn late_answer(card: &Card, late: &LateAnswer) -> Value {
    let note = note(card, late);
    json!({
        "answer_id": late.response.answer_id,
        "actor": late.response.actor,
        "action": late.response.action,
        "answers": late.answers,
        "text": late.response.text,
        "stored_at": late.stored_at,
        "goes_on": note.and_then(LateNote::way),
        "may_pass_on": note.is_some_and(|n| n.message.is_some() && n.way().is_none()),
    })
}

/// The object of `GET /api/clarifications`, as `person` sees it.
pub(crate) fn clarification(
    card: &Card,
    now: Timestamp,
    asker: Asker,
    person: Option<&Person>,
) -> Value {
    let c = &card.clarification;
    let held = c.held_by.is_some();
    let late: Vec<Value> = card.late.iter().map(|l| late_answer(card, l)).collect();
    let mut object = fields(json!({
        "clarify_id": c.id,
        "session_id": card.session,
        "run_id": card.run,
        "profile": card.profile,
        "questions": *c.questions,
        "dialect": c.dialect,
        "asker": c.asker,
        "requested_at": c.requested_at,
        "deadline": c.clock.deadline.filter(|_| !held),
        "cap": c.clock.cap,
        "remaining_ms": c.clock.remaining(held, now),
        "phase": c.is_pending().then(|| c.clock.phase(c.requested_at, held, now)),
        "held": held,
        "held_by": c.held_by,
        "status": if c.is_pending() { "pending" } else { "settled" },
        "disconnected": asker.disconnected.filter(|_| c.is_pending()),
    }));
    object.extend(terms(card, person));
    object.extend(plain(card));
    match &c.outcome {
        Some(outcome) => object.extend(outcome_fields(outcome)),
        None => object.extend(fields(json!({
            "reason": null, "decided_by": null, "actor": null, "cause": null, "answers": [],
            "partial": [], "unanswered": [], "dismissed_questions": [], "assumptions": [],
            "text": null, "late": [], "resolved_at": null,
        }))),
    }
    // Of a card, what came late for it; of its outcome, what rode to the agent with it.
    let rode = object.insert("late".to_owned(), json!(late));
    object.insert("late_messages".to_owned(), json!(rode));
    object.insert("late_answers".to_owned(), json!(late));
    object.into()
}

/// `clarify.requested` (E9, E12). The two timeouts are E9's own: until the question settles by
/// itself, hold considered, for clients that know nothing of holds.
pub(crate) fn requested(card: &Card, now: Timestamp, asker: Asker, person: &Person) -> Value {
    let c = &card.clarification;
    let held = c.held_by.is_some();
    let first = c.questions.first();
    let choices: Vec<&str> = first.options.iter().map(|o| o.label.as_str()).collect();
    let mut object = fields(json!({
        "event": "clarify.requested",
        "seq": card.requested_seq,
        "session_id": card.session,
        "run_id": card.run,
        "clarify_id": c.id,
        "question": first.question,
        "choices": choices,
        "timeout_ms": c.requested_at.until(c.expires_at()),
        "remaining_timeout_ms": now.until(c.expires_at()),
        "requested_at": c.requested_at.unix_millis(),
        "questions": *c.questions,
        "deadline": c.clock.deadline.filter(|_| !held).map(Timestamp::unix_millis),
        "cap": c.clock.cap.unix_millis(),
        "grace_ms": c.clock.grace,
        "held": held,
        "held_by": c.held_by,
        "asker": c.asker,
        "dialect": c.dialect,
        "profile": card.profile,
        "disconnected": asker.disconnected,
        "kept_until": asker.kept_until.map(Timestamp::unix_millis),
        "server_now": now.unix_millis(),
    }));
    object.extend(terms(card, Some(person)));
    object.extend(plain(card));
    object.into()
}

/// A card's object with the HTML of its texts, where they need any.
pub(crate) fn rendered(mut object: Value, card: &Card) -> Value {
    if let Some(fields) = object.as_object_mut() {
        let html = markdown::of_questions(card.clarification.questions.iter());
        fields.insert("html".to_owned(), html);
    }
    object
}

/// `clarify.resolved` as everybody hears it.
pub(crate) fn resolved(card: &Card, seq: u64, outcome: &Outcome) -> Value {
    let mut object = fields(json!({
        "event": "clarify.resolved",
        "seq": seq,
        "run_id": card.run,
        "session_id": card.session,
        "clarify_id": card.id(),
        "resolved": true,
    }));
    object.extend(spoken_outcome(outcome));
    object.into()
}

/// How a clarification ended, as objects of a socket tell it: `reason` in the words of E9, which its
/// clients know, and `outcome_reason` in our own.
pub(crate) fn spoken_outcome(outcome: &Outcome) -> Map<String, Value> {
    let mut fields = outcome_fields(outcome);
    fields.insert("reason".to_owned(), outcome.reason.studio_reason().into());
    fields.insert("outcome_reason".to_owned(), json!(outcome.reason));
    fields
}

/// `clarify.asker`: the asker of a waiting question is gone or back.
pub(crate) fn asker(card: &Card, now: Timestamp, asker: Asker) -> Value {
    json!({
        "event": "clarify.asker",
        "session_id": card.session,
        "clarify_id": card.id(),
        "disconnected": asker.disconnected,
        "kept_until": asker.kept_until.map(Timestamp::unix_millis),
        "server_now": now.unix_millis(),
    })
}

/// `clarify.held`.
pub(crate) fn held(card: &Card, seq: u64, now: Timestamp) -> Value {
    let c = &card.clarification;
    json!({
        "event": "clarify.held",
        "seq": seq,
        "session_id": card.session,
        "clarify_id": c.id,
        "actor": c.held_by,
        "cap": c.clock.cap.unix_millis(),
        "remaining_timeout_ms": now.until(c.expires_at()),
        "server_now": now.unix_millis(),
    })
}

/// `clarify.late`: an answer that came after the end, as everybody hears it.
pub(crate) fn late(card: &Card, seq: u64) -> Value {
    let late = card.late.last();
    json!({
        "event": "clarify.late",
        "seq": seq,
        "session_id": card.session,
        "clarify_id": card.id(),
        "answer_id": late.map(|l| &l.response.answer_id),
        "actor": late.map(|l| &l.response.actor),
        "answers": late.map(|l| &l.answers),
        "text": late.and_then(|l| l.response.text.as_ref()),
        "stored_at": late.map(|l| l.stored_at),
        "goes_on": late.and_then(|l| note(card, l)?.way()),
    })
}
