//! What people send: nothing of it is lost, what came in time counts, and no clock beats it.

use super::{End, History, may_answer};
use askbus_domain::{Clarification, Event, Response, Timestamp, Verdict, verdict};
use askbus_ledger::hostile::Arrived;
use askbus_wire::messages::InboxBody;

/// How long a question may go on waiting that is answered, once nothing is broken any more, in
/// milliseconds: messages come again after three seconds at most, and each try takes six at most.
const SETTLED_WITHIN_MS: i64 = 30_000;

/// Whatever the inbox took in is in the log: as the resolution, as late, as a hold, or as refused.
pub fn check_sent_is_kept(history: &History<'_>) -> Vec<String> {
    let lost = |sent: &&Arrived| !is_kept(history, sent);
    let tell = |sent: &Arrived| format!("lost: {:?} to {}", sent.message.body, sent.clarify_id);
    history.arrivals.iter().filter(lost).map(tell).collect()
}

pub(super) fn is_kept(history: &History<'_>, sent: &Arrived) -> bool {
    let Some(question) = history.of(sent.clarify_id) else {
        return false;
    };
    match &sent.message.body {
        InboxBody::Hold { .. } => question.held_by.is_some() || !question.is_pending(),
        InboxBody::PassOn {
            actor, answer_id, ..
        } => question.late_note(&actor.person, answer_id).is_some(),
        InboxBody::Respond(response) => {
            // The same content as the resolution's is nothing new.
            matches!(verdict(&question, response), Some(Verdict::Settled(_)))
                || is_late(&question, response)
                || is_refused(history, response)
        }
    }
}

fn is_late(question: &Clarification, response: &Response) -> bool {
    question
        .late_note(&response.actor.person, &response.answer_id)
        .is_some()
}

pub(super) fn is_refused(history: &History<'_>, response: &Response) -> bool {
    let id = format!("\"{}\"", response.answer_id);
    history
        .events()
        .any(|(_, _, e)| matches!(e, Event::Refused { sent, .. } if sent.contains(&id)))
}

/// Nothing times out before its time, nor while the inbox holds something that came before it.
pub fn check_timeouts(history: &History<'_>) -> Vec<String> {
    let mut broken = Vec::new();
    for End { at, before, after } in history.ends() {
        let Some(outcome) = after.outcome.as_deref() else {
            continue;
        };
        if !outcome.is_by_clock() {
            continue;
        }
        let deadline = before.expires_at();
        // A turn that expires takes its questions along; they were capped by it.
        if at < deadline {
            broken.push(format!(
                "{} timed out at {at}, before its time at {deadline}",
                before.id
            ));
        }
        let in_time = history.arrivals.iter().find(|arrived| {
            let answers = match &arrived.message.body {
                InboxBody::Respond(response) => !is_refused(history, response),
                InboxBody::Hold { .. } => before.held_by.is_none(),
                InboxBody::PassOn { .. } => false,
            };
            arrived.clarify_id == before.id && arrived.stored_at <= deadline && answers
        });
        if let Some(arrived) = in_time {
            broken.push(format!(
                "{} timed out at {at} although {:?} was stored at {}, before {deadline}",
                before.id, arrived.message.body, arrived.stored_at
            ));
        }
    }
    broken
}

/// Only what the inbox stored in time stops a countdown.
pub fn check_holds(history: &History<'_>) -> Vec<String> {
    let mut broken = Vec::new();
    let held = history.events().filter_map(|(at, _, event)| match event {
        Event::Held { clarify_id, .. } => Some((at, history.of(*clarify_id)?)),
        _ => None,
    });
    for (at, question) in held {
        let deadline = question.clock.expires_at(false);
        let in_time = history.arrivals.iter().any(|arrived| {
            arrived.clarify_id == question.id
                && matches!(arrived.message.body, InboxBody::Hold { .. })
                && arrived.stored_at <= deadline
        });
        if !in_time {
            broken.push(format!(
                "{} was held at {at} by nothing that came before {deadline}",
                question.id
            ));
        }
    }
    broken
}

/// What was refused does not fit its question, or was not its author's to say; nothing else is a reason.
pub fn check_refusals(history: &History<'_>) -> Vec<String> {
    let mut broken = Vec::new();
    for arrived in history.arrivals {
        let InboxBody::Respond(response) = &arrived.message.body else {
            continue;
        };
        let fits = history.of(arrived.clarify_id).is_some_and(|question| {
            response.fits(&question.questions) && may_answer(&question, &response.actor.person)
        });
        if fits && is_refused(history, response) {
            broken.push(format!("{response:?} was refused although it fits"));
        }
    }
    broken
}

/// A question that was answered in time does not go on waiting: soon after nothing stands in the way
/// any more it is settled.
pub fn check_answers_count(history: &History<'_>) -> Vec<String> {
    let calm = history
        .records
        .calm_since
        .map_or(i64::MAX, Timestamp::unix_millis);
    let mut broken = Vec::new();
    for End { at, before, .. } in history.ends() {
        let in_time = history.arrivals.iter().find(|arrived| {
            let answers = match &arrived.message.body {
                InboxBody::Respond(response) => !is_refused(history, response),
                InboxBody::Hold { .. } | InboxBody::PassOn { .. } => false,
            };
            arrived.clarify_id == before.id && arrived.stored_at <= before.expires_at() && answers
        });
        let Some(arrived) = in_time else { continue };
        let settled_by = arrived.stored_at.unix_millis().max(calm) + SETTLED_WITHIN_MS;
        if at.unix_millis() > settled_by {
            broken.push(format!(
                "{} was answered at {} and waited until {at}",
                before.id, arrived.stored_at
            ));
        }
    }
    broken
}
