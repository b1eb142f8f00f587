//! Questions that no call waits for at the moment: their calls were handed back before the client's
//! limit, or lost with their connection. Each is kept for a while, for whoever comes back.

use super::waiting::Waiting;
use super::{AskCall, lock};
use askbus_domain::{AskInput, parse_arguments};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::Instant;

struct Kept {
    waiting: Waiting,
    until: Instant,
}

/// What becomes of a parked question for which nobody came back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unclaimed {
    /// It is withdrawn: its client is known to be there, and did not want it.
    Withdraw,
    /// It is left to the lease: somebody may wait for it elsewhere, under this process's name.
    LetGo,
}

/// The parked questions of one asking process.
#[derive(Clone, Default)]
pub(super) struct Parked(Arc<Mutex<HashMap<String, Kept>>>);

impl Parked {
    /// Keeps a question for `time`, or for as long as it was to be kept already.
    pub(super) fn park(&self, mut waiting: Waiting, time: Duration, unclaimed: Unclaimed) {
        let id = waiting.clarify_id().to_owned();
        let until = Instant::now() + time;
        {
            let mut parked = lock(&self.0);
            let before = parked.remove(&id);
            let until = before
                .as_ref()
                .map_or(until, |before| before.until.max(until));
            if let Some(before) = before {
                waiting.take_over(before.waiting);
            }
            parked.insert(id.clone(), Kept { waiting, until });
        }
        let parked = Arc::downgrade(&self.0);
        // Ends with its time at the latest, and keeps nothing alive.
        tokio::spawn(async move {
            tokio::time::sleep_until(until).await;
            let Some(parked) = parked.upgrade() else {
                return;
            };
            let over = {
                let mut parked = lock(&parked);
                let over = parked.get(&id).is_some_and(|kept| kept.until <= until);
                over.then(|| parked.remove(&id)).flatten()
            };
            match (over, unclaimed) {
                (Some(kept), Unclaimed::LetGo) => kept.waiting.let_go(),
                (over, _) => drop(over),
            }
        });
    }

    /// Takes a question out, for a call that waits for it now.
    pub(super) fn take(&self, clarify_id: &str) -> Option<Waiting> {
        lock(&self.0).remove(clarify_id).map(|kept| kept.waiting)
    }

    /// The parked question that `call` would ask anew, if there is one: the same words to the same
    /// person in the same turn, and no call has been sent its result yet.
    pub(super) fn same_as(&self, call: &AskCall) -> Option<AskedBefore> {
        let asked = canonical(call)?;
        let parked = lock(&self.0);
        parked.iter().find_map(|(id, kept)| {
            let other = kept.waiting.call()?;
            let same_place = other.dialect == call.dialect
                && other.context == call.context
                && other.origin == call.origin;
            let before = canonical(other).filter(|_| same_place)?;
            let same = before.questions == asked.questions && before.to == asked.to;
            same.then(|| AskedBefore {
                clarify_id: id.clone(),
                terms_differ: !same_terms(&before, &asked),
            })
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        lock(&self.0).is_empty()
    }

    pub(super) fn holds(&self, clarify_id: &str) -> bool {
        lock(&self.0).contains_key(clarify_id)
    }
}

/// A question that was asked in the same words before and still waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskedBefore {
    /// Its id.
    pub clarify_id: String,
    /// Whether this call says something else of its time or of what silence means: what was said first
    /// counts.
    pub terms_differ: bool,
}

fn same_terms(before: &AskInput, now: &AskInput) -> bool {
    before.timeout == now.timeout
        && before.on_timeout == now.on_timeout
        && before.when_absent == now.when_absent
}

fn canonical(call: &AskCall) -> Option<AskInput> {
    parse_arguments(call.dialect, &call.arguments).ok()
}

impl super::Asker {
    /// Keeps a question whose call is over without a result, for `time`.
    pub fn park(&self, mut waiting: Waiting, time: Duration, unclaimed: Unclaimed) {
        waiting.handed_back();
        self.parked.park(waiting, time, unclaimed);
    }

    /// A parked question by its id: for a call that waits for it now.
    pub fn take_parked(&self, clarify_id: &str) -> Option<Waiting> {
        self.parked.take(clarify_id)
    }

    /// The parked question that `call` would ask anew.
    pub fn parked_as(&self, call: &AskCall) -> Option<AskedBefore> {
        self.parked.same_as(call)
    }

    /// Whether this question is parked here.
    pub fn has_parked(&self, clarify_id: &str) -> bool {
        self.parked.holds(clarify_id)
    }

    /// Whether any question is parked here.
    pub fn parks(&self) -> bool {
        !self.parked.is_empty()
    }
}
