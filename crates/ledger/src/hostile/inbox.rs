//! The inbox of the hostile bus.

use super::{Shared, lock};
use crate::message_id::message_id;
use crate::{Ack, Delivery, Inbox, LedgerError, ReplySink, Submission, Submitted};
use askbus_domain::{ClarifyId, SessionId, TenantId, Timestamp};
use askbus_wire::messages::{InboxMessage, InboxReply};
use async_trait::async_trait;
use bytes::Bytes;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

/// Messages between the inbox and a taker.
const CAPACITY: usize = 64;

struct Message {
    tenant: TenantId,
    session: SessionId,
    clarify_id: ClarifyId,
    payload: Bytes,
    stored_at: Timestamp,
    deliveries: u64,
    trace: Option<String>,
    /// Not to be delivered before this; none: at once.
    due: Option<Instant>,
}

#[derive(Default)]
pub(super) struct Messages {
    next: u64,
    unjudged: BTreeMap<u64, Message>,
    known: HashSet<String>,
    authors: HashMap<u64, oneshot::Sender<InboxReply>>,
    /// Everything ever stored.
    pub(super) arrived: Vec<Arrived>,
}

impl Messages {
    pub(super) fn unjudged(&self) -> usize {
        self.unjudged.len()
    }
}

/// What the inbox stored, and when.
#[derive(Debug, Clone)]
pub struct Arrived {
    /// The tenant.
    pub tenant: TenantId,
    /// The clarification.
    pub clarify_id: ClarifyId,
    /// The moment it was stored.
    pub stored_at: Timestamp,
    /// What was sent.
    pub message: InboxMessage,
}

pub(super) struct HostileInbox(pub Arc<Shared>);

#[async_trait]
impl Inbox for HostileInbox {
    async fn submit(&self, submission: Submission) -> Result<Submitted, LedgerError> {
        let faults = self.0.faults;
        self.0.maybe_delay().await;
        self.0.maybe_unavailable(faults.unavailable)?;
        let payload = serde_json::to_vec(&submission.message)
            .map_err(|e| LedgerError::Unavailable(e.to_string()))?;
        let (author, reply) = oneshot::channel();
        {
            let mut inbox = lock(&self.0.inbox);
            if inbox.known.insert(message_id(&submission, &payload)) {
                inbox.next += 1;
                let seq = inbox.next;
                inbox.authors.insert(seq, author);
                let stored_at = self.0.now();
                inbox.arrived.push(Arrived {
                    tenant: submission.tenant.clone(),
                    clarify_id: submission.clarify_id,
                    stored_at,
                    message: submission.message,
                });
                let message = Message {
                    tenant: submission.tenant,
                    session: submission.session,
                    clarify_id: submission.clarify_id,
                    payload: payload.into(),
                    stored_at,
                    deliveries: 0,
                    trace: submission.trace,
                    due: None,
                };
                inbox.unjudged.insert(seq, message);
            }
        }
        self.0.arrived.notify_waiters();
        self.0.maybe_unavailable(faults.lost_ack)?;
        Ok(Submitted { reply })
    }

    async fn take(&self, tenant: &TenantId) -> Result<mpsc::Receiver<Delivery>, LedgerError> {
        let (out, deliveries) = mpsc::channel(CAPACITY);
        self.0
            .tasks
            .spawn(serve(Arc::clone(&self.0), tenant.clone(), out));
        Ok(deliveries)
    }

    async fn oldest(
        &self,
        tenant: &TenantId,
        session: &SessionId,
        id: ClarifyId,
    ) -> Result<Option<Timestamp>, LedgerError> {
        self.0.maybe_unavailable(self.0.faults.failed_read)?;
        let inbox = lock(&self.0.inbox);
        let mut of_it = inbox
            .unjudged
            .values()
            .filter(|m| m.tenant == *tenant && m.session == *session && m.clarify_id == id);
        Ok(of_it.next().map(|m| m.stored_at))
    }
}

/// What a taker does next.
enum Next {
    Deliver(Box<Delivery>),
    /// Nothing is due before this moment, if ever.
    Wait(Option<Instant>),
}

fn next(shared: &Arc<Shared>, tenant: &TenantId) -> Next {
    let mut inbox = lock(&shared.inbox);
    let now = Instant::now();
    let is_due = |m: &Message| m.due.is_none_or(|due| due <= now);
    let of_tenant = || inbox.unjudged.iter().filter(|(_, m)| m.tenant == *tenant);
    let due: Vec<u64> = of_tenant()
        .filter(|(_, m)| is_due(m))
        .map(|(seq, _)| *seq)
        .collect();
    // Any order: nobody may rely on one.
    let chosen = lock(&shared.random).below(due.len() as u64);
    let Some(seq) = usize::try_from(chosen)
        .ok()
        .and_then(|i| due.get(i))
        .copied()
    else {
        return Next::Wait(of_tenant().filter_map(|(_, m)| m.due).min());
    };
    let Some(message) = inbox.unjudged.get_mut(&seq) else {
        return Next::Wait(None);
    };
    message.deliveries += 1;
    let again = shared.strikes(shared.faults.redelivery);
    message.due = if again {
        None
    } else {
        Some(now + shared.faults.ack_wait)
    };
    Next::Deliver(Box::new(Delivery {
        tenant: message.tenant.clone(),
        session: message.session.clone(),
        clarify_token: message.clarify_id.to_string(),
        payload: message.payload.clone(),
        stored_at: message.stored_at,
        deliveries: message.deliveries,
        trace: message.trace.clone(),
        acker: Box::new(Settle {
            shared: Arc::clone(shared),
            seq,
        }),
        reply: Box::new(Reply {
            shared: Arc::clone(shared),
            seq,
        }),
    }))
}

async fn serve(shared: Arc<Shared>, tenant: TenantId, out: mpsc::Sender<Delivery>) {
    loop {
        let arrived = shared.arrived.notified();
        tokio::pin!(arrived);
        // From here on nothing that arrives goes unnoticed.
        arrived.as_mut().enable();
        let due = match next(&shared, &tenant) {
            Next::Deliver(delivery) => {
                shared.maybe_delay().await;
                tokio::select! {
                        biased;
                    () = shared.stop.cancelled() => return,
                    sent = out.send(*delivery) => if sent.is_err() { return },
                }
                continue;
            }
            Next::Wait(due) => due,
        };
        tokio::select! {
                        biased;
            () = shared.stop.cancelled() => return,
            () = out.closed() => return,
            () = tokio::time::sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {}
            () = &mut arrived => {}
        }
    }
}

struct Settle {
    shared: Arc<Shared>,
    seq: u64,
}

#[async_trait]
impl Ack for Settle {
    async fn ack(&self) -> Result<(), LedgerError> {
        if !self.shared.strikes(self.shared.faults.lost_settle) {
            lock(&self.shared.inbox).unjudged.remove(&self.seq);
        }
        Ok(())
    }

    async fn term(&self) -> Result<(), LedgerError> {
        self.ack().await
    }

    async fn retry(&self, pause: Duration) -> Result<(), LedgerError> {
        if !self.shared.strikes(self.shared.faults.lost_settle) {
            if let Some(message) = lock(&self.shared.inbox).unjudged.get_mut(&self.seq) {
                message.due = Some(Instant::now() + pause);
            }
            self.shared.arrived.notify_waiters();
        }
        Ok(())
    }
}

struct Reply {
    shared: Arc<Shared>,
    seq: u64,
}

#[async_trait]
impl ReplySink for Reply {
    async fn send(&self, reply: &InboxReply) {
        let author = lock(&self.shared.inbox).authors.remove(&self.seq);
        if let Some(author) = author
            && !self.shared.strikes(self.shared.faults.lost_reply)
        {
            // An author who stopped listening reads the log.
            drop(author.send(reply.clone()));
        }
    }
}
