//! The inbox of the embedded file. Rows are on disk before anybody is told; who holds which
//! message is kept in memory only, so after a restart everything unsettled is delivered again.

use super::arrival::{Arrival, Clarification};
use super::settle::{Reply, Settle};
use super::writer::{Request, Submit};
use super::{Shared, fit_trace};
use crate::message_id::message_id;
use crate::{Delivery, Inbox, LedgerError, Submission, Submitted};
use askbus_domain::{ClarifyId, MAX_COMMIT_BYTES, SessionId, TenantId, Timestamp};
use askbus_wire::messages::InboxReply;
use async_trait::async_trait;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;

/// How long a taker may keep a message before it is delivered again.
const ACK_WAIT: Duration = Duration::from_secs(30);
/// Messages between the inbox and a taker.
const TAKE_CAPACITY: usize = 256;
/// Unjudged messages at most.
const MAX_UNJUDGED: usize = 200_000;

struct Entry {
    id: String,
    message: Arrival,
    deliveries: u64,
    taker: Option<u64>,
}

#[derive(Default)]
struct State {
    entries: HashMap<u64, Entry>,
    ready: HashMap<TenantId, BTreeSet<u64>>,
    unjudged: HashMap<Clarification, BTreeMap<u64, Timestamp>>,
    /// Unjudged messages by their id.
    known: HashMap<String, u64>,
    waiters: HashMap<u64, Vec<oneshot::Sender<InboxReply>>>,
    next_taker: u64,
}

impl State {
    fn insert(&mut self, id: String, mut message: Arrival) {
        let seq = message.seq;
        let waiters = std::mem::take(&mut message.waiters);
        if !waiters.is_empty() {
            self.waiters.insert(seq, waiters);
        }
        let at = message.stored_at;
        self.known.insert(id.clone(), seq);
        self.ready
            .entry(message.tenant.clone())
            .or_default()
            .insert(seq);
        self.unjudged
            .entry(message.clarification())
            .or_default()
            .insert(seq, at);
        self.entries.insert(
            seq,
            Entry {
                id,
                message,
                deliveries: 0,
                taker: None,
            },
        );
    }

    fn remove(&mut self, seq: u64) {
        let Some(entry) = self.entries.remove(&seq) else {
            return;
        };
        // From here on a repetition is judged anew: only the domain knows what was refused.
        self.known.remove(&entry.id);
        if let Some(ready) = self.ready.get_mut(&entry.message.tenant) {
            ready.remove(&seq);
        }
        let clarification = entry.message.clarification();
        if let Some(unjudged) = self.unjudged.get_mut(&clarification) {
            unjudged.remove(&seq);
            if unjudged.is_empty() {
                self.unjudged.remove(&clarification);
            }
        }
    }

    fn put_back(&mut self, seq: u64) {
        if let Some(entry) = self.entries.get_mut(&seq) {
            entry.taker = None;
            self.ready
                .entry(entry.message.tenant.clone())
                .or_default()
                .insert(seq);
        }
    }
}

/// What is unjudged, who has it, and who waits for a verdict.
pub(super) struct Messages {
    state: Mutex<State>,
    /// Changes whenever something became deliverable.
    arrived: watch::Sender<()>,
}

impl Messages {
    /// Takes the rows found in the file.
    pub fn new(rows: Vec<(String, Arrival)>) -> Self {
        let mut state = State::default();
        for (id, message) in rows {
            state.insert(id, message);
        }
        Self {
            state: Mutex::new(state),
            arrived: watch::Sender::new(()),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The unjudged message stored under this id.
    pub fn known(&self, id: &str) -> Option<u64> {
        self.state().known.get(id).copied()
    }

    /// Whether this message is unjudged.
    pub fn has(&self, seq: u64) -> bool {
        self.state().entries.contains_key(&seq)
    }

    /// Whether too much is unjudged to take more.
    pub fn is_full(&self) -> bool {
        self.state().entries.len() >= MAX_UNJUDGED
    }

    /// Makes stored messages deliverable; `joined` wait for the verdict on earlier ones.
    pub fn publish(
        &self,
        arrivals: HashMap<String, Arrival>,
        joined: Vec<(u64, oneshot::Sender<InboxReply>)>,
    ) {
        if arrivals.is_empty() && joined.is_empty() {
            return;
        }
        {
            let mut state = self.state();
            let mut arrivals: Vec<_> = arrivals.into_iter().collect();
            arrivals.sort_by_key(|(_, message)| message.seq);
            for (id, message) in arrivals {
                state.insert(id, message);
            }
            for (seq, waiter) in joined {
                // A settled message has no verdict to come; its author reads the log instead.
                if state.entries.contains_key(&seq) {
                    state.waiters.entry(seq).or_default().push(waiter);
                }
            }
        }
        self.arrived.send_replace(());
    }

    /// Forgets a message: it is judged.
    pub fn settle(&self, seq: u64) {
        self.state().remove(seq);
    }

    /// Those who wait for the verdict on a message, once.
    pub fn take_waiters(&self, seq: u64) -> Vec<oneshot::Sender<InboxReply>> {
        self.state().waiters.remove(&seq).unwrap_or_default()
    }

    /// Lets go of those who wait for a verdict that will not come any more.
    pub fn drop_waiters_of_settled(&self, seq: u64) {
        let mut state = self.state();
        if !state.entries.contains_key(&seq) {
            state.waiters.remove(&seq);
        }
    }

    fn new_taker(&self) -> u64 {
        let mut state = self.state();
        state.next_taker += 1;
        state.next_taker
    }

    fn next(
        &self,
        shared: &Arc<Shared>,
        tenant: &TenantId,
        taker: u64,
    ) -> Option<(Held, Delivery)> {
        let mut state = self.state();
        let seq = state.ready.get_mut(tenant)?.pop_first()?;
        let entry = state.entries.get_mut(&seq)?;
        entry.deliveries += 1;
        entry.taker = Some(taker);
        let message = &entry.message;
        let due = Instant::now() + ACK_WAIT;
        let held = Held {
            due,
            seq,
            deliveries: entry.deliveries,
        };
        let delivery = Delivery {
            tenant: message.tenant.clone(),
            session: message.session.clone(),
            clarify_token: message.clarify_token.clone(),
            payload: message.payload.clone(),
            stored_at: message.stored_at,
            deliveries: entry.deliveries,
            trace: message.trace.clone(),
            acker: Box::new(Settle {
                shared: Arc::clone(shared),
                seq,
            }),
            reply: Box::new(Reply {
                shared: Arc::clone(shared),
                seq,
            }),
        };
        Some((held, delivery))
    }

    fn is_held(&self, taker: u64, held: &Held) -> bool {
        let state = self.state();
        state
            .entries
            .get(&held.seq)
            .is_some_and(|e| held.by(taker, e))
    }

    /// Makes messages deliverable again where the taker still has that delivery of them.
    fn take_back(&self, taker: u64, held: impl IntoIterator<Item = Held>) {
        {
            let mut state = self.state();
            for held in held {
                if state
                    .entries
                    .get(&held.seq)
                    .is_some_and(|e| held.by(taker, e))
                {
                    state.put_back(held.seq);
                }
            }
        }
        self.arrived.send_replace(());
    }
}

/// One delivery to one taker, and when it is due back.
struct Held {
    due: Instant,
    seq: u64,
    deliveries: u64,
}

impl Held {
    fn by(&self, taker: u64, entry: &Entry) -> bool {
        entry.taker == Some(taker) && entry.deliveries == self.deliveries
    }
}

impl Shared {
    /// Feeds one taker until it leaves or the file is closed.
    async fn serve(self: Arc<Self>, tenant: TenantId, out: mpsc::Sender<Delivery>) {
        let taker = self.inbox.new_taker();
        let mut arrived = self.inbox.arrived.subscribe();
        let mut held: VecDeque<Held> = VecDeque::new();
        let mut maybe_ready = true;
        loop {
            let due = held.front().map_or_else(Instant::now, |h| h.due);
            tokio::select! {
                () = self.stop.cancelled() => break,
                () = out.closed() => break,
                () = tokio::time::sleep_until(due), if !held.is_empty() => {
                    self.inbox.take_back(taker, held.pop_front());
                }
                permit = out.reserve(), if maybe_ready => {
                    let Ok(permit) = permit else { break };
                    match self.inbox.next(&self, &tenant, taker) {
                        Some((delivered, delivery)) => {
                            permit.send(delivery);
                            held.push_back(delivered);
                            // What is settled needs no watching any more.
                            while held.front().is_some_and(|h| !self.inbox.is_held(taker, h)) {
                                held.pop_front();
                            }
                        }
                        None => maybe_ready = false,
                    }
                }
                changed = arrived.changed(), if !maybe_ready => {
                    if changed.is_err() {
                        break;
                    }
                    maybe_ready = true;
                }
            }
        }
        self.inbox.take_back(taker, held);
    }
}

/// The embedded inbox.
pub(super) struct EmbeddedInbox(pub Arc<Shared>);

#[async_trait]
impl Inbox for EmbeddedInbox {
    async fn submit(&self, submission: Submission) -> Result<Submitted, LedgerError> {
        let payload = serde_json::to_vec(&submission.message).map_err(super::store::failed)?;
        if payload.len() > MAX_COMMIT_BYTES {
            return Err(LedgerError::TooLarge(format!(
                "an answer of {} bytes is larger than {MAX_COMMIT_BYTES}",
                payload.len()
            )));
        }
        let (waiter, reply) = oneshot::channel();
        let (done, stored) = oneshot::channel();
        let message_id = message_id(&submission, &payload);
        let request = Request::Submit(Submit {
            tenant: submission.tenant,
            session: submission.session,
            clarify_token: submission.clarify_id.to_string(),
            message_id,
            payload: payload.into(),
            trace: fit_trace(submission.trace.as_deref()).map(str::to_owned),
            waiter,
            done,
        });
        self.0.request(request).await?;
        stored
            .await
            .map_err(|_| super::store::failed("the writer stopped"))??;
        Ok(Submitted { reply })
    }

    async fn take(&self, tenant: &TenantId) -> Result<mpsc::Receiver<Delivery>, LedgerError> {
        let (out, deliveries) = mpsc::channel(TAKE_CAPACITY);
        self.0
            .spawn(Arc::clone(&self.0).serve(tenant.clone(), out))?;
        Ok(deliveries)
    }

    async fn oldest(
        &self,
        tenant: &TenantId,
        session: &SessionId,
        id: ClarifyId,
    ) -> Result<Option<Timestamp>, LedgerError> {
        // A message gets its moment before it is on disk and in memory. Behind everything that the
        // writer has taken so far, none can turn up any more that was stored before now.
        let (done, reached) = oneshot::channel();
        self.0.request(Request::Barrier(done)).await?;
        reached
            .await
            .map_err(|_| super::store::failed("the writer stopped"))??;
        let state = self.0.inbox.state();
        let unjudged = state
            .unjudged
            .get(&(tenant.clone(), session.clone(), id.to_string()));
        Ok(unjudged
            .and_then(|u| u.first_key_value())
            .map(|(_, at)| *at))
    }
}
