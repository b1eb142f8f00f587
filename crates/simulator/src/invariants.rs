//! The promises of a whole run, as functions over what the log, the inbox and everybody in it saw.

mod agents;
mod answers;
mod drafts;
mod late;
mod people;
mod plans;
mod policy;
mod presence;
mod tenants;

pub use agents::{check_outcomes_are_heard, check_results, check_the_gone_are_gone, check_unasked};
pub use answers::{
    check_answers_count, check_holds, check_refusals, check_sent_is_kept, check_timeouts,
};
pub use drafts::check_drafts;
pub use late::{check_begun, check_replies, check_sent_on};
pub use people::{check_history_is_shown, check_screens, check_told};
pub use plans::{check_followed, check_listed, check_planned};
pub use policy::{check_addressees, check_policy};
pub use presence::check_presence;
pub use tenants::check_tenants;

use crate::world::{Records, rights};
use askbus_domain::{
    Clarification, ClarifyId, Event, PersonId, SessionId, TenantId, Timestamp, check_history,
};
use askbus_ledger::Stored;
use askbus_ledger::hostile::Arrived;
use askbus_wire::codec::Decoded;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What is left when a run is over.
pub struct History<'a> {
    /// Whose.
    pub tenant: &'a TenantId,
    /// The log, as far as it is the tenant's.
    pub log: &'a [Arc<Stored>],
    /// What the inbox ever stored for the tenant.
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
    broken.extend(check_drafts(history));
    broken.extend(check_planned(history));
    broken.extend(check_followed(history));
    broken.extend(check_listed(history));
    broken.extend(check_tenants(history));
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

/// Whether a question is meant for a person.
fn may_answer(question: &Clarification, person: &PersonId) -> bool {
    let to = question.to.as_ref();
    to.is_none_or(|to| to.allows(&rights(person.as_str()), person))
}
