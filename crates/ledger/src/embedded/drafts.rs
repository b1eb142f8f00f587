//! Drafts in the embedded file: one row per clarification, person and tab.

use super::Shared;
use super::frame;
use super::store::DRAFTS;
use super::writer::Request;
use crate::{Drafts, LedgerError, StoredDraft};
use askbus_domain::{ClarifyId, PersonId, SessionId, TenantId};
use askbus_wire::messages::Draft;
use askbus_wire::subject;
use async_trait::async_trait;
use std::sync::Arc;
use tokio::sync::oneshot;

/// The embedded drafts; keys are the subjects that the bus would use.
pub(super) struct EmbeddedDrafts(pub Arc<Shared>);

#[async_trait]
impl Drafts for EmbeddedDrafts {
    async fn put(
        &self,
        tenant: &TenantId,
        session: &SessionId,
        id: ClarifyId,
        person: &PersonId,
        draft: &Draft,
    ) -> Result<(), LedgerError> {
        let payload = crate::drafts::encode(draft)?;
        let key = subject::draft(tenant, session, id, person, &draft.tab);
        let (done, stored) = oneshot::channel();
        self.0
            .request(Request::Draft { key, payload, done })
            .await?;
        stored
            .await
            .map_err(|_| super::store::failed("the writer stopped"))?
    }

    async fn list(
        &self,
        tenant: &TenantId,
        session: &SessionId,
        id: ClarifyId,
    ) -> Result<Vec<StoredDraft>, LedgerError> {
        let mut prefix = subject::draft_clarification(tenant, session, id);
        prefix.truncate(prefix.len() - "*.*".len());
        self.0
            .blocking(move |snapshot| {
                let drafts = snapshot.open_table(DRAFTS)?;
                let mut found = Vec::new();
                for row in drafts.range(prefix.as_str()..)? {
                    let (key, row) = row?;
                    if !key.value().starts_with(&prefix) {
                        break;
                    }
                    found.extend(
                        frame::parse::<0>(row.value()).and_then(|f| {
                            crate::drafts::decode(key.value(), f.payload, f.stored_at)
                        }),
                    );
                }
                Ok(found)
            })
            .await
    }
}
