//! Settled questions that are no longer kept whole: where the log has what makes them up. The log is
//! read for them when somebody looks, a few messages for each, and never searched.

use super::{Card, TurnFigures};
use askbus_domain::{ClarifyId, Outcome, Reason, Timestamp};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// Questions on the shelf of a tenant, the newest; each takes some eighty bytes.
const MAX_SHELVED: usize = 1_000_000;
/// Messages remembered of one question beside asking and settling.
const MAX_NOTED: usize = 64;

/// One settled question.
#[derive(Debug, Clone)]
pub(crate) struct Shelved {
    pub id: ClarifyId,
    /// Log sequence of its `resolved`.
    pub settled_seq: u64,
    pub resolved_at: Timestamp,
    pub reason: Reason,
    pub turn: Arc<TurnFigures>,
    requested_seq: u64,
    begun_seq: u64,
}

/// The shelf of one tenant.
#[derive(Default)]
pub(super) struct Shelf {
    /// In the order in which they were settled.
    settled: VecDeque<Shelved>,
    /// Where the log speaks of them otherwise: few are held, and fewer answered too late.
    noted: HashMap<ClarifyId, Vec<u64>>,
}

/// Notes that the log speaks of a question at `seq`.
pub(super) fn note(noted: &mut Vec<u64>, seq: u64) {
    if noted.len() >= MAX_NOTED {
        // The first one may be the hold, of which there is one; of what came late the newest is shown.
        noted.remove(1);
    }
    noted.push(seq);
}

impl Shelf {
    /// Takes a question that was settled after all that are here, or before few of them.
    pub(super) fn put(&mut self, card: &Card, settled_seq: u64, outcome: &Outcome) {
        let id = card.id();
        let shelved = Shelved {
            id,
            settled_seq,
            resolved_at: outcome.resolved_at,
            reason: outcome.reason,
            turn: Arc::clone(&card.turn),
            requested_seq: card.requested_seq,
            begun_seq: card.begun_seq,
        };
        let place = self
            .settled
            .partition_point(|s| s.settled_seq <= settled_seq);
        self.settled.insert(place, shelved);
        if !card.noted.is_empty() {
            self.noted.insert(id, card.noted.clone());
        }
        if self.settled.len() > MAX_SHELVED
            && let Some(oldest) = self.settled.pop_front()
        {
            self.noted.remove(&oldest.id);
        }
    }

    /// Notes that the log speaks of a question that may be here.
    pub(super) fn note(&mut self, id: ClarifyId, seq: u64) {
        // Of a question that is not here there are as few as of those that are.
        if self.noted.len() < MAX_SHELVED {
            note(self.noted.entry(id).or_default(), seq);
        }
    }

    /// Takes what is on a shelf of other sessions.
    pub(super) fn join(&mut self, mut others: Self) {
        others.settled.append(&mut self.settled);
        // Two stretches, each in its order: sorting does no more than to join them.
        others
            .settled
            .make_contiguous()
            .sort_by_key(|shelved| shelved.settled_seq);
        for (id, noted) in self.noted.drain() {
            let places = others.noted.entry(id).or_default();
            places.extend(noted);
            places.sort_unstable();
            places.dedup();
        }
        while others.settled.len() > MAX_SHELVED
            && let Some(oldest) = others.settled.pop_front()
        {
            others.noted.remove(&oldest.id);
        }
        *self = others;
    }

    /// Those settled before `seq`, latest first, each with where the log speaks of it.
    pub(super) fn before(&self, seq: u64) -> impl Iterator<Item = (&Shelved, Vec<u64>)> {
        let end = self.settled.partition_point(|s| s.settled_seq < seq);
        let latest_first = self.settled.range(..end).rev();
        latest_first.map(|shelved| (shelved, self.places(shelved)))
    }

    fn places(&self, shelved: &Shelved) -> Vec<u64> {
        let noted = self.noted.get(&shelved.id).into_iter().flatten();
        let own = [
            shelved.begun_seq,
            shelved.requested_seq,
            shelved.settled_seq,
        ];
        own.into_iter().chain(noted.copied()).collect()
    }
}
