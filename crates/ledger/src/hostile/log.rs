//! The log of the hostile bus.

use super::{Shared, lock};
use crate::{AppendError, Ledger, LedgerError, Stored};
use askbus_domain::{ClarifyId, Commit, CommitId, Event, SessionId, TenantId};
use askbus_wire::codec::{self, Decoded};
use async_trait::async_trait;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;

/// How late a late write may be, in milliseconds.
const LATEST_MS: u64 = 2_000;
/// Messages between a tail and its reader.
const CAPACITY: usize = 64;

#[derive(Default)]
pub(super) struct Log {
    messages: Vec<Arc<Stored>>,
    last: HashMap<(TenantId, SessionId), u64>,
    written: HashMap<CommitId, u64>,
}

impl Log {
    pub(super) fn all(&self) -> Vec<Arc<Stored>> {
        self.messages.clone()
    }

    fn at(&self, seq: u64) -> Option<Arc<Stored>> {
        self.messages
            .get(usize::try_from(seq.checked_sub(1)?).ok()?)
            .cloned()
    }
}

pub(super) struct HostileLedger(pub Arc<Shared>);

impl HostileLedger {
    /// Writes what is still on its way, when it arrives, if the guard lets it.
    fn write_later(&self, commit: Commit, expected: u64, payload: Vec<u8>, trace: Option<String>) {
        let late = lock(&self.0.random).below(LATEST_MS);
        let this = Self(Arc::clone(&self.0));
        self.0.tasks.spawn(async move {
            let arrives = tokio::time::sleep(Duration::from_millis(late));
            tokio::select! {
                biased;
                () = this.0.stop.cancelled() => return,
                () = arrives => {}
            }
            let decoded = codec::decode_commit(&payload);
            // Nobody waits for what becomes of it.
            drop(this.write(&commit, expected, decoded, trace.as_deref()));
        });
    }

    fn write(
        &self,
        commit: &Commit,
        expected: u64,
        decoded: Decoded,
        trace: Option<&str>,
    ) -> Result<u64, AppendError> {
        let mut log = lock(&self.0.log);
        if let Some(seq) = log.written.get(&commit.commit_id).copied() {
            if self.0.strikes(self.0.faults.own_conflict) {
                return Err(AppendError::Conflict);
            }
            return Ok(seq);
        }
        let key = (commit.tenant.clone(), commit.session_id.clone());
        if log.last.get(&key).copied().unwrap_or(0) != expected {
            return Err(AppendError::Conflict);
        }
        let seq = log.messages.len() as u64 + 1;
        let before = log.messages.last().map(|m| m.stored_at);
        let at = before.map_or(self.0.now(), |before| before.max(self.0.now()));
        log.messages.push(Arc::new(Stored {
            seq,
            stored_at: at,
            tenant: key.0.clone(),
            session: key.1.clone(),
            decoded,
            trace: trace.map(str::to_owned),
        }));
        log.last.insert(key, seq);
        log.written.insert(commit.commit_id, seq);
        self.0.written.notify_waiters();
        Ok(seq)
    }
}

#[async_trait]
impl Ledger for HostileLedger {
    async fn append_once(
        &self,
        commit: &Commit,
        expected: u64,
        trace: Option<&str>,
    ) -> Result<u64, AppendError> {
        let payload =
            codec::encode_commit(commit).map_err(|e| LedgerError::TooLarge(e.to_string()))?;
        let faults = self.0.faults;
        self.0.maybe_delay().await;
        self.0.maybe_unavailable(faults.unavailable)?;
        if self.0.strikes(faults.phantom_conflict) {
            return Err(AppendError::Conflict);
        }
        if self.0.strikes(faults.late_write) {
            self.write_later(commit.clone(), expected, payload, trace.map(str::to_owned));
            return Err(AppendError::Uncertain("the connection broke".into()));
        }
        if self.0.strikes(faults.lost_write) {
            return Err(AppendError::Uncertain("the connection broke".into()));
        }
        let seq = self.write(commit, expected, codec::decode_commit(&payload), trace)?;
        self.0.maybe_delay().await;
        if self.0.strikes(faults.lost_ack) {
            return Err(AppendError::Uncertain(
                "the acknowledgement was lost".into(),
            ));
        }
        Ok(seq)
    }

    async fn tail(&self, from: u64) -> Result<mpsc::Receiver<Arc<Stored>>, LedgerError> {
        let (out, messages) = mpsc::channel(CAPACITY);
        let shared = Arc::clone(&self.0);
        let mut next = from.max(1);
        self.0.tasks.spawn(async move {
            loop {
                let written = shared.written.notified();
                tokio::pin!(written);
                // From here on nothing that is written goes unnoticed.
                written.as_mut().enable();
                loop {
                    let Some(message) = lock(&shared.log).at(next) else {
                        break;
                    };
                    shared.maybe_delay().await;
                    tokio::select! {
                        biased;
                        () = shared.stop.cancelled() => return,
                        sent = out.send(message) => if sent.is_err() { return },
                    }
                    next += 1;
                }
                tokio::select! {
                        biased;
                    () = shared.stop.cancelled() => return,
                    () = out.closed() => return,
                    () = &mut written => {}
                }
            }
        });
        Ok(messages)
    }

    async fn last_seq(&self) -> Result<u64, LedgerError> {
        self.0.maybe_unavailable(self.0.faults.failed_read)?;
        Ok(lock(&self.0.log).messages.len() as u64)
    }

    async fn read_session(
        &self,
        tenant: &TenantId,
        session: &SessionId,
        from: u64,
    ) -> Result<Vec<Arc<Stored>>, LedgerError> {
        self.0.maybe_delay().await;
        self.0.maybe_unavailable(self.0.faults.failed_read)?;
        let log = lock(&self.0.log);
        let of_session = log
            .messages
            .iter()
            .filter(|m| m.seq >= from && m.tenant == *tenant && m.session == *session);
        Ok(of_session.cloned().collect())
    }

    async fn read_at(&self, seq: u64) -> Result<Option<Arc<Stored>>, LedgerError> {
        self.0.maybe_delay().await;
        self.0.maybe_unavailable(self.0.faults.failed_read)?;
        Ok(lock(&self.0.log).at(seq))
    }

    async fn find_requested(
        &self,
        tenant: &TenantId,
        id: ClarifyId,
    ) -> Result<Option<Arc<Stored>>, LedgerError> {
        self.0.maybe_delay().await;
        self.0.maybe_unavailable(self.0.faults.failed_read)?;
        let asks = |m: &Stored| match &m.decoded {
            Decoded::Commit(commit) => commit
                .events
                .iter()
                .any(|e| matches!(e, Event::Requested { clarify_id, .. } if *clarify_id == id)),
            Decoded::Unreadable { .. } => false,
        };
        let log = lock(&self.0.log);
        Ok(log
            .messages
            .iter()
            .find(|m| m.tenant == *tenant && asks(m))
            .cloned())
    }

    fn clock_offset_ms(&self) -> i64 {
        0
    }
}
