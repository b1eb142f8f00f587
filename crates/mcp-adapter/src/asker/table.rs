//! The open questions of this process, and what is heard of them.
//!
//! Whoever listens (an attachment, a subscription) hears of every question that settles meanwhile,
//! and asks for those that were open before. A question whose `Ask` overlapped a gap in the listening
//! may fall into it; it counts as uncovered, and is asked for.

use super::lock;
use askbus_wire::proto;
use askbus_wire::trace::Trace;
use std::collections::{BTreeMap, HashMap};
use std::sync::Mutex;
use tokio::sync::{Notify, oneshot};

/// What became of a question.
#[derive(Debug)]
pub(super) enum Fate {
    /// It settled.
    Settled(Box<proto::Clarification>),
    /// The service does not know it.
    Unknown,
}

struct Open {
    fate: oneshot::Sender<Fate>,
    session_id: String,
    trace: Trace,
    covered: bool,
}

#[derive(Default)]
struct State {
    open: BTreeMap<String, Open>,
    /// Settled before the reply to their `Ask` was read; kept while any `Ask` is on its way.
    early: HashMap<String, proto::Clarification>,
    placing: usize,
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

    /// Enters a question that is open now.
    pub(super) fn enter(
        &self,
        asked: &proto::AskResponse,
        trace: &Trace,
        placing: &Placing<'_>,
    ) -> oneshot::Receiver<Fate> {
        let (fate, receiver) = oneshot::channel();
        let mut state = lock(&self.state);
        if let Some(settled) = state.early.remove(&asked.clarify_id) {
            // Nobody else can hold the receiver yet.
            let _ = fate.send(Fate::Settled(Box::new(settled)));
            return receiver;
        }
        let covered = state.listening && placing.gaps == Some(state.gaps);
        let open = Open {
            fate,
            session_id: asked.session_id.clone(),
            trace: trace.clone(),
            covered,
        };
        state.open.insert(asked.clarify_id.clone(), open);
        drop(state);
        if !covered {
            self.uncovered.notify_one();
        }
        receiver
    }

    /// Takes a question out, whatever becomes of it.
    pub(super) fn remove(&self, id: &str) {
        lock(&self.state).open.remove(id);
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
            // The waiter may be gone; then nobody wants to know.
            Some(open) => drop(open.fate.send(Fate::Settled(Box::new(clarification)))),
            None if state.placing > 0 => {
                let id = clarification.clarify_id.clone();
                state.early.insert(id, clarification);
            }
            None => {}
        }
    }

    pub(super) fn unknown(&self, id: &str) {
        if let Some(open) = lock(&self.state).open.remove(id) {
            drop(open.fate.send(Fate::Unknown));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settled(id: &str) -> proto::Clarification {
        proto::Clarification {
            clarify_id: id.to_owned(),
            ..Default::default()
        }
    }

    fn enter(table: &Table, id: &str, placing: &Placing<'_>) -> oneshot::Receiver<Fate> {
        let asked = proto::AskResponse {
            clarify_id: id.to_owned(),
            session_id: format!("session of {id}"),
            ..Default::default()
        };
        table.enter(&asked, &Trace::begin(), placing)
    }

    #[test]
    fn an_outcome_that_overtakes_the_reply_to_its_ask_is_kept() {
        let table = Table::default();
        assert!(!table.listening(&[]));
        let placing = table.placing();
        table.settled(settled("a"));
        let mut fate = enter(&table, "a", &placing);
        assert!(matches!(fate.try_recv(), Ok(Fate::Settled(c)) if c.clarify_id == "a"));
        table.settled(settled("b"));
        drop(placing);
        // Nobody was placing any more: what came for others is not hoarded.
        assert!(lock(&table.state).early.is_empty());
    }

    #[test]
    fn a_question_placed_across_an_outage_is_asked_for() {
        let table = Table::default();
        table.listening(&[]);
        let placing = table.placing();
        table.deaf();
        let _fate = enter(&table, "a", &placing);
        // Those who listen again did not know the id yet.
        assert!(table.listening(&[]));
        assert!(!table.listening(&table.open_ids()));
        let within = table.placing();
        let _fate = enter(&table, "b", &within);
        let known = ["a".to_owned()];
        assert!(!table.listening(&known), "b was covered from the start");
    }

    #[test]
    fn a_question_placed_across_a_gap_is_asked_for_though_nobody_was_away() {
        let table = Table::default();
        table.listening(&[]);
        let (epoch, placing) = (table.epoch(), table.placing());
        table.missed();
        let _fate = enter(&table, "a", &placing);
        assert!(table.is_open_in("session of a") && !table.is_open_in("session of b"));
        let uncovered = |table: &Table| lock(&table.state).open.values().any(|o| !o.covered);
        assert!(uncovered(&table));
        table.cover("a");
        assert!(!uncovered(&table));
        assert_eq!(table.epoch(), epoch);
    }
}
