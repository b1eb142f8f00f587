//! Drafts in the embedded file: one row per clarification, person and tab.

use super::Shared;
use super::revised::Table;
use super::store::DRAFTS;
use crate::{Drafts, LedgerError, StoredDraft};
use askbus_domain::{ClarifyId, PersonId, SessionId, TenantId};
use askbus_wire::messages::Draft;
use askbus_wire::subject;
use async_trait::async_trait;
use std::sync::Arc;

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
        let value = crate::drafts::encode(draft)?;
        let key = subject::draft(tenant, session, id, person, &draft.tab);
        self.0.put(Table::Drafts, key, None, value).await?;
        Ok(())
    }

    async fn put_if(
        &self,
        tenant: &TenantId,
        session: &SessionId,
        id: ClarifyId,
        person: &PersonId,
        draft: &Draft,
        expected: u64,
    ) -> Result<Option<u64>, LedgerError> {
        let value = crate::drafts::encode(draft)?;
        let key = subject::draft(tenant, session, id, person, &draft.tab);
        self.0.put(Table::Drafts, key, Some(expected), value).await
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
                    let row = Table::Drafts.decode(row.value());
                    found.extend(row.and_then(|row| {
                        crate::drafts::decode(key.value(), row.value, row.stored_at, row.revision)
                    }));
                }
                Ok(found)
            })
            .await
    }
}
