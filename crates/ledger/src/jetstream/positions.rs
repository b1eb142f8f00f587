//! Positions on JetStream: a stream that keeps the last message of each subject; its sequence is the
//! revision.

use super::Shared;
use super::streams::POSITIONS;
use crate::positions::check;
use crate::{LedgerError, Position, Positions};
use askbus_domain::TenantId;
use askbus_wire::subject;
use async_trait::async_trait;
use bytes::Bytes;
use std::sync::Arc;

pub(super) struct JetStreamPositions(pub Arc<Shared>);

#[async_trait]
impl Positions for JetStreamPositions {
    async fn get(&self, tenant: &TenantId, name: &str) -> Result<Option<Position>, LedgerError> {
        let subject = subject::position(tenant, name);
        let found = self
            .0
            .get(POSITIONS, |get| get.last_by_subject(subject.as_str()))
            .await?;
        Ok(found.map(|message| Position {
            revision: message.sequence,
            value: message.payload,
        }))
    }

    async fn put(
        &self,
        tenant: &TenantId,
        name: &str,
        expected: u64,
        value: &[u8],
    ) -> Result<Option<u64>, LedgerError> {
        check(value)?;
        let target = subject::position(tenant, name);
        let value = Bytes::copy_from_slice(value);
        self.0.put_guarded(target, value, expected).await
    }
}
