//! The log on JetStream.

use super::read::{stored, stored_single};
use super::streams::LOG;
use super::{Shared, append, clock, tail, unavailable};
use crate::{AppendError, Ledger, LedgerError, Stored};
use askbus_domain::{ClarifyId, Commit, Event, SessionId, TenantId};
use askbus_wire::codec::Decoded;
use askbus_wire::subject;
use async_nats::jetstream::consumer::DeliverPolicy;
use async_nats::jetstream::message::StreamMessage;
use async_trait::async_trait;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, watch};

/// Messages read one by one before a consumer is worth its while.
const SINGLE_READS: usize = 8;
/// A question is stored at most this long before the moment its id names: clocks differ.
const LOOK_BACK: Duration = Duration::from_mins(1);

pub(super) struct JetStreamLedger(pub Arc<Shared>);

impl JetStreamLedger {
    async fn last_of(&self, filter: &str) -> Result<Option<StreamMessage>, LedgerError> {
        self.0.get(LOG, |get| get.last_by_subject(filter)).await
    }
}

#[async_trait]
impl Ledger for JetStreamLedger {
    async fn append_once(
        &self,
        commit: &Commit,
        expected: u64,
        trace: Option<&str>,
    ) -> Result<u64, AppendError> {
        append::append(&self.0, commit, expected, trace).await
    }

    async fn tail(&self, from: u64) -> Result<mpsc::Receiver<Arc<Stored>>, LedgerError> {
        tail::start(&self.0, from)
    }

    async fn last_seq(&self) -> Result<u64, LedgerError> {
        let stream = self.0.on_connection(self.0.context.get_stream(LOG));
        let stream = stream.await?.map_err(unavailable)?;
        Ok(stream.cached_info().state.last_sequence)
    }

    async fn read_session(
        &self,
        tenant: &TenantId,
        session: &SessionId,
        from: u64,
    ) -> Result<Vec<Arc<Stored>>, LedgerError> {
        let filter = subject::log_session(tenant, session);
        let Some(last) = self.last_of(&filter).await?.filter(|m| m.sequence >= from) else {
            return Ok(Vec::new());
        };
        let (mut found, mut next) = (Vec::new(), from.max(1));
        for _ in 0..SINGLE_READS {
            if next == last.sequence {
                found.extend(stored_single(&last));
                return Ok(found);
            }
            let message = self
                .0
                .get(LOG, |get| {
                    get.sequence(next).next_by_subject(filter.as_str())
                })
                .await?;
            // Between the two reads old messages may have gone; the last one tells the end.
            let Some(message) = message.filter(|m| m.sequence <= last.sequence) else {
                return Ok(found);
            };
            found.extend(stored_single(&message));
            if message.sequence == last.sequence {
                return Ok(found);
            }
            next = message.sequence + 1;
        }
        let start = DeliverPolicy::ByStartSequence {
            start_sequence: next,
        };
        self.0
            .scan(LOG, filter, start, last.sequence, |message, seq, at| {
                let headers = message.headers.as_ref();
                found.extend(stored(seq, at, &message.subject, headers, &message.payload));
                ControlFlow::Continue(())
            })
            .await?;
        Ok(found)
    }

    async fn read_at(&self, seq: u64) -> Result<Option<Arc<Stored>>, LedgerError> {
        // The server takes 0 for no sequence at all.
        if seq == 0 {
            return Ok(None);
        }
        let message = self.0.get(LOG, |get| get.sequence(seq)).await?;
        Ok(message.as_ref().and_then(stored_single))
    }

    async fn find_requested(
        &self,
        tenant: &TenantId,
        id: ClarifyId,
    ) -> Result<Option<Arc<Stored>>, LedgerError> {
        let Some(named) = id.uuid().get_timestamp() else {
            return Ok(None);
        };
        let since = Duration::from_secs(named.to_unix().0).saturating_sub(LOOK_BACK);
        let since = i128::try_from(since.as_nanos()).unwrap_or(i128::MAX);
        let since = async_nats::datetime::from_nanos(since).map_err(unavailable)?;
        let filter = subject::log_requested(tenant);
        let Some(last) = self.last_of(&filter).await?.filter(|m| m.time >= since) else {
            return Ok(None);
        };
        let needle = id.to_string();
        let speaks_of = |payload: &[u8]| {
            payload
                .windows(needle.len())
                .any(|w| w == needle.as_bytes())
        };
        let mut found = None;
        let start = DeliverPolicy::ByStartTime { start_time: since };
        self.0
            .scan(LOG, filter, start, last.sequence, |message, seq, at| {
                // A cheap test first: most questions are others.
                if speaks_of(&message.payload) {
                    let headers = message.headers.as_ref();
                    found = stored(seq, at, &message.subject, headers, &message.payload)
                        .filter(|stored| asks(&stored.decoded, id));
                }
                if found.is_some() {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            })
            .await?;
        Ok(found)
    }

    fn reachable(&self) -> watch::Receiver<bool> {
        self.0.link.connected()
    }

    fn clock_offset_ms(&self) -> i64 {
        clock::offset_ms(&self.0)
    }

    fn slow_consumers(&self) -> u64 {
        *self.0.link.slow_consumers().borrow()
    }

    async fn learn_clock(&self) -> Result<(), LedgerError> {
        clock::learn(&self.0).await
    }
}

fn asks(decoded: &Decoded, id: ClarifyId) -> bool {
    let Decoded::Commit(commit) = decoded else {
        return false;
    };
    commit
        .events
        .iter()
        .any(|e| matches!(e, Event::Requested { .. }) && e.clarify_id() == Some(id))
}
