//! The open questions of this process, and what the attachment says of them.
//!
//! An attachment tells of every question that settles while it stands, and of those it was opened
//! with. A question whose `Ask` overlapped a gap between two attachments may fall between them; it
//! counts as uncovered, and the attachment is opened again with its id.

use super::lock;
use askbus_wire::proto;
use std::collections::HashMap;
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
    covered: bool,
}

#[derive(Default)]
struct State {
    open: HashMap<String, Open>,
    /// Settled before the reply to their `Ask` was read; kept while any `Ask` is on its way.
    early: HashMap<String, proto::Clarification>,
    placing: usize,
    /// Counts attachments.
    epoch: u64,
    attached: bool,
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
    /// The attachment that stood when it was first sent.
    epoch: Option<u64>,
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
        let epoch = state.attached.then_some(state.epoch);
        Placing { table: self, epoch }
    }

    /// Enters a question that is open now.
    pub(super) fn enter(&self, id: &str, placing: &Placing<'_>) -> oneshot::Receiver<Fate> {
        let (fate, receiver) = oneshot::channel();
        let mut state = lock(&self.state);
        if let Some(settled) = state.early.remove(id) {
            // Nobody else can hold the receiver yet.
            let _ = fate.send(Fate::Settled(Box::new(settled)));
            return receiver;
        }
        let covered = state.attached && placing.epoch == Some(state.epoch);
        state.open.insert(id.to_owned(), Open { fate, covered });
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

    /// Takes all questions out.
    pub(super) fn drain(&self) -> Vec<String> {
        lock(&self.state).open.drain().map(|(id, _)| id).collect()
    }

    pub(super) fn open_ids(&self) -> Vec<String> {
        lock(&self.state).open.keys().cloned().collect()
    }

    /// How many attachments there have been.
    pub(super) fn epoch(&self) -> u64 {
        lock(&self.state).epoch
    }

    /// An attachment opened with `ids` stands. True if questions fell between it and the last one.
    pub(super) fn attached(&self, ids: &[String]) -> bool {
        let mut state = lock(&self.state);
        state.attached = true;
        state.epoch += 1;
        for id in ids {
            if let Some(open) = state.open.get_mut(id) {
                open.covered = true;
            }
        }
        state.open.values().any(|open| !open.covered)
    }

    pub(super) fn detached(&self) {
        lock(&self.state).attached = false;
    }

    /// Waits until a question may have fallen between attachments.
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

    #[test]
    fn an_outcome_that_overtakes_the_reply_to_its_ask_is_kept() {
        let table = Table::default();
        assert!(!table.attached(&[]));
        let placing = table.placing();
        table.settled(settled("a"));
        let mut fate = table.enter("a", &placing);
        assert!(matches!(fate.try_recv(), Ok(Fate::Settled(c)) if c.clarify_id == "a"));
        table.settled(settled("b"));
        drop(placing);
        // Nobody was placing any more: what came for others is not hoarded.
        assert!(lock(&table.state).early.is_empty());
    }

    #[test]
    fn a_question_placed_across_a_gap_asks_for_a_new_attachment() {
        let table = Table::default();
        table.attached(&[]);
        let placing = table.placing();
        table.detached();
        let _fate = table.enter("a", &placing);
        // The next attachment was opened before the id was known.
        assert!(table.attached(&[]));
        assert!(!table.attached(&table.open_ids()));
        let within = table.placing();
        let _fate = table.enter("b", &within);
        assert!(
            !table.attached(&["a".to_owned()]),
            "b was covered from the start"
        );
    }
}
