//! Positions in the embedded file: one row each.

use super::Shared;
use super::revised::Table;
use crate::positions::check;
use crate::{LedgerError, Position, Positions};
use askbus_domain::TenantId;
use askbus_wire::subject;
use async_trait::async_trait;
use bytes::Bytes;
use std::sync::Arc;

/// The embedded positions; keys are the subjects that the bus would use.
pub(super) struct EmbeddedPositions(pub Arc<Shared>);

#[async_trait]
impl Positions for EmbeddedPositions {
    async fn get(&self, tenant: &TenantId, name: &str) -> Result<Option<Position>, LedgerError> {
        let key = subject::position(tenant, name);
        self.0
            .blocking(move |snapshot| {
                Table::Positions.find(snapshot, &key, |row| Position {
                    revision: row.revision,
                    value: Bytes::copy_from_slice(row.value),
                })
            })
            .await
    }

    async fn put(
        &self,
        tenant: &TenantId,
        name: &str,
        expected: u64,
        value: &[u8],
    ) -> Result<Option<u64>, LedgerError> {
        check(value)?;
        let key = subject::position(tenant, name);
        let value = value.to_vec();
        self.0
            .put(Table::Positions, key, Some(expected), value)
            .await
    }
}
