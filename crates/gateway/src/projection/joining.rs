//! A projection that was folded without sessions that were over long before, and takes them in later.

use super::{Change, Projection};
use askbus_domain::{Event, SessionId};
use std::collections::VecDeque;
use std::sync::Arc;

/// Events kept until then; it takes seconds, and who answers too late is rare.
const MAX_UNPLACED: usize = 10_000;

/// What the log says, meanwhile, of questions that are not known yet.
#[derive(Default)]
pub(super) struct Unplaced(VecDeque<(u64, SessionId, Event)>);

impl Unplaced {
    /// Keeps one.
    pub(super) fn keep(&mut self, seq: u64, session: &SessionId, event: &Event) {
        if self.0.len() < MAX_UNPLACED {
            self.0.push_back((seq, session.clone(), event.clone()));
        }
    }
}

impl Projection {
    /// One that sessions are still to be joined to.
    pub(crate) fn incomplete() -> Self {
        Self {
            unplaced: Some(Unplaced::default()),
            ..Self::default()
        }
    }

    /// Takes in what other sessions came to, all of which are over, and what was said of them since.
    pub(crate) fn join(&mut self, mut others: Self) -> Vec<Change> {
        self.cards.extend(others.cards.drain());
        self.settled.append(&mut others.settled);
        self.settled.make_contiguous().sort_unstable();
        self.shelf.join(others.shelf);
        while self.settled.len() > super::MAX_SETTLED {
            self.shelve_oldest();
        }
        for card in others.plans.all() {
            self.plans.show(Arc::unwrap_or_clone(Arc::clone(card)));
        }
        let since = self.unplaced.take().unwrap_or_default();
        let placed = since.0.into_iter().filter_map(|(seq, session, event)| {
            let id = event.clarify_id()?;
            self.evolve(seq, id, &session, &event)
        });
        placed.collect()
    }
}
