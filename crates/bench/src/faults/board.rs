//! Where everybody of a round writes down what they see, and where the round waits for what it
//! needs to see.

use super::seen::{Seen, Sent, Sight, Told};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::watch;

/// What is known so far.
#[derive(Default)]
pub(super) struct State {
    pub seen: Seen,
    /// What waits by the observer's last news: the question by the clarification's id.
    pub waiting: BTreeMap<String, String>,
    /// Texts and ids of answers that the observer saw to count or to be kept as late.
    pub recorded: BTreeSet<String>,
    /// How far the round has come: more is answered at each stage.
    pub stage: usize,
    /// How often the observer lost its connection.
    pub reconnects: u64,
}

impl State {
    /// How many answers were taken.
    pub(super) fn taken(&self) -> usize {
        self.seen.sent.iter().filter(|s| s.is_taken()).count()
    }

    /// How many clarifications with this question wait.
    fn open(&self, question: &str) -> usize {
        self.waiting.values().filter(|q| *q == question).count()
    }

    /// Whether nothing more is to be expected before somebody acts.
    pub(super) fn is_at_rest(&self) -> bool {
        let calls = self.seen.calls.iter().all(|call| {
            let open = self.open(&call.question);
            match (call.lives, call.due) {
                (true, false) => open == 1 || !call.returned.is_empty(),
                (true, true) => !call.returned.is_empty(),
                (false, _) => open == 0,
            }
        });
        let sent = self.seen.sent.iter().all(|sent| self.is_answered(sent));
        calls && sent && self.seen.planner.done && self.untold().next().is_none()
    }

    /// Whether the author knows what became of an answer, or everybody does.
    fn is_answered(&self, sent: &Sent) -> bool {
        let recorded =
            self.recorded.contains(&sent.answer_id) || self.recorded.contains(&sent.text);
        sent.told.iter().any(|told| match told {
            Told::Settled(_) | Told::Over(_) => true,
            Told::Stored => recorded,
            Told::NotSent(_) => false,
        })
    }

    /// What waits and the channel was not told of.
    fn untold(&self) -> impl Iterator<Item = &String> {
        let notices = self.seen.notices.iter();
        let told: BTreeSet<&String> = notices.map(|notice| &notice.clarify_id).collect();
        self.waiting.keys().filter(move |id| !told.contains(id))
    }

    /// What is still missing for rest, for a person to read.
    pub(super) fn missing(&self) -> Vec<String> {
        let calls = self.seen.calls.iter().filter(|call| {
            let open = self.open(&call.question);
            match (call.lives, call.due) {
                (true, false) => open != 1 && call.returned.is_empty(),
                (true, true) => call.returned.is_empty(),
                (false, _) => open > 0,
            }
        });
        let calls = calls.map(|call| {
            let (name, lives, open) = (&call.question, call.lives, self.open(&call.question));
            format!(
                "{name}: lives {lives}, waits {open} times, returned {:?}",
                call.returned
            )
        });
        let sent = self.seen.sent.iter().filter(|s| !self.is_answered(s));
        let sent =
            sent.map(|s| format!("answer {:?} to {}: told {:?}", s.text, s.clarify_id, s.told));
        let untold = self.untold().map(|id| format!("the channel: {id}"));
        let plan = (!self.seen.planner.done).then(|| "the plan".to_owned());
        calls.chain(sent).chain(untold).chain(plan).collect()
    }

    /// The observer sees a question.
    pub(super) fn sees_waiting(&mut self, id: &str, question: &str) {
        self.seen.sights.push(Sight::Waits(id.to_owned()));
        self.waiting.insert(id.to_owned(), question.to_owned());
    }

    /// The observer sees an end.
    pub(super) fn sees_ended(&mut self, id: &str) {
        self.seen.sights.push(Sight::Ended(id.to_owned()));
        self.waiting.remove(id);
    }
}

/// The state, and a way to wait for its changes.
pub(super) struct Board {
    state: Mutex<State>,
    changes: watch::Sender<u64>,
}

impl Board {
    pub(super) fn new() -> Self {
        Self {
            state: Mutex::default(),
            changes: watch::Sender::new(0),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes something down.
    pub(super) fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let result = change(&mut self.lock());
        self.changes.send_modify(|count| *count += 1);
        result
    }

    /// Looks.
    pub(super) fn look<T>(&self, look: impl FnOnce(&State) -> T) -> T {
        look(&self.lock())
    }

    /// Changes from now on.
    pub(super) fn watch(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// How often something was written down.
    pub(super) fn changes(&self) -> u64 {
        *self.changes.borrow()
    }

    /// Waits until `wanted` holds; false when it does not within `limit`.
    pub(super) async fn until(&self, limit: Duration, wanted: impl Fn(&State) -> bool) -> bool {
        let mut changes = self.watch();
        let waiting = async {
            loop {
                changes.borrow_and_update();
                if self.look(&wanted) {
                    return;
                }
                // The sender lives as long as this borrow.
                let _ = changes.changed().await;
            }
        };
        tokio::time::timeout(limit, waiting).await.is_ok()
    }
}
