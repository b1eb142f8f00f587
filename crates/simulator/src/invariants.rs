//! The promises of a whole run, as functions over what the log, the inbox and everybody in it saw.

mod late;
mod people;
mod policy;
mod presence;

use crate::world::{LEASE, Records, rights};
use askbus_domain::{
    AskerId, CancelCause, Clarification, ClarifyId, Event, Millis, Outcome, PersonId, Response,
    SessionId, Timestamp, Verdict, check_history, verdict,
};
pub use late::{check_begun, check_replies, check_sent_on};
pub use people::{check_history_is_shown, check_screens, check_told};
pub use policy::{check_addressees, check_policy};
pub use presence::check_presence;

use askbus_ledger::Stored;
use askbus_ledger::hostile::Arrived;
use askbus_wire::codec::Decoded;
use askbus_wire::messages::{InboxBody, Kept};
use std::collections::BTreeMap;
use std::sync::Arc;

/// How long an agent may be without its outcome once nothing is broken any more, in milliseconds:
/// a stream that went silent is given up after 45 s.
const HEARD_WITHIN_MS: i64 = 60_000;
/// How much earlier than a replica's decision the last sign of life must lie beside the lease, in
/// milliseconds.
const GONE_SLACK_MS: i64 = 100;

/// How long a question may go on waiting that is answered, once nothing is broken any more, in
/// milliseconds: messages come again after three seconds at most, and each try takes six at most.
const SETTLED_WITHIN_MS: i64 = 30_000;

/// Signs of life that are no more than this apart may be lost together: a silence of one and a half
/// heartbeats goes unnoticed.
const APART: Millis = Millis(LEASE.0 / 2);

/// What is left when a run is over.
pub struct History<'a> {
    /// The log.
    pub log: &'a [Arc<Stored>],
    /// What the inbox ever stored.
    pub arrivals: &'a [Arrived],
    /// What people and agents saw.
    pub records: &'a Records,
}

/// What became of a question, with the moment the log stored it.
struct End {
    at: Timestamp,
    before: Clarification,
    after: Clarification,
}

impl History<'_> {
    pub(crate) fn events(&self) -> impl Iterator<Item = (Timestamp, &SessionId, &Event)> {
        self.log.iter().flat_map(|stored| {
            let events = match &stored.decoded {
                Decoded::Commit(commit) => commit.events.as_slice(),
                Decoded::Unreadable { .. } => &[],
            };
            events
                .iter()
                .map(|e| (stored.stored_at, &stored.session, e))
        })
    }

    fn of(&self, id: ClarifyId) -> Option<Clarification> {
        Clarification::from_history(id, self.events().map(|(_, _, e)| e))
    }

    fn ends(&self) -> Vec<End> {
        let mut open: BTreeMap<ClarifyId, Clarification> = BTreeMap::new();
        let mut ends = Vec::new();
        for (at, _, event) in self.events() {
            if let Some(asked) = Clarification::requested(event) {
                open.insert(asked.id, asked);
            }
            let Some(question) = event.clarify_id().and_then(|id| open.get_mut(&id)) else {
                continue;
            };
            let before = question.clone();
            question.evolve(event);
            if before.is_pending() && !question.is_pending() {
                let after = question.clone();
                ends.push(End { at, before, after });
            }
        }
        ends
    }
}

/// Every promise; empty when all are kept.
pub fn check(history: &History<'_>) -> Vec<String> {
    let mut broken = history.records.broken.clone();
    broken.extend(check_sessions(history));
    broken.extend(check_nothing_waits(history));
    broken.extend(check_sent_is_kept(history));
    broken.extend(check_told(history));
    broken.extend(check_screens(history));
    broken.extend(check_history_is_shown(history));
    broken.extend(check_results(history));
    broken.extend(check_timeouts(history));
    broken.extend(check_holds(history));
    broken.extend(check_refusals(history));
    broken.extend(check_answers_count(history));
    broken.extend(check_unasked(history));
    broken.extend(check_outcomes_are_heard(history));
    broken.extend(check_the_gone_are_gone(history));
    broken.extend(check_policy(history));
    broken.extend(check_addressees(history));
    broken.extend(check_presence(history));
    broken.extend(check_begun(history));
    broken.extend(check_replies(history));
    broken.extend(check_sent_on(history));
    broken
}

/// Each session keeps the laws of a session: one resolution for each question, and nothing waits
/// longer than its turn.
pub fn check_sessions(history: &History<'_>) -> Vec<String> {
    let mut sessions: BTreeMap<&SessionId, Vec<(Timestamp, &Event)>> = BTreeMap::new();
    for (at, session, event) in history.events() {
        sessions.entry(session).or_default().push((at, event));
    }
    let check = |(session, events): (&SessionId, Vec<(Timestamp, &Event)>)| {
        let law = check_history(events.into_iter());
        law.err()
            .map(|broken| format!("session {session}: {broken}"))
    };
    sessions.into_iter().filter_map(check).collect()
}

/// When everybody who asked is gone for longer than a lease, nothing waits any more.
pub fn check_nothing_waits(history: &History<'_>) -> Vec<String> {
    let asked = history.events().filter_map(|(_, _, e)| match e {
        Event::Requested { clarify_id, .. } => Some(*clarify_id),
        _ => None,
    });
    asked
        .filter(|id| history.of(*id).is_some_and(|c| c.is_pending()))
        .map(|id| format!("{id} still waits although its asker is long gone"))
        .collect()
}

/// Whatever the inbox took in is in the log: as the resolution, as late, as a hold, or as refused.
pub fn check_sent_is_kept(history: &History<'_>) -> Vec<String> {
    let lost = |sent: &&Arrived| !is_kept(history, sent);
    let tell = |sent: &Arrived| format!("lost: {:?} to {}", sent.message.body, sent.clarify_id);
    history.arrivals.iter().filter(lost).map(tell).collect()
}

fn is_kept(history: &History<'_>, sent: &Arrived) -> bool {
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

fn is_refused(history: &History<'_>, response: &Response) -> bool {
    let id = format!("\"{}\"", response.answer_id);
    history
        .events()
        .any(|(_, _, e)| matches!(e, Event::Refused { sent, .. } if sent.contains(&id)))
}

/// A result that an agent got is the log's resolution.
pub fn check_results(history: &History<'_>) -> Vec<String> {
    let differs = |(id, told): &(ClarifyId, Outcome)| {
        let question = history.of(*id);
        let outcome = question.as_ref().and_then(|c| c.outcome.as_deref());
        (outcome != Some(told))
            .then(|| format!("{id}: an agent was told {told:?}, the log says {outcome:?}"))
    };
    history.records.results.iter().filter_map(differs).collect()
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

/// Whether a question is meant for a person.
fn may_answer(question: &Clarification, person: &PersonId) -> bool {
    let to = question.to.as_ref();
    to.is_none_or(|to| to.allows(&rights(person.as_str()), person))
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

/// A question of which an agent was told that nobody was asked was not asked.
pub fn check_unasked(history: &History<'_>) -> Vec<String> {
    let asked = |(_, _, event): (Timestamp, &SessionId, &Event)| match event {
        Event::Requested { questions, .. } => Some(questions.first().question.clone()),
        _ => None,
    };
    let asked: Vec<String> = history.events().filter_map(asked).collect();
    let unasked = history.records.unasked.iter();
    unasked
        .filter(|(text, _)| asked.contains(text))
        .map(|(text, told)| format!("{text} was asked although its agent was told: {told}"))
        .collect()
}

/// An agent that waits hears how its question ended, soon after nothing stands in the way any more.
pub fn check_outcomes_are_heard(history: &History<'_>) -> Vec<String> {
    let records = history.records;
    let calm = records.calm_since.map_or(i64::MAX, Timestamp::unix_millis);
    let ends = history.ends();
    let text = |end: &End| end.after.questions.first().question.clone();
    let mut broken = Vec::new();
    for (question, gave_up) in &records.unheard {
        // The same words may have been asked again; the last time counts.
        let Some(end) = ends.iter().rfind(|end| text(end) == *question) else {
            continue;
        };
        let heard_by = end.at.unix_millis().max(calm) + HEARD_WITHIN_MS;
        if gave_up.unix_millis() > heard_by {
            broken.push(format!(
                "{question} ended at {}, which its agent had not heard by {gave_up}",
                end.at
            ));
        }
    }
    broken
}

/// Nobody is taken for gone who was heard within the lease before that was decided, and not only
/// within one silence too short to be noticed. Where heartbeats get lost, nobody can know.
pub fn check_the_gone_are_gone(history: &History<'_>) -> Vec<String> {
    if !history.records.heartbeats_arrive {
        return Vec::new();
    }
    let mut asked: BTreeMap<ClarifyId, AskerId> = BTreeMap::new();
    let mut broken = Vec::new();
    for stored in history.log {
        let Decoded::Commit(commit) = &stored.decoded else {
            continue;
        };
        for event in &commit.events {
            match event {
                Event::Requested {
                    clarify_id,
                    asker_id,
                    ..
                } => {
                    asked.insert(*clarify_id, asker_id.clone());
                }
                Event::Resolved {
                    clarify_id,
                    outcome,
                } if outcome.cause == Some(CancelCause::AskerGone) => {
                    let Some(asker) = asked.get(clarify_id) else {
                        continue;
                    };
                    if let Some(heard) = heard_before(history.records, asker, commit.at) {
                        broken.push(format!(
                            "{asker} was taken for gone at {} although it was heard at {heard}",
                            commit.at
                        ));
                    }
                }
                _ => {}
            }
        }
    }
    broken
}

/// When an asker, or the turn it holds, was heard last within the lease before a moment, if it was
/// heard at moments that far apart.
fn heard_before(records: &Records, asker: &AskerId, at: Timestamp) -> Option<Timestamp> {
    let own = |kept: &Kept| match kept {
        Kept::Asker(_, name) => name == asker,
        Kept::Turn(_, name) => name.as_str() == asker.as_str(),
    };
    let lease = i64::try_from(LEASE.0).unwrap_or(i64::MAX) - GONE_SLACK_MS;
    let since = at.unix_millis() - lease;
    let within = |heard: &Timestamp| (since..at.unix_millis()).contains(&heard.unix_millis());
    let heard = records.alive.iter().filter(|(_, kept)| own(kept));
    let mut heard = heard.map(|(at, _)| *at).filter(within);
    let first = heard.next()?;
    heard.rfind(|last| first.until(*last) >= APART)
}
