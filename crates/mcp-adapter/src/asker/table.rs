//! The open questions of this process, and what is heard of them.
//!
//! Whoever listens (an attachment, a subscription) hears of every question that settles meanwhile,
//! and asks for those that were open before. A question whose `Ask` overlapped a gap in the listening
//! may fall into it; it counts as uncovered, and is asked for.

use super::{Notice, Notices, lock};
use askbus_wire::error::WireError;
use askbus_wire::proto;
use askbus_wire::trace::Trace;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};
use tokio::sync::{Notify, oneshot};

/// What became of a question.
#[derive(Debug, Clone)]
pub(super) enum Fate {
    /// It settled.
    Settled(Arc<proto::Clarification>),
    /// The service does not know it.
    Unknown,
    /// Its end will never be heard here.
    Refused(WireError),
}

/// One call that waits; identical questions have several.
struct Waiter {
    key: u64,
    fate: oneshot::Sender<Fate>,
    notices: Notices,
}

struct Open {
    waiters: Vec<Waiter>,
    /// Who stopped the countdown.
    held_by: Option<String>,
    session_id: String,
    trace: Trace,
    covered: bool,
}

impl Open {
    fn settle(self, fate: &Fate) {
        for waiter in self.waiters {
            // It may be gone; then nobody wants to know.
            drop(waiter.fate.send(fate.clone()));
        }
    }
}

/// One call's place among those that wait for a question.
pub(super) struct Place {
    key: u64,
    /// How the question ends.
    pub fate: oneshot::Receiver<Fate>,
    /// The question of an identical call that may have withdrawn it meanwhile.
    pub contested: bool,
}

#[derive(Default)]
struct State {
    open: BTreeMap<String, Open>,
    /// Settled before the reply to their `Ask` was read; kept while any `Ask` is on its way.
    early: HashMap<String, proto::Clarification>,
    placing: usize,
    /// Counts waiters.
    keys: u64,
    /// Counts outages of the listening.
    epoch: u64,
    /// Counts gaps in the listening, outages included.
    gaps: u64,
    listening: bool,
}

/// The table.
#[derive(Default)]
pub(super) struct Table {
    state: Mutex<State>,
    uncovered: Notify,
}

/// An `Ask` on its way.
pub(super) struct Placing<'a> {
    table: &'a Table,
    /// Gaps there had been when it was first sent; none: nobody listened.
    gaps: Option<u64>,
}

impl Drop for Placing<'_> {
    fn drop(&mut self) {
        let mut state = lock(&self.table.state);
        state.placing = state.placing.saturating_sub(1);
        if state.placing == 0 {
            state.early.clear();
        }
    }
}

impl Place {
    pub(super) const fn key(&self) -> u64 {
        self.key
    }
}

impl Table {
    /// To be called before an `Ask` is sent, and kept until its id is entered.
    pub(super) fn placing(&self) -> Placing<'_> {
        let mut state = lock(&self.state);
        state.placing += 1;
        let gaps = state.listening.then_some(state.gaps);
        Placing { table: self, gaps }
    }

    /// Whether any `Ask` is on its way.
    pub(super) fn is_placing(&self) -> bool {
        lock(&self.state).placing > 0
    }

    /// Enters a call that waits for a question; if that is settled already, the call has its end.
    pub(super) fn enter(
        &self,
        asked: &proto::AskResponse,
        trace: &Trace,
        placing: &Placing<'_>,
        notices: &Notices,
    ) -> Place {
        let (sender, fate) = oneshot::channel();
        let id = &asked.clarify_id;
        let mut state = lock(&self.state);
        state.keys += 1;
        let key = state.keys;
        // An identical question waited for already; if nobody here waits for it any more, it may have
        // been withdrawn or settled before this reply was read.
        let contested = asked.reattached && !state.open.contains_key(id);
        let place = Place {
            key,
            fate,
            contested,
        };
        // Told with the reply, or before it.
        let early = state.early.remove(id);
        if let Some(settled) = asked.settled.clone().or(early) {
            // The receiver is still here.
            drop(sender.send(Fate::Settled(Arc::new(settled))));
            return place;
        }
        let covered = state.listening && placing.gaps == Some(state.gaps) && !contested;
        let open = state.open.entry(id.clone()).or_insert_with(|| Open {
            waiters: Vec::new(),
            held_by: None,
            session_id: asked.session_id.clone(),
            trace: trace.clone(),
            covered,
        });
        open.waiters.push(Waiter {
            key,
            fate: sender,
            notices: Arc::clone(notices),
        });
        let (covered, held_by) = (open.covered, open.held_by.clone());
        drop(state);
        if let Some(person) = held_by {
            notices(Notice::Held { person });
        }
        if !covered {
            self.uncovered.notify_one();
        }
        place
    }

    /// One call waits no more. True if it was the last one, so that the question is withdrawn.
    pub(super) fn leave(&self, id: &str, key: u64) -> bool {
        let mut state = lock(&self.state);
        let Some(open) = state.open.get_mut(id) else {
            return true;
        };
        open.waiters.retain(|waiter| waiter.key != key);
        let last = open.waiters.is_empty();
        if last {
            state.open.remove(id);
        }
        last
    }

    /// One call goes on waiting, and hears of nothing but the end.
    pub(super) fn quiet(&self, id: &str, key: u64) {
        let mut state = lock(&self.state);
        let open = state.open.get_mut(id);
        let waiters = open.into_iter().flat_map(|open| &mut open.waiters);
        for waiter in waiters.filter(|waiter| waiter.key == key) {
            waiter.notices = super::silent();
        }
    }

    /// A person stopped the countdown: whoever waits is told once.
    pub(super) fn held(&self, id: &str, person: &str) {
        let mut state = lock(&self.state);
        let Some(open) = state.open.get_mut(id).filter(|o| o.held_by.is_none()) else {
            return;
        };
        open.held_by = Some(person.to_owned());
        let waiting: Vec<Notices> = open
            .waiters
            .iter()
            .map(|w| Arc::clone(&w.notices))
            .collect();
        drop(state);
        for notices in waiting {
            let person = person.to_owned();
            notices(Notice::Held { person });
        }
    }

    /// Takes all questions out, each with the trace it was asked in.
    pub(super) fn drain(&self) -> Vec<(String, Trace)> {
        let mut state = lock(&self.state);
        std::mem::take(&mut state.open)
            .into_iter()
            .map(|(id, open)| (id, open.trace))
            .collect()
    }

    pub(super) fn open_ids(&self) -> Vec<String> {
        lock(&self.state).open.keys().cloned().collect()
    }

    pub(super) fn is_open(&self, id: &str) -> bool {
        lock(&self.state).open.contains_key(id)
    }

    /// Whether a question of this session is open.
    pub(super) fn is_open_in(&self, session_id: &str) -> bool {
        let state = lock(&self.state);
        state
            .open
            .values()
            .any(|open| open.session_id == session_id)
    }

    /// How many outages of the listening there have been.
    pub(super) fn epoch(&self) -> u64 {
        lock(&self.state).epoch
    }

    /// Somebody listens from now on, and has asked for `ids`. True if questions fell in between.
    pub(super) fn listening(&self, ids: &[String]) -> bool {
        let mut state = lock(&self.state);
        state.listening = true;
        state.epoch += 1;
        state.gaps += 1;
        for id in ids {
            if let Some(open) = state.open.get_mut(id) {
                open.covered = true;
            }
        }
        state.open.values().any(|open| !open.covered)
    }

    /// Nobody listens from now on.
    pub(super) fn deaf(&self) {
        lock(&self.state).listening = false;
    }

    /// Something was missed while listening.
    pub(super) fn missed(&self) {
        lock(&self.state).gaps += 1;
    }

    /// The question was asked for while somebody listened.
    pub(super) fn cover(&self, id: &str) {
        if let Some(open) = lock(&self.state).open.get_mut(id) {
            open.covered = true;
        }
    }

    /// Waits until a question may have fallen into a gap.
    pub(super) async fn gap(&self) {
        loop {
            self.uncovered.notified().await;
            if lock(&self.state).open.values().any(|open| !open.covered) {
                return;
            }
        }
    }

    pub(super) fn settled(&self, clarification: proto::Clarification) {
        let mut state = lock(&self.state);
        match state.open.remove(&clarification.clarify_id) {
            Some(open) => {
                drop(state);
                open.settle(&Fate::Settled(Arc::new(clarification)));
            }
            None if state.placing > 0 => {
                let id = clarification.clarify_id.clone();
                state.early.insert(id, clarification);
            }
            None => {}
        }
    }

    /// Ends every wait: the service listens to this process no more.
    pub(super) fn refused(&self, error: &WireError) {
        let open = std::mem::take(&mut lock(&self.state).open);
        for open in open.into_values() {
            open.settle(&Fate::Refused(error.clone()));
        }
    }

    pub(super) fn unknown(&self, id: &str) {
        let open = lock(&self.state).open.remove(id);
        if let Some(open) = open {
            open.settle(&Fate::Unknown);
        }
    }
}

#[cfg(test)]
mod tests;
