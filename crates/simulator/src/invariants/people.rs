//! What people are shown and told.

use super::History;
use super::answers::{is_kept, is_refused};
use crate::world::{Shown, Told};
use askbus_domain::{
    Clarification, ClarifyId, Event, Outcome, PersonId, Response, Timestamp, Verdict,
    verdict as verdict_of,
};
use askbus_ledger::hostile::Arrived;
use askbus_wire::codec::Decoded;
use askbus_wire::messages::InboxBody;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// How far a gateway's idea of the time may be off, in milliseconds.
const CLOCK_ERROR_MS: u64 = 1_000;
/// What screens are told of.
const CHANGES: [&str; 4] = [
    "clarify.requested",
    "clarify.held",
    "clarify.resolved",
    "clarify.late",
];

fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object.get(field).and_then(Value::as_str).unwrap_or("")
}

/// Whether an object tells this outcome; `reason` names the field with the reason in our own words.
fn tells(object: &Value, reason: &str, outcome: &Outcome) -> bool {
    let is = |field: &str, value: Value| object.get(field) == Some(&value);
    is(reason, json!(outcome.reason))
        && is("decided_by", json!(outcome.decided_by()))
        && is("actor", json!(outcome.actor))
        && is("cause", json!(outcome.cause))
        && is("answers", json!(outcome.answers))
        && is("partial", json!(outcome.partial))
        && is("unanswered", json!(outcome.unanswered))
        && is("dismissed_questions", json!(outcome.declined))
        && is("assumptions", json!(outcome.assumptions))
        && is("text", json!(outcome.text))
        && is("resolved_at", json!(outcome.resolved_at))
}

/// What an author was told is so: "sent" is in the inbox and in the history, and who or what settled
/// the question is what the log says.
pub fn check_told(history: &History<'_>) -> Vec<String> {
    let lie = |told: &Told| is_lie(history, told).map(|why| format!("{why}: {told:?}"));
    history.records.told.iter().filter_map(lie).collect()
}

fn is_lie(history: &History<'_>, told: &Told) -> Option<&'static str> {
    let Some(question) = history.of(told.clarify_id) else {
        return Some("nobody asked this");
    };
    if text(&told.object, "reason") == "NOT_ADDRESSED" {
        let meant = PersonId::new(told.person).is_ok_and(|p| super::may_answer(&question, &p));
        return meant.then_some("it is meant for them");
    }
    if !told.is_sent() {
        let passing = ["UNAVAILABLE", "LOG_UNAVAILABLE"];
        let known = passing.contains(&text(&told.object, "reason"));
        return (!known).then_some("there is no such reason not to take it");
    }
    let own = |arrived: &&Arrived| {
        arrived.clarify_id == told.clarify_id
            && matches!(&arrived.message.body, InboxBody::Respond(r)
                if r.answer_id.as_str() == told.answer_id && r.actor.person.as_str() == told.person)
    };
    let Some(sent) = history.arrivals.iter().find(own) else {
        return Some("the inbox never had it");
    };
    if !is_kept(history, sent) {
        return Some("it is not in the history");
    }
    let InboxBody::Respond(response) = &sent.message.body else {
        return Some("the inbox never had it");
    };
    is_wrong_verdict(history, &question, response, told)
}

fn is_wrong_verdict(
    history: &History<'_>,
    question: &Clarification,
    response: &Response,
    told: &Told,
) -> Option<&'static str> {
    let verdict = text(&told.object, "verdict");
    let nested = told.object.get("outcome").unwrap_or(&Value::Null);
    let (named, true_word) = match verdict_of(question, response) {
        Some(Verdict::Settled(outcome)) => {
            ("settled", tells(&told.object, "outcome_reason", &outcome))
        }
        Some(Verdict::Conflict(outcome)) => ("conflict", tells(nested, "outcome_reason", &outcome)),
        Some(Verdict::Late { outcome, goes_on }) => {
            let way = told.object.get("goes_on").cloned();
            let told_way = way.filter(|way| !way.is_null());
            let true_way = told_way == goes_on.map(|way| json!(way));
            let true_word = tells(nested, "outcome_reason", &outcome);
            ("late", true_word && true_way)
        }
        Some(Verdict::Held | Verdict::PassedOn(_) | Verdict::Refused(_)) | None => ("", false),
    };
    match verdict {
        "" => None,
        "refused" => (!is_refused(history, response)).then_some("it was not refused"),
        _ if verdict != named => Some("the log says something else"),
        _ => (!true_word).then_some("the log tells another outcome"),
    }
}

/// Every screen shows the log: what waits at a sequence, and after it every change once, in order.
pub fn check_screens(history: &History<'_>) -> Vec<String> {
    let changes = changes(history);
    let mut connections: BTreeMap<u64, Vec<&Shown>> = BTreeMap::new();
    for shown in &history.records.shown {
        connections.entry(shown.connection).or_default().push(shown);
    }
    let mut broken = Vec::new();
    for (connection, shown) in connections {
        let screen = Screen {
            history,
            changes: &changes,
            replayed: BTreeSet::new(),
            expected: None,
        };
        if let Some((why, shown)) = screen.check(&shown) {
            broken.push(format!(
                "connection {connection} of {}: {why}: {}",
                shown.person, shown.object
            ));
        }
    }
    for (person, id) in &history.records.still_shown {
        broken.push(format!("{person} still sees {id} wait, which is over"));
    }
    broken
}

type Change = (u64, &'static str, ClarifyId);

/// What screens are told of, in the order of the log.
fn changes(history: &History<'_>) -> Vec<Change> {
    let mut changes = Vec::new();
    for stored in history.log {
        let Decoded::Commit(commit) = &stored.decoded else {
            continue;
        };
        let settles = |id: &ClarifyId| {
            let settled =
                |e: &Event| matches!(e, Event::Resolved { clarify_id, .. } if clarify_id == id);
            commit.events.iter().any(settled)
        };
        for event in &commit.events {
            let word = match event {
                // What is settled in the moment it is asked never waits on a screen.
                Event::Requested { clarify_id, .. } if settles(clarify_id) => continue,
                Event::Requested { .. } => "clarify.requested",
                Event::Held { .. } => "clarify.held",
                Event::Resolved { .. } => "clarify.resolved",
                Event::Late { .. } => "clarify.late",
                Event::Begun { .. }
                | Event::Ended { .. }
                | Event::PassedOn { .. }
                | Event::Worked { .. }
                | Event::Plan { .. }
                | Event::Refused { .. } => continue,
            };
            if let Some(id) = event.clarify_id() {
                changes.push((stored.seq, word, id));
            }
        }
    }
    changes
}

/// One connection's objects, one after the other.
struct Screen<'a> {
    history: &'a History<'a>,
    changes: &'a [Change],
    /// What was said to wait before the replay was over.
    replayed: BTreeSet<ClarifyId>,
    /// The changes that have to come next, once the replay is over.
    expected: Option<std::slice::Iter<'a, Change>>,
}

impl<'a> Screen<'a> {
    fn check(mut self, shown: &[&'a Shown]) -> Option<(&'static str, &'a Shown)> {
        shown
            .iter()
            .find_map(|shown| self.take(shown).map(|why| (why, *shown)))
    }

    /// What is wrong about the next object.
    fn take(&mut self, shown: &Shown) -> Option<&'static str> {
        let object = &shown.object;
        let event = text(object, "event");
        let now = object.get("server_now").and_then(Value::as_i64);
        if now.is_some_and(|now| now.abs_diff(shown.at.unix_millis()) > CLOCK_ERROR_MS) {
            return Some("this is not the time");
        }
        let seq = object.get("seq").and_then(Value::as_u64);
        if event == "ready" {
            return self.ready(seq?, object);
        }
        let id = crate::panel::question(object);
        let (Some(seq), Some(id)) = (seq, id) else {
            return None;
        };
        word(event)?;
        match &mut self.expected {
            Some(expected) => {
                let is_next = expected
                    .next()
                    .is_some_and(|(at, word, of)| (*at, *word, *of) == (seq, event, id));
                if !is_next {
                    return Some("this is not what comes next in the log");
                }
            }
            None if event == "clarify.requested" => drop(self.replayed.insert(id)),
            None => {}
        }
        self.is_false(seq, event, id, shown)
    }

    /// The end of a replay: exactly what it named waits, and that is so in the log.
    fn ready(&mut self, seq: u64, object: &Value) -> Option<&'static str> {
        let named = object.get("pending").and_then(Value::as_array);
        let named = named.into_iter().flatten().filter_map(Value::as_str);
        let named: BTreeSet<ClarifyId> = named.filter_map(|id| ClarifyId::parse(id).ok()).collect();
        let mut waiting = BTreeSet::new();
        let until = self.changes.partition_point(|(at, ..)| *at <= seq);
        let (past, next) = self.changes.split_at(until);
        for (_, word, id) in past {
            match *word {
                "clarify.requested" => drop(waiting.insert(*id)),
                "clarify.resolved" => drop(waiting.remove(id)),
                _ => {}
            }
        }
        let is_first = self.expected.replace(next.iter()).is_none();
        if named != waiting {
            return Some("this is not what waits at that sequence");
        }
        (is_first && self.replayed != waiting).then_some("the replay is not what waits")
    }

    /// What an object says that the log does not.
    fn is_false(
        &self,
        seq: u64,
        event: &str,
        id: ClarifyId,
        shown: &Shown,
    ) -> Option<&'static str> {
        let (object, person) = (&shown.object, shown.person);
        if !self.changes.contains(&(seq, word(event)?, id)) {
            return Some("the log does not say this at that sequence");
        }
        let question = self.history.of(id)?;
        match event {
            "clarify.requested" => is_false_card(&question, object, person),
            "clarify.resolved" => {
                let outcome = question.outcome.as_ref()?;
                (!tells(object, "outcome_reason", outcome)).then_some("another outcome")
            }
            _ => None,
        }
    }
}

/// The same word, as long as anybody needs it.
fn word(event: &str) -> Option<&'static str> {
    CHANGES.into_iter().find(|word| *word == event)
}

/// What a card says about a question that the log does not.
fn is_false_card(question: &Clarification, object: &Value, person: &str) -> Option<&'static str> {
    let number = |field: &str| object.get(field).and_then(Value::as_i64);
    let asked = question.questions.first().question.as_str();
    if text(object, "question") != asked || text(object, "session_id").is_empty() {
        return Some("another question");
    }
    let held = object.get("held").and_then(Value::as_bool)?;
    let is = |field: &str, value: Value| object.get(field) == Some(&value);
    let terms = question.terms;
    let under = is("on_timeout", json!(terms.on_timeout))
        && is("when_absent", json!(terms.when_absent))
        && is("language", json!(terms.language))
        && is("adjusted", json!(question.adjusted));
    if !under {
        return Some("another policy");
    }
    let meant = PersonId::new(person).is_ok_and(|person| super::may_answer(question, &person));
    if !(is("to", json!(question.to)) && is("may_answer", json!(meant))) {
        return Some("meant for somebody else");
    }
    if !is("parent", json!(question.parent)) {
        return Some("another parent");
    }
    if held && question.held_by.is_none() {
        return Some("nobody holds it");
    }
    let deadline = question.clock.deadline.filter(|_| !held);
    if number("deadline") != deadline.map(Timestamp::unix_millis) {
        return Some("another deadline");
    }
    let ends = question.clock.expires_at(held).unix_millis();
    let left = ends.saturating_sub(number("server_now")?).max(0);
    (number("remaining_timeout_ms") != Some(left)).then_some("another time that is left")
}

/// In the end people can look up everything that was asked, how it ended, and what came late.
pub fn check_history_is_shown(history: &History<'_>) -> Vec<String> {
    let mut broken = Vec::new();
    for shown in &history.records.histories {
        let cards = shown.get("clarifications").and_then(Value::as_array);
        let cards: BTreeMap<ClarifyId, &Value> = cards
            .into_iter()
            .flatten()
            .filter_map(|card| Some((crate::panel::question(card)?, card)))
            .collect();
        for (_, _, event) in history.events() {
            let Event::Requested { clarify_id, .. } = event else {
                continue;
            };
            let Some(question) = history.of(*clarify_id) else {
                continue;
            };
            let is_shown = |card: &&Value| is_whole(&question, card);
            if !question.is_pending() && !cards.get(clarify_id).is_some_and(is_shown) {
                broken.push(format!(
                    "people cannot look up what became of {clarify_id}: {:?}",
                    cards.get(clarify_id)
                ));
            }
        }
    }
    broken
}

fn is_whole(question: &Clarification, card: &Value) -> bool {
    let outcome = question.outcome.as_ref();
    let late = card.get("late").and_then(Value::as_array);
    let late: Vec<&str> = late
        .into_iter()
        .flatten()
        .filter_map(|late| late.get("answer_id")?.as_str())
        .collect();
    let noted = question.late.iter();
    outcome.is_some_and(|outcome| tells(card, "reason", outcome))
        && noted.map(|note| note.answer_id.as_str()).eq(late)
}
