//! The one thread that writes. It takes whatever requests are waiting, decides them in memory,
//! writes all of them in one transaction (one wait for the disk) and only then tells anybody.

mod outage;

use super::Shared;
use super::arrival::Arrival;
use super::frame;
use super::log::{SessionKey, tag};
use super::revised::{self, Put};
use super::store::{Change, WriteError};
use crate::{AppendError, LedgerError, Stored};
use askbus_domain::{EventKind, SessionId, TenantId, Timestamp};
use askbus_wire::codec::Decoded;
use askbus_wire::messages::InboxReply;
use bytes::Bytes;
use std::collections::HashMap;
use std::sync::{Arc, PoisonError};
use std::time::Instant;
use tokio::sync::{mpsc, oneshot};

/// Requests in one transaction at most.
const BATCH: usize = 512;
/// Payload in one transaction at most, give or take one request.
const BATCH_BYTES: usize = 8 * 1024 * 1024;

/// Something to write.
pub(super) enum Request {
    Append(Append),
    Submit(Submit),
    /// An inbox message is settled. Not waited for: it would only come again.
    Settle(u64),
    /// Nothing; a read failed, and so may the next write.
    Check,
    /// Nothing; told once everything before it can be read.
    Barrier(oneshot::Sender<Result<(), LedgerError>>),
    Put(Put),
}

pub(super) struct Append {
    pub tenant: TenantId,
    pub session: SessionId,
    pub kind: EventKind,
    pub expected: u64,
    pub payload: Vec<u8>,
    pub decoded: Decoded,
    pub trace: Option<String>,
    pub done: oneshot::Sender<Result<u64, AppendError>>,
}

pub(super) struct Submit {
    pub tenant: TenantId,
    pub session: SessionId,
    pub clarify_token: String,
    pub message_id: String,
    pub payload: Bytes,
    pub trace: Option<String>,
    pub waiter: oneshot::Sender<InboxReply>,
    pub done: oneshot::Sender<Result<(), LedgerError>>,
}

impl Request {
    fn size(&self) -> usize {
        match self {
            Request::Append(append) => append.payload.len(),
            Request::Submit(submit) => submit.payload.len(),
            Request::Settle(_) | Request::Check | Request::Barrier(_) => 0,
            Request::Put(put) => put.value.len(),
        }
    }
}

/// What a request came to, told once the transaction is on disk.
enum Told {
    Append(
        oneshot::Sender<Result<u64, AppendError>>,
        Result<u64, AppendError>,
    ),
    Done(
        oneshot::Sender<Result<(), LedgerError>>,
        Result<(), LedgerError>,
    ),
    Put(
        oneshot::Sender<Result<Option<u64>, LedgerError>>,
        Result<Option<u64>, LedgerError>,
    ),
}

/// A batch as decided, not yet written.
#[derive(Default)]
struct Decided {
    changes: Vec<Change>,
    /// Whether it is written even if there is nothing in it.
    check: bool,
    told: Vec<Told>,
    /// Last sequence of the sessions written by this batch.
    sessions: HashMap<SessionKey, u64>,
    /// Revisions of the drafts and positions written by this batch; no two have the same key.
    revisions: HashMap<String, u64>,
    messages: Vec<(Arc<Stored>, usize)>,
    /// Inbox messages by their message id.
    arrivals: HashMap<String, Arrival>,
    /// Reply waiters of messages stored before this batch.
    joined: Vec<(u64, oneshot::Sender<InboxReply>)>,
    log_bytes: u64,
}

pub(super) struct Writer {
    pub shared: Arc<Shared>,
    pub next_inbox: u64,
    /// Bytes of rows in the log.
    pub log_bytes: u64,
    pub max_bytes: u64,
    /// When the file was last opened again.
    pub mended: Option<Instant>,
}

impl Writer {
    /// Writes until every sender is gone.
    pub fn run(mut self, mut requests: mpsc::Receiver<Request>) {
        while let Some(first) = requests.blocking_recv() {
            let mut size = first.size();
            let mut batch = vec![first];
            while batch.len() < BATCH && size < BATCH_BYTES {
                let Ok(request) = requests.try_recv() else {
                    break;
                };
                size += request.size();
                batch.push(request);
            }
            if let Err(broken) = self.write(batch)
                && !self.recover(*broken, &mut requests)
            {
                break;
            }
        }
        // What was written without waiting for the disk.
        if let Err(error) = self.shared.store.write(&[], true) {
            tracing::warn!(error = %error.error(), "the log was closed without a last flush");
        }
    }

    fn write(&mut self, batch: Vec<Request>) -> Result<(), Box<outage::Broken>> {
        let mut decided = self.decide(batch);
        // Settled inbox messages alone are not worth a wait for the disk.
        let durable = decided
            .changes
            .iter()
            .any(|c| !matches!(c, Change::DropInbox(_)));
        let written = if decided.changes.is_empty() && !decided.check {
            Ok(())
        } else {
            let durable = durable || decided.check;
            self.shared.store.write(&decided.changes, durable)
        };
        let Err(failure) = written else {
            self.publish(decided);
            return Ok(());
        };
        // Before anybody is told and has a look: what there is to see may be out of date.
        self.shared.store.set_well(false);
        for told in std::mem::take(&mut decided.told) {
            told.fail(&failure);
        }
        Err(Box::new(outage::Broken::by(failure, decided)))
    }

    fn decide(&self, batch: Vec<Request>) -> Decided {
        let at = Timestamp::from_unix_millis(self.shared.clock.now());
        let mut decided = Decided::default();
        for request in batch {
            match request {
                Request::Append(append) => self.decide_append(append, at, &mut decided),
                Request::Submit(submit) => self.decide_submit(submit, at, &mut decided),
                Request::Settle(seq) => decided.changes.push(Change::DropInbox(seq)),
                Request::Check => decided.check = true,
                Request::Barrier(done) => decided.told.push(Told::Done(done, Ok(()))),
                Request::Put(put) => self.decide_put(put, at, &mut decided),
            }
        }
        decided
    }

    fn decide_put(&self, put: Put, at: Timestamp, decided: &mut Decided) {
        let Put {
            table,
            key,
            expected,
            value,
            done,
        } = put;
        let known = decided.revisions.get(&key).copied();
        let now = match known.map_or_else(|| revised::revision(&self.shared, table, &key), Ok) {
            Ok(now) => now,
            Err(error) => return decided.told.push(Told::Put(done, Err(error))),
        };
        if expected.is_some_and(|expected| expected != now) {
            return decided.told.push(Told::Put(done, Ok(None)));
        }
        let next = now + 1;
        let change = table.change(key.clone(), at, next, &value);
        decided.changes.push(change);
        decided.revisions.insert(key, next);
        decided.told.push(Told::Put(done, Ok(Some(next))));
    }

    fn decide_append(&self, append: Append, at: Timestamp, decided: &mut Decided) {
        let key = (append.tenant, append.session);
        let last = decided.sessions.get(&key).copied().unwrap_or_else(|| {
            let sessions = self
                .shared
                .log
                .sessions
                .read()
                .unwrap_or_else(PoisonError::into_inner);
            sessions
                .get(&key)
                .and_then(|seqs| seqs.last().copied())
                .unwrap_or(0)
        });
        if last != append.expected {
            decided
                .told
                .push(Told::Append(append.done, Err(AppendError::Conflict)));
            return;
        }
        let trace = append.trace.as_deref().unwrap_or_default();
        let texts = [key.0.as_str(), key.1.as_str(), trace];
        let row = frame::encode(tag(append.kind), at, &texts, &append.payload);
        // What is new stops early so that what ends the old still fits.
        let limit = if append.kind.is_new_matter() {
            self.max_bytes / 10 * 9
        } else {
            self.max_bytes
        };
        let size = row.len() as u64;
        if self.log_bytes + decided.log_bytes + size > limit {
            decided
                .told
                .push(Told::Append(append.done, Err(LedgerError::Full.into())));
            return;
        }
        let seq = *self.shared.log.last.borrow() + 1 + decided.messages.len() as u64;
        let stored = Stored {
            seq,
            stored_at: at,
            tenant: key.0.clone(),
            session: key.1.clone(),
            decoded: append.decoded,
            trace: append.trace,
        };
        decided.log_bytes += size;
        decided.messages.push((Arc::new(stored), row.len()));
        decided.changes.push(Change::Log(seq, row));
        decided.sessions.insert(key, seq);
        decided.told.push(Told::Append(append.done, Ok(seq)));
    }

    fn decide_submit(&self, submit: Submit, at: Timestamp, decided: &mut Decided) {
        if let Some(arrival) = decided.arrivals.get_mut(&submit.message_id) {
            arrival.waiters.push(submit.waiter);
        } else if let Some(seq) = self.shared.inbox.known(&submit.message_id) {
            decided.joined.push((seq, submit.waiter));
        } else if self.shared.inbox.is_full() {
            decided
                .told
                .push(Told::Done(submit.done, Err(LedgerError::Full)));
            return;
        } else {
            let arrival = Arrival {
                seq: self.next_inbox + decided.arrivals.len() as u64,
                stored_at: at,
                tenant: submit.tenant,
                session: submit.session,
                clarify_token: submit.clarify_token,
                payload: submit.payload,
                trace: submit.trace,
                waiters: vec![submit.waiter],
            };
            let row = arrival.row(&submit.message_id);
            decided.changes.push(Change::Inbox(arrival.seq, row));
            decided.arrivals.insert(submit.message_id, arrival);
        }
        decided.told.push(Told::Done(submit.done, Ok(())));
    }

    fn publish(&mut self, decided: Decided) {
        self.log_bytes += decided.log_bytes;
        self.next_inbox += decided.arrivals.len() as u64;
        self.shared.log.publish(decided.messages);
        self.shared.inbox.publish(decided.arrivals, decided.joined);
        for told in decided.told {
            told.tell();
        }
    }
}

impl Told {
    /// Whoever asked may have stopped waiting; that is theirs.
    fn tell(self) {
        match self {
            Told::Append(done, outcome) => drop(done.send(outcome)),
            Told::Done(done, outcome) => drop(done.send(outcome)),
            Told::Put(done, outcome) => drop(done.send(outcome)),
        }
    }

    /// Says no more than is known: what was in doubt may be in the file all the same.
    fn fail(self, failure: &WriteError) {
        let error = match failure {
            WriteError::Refused(error) => error.clone(),
            WriteError::InDoubt(error) => LedgerError::InDoubt(error.to_string()),
        };
        match self {
            Told::Append(done, Ok(_)) => drop(done.send(Err(match error {
                LedgerError::InDoubt(why) => AppendError::Uncertain(why),
                error => AppendError::Ledger(error),
            }))),
            Told::Append(done, refused) => drop(done.send(refused)),
            Told::Done(done, Ok(())) => drop(done.send(Err(error))),
            Told::Done(done, refused) => drop(done.send(refused)),
            Told::Put(done, Ok(Some(_))) => drop(done.send(Err(error))),
            Told::Put(done, other) => drop(done.send(other)),
        }
    }
}
