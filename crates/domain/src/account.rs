//! What a turn's questions came to: how many were asked, how many nobody answered (A7, A8).

use crate::{Event, Millis, Reason, Timestamp};
use serde::{Deserialize, Serialize};

/// The figures of a turn that people see (A8).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Figures {
    /// Questions asked; every call counts one.
    pub asked: u32,
    /// Those of them that a policy settled in a person's place: timed out or unattended.
    pub auto: u32,
}

/// The account of a turn: the fold of its events.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Account {
    figures: Figures,
    in_row: u32,
    /// When the last of the row stayed unanswered.
    last: Option<Timestamp>,
    /// The client's own turn marker of the last question.
    marker: Option<String>,
    /// Whether nobody was present at the last question.
    nobody: bool,
}

/// After how long a row is forgotten in an adapter's own turn (A7).
const FORGOTTEN_AFTER: Millis = Millis(30 * 60_000);

impl Account {
    /// The figures so far.
    pub const fn figures(&self) -> Figures {
        self.figures
    }

    /// How many in a row nobody answered.
    pub const fn in_row(&self) -> u32 {
        self.in_row
    }

    /// Folds one event; a new turn counts from nothing.
    pub fn note(&mut self, event: &Event) {
        match event {
            Event::Begun { .. } => *self = Self::default(),
            Event::Requested {
                counted_anew,
                client_turn,
                nobody_present,
                ..
            } => {
                self.figures.asked = self.figures.asked.saturating_add(1);
                if *counted_anew {
                    self.in_row = 0;
                }
                if client_turn.is_some() {
                    self.marker.clone_from(client_turn);
                }
                self.nobody = *nobody_present;
            }
            Event::Resolved { outcome, .. } => match outcome.reason {
                Reason::Timeout | Reason::Unattended => {
                    self.figures.auto = self.figures.auto.saturating_add(1);
                    self.unanswered(outcome.resolved_at);
                }
                Reason::Deferred => self.unanswered(outcome.resolved_at),
                Reason::Response | Reason::AskBack | Reason::Dismissed | Reason::Skipped => {
                    self.in_row = 0;
                }
                // Nobody was asked.
                Reason::Off => self.figures.asked = self.figures.asked.saturating_sub(1),
                Reason::Cancelled => {}
            },
            _ => {}
        }
    }

    fn unanswered(&mut self, at: Timestamp) {
        self.in_row = self.in_row.saturating_add(1);
        self.last = Some(at);
    }

    /// Whether an ask in an adapter's own turn starts a new row (A7): the client began a turn of its
    /// own, a person came, or half an hour went by.
    pub fn starts_anew(&self, client_turn: Option<&str>, present: bool, now: Timestamp) -> bool {
        let other_turn = client_turn.is_some() && client_turn != self.marker.as_deref();
        let long_ago = self
            .last
            .is_some_and(|last| now >= last.plus(FORGOTTEN_AFTER));
        self.in_row > 0 && (other_turn || long_ago || (present && self.nobody))
    }
}
