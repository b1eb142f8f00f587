//! A projection that was folded without sessions that were over long before, and takes them in later.

use super::{Change, Projection};
use askbus_domain::{Event, SessionId};
use std::collections::VecDeque;
use std::sync::Arc;

/// Something that the log says of a question, and where.
pub(crate) type Said = (u64, SessionId, Event);

/// What the log says, meanwhile, of questions that are not known yet. It takes seconds until they are,
/// and who answers too late is rare; what is more than is kept is read from the log once more.
pub(super) struct Unplaced {
    most: usize,
    kept: VecDeque<Said>,
    not_kept_from: Option<u64>,
}

/// What was said of questions that are not known yet.
#[derive(Default)]
pub(crate) struct Meanwhile {
    /// In the order of the log.
    pub kept: VecDeque<Said>,
    /// From this sequence on nothing of it is in `kept`.
    pub not_kept_from: Option<u64>,
}

impl Unplaced {
    fn new(most: usize) -> Self {
        Self {
            most,
            kept: VecDeque::new(),
            not_kept_from: None,
        }
    }

    /// Keeps one, if there is room for all that the log says at `seq`.
    pub(super) fn keep(&mut self, seq: u64, session: &SessionId, event: &Event) {
        if self.not_kept_from.is_some() {
            return;
        }
        if self.kept.len() < self.most {
            self.kept.push_back((seq, session.clone(), event.clone()));
            return;
        }
        while self.kept.back().is_some_and(|(last, ..)| *last == seq) {
            self.kept.pop_back();
        }
        self.not_kept_from = Some(seq);
    }
}

impl Projection {
    /// One that sessions are still to be joined to, and that keeps so much of what is said of them
    /// meanwhile.
    pub(crate) fn incomplete(most: usize) -> Self {
        Self {
            unplaced: Some(Unplaced::new(most)),
            ..Self::default()
        }
    }

    /// Whether something was said of questions that are not known yet, and is not kept.
    pub(crate) fn has_not_kept(&self) -> bool {
        let unplaced = self.unplaced.as_ref();
        unplaced.is_some_and(|unplaced| unplaced.not_kept_from.is_some())
    }

    /// What was said so far of questions that are not known yet. From now on it is kept anew.
    pub(crate) fn take_meanwhile(&mut self) -> Meanwhile {
        let Some(unplaced) = &mut self.unplaced else {
            return Meanwhile::default();
        };
        Meanwhile {
            kept: std::mem::take(&mut unplaced.kept),
            not_kept_from: unplaced.not_kept_from.take(),
        }
    }

    /// Takes in what was said of a question after all that is here.
    pub(crate) fn place(&mut self, (seq, session, event): &Said) -> Option<Change> {
        self.evolve(*seq, event.clarify_id()?, session, event)
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
        let since = self.take_meanwhile().kept;
        self.unplaced = None;
        since.iter().filter_map(|said| self.place(said)).collect()
    }
}
