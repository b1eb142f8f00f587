//! Where authors wait for verdicts: one subscription for the whole process.

use super::{Shared, unavailable};
use crate::LedgerError;
use askbus_wire::messages::InboxReply;
use futures::StreamExt;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::oneshot;

/// Waiters are tidied when there are more than twice as many as after the last time.
const FIRST_TIDY: usize = 1024;

pub(super) struct Replies {
    prefix: String,
    waiting: Mutex<Waiting>,
}

struct Waiting {
    next: u64,
    tidy_at: usize,
    authors: HashMap<u64, oneshot::Sender<InboxReply>>,
}

impl Replies {
    /// Replies come to subjects below `prefix`.
    pub fn new(prefix: String) -> Self {
        let waiting = Waiting {
            next: 0,
            tidy_at: FIRST_TIDY,
            authors: HashMap::new(),
        };
        Self {
            prefix,
            waiting: Mutex::new(waiting),
        }
    }

    /// A subject to reply to, and where the reply will be.
    pub fn expect(&self) -> (String, oneshot::Receiver<InboxReply>) {
        let (author, reply) = oneshot::channel();
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.authors.len() >= waiting.tidy_at {
            waiting.authors.retain(|_, author| !author.is_closed());
            waiting.tidy_at = (waiting.authors.len() * 2).max(FIRST_TIDY);
        }
        waiting.next += 1;
        let number = waiting.next;
        waiting.authors.insert(number, author);
        (format!("{}.{number}", self.prefix), reply)
    }

    fn arrived(&self, subject: &str, payload: &[u8]) {
        let number = subject
            .rsplit('.')
            .next()
            .and_then(|n| n.parse::<u64>().ok());
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let author = number.and_then(|n| waiting.authors.remove(&n));
        drop(waiting);
        match (author, serde_json::from_slice(payload)) {
            // An author who stopped listening reads the log.
            (Some(author), Ok(reply)) => drop(author.send(reply)),
            (Some(_), Err(error)) => tracing::warn!(%error, "a verdict cannot be read"),
            (None, _) => {}
        }
    }
}

/// Listens for replies until the handle is closed.
pub(super) async fn listen(shared: &Arc<Shared>) -> Result<(), LedgerError> {
    let subject = format!("{}.*", shared.replies.prefix);
    let mut replies = shared
        .client
        .subscribe(subject)
        .await
        .map_err(unavailable)?;
    let (listener, stop) = (Arc::clone(shared), shared.stop.clone());
    shared.spawn(async move {
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                reply = replies.next() => match reply {
                    Some(reply) => listener.replies.arrived(&reply.subject, &reply.payload),
                    None => return,
                },
            }
        }
    })
}
