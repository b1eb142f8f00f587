//! Drafts that come over a socket: the last of each question and tab is saved, once a second, beside the
//! conversation.

use super::{Socket, Step};
use crate::drafts;
use crate::projection::Card;
use askbus_domain::{ClarifyId, MAX_COMMIT_BYTES};
use askbus_wire::error::{ErrorCode, WireError};
use askbus_wire::messages::Draft;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Drafts of one socket waiting to be saved at most.
const MAX_DRAFTS: usize = 64;

/// Drafts not yet saved, the last of each question and tab.
pub(super) type Unsaved = BTreeMap<(ClarifyId, String), (Arc<Card>, Draft)>;

impl Socket {
    pub(super) fn save_drafts(&mut self) {
        if self.saving.is_empty() && drafts::may_save(&self.gateway, &self.person) {
            self.begin_saving();
        }
    }

    /// Saves beside the conversation: a bus that does not answer holds nothing else up.
    pub(super) fn begin_saving(&mut self) {
        let unsaved = std::mem::take(&mut self.unsaved);
        let (gateway, person) = (Arc::clone(&self.gateway), self.person.clone());
        let number = self.seat.number;
        self.saving.push(Box::pin(async move {
            let mut failed = Unsaved::new();
            for (key, (card, draft)) in unsaved {
                let again = (Arc::clone(&card), draft.clone());
                if !drafts::save(&gateway, &person, card, Some(number), draft).await {
                    failed.insert(key, again);
                }
            }
            failed
        }));
    }

    /// Saved later, unless something newer was written meanwhile.
    pub(super) fn not_saved(&mut self, failed: Unsaved) {
        for (key, draft) in failed {
            self.unsaved.entry(key).or_insert(draft);
        }
    }

    pub(super) async fn note_draft(&mut self, card: Arc<Card>, draft: Draft) -> Step {
        let size = serde_json::to_vec(&draft).map_or(0, |bytes| bytes.len());
        if size > MAX_COMMIT_BYTES {
            let message = "this is too long to be kept as a draft; it is still on your screen";
            return self
                .refuse(WireError::new(ErrorCode::TooLarge, message))
                .await;
        }
        let key = (card.id(), draft.tab.clone());
        if self.unsaved.len() >= MAX_DRAFTS && !self.unsaved.contains_key(&key) {
            let message =
                "too many drafts at once; this one was not saved; it is still on your screen";
            return self
                .refuse(WireError::new(ErrorCode::RateLimited, message))
                .await;
        }
        self.unsaved.insert(key, (card, draft));
        self.save_drafts();
        Ok(())
    }
}
