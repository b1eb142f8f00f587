//! What services may expect of a ledger, an inbox, drafts and heartbeats.

use askbus_domain::{ClarifyId, Commit, PersonId, SessionId, TenantId, Timestamp};
use askbus_wire::codec::Decoded;
use askbus_wire::messages::{Draft, Heartbeat, InboxMessage, InboxReply};
use async_trait::async_trait;
use bytes::Bytes;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot, watch};

/// Why a ledger did not do what it was asked.
#[derive(Debug, Clone, thiserror::Error)]
pub enum LedgerError {
    /// The bus or the file cannot be reached now; nothing is known to be written.
    #[error("the log is not reachable now: {0}")]
    Unavailable(String),
    /// It was sent and nobody said that it is stored: it may be, now or later. The same again is
    /// stored once.
    #[error("whether it was stored is not known: {0}")]
    InDoubt(String),
    /// The store is full; resolutions still fit where new questions are refused.
    #[error("the log is full")]
    Full,
    /// A stream or file exists with properties that would break a promise; says which.
    #[error("the log is not set up as needed: {0}")]
    Misconfigured(String),
    /// The message is larger than one may be.
    #[error("{0}")]
    TooLarge(String),
}

/// Why an append did not succeed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum AppendError {
    /// The session's last sequence is not the expected one. Catch up and decide again.
    #[error("another commit of this session came first")]
    Conflict,
    /// Whether it was written is not known (an acknowledgement was lost).
    #[error("whether the commit was written is not known: {0}")]
    Uncertain(String),
    /// It was not written.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

/// A message as the log holds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// Its sequence in the whole log, from 1.
    pub seq: u64,
    /// When the log stored it, by the log's own clock.
    pub stored_at: Timestamp,
    /// From its subject.
    pub tenant: TenantId,
    /// From its subject.
    pub session: SessionId,
    /// What it says.
    pub decoded: Decoded,
    /// The trace it belongs to (`traceparent`), if it carries one.
    pub trace: Option<String>,
}

/// What [`Ledger::tail_current`] leaves out.
#[derive(Debug)]
pub struct LeftOut {
    /// No message after this sequence is left out.
    pub until: u64,
    /// The messages in their order, then none. If it ends before that, it could not be read to its end.
    pub messages: mpsc::Receiver<Option<Arc<Stored>>>,
}

/// The append-only log of all sessions.
#[async_trait]
pub trait Ledger: Send + Sync + 'static {
    /// Writes `commit` if the session's last sequence is `expected` (0: the session has none), and
    /// returns its sequence. Tries once. Callers use [`crate::append`], which finds out what an
    /// error meant.
    async fn append_once(
        &self,
        commit: &Commit,
        expected: u64,
        trace: Option<&str>,
    ) -> Result<u64, AppendError>;

    /// Everything from sequence `from` on, in order, without gaps or repetitions, for as long as the
    /// receiver lives; across reconnects too. Bounded: a slow reader slows the tail, never the log.
    async fn tail(&self, from: u64) -> Result<mpsc::Receiver<Arc<Stored>>, LedgerError>;

    /// As [`Ledger::tail`] from the beginning, for whoever folds the log anew. Sessions whose turn was
    /// over long before may be left out as a whole, where the log is so long that reading them would
    /// make its reader late; of every tenant something is read. Whoever needs one of those sessions
    /// reads it.
    async fn tail_current(&self) -> Result<mpsc::Receiver<Arc<Stored>>, LedgerError> {
        self.tail(1).await
    }

    /// What [`Ledger::tail_current`] leaves out, each session as a whole, for whoever knows what is
    /// current and wants the rest as well; none where nothing is left out. Whoever reads slowly makes
    /// nobody wait.
    async fn left_out(&self) -> Result<Option<LeftOut>, LedgerError> {
        Ok(None)
    }

    /// The last sequence of the whole log, 0 when empty. Never stale.
    async fn last_seq(&self) -> Result<u64, LedgerError>;

    /// The messages of one session from sequence `from` on, in order. Never stale.
    async fn read_session(
        &self,
        tenant: &TenantId,
        session: &SessionId,
        from: u64,
    ) -> Result<Vec<Arc<Stored>>, LedgerError>;

    /// The message with this sequence; none when it is gone, or not there yet. Never stale.
    async fn read_at(&self, seq: u64) -> Result<Option<Arc<Stored>>, LedgerError> {
        if seq == 0 || seq > self.last_seq().await? {
            return Ok(None);
        }
        let first = self.tail(seq).await?.recv().await;
        Ok(first.filter(|stored| stored.seq == seq))
    }

    /// The commit that asked `id`, looked up from the moment its UUIDv7 names (minus a minute).
    async fn find_requested(
        &self,
        tenant: &TenantId,
        id: ClarifyId,
    ) -> Result<Option<Arc<Stored>>, LedgerError>;

    /// Whether the log can be reached and written, as well as it is known, and every change of that. For
    /// telling others: whoever writes finds out by writing.
    fn reachable(&self) -> watch::Receiver<bool> {
        watch::Sender::new(true).subscribe()
    }

    /// How far the log's clock is ahead of this machine's, in milliseconds, as well as it is known;
    /// 0 before anything is. Asking keeps the knowledge fresh.
    fn clock_offset_ms(&self) -> i64;

    /// Learns what [`Ledger::clock_offset_ms`] says; to be called before anything is decided by the
    /// time. A process whose clock is off would else take what is not yet due for overdue.
    ///
    /// # Errors
    /// [`LedgerError::Unavailable`] when the bus cannot be asked now.
    async fn learn_clock(&self) -> Result<(), LedgerError> {
        Ok(())
    }

    /// How often the client of the bus dropped a message because this process read too slowly.
    fn slow_consumers(&self) -> u64 {
        0
    }

    /// Whether the log is stamped by this very process, so that the offset is exact and says nothing
    /// against this machine's clock, however large it is.
    fn clock_is_own(&self) -> bool {
        false
    }
}

/// What a surface submits.
#[derive(Debug, Clone)]
pub struct Submission {
    /// The tenant.
    pub tenant: TenantId,
    /// The session.
    pub session: SessionId,
    /// The clarification.
    pub clarify_id: ClarifyId,
    /// What is sent.
    pub message: InboxMessage,
    /// Trace to continue.
    pub trace: Option<String>,
}

/// A submission that is durably stored.
#[derive(Debug)]
pub struct Submitted {
    /// Resolves when a session-binding has judged it; fails when this process stops listening.
    pub reply: oneshot::Receiver<InboxReply>,
}

/// Settles one delivery with the inbox.
#[async_trait]
pub trait Ack: Send + Sync {
    /// Judged and, if need be, written: the inbox may forget it.
    async fn ack(&self) -> Result<(), LedgerError>;
    /// Cannot be judged ever: the inbox must not deliver it again.
    async fn term(&self) -> Result<(), LedgerError>;
    /// Could not be judged this time: the inbox may deliver it again after `pause`, to any taker.
    /// Where an inbox does not know how, it comes again as what is never settled does.
    async fn retry(&self, pause: Duration) -> Result<(), LedgerError> {
        let _ = pause;
        Ok(())
    }
}

/// Sends a verdict to the author of a delivery, best effort.
#[async_trait]
pub trait ReplySink: Send + Sync {
    /// Sends it; lost if the author stopped listening.
    async fn send(&self, reply: &InboxReply);
}

/// One message taken from the inbox. Unless acked it comes again (at least once, any order).
pub struct Delivery {
    /// From its subject.
    pub tenant: TenantId,
    /// From its subject.
    pub session: SessionId,
    /// From its subject, as written there: may be anything.
    pub clarify_token: String,
    /// The body as it came: may be anything.
    pub payload: Bytes,
    /// When the inbox stored it; this counts against a deadline.
    pub stored_at: Timestamp,
    /// How often it was delivered, this time included.
    pub deliveries: u64,
    /// Trace to continue.
    pub trace: Option<String>,
    /// Settles it.
    pub acker: Box<dyn Ack>,
    /// Where the author waits.
    pub reply: Box<dyn ReplySink>,
}

/// What people send, durable before it is judged.
#[async_trait]
pub trait Inbox: Send + Sync + 'static {
    /// Stores a submission; when this returns, "sent" is true. A true repetition (the same author,
    /// clarification, kind, message id and content) stores nothing new while it is unjudged, nor, on
    /// a bus that cannot tell, within two minutes. Anything else under a known id is a message of its
    /// own: what it means is for the domain to say.
    async fn submit(&self, submission: Submission) -> Result<Submitted, LedgerError>;

    /// A tenant's unjudged messages, shared with every other taker of the tenant, for as long as
    /// the receiver lives; across reconnects too.
    async fn take(&self, tenant: &TenantId) -> Result<mpsc::Receiver<Delivery>, LedgerError>;

    /// When the oldest unjudged message to a clarification was stored. A deadline fires only when
    /// there is none stored before it.
    async fn oldest(
        &self,
        tenant: &TenantId,
        session: &SessionId,
        id: ClarifyId,
    ) -> Result<Option<Timestamp>, LedgerError>;
}

/// A draft as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredDraft {
    /// Whose.
    pub person: PersonId,
    /// What.
    pub draft: Draft,
    /// Last saved.
    pub stored_at: Timestamp,
    /// Which saving of it this is; never 0.
    pub revision: u64,
}

/// Unsent answers, the last value per clarification, person and tab.
#[async_trait]
pub trait Drafts: Send + Sync + 'static {
    /// Saves a draft, replacing the last one of the same person and tab for this clarification.
    async fn put(
        &self,
        tenant: &TenantId,
        session: &SessionId,
        id: ClarifyId,
        person: &PersonId,
        draft: &Draft,
    ) -> Result<(), LedgerError>;

    /// The same if the revision of the last one is still `expected` (0: there is none), and returns the
    /// new one; none when another one was saved meanwhile. After [`LedgerError::InDoubt`] it is to be
    /// read again.
    async fn put_if(
        &self,
        tenant: &TenantId,
        session: &SessionId,
        id: ClarifyId,
        person: &PersonId,
        draft: &Draft,
        expected: u64,
    ) -> Result<Option<u64>, LedgerError>;

    /// All drafts of a clarification, in no particular order. Never stale.
    async fn list(
        &self,
        tenant: &TenantId,
        session: &SessionId,
        id: ClarifyId,
    ) -> Result<Vec<StoredDraft>, LedgerError>;
}

/// A small value that its writers guard by its revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Position {
    /// Which writing of it this is; never 0.
    pub revision: u64,
    /// What was written.
    pub value: Bytes,
}

/// How far somebody has come with the log, such as a channel with telling people. It says what was
/// done with what the log holds and never what happened: that is in the log alone.
#[async_trait]
pub trait Positions: Send + Sync + 'static {
    /// The position `name` of a tenant. Never stale.
    async fn get(&self, tenant: &TenantId, name: &str) -> Result<Option<Position>, LedgerError>;

    /// Writes it if its revision is still `expected` (0: it was never written), and returns the new
    /// one; none when somebody else wrote it meanwhile. After [`LedgerError::InDoubt`] it is to be
    /// read again.
    async fn put(
        &self,
        tenant: &TenantId,
        name: &str,
        expected: u64,
        value: &[u8],
    ) -> Result<Option<u64>, LedgerError>;
}

/// Heartbeats between instances; not stored.
#[async_trait]
pub trait Alive: Send + Sync + 'static {
    /// Tells all watchers, this process's own included, when the bus is there.
    async fn publish(&self, heartbeat: &Heartbeat) -> Result<(), LedgerError>;
    /// Heartbeats of all instances from now on, across reconnects; may drop some under load.
    async fn watch(&self) -> Result<mpsc::Receiver<Heartbeat>, LedgerError>;
}
