//! Drafts, positions and heartbeats of the hostile bus.

use super::{Shared, lock};
use crate::positions::check;
use crate::{Alive, Drafts, LedgerError, Position, Positions, StoredDraft};
use askbus_domain::{ClarifyId, PersonId, SessionId, TenantId, Timestamp};
use askbus_wire::messages::{Draft, Heartbeat};
use askbus_wire::subject;
use async_trait::async_trait;
use bytes::Bytes;
use std::sync::Arc;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::mpsc;

const CAPACITY: usize = 256;

pub(super) struct HostileDrafts(pub Arc<Shared>);

/// A draft as it is kept.
pub(super) struct Saved {
    at: Timestamp,
    payload: Vec<u8>,
    revision: u64,
}

impl Shared {
    /// Saves a draft if its revision is the expected one, if one is; the new one.
    fn save(&self, key: String, payload: Vec<u8>, expected: Option<u64>) -> Option<u64> {
        let at = self.now();
        let mut drafts = lock(&self.drafts);
        let now = drafts.get(&key).map_or(0, |saved| saved.revision);
        if expected.is_some_and(|expected| expected != now) {
            return None;
        }
        let revision = now + 1;
        let saved = Saved {
            at,
            payload,
            revision,
        };
        drafts.insert(key, saved);
        Some(revision)
    }
}

#[async_trait]
impl Drafts for HostileDrafts {
    async fn put(
        &self,
        tenant: &TenantId,
        session: &SessionId,
        id: ClarifyId,
        person: &PersonId,
        draft: &Draft,
    ) -> Result<(), LedgerError> {
        let payload = crate::drafts::encode(draft)?;
        self.0.maybe_unavailable(self.0.faults.unavailable)?;
        let key = subject::draft(tenant, session, id, person, &draft.tab);
        self.0.save(key, payload, None);
        self.0.maybe_unavailable(self.0.faults.lost_ack)
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
        let payload = crate::drafts::encode(draft)?;
        self.0.maybe_unavailable(self.0.faults.unavailable)?;
        let key = subject::draft(tenant, session, id, person, &draft.tab);
        let saved = self.0.save(key, payload, Some(expected));
        let lost = self.0.maybe_unavailable(self.0.faults.lost_ack);
        lost.map_err(|e| LedgerError::InDoubt(e.to_string()))?;
        Ok(saved)
    }

    async fn list(
        &self,
        tenant: &TenantId,
        session: &SessionId,
        id: ClarifyId,
    ) -> Result<Vec<StoredDraft>, LedgerError> {
        self.0.maybe_unavailable(self.0.faults.failed_read)?;
        let mut prefix = subject::draft_clarification(tenant, session, id);
        prefix.truncate(prefix.len() - "*.*".len());
        let drafts = lock(&self.0.drafts);
        let of_it = drafts.iter().filter(|(key, _)| key.starts_with(&prefix));
        Ok(of_it
            .filter_map(|(key, saved)| {
                crate::drafts::decode(key, &saved.payload, saved.at, saved.revision)
            })
            .collect())
    }
}

pub(super) struct HostilePositions(pub Arc<Shared>);

#[async_trait]
impl Positions for HostilePositions {
    async fn get(&self, tenant: &TenantId, name: &str) -> Result<Option<Position>, LedgerError> {
        self.0.maybe_unavailable(self.0.faults.failed_read)?;
        let positions = lock(&self.0.positions);
        Ok(positions.get(&subject::position(tenant, name)).cloned())
    }

    async fn put(
        &self,
        tenant: &TenantId,
        name: &str,
        expected: u64,
        value: &[u8],
    ) -> Result<Option<u64>, LedgerError> {
        check(value)?;
        self.0.maybe_unavailable(self.0.faults.unavailable)?;
        let key = subject::position(tenant, name);
        let written = {
            let mut positions = lock(&self.0.positions);
            let revision = positions.get(&key).map_or(0, |p| p.revision);
            (revision == expected).then(|| {
                let position = Position {
                    revision: revision + 1,
                    value: Bytes::copy_from_slice(value),
                };
                positions.insert(key, position);
                revision + 1
            })
        };
        let lost = self.0.maybe_unavailable(self.0.faults.lost_ack);
        lost.map_err(|e| LedgerError::InDoubt(e.to_string()))?;
        Ok(written)
    }
}

pub(super) struct HostileAlive(pub Arc<Shared>);

#[async_trait]
impl Alive for HostileAlive {
    async fn publish(&self, heartbeat: &Heartbeat) -> Result<(), LedgerError> {
        self.0.maybe_unavailable(self.0.faults.unavailable)?;
        // Fails only when nobody watches.
        drop(self.0.alive.send(heartbeat.clone()));
        Ok(())
    }

    async fn watch(&self) -> Result<mpsc::Receiver<Heartbeat>, LedgerError> {
        let (out, heartbeats) = mpsc::channel(CAPACITY);
        let mut published = self.0.alive.subscribe();
        let shared = Arc::clone(&self.0);
        self.0.tasks.spawn(async move {
            loop {
                let heartbeat = tokio::select! {
                    biased;
                    () = shared.stop.cancelled() => return,
                    () = out.closed() => return,
                    heartbeat = published.recv() => heartbeat,
                };
                match heartbeat {
                    Ok(_) if shared.strikes(shared.faults.lost_heartbeat) => {}
                    Ok(heartbeat) => drop(out.try_send(heartbeat)),
                    Err(RecvError::Lagged(_)) => {}
                    Err(RecvError::Closed) => return,
                }
            }
        });
        Ok(heartbeats)
    }
}
