//! What agents are told, and that nobody is taken for gone who is there.

use super::{End, History};
use crate::world::{LEASE, Records};
use askbus_domain::{
    AskerId, CancelCause, ClarifyId, Event, Millis, Outcome, SessionId, Timestamp,
};
use askbus_wire::codec::Decoded;
use askbus_wire::messages::Kept;
use std::collections::BTreeMap;

/// How long an agent may be without its outcome once nothing is broken any more, in milliseconds:
/// a stream that went silent is given up after 45 s.
const HEARD_WITHIN_MS: i64 = 60_000;
/// How much earlier than a replica's decision the last sign of life must lie beside the lease, in
/// milliseconds.
const GONE_SLACK_MS: i64 = 100;

/// Signs of life that are no more than this apart may be lost together: a silence of one and a half
/// heartbeats goes unnoticed.
const APART: Millis = Millis(LEASE.0 / 2);

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
