//! The log of the embedded file: who reads it, and the hot end kept in memory.

use super::frame::{self, Frame};
use super::store::LOG;
use super::writer::{Append, Request};
use super::{Shared, fit_trace, left_out, tail};
use crate::{AppendError, Ledger, LedgerError, LeftOut, Stored};
use askbus_domain::{ClarifyId, Commit, Event, EventKind, SessionId, TenantId, Timestamp};
use askbus_wire::codec::{self, Decoded};
use async_trait::async_trait;
use redb::{ReadOnlyTable, ReadableTable};
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use tokio::sync::{mpsc, oneshot, watch};

/// Messages of the hot end at most.
const RECENT: usize = 8192;
/// Bytes of the hot end at most.
const RECENT_BYTES: usize = 32 * 1024 * 1024;
/// Messages read from the file or the hot end at once.
const BATCH: usize = 512;
/// A question is stored at most this long before the moment its id names: clocks differ.
const LOOK_BACK_MS: i64 = 60_000;

/// A session within its tenant.
pub(super) type SessionKey = (TenantId, SessionId);

/// What readers share with the writer.
pub(super) struct Log {
    /// Sequences of each session, ascending.
    pub sessions: RwLock<HashMap<SessionKey, Vec<u64>>>,
    recent: Mutex<Recent>,
    /// The last sequence; set once everything up to it can be read.
    pub last: watch::Sender<u64>,
}

#[derive(Default)]
struct Recent {
    messages: VecDeque<(Arc<Stored>, usize)>,
    bytes: usize,
}

impl Log {
    pub fn new(sessions: HashMap<SessionKey, Vec<u64>>, last: u64) -> Self {
        Self {
            sessions: RwLock::new(sessions),
            recent: Mutex::default(),
            last: watch::Sender::new(last),
        }
    }

    /// Makes committed messages readable, in order. `messages` come with their size.
    pub fn publish(&self, messages: Vec<(Arc<Stored>, usize)>) {
        let Some(last) = messages.last().map(|(m, _)| m.seq) else {
            return;
        };
        {
            let mut sessions = self
                .sessions
                .write()
                .unwrap_or_else(PoisonError::into_inner);
            for (message, _) in &messages {
                let key = (message.tenant.clone(), message.session.clone());
                sessions.entry(key).or_default().push(message.seq);
            }
        }
        {
            let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
            for (message, size) in messages {
                recent.bytes += size;
                recent.messages.push_back((message, size));
            }
            while recent.messages.len() > RECENT || recent.bytes > RECENT_BYTES {
                let Some((_, size)) = recent.messages.pop_front() else {
                    break;
                };
                recent.bytes -= size;
            }
        }
        self.last.send_replace(last);
    }

    /// Messages from `seq` on, if the hot end reaches back that far; never an empty list.
    pub(super) fn recent_from(&self, seq: u64) -> Option<Vec<Arc<Stored>>> {
        let recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        let offset = seq.checked_sub(recent.messages.front()?.0.seq)?;
        let skip = usize::try_from(offset)
            .ok()
            .filter(|o| *o < recent.messages.len())?;
        let end = recent.messages.len().min(skip + BATCH);
        Some(
            recent
                .messages
                .range(skip..end)
                .map(|(m, _)| m.clone())
                .collect(),
        )
    }

    /// The given messages, if the hot end holds all of them.
    fn recent_at(&self, seqs: &[u64]) -> Option<Vec<Arc<Stored>>> {
        let recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        let first = recent.messages.front()?.0.seq;
        seqs.iter()
            .map(|seq| {
                let offset = usize::try_from(seq.checked_sub(first)?).ok()?;
                recent.messages.get(offset).map(|(m, _)| m.clone())
            })
            .collect()
    }

    fn session_from(&self, key: &SessionKey, from: u64) -> Vec<u64> {
        let sessions = self.sessions.read().unwrap_or_else(PoisonError::into_inner);
        let seqs = sessions.get(key).map(Vec::as_slice).unwrap_or_default();
        seqs.get(seqs.partition_point(|s| *s < from)..)
            .unwrap_or_default()
            .to_vec()
    }
}

/// The byte that stands for the event a commit is named after.
pub(super) const fn tag(kind: EventKind) -> u8 {
    match kind {
        EventKind::Begun => 1,
        EventKind::Requested => 2,
        EventKind::Ended => 3,
        _ => 0,
    }
}

/// Tenant, session and trace of a row of the log.
pub(super) type LogFrame<'a> = Frame<'a, 3>;

/// Ids of a row; none when it is damaged.
pub(super) fn ids(frame: &LogFrame<'_>) -> Option<SessionKey> {
    let [tenant, session, _] = frame.texts;
    Some((TenantId::new(tenant).ok()?, SessionId::new(session).ok()?))
}

/// The message in a row; none when it is damaged.
pub(super) fn stored(seq: u64, row: &[u8]) -> Option<Arc<Stored>> {
    let frame: LogFrame<'_> = frame::parse(row)?;
    let decoded = codec::decode_commit(frame.payload);
    let (tenant, session) = match &decoded {
        // The same ids, which then take no room of their own.
        Decoded::Commit(commit) if names(&frame, commit) => {
            (commit.tenant.clone(), commit.session_id.clone())
        }
        _ => ids(&frame)?,
    };
    let [.., trace] = frame.texts;
    Some(Arc::new(Stored {
        seq,
        stored_at: frame.stored_at,
        tenant,
        session,
        decoded,
        trace: (!trace.is_empty()).then(|| trace.to_owned()),
    }))
}

fn names(frame: &LogFrame<'_>, commit: &Commit) -> bool {
    let [tenant, session, _] = frame.texts;
    tenant == commit.tenant.as_str() && session == commit.session_id.as_str()
}

type LogTable = ReadOnlyTable<u64, &'static [u8]>;

/// The first sequence stored at `moment` or later. The log's moments never go back.
fn first_since(log: &LogTable, moment: Timestamp) -> Result<u64, redb::Error> {
    let (Some(first), Some(last)) = (log.first()?, log.last()?) else {
        return Ok(1);
    };
    let (mut low, mut high) = (first.0.value(), last.0.value() + 1);
    while low < high {
        let middle = low + (high - low) / 2;
        let next = log.range(middle..high)?.next().transpose()?;
        let stored = next.and_then(|(seq, row)| {
            frame::parse::<3>(row.value()).map(|f| (seq.value(), f.stored_at))
        });
        match stored {
            Some((seq, at)) if at < moment => low = seq + 1,
            _ => high = middle,
        }
    }
    Ok(low)
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

impl Shared {
    /// Runs a read of the file off the runtime.
    pub(super) async fn blocking<T: Send + 'static>(
        self: &Arc<Self>,
        body: impl FnOnce(&redb::ReadTransaction) -> Result<T, redb::Error> + Send + 'static,
    ) -> Result<T, LedgerError> {
        let shared = Arc::clone(self);
        tokio::task::spawn_blocking(move || shared.read(body))
            .await
            .map_err(super::store::failed)?
    }

    pub(super) async fn read_from(
        self: &Arc<Self>,
        from: u64,
    ) -> Result<Vec<Arc<Stored>>, LedgerError> {
        self.blocking(move |snapshot| {
            let log = snapshot.open_table(LOG)?;
            let mut found = Vec::with_capacity(BATCH);
            for row in log.range(from..)?.take(BATCH) {
                let (seq, row) = row?;
                found.extend(stored(seq.value(), row.value()));
            }
            Ok(found)
        })
        .await
    }
}

/// The embedded log.
pub(super) struct EmbeddedLedger(pub Arc<Shared>);

#[async_trait]
impl Ledger for EmbeddedLedger {
    async fn append_once(
        &self,
        commit: &Commit,
        expected: u64,
        trace: Option<&str>,
    ) -> Result<u64, AppendError> {
        let payload = codec::encode_commit(commit)
            .map_err(|e| AppendError::Ledger(LedgerError::TooLarge(e.to_string())))?;
        // A newer writer's commit must look to readers now as it will after a restart.
        let decoded = if commit.schema > askbus_domain::SCHEMA {
            codec::decode_commit(&payload)
        } else {
            Decoded::Commit(Box::new(commit.clone()))
        };
        let (done, written) = oneshot::channel();
        let request = Request::Append(Append {
            tenant: commit.tenant.clone(),
            session: commit.session_id.clone(),
            kind: commit.subject_kind(),
            expected,
            payload,
            decoded,
            trace: fit_trace(trace).map(str::to_owned),
            done,
        });
        self.0.request(request).await?;
        written
            .await
            .map_err(|_| AppendError::Uncertain("the writer stopped".into()))?
    }

    async fn tail(&self, from: u64) -> Result<mpsc::Receiver<Arc<Stored>>, LedgerError> {
        tail::start(&self.0, from)
    }

    async fn tail_current(&self) -> Result<mpsc::Receiver<Arc<Stored>>, LedgerError> {
        tail::start_current(&self.0)
    }

    async fn left_out(&self) -> Result<Option<LeftOut>, LedgerError> {
        left_out::start(&self.0)
    }

    async fn last_seq(&self) -> Result<u64, LedgerError> {
        self.0.store.check()?;
        Ok(*self.0.log.last.borrow())
    }

    async fn read_session(
        &self,
        tenant: &TenantId,
        session: &SessionId,
        from: u64,
    ) -> Result<Vec<Arc<Stored>>, LedgerError> {
        // A commit that may be in the file stands in memory only once that is known.
        self.0.store.check()?;
        let seqs = self
            .0
            .log
            .session_from(&(tenant.clone(), session.clone()), from);
        if seqs.is_empty() {
            return Ok(Vec::new());
        }
        if let Some(messages) = self.0.log.recent_at(&seqs) {
            return Ok(messages);
        }
        self.0
            .blocking(move |snapshot| {
                let log = snapshot.open_table(LOG)?;
                let mut found = Vec::with_capacity(seqs.len());
                for seq in seqs {
                    found.extend(log.get(seq)?.and_then(|row| stored(seq, row.value())));
                }
                Ok(found)
            })
            .await
    }

    async fn read_at(&self, seq: u64) -> Result<Option<Arc<Stored>>, LedgerError> {
        if let Some(messages) = self.0.log.recent_at(&[seq]) {
            return Ok(messages.into_iter().next());
        }
        self.0.store.check()?;
        if seq > *self.0.log.last.borrow() {
            return Ok(None);
        }
        self.0
            .blocking(move |snapshot| {
                let log = snapshot.open_table(LOG)?;
                Ok(log.get(seq)?.and_then(|row| stored(seq, row.value())))
            })
            .await
    }

    async fn find_requested(
        &self,
        tenant: &TenantId,
        id: ClarifyId,
    ) -> Result<Option<Arc<Stored>>, LedgerError> {
        let Some(named) = id.uuid().get_timestamp() else {
            return Ok(None);
        };
        let named = i64::try_from(named.to_unix().0)
            .unwrap_or(i64::MAX)
            .saturating_mul(1000);
        let since = Timestamp::from_unix_millis(named.saturating_sub(LOOK_BACK_MS));
        let (tenant, needle) = (tenant.clone(), id.to_string());
        self.0
            .blocking(move |snapshot| {
                let log = snapshot.open_table(LOG)?;
                for row in log.range(first_since(&log, since)?..)? {
                    let (seq, row) = row?;
                    // Cheap tests first: most rows are other people's.
                    let likely = frame::parse::<3>(row.value()).is_some_and(|f| {
                        f.tag == tag(EventKind::Requested)
                            && f.texts.first() == Some(&tenant.as_str())
                            && f.payload
                                .windows(needle.len())
                                .any(|w| w == needle.as_bytes())
                    });
                    if likely
                        && let Some(found) = stored(seq.value(), row.value())
                        && asks(&found.decoded, id)
                    {
                        return Ok(Some(found));
                    }
                }
                Ok(None)
            })
            .await
    }

    fn reachable(&self) -> watch::Receiver<bool> {
        self.0.store.well()
    }

    fn clock_offset_ms(&self) -> i64 {
        self.0.clock.offset_ms()
    }

    fn clock_is_own(&self) -> bool {
        true
    }
}
