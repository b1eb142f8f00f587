//! Positions in the embedded file: one row each, with its revision before the value.

use super::Shared;
use super::frame;
use super::store::POSITIONS;
use super::writer::Request;
use crate::positions::check;
use crate::{LedgerError, Position, Positions};
use askbus_domain::TenantId;
use askbus_wire::subject;
use async_trait::async_trait;
use bytes::Bytes;
use std::sync::Arc;
use tokio::sync::oneshot;

/// The embedded positions; keys are the subjects that the bus would use.
pub(super) struct EmbeddedPositions(pub Arc<Shared>);

/// A row's payload.
pub(super) fn encode(revision: u64, value: &[u8]) -> Vec<u8> {
    let mut payload = revision.to_le_bytes().to_vec();
    payload.extend_from_slice(value);
    payload
}

fn decode(row: &[u8]) -> Option<Position> {
    let payload = frame::parse::<0>(row)?.payload;
    let (revision, value) = payload.split_first_chunk::<8>()?;
    Some(Position {
        revision: u64::from_le_bytes(*revision),
        value: Bytes::copy_from_slice(value),
    })
}

/// The position kept under `key` as the file has it. Blocks on the disk.
pub(super) fn read(shared: &Shared, key: &str) -> Result<Option<Position>, LedgerError> {
    shared.read(|snapshot| {
        let positions = snapshot.open_table(POSITIONS)?;
        Ok(positions.get(key)?.and_then(|row| decode(row.value())))
    })
}

#[async_trait]
impl Positions for EmbeddedPositions {
    async fn get(&self, tenant: &TenantId, name: &str) -> Result<Option<Position>, LedgerError> {
        let key = subject::position(tenant, name);
        self.0
            .blocking(move |snapshot| {
                let positions = snapshot.open_table(POSITIONS)?;
                Ok(positions
                    .get(key.as_str())?
                    .and_then(|row| decode(row.value())))
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
        let (done, stored) = oneshot::channel();
        self.0
            .request(Request::Position {
                key: subject::position(tenant, name),
                expected,
                value: value.to_vec(),
                done,
            })
            .await?;
        stored
            .await
            .map_err(|_| super::store::failed("the writer stopped"))?
    }
}
