//! Messages that are taken and not settled. While this process holds one it tells the inbox so, and
//! the inbox gives it to nobody else; so what a process held that died comes again soon.

use super::unavailable;
use crate::{Ack, LedgerError};
use async_nats::jetstream::message::{AckKind, Acker};
use async_trait::async_trait;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The messages one taker holds.
#[derive(Default)]
pub(super) struct Unsettled {
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    last: u64,
    ackers: BTreeMap<u64, Arc<Acker>>,
}

impl Unsettled {
    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Holds a message until it is settled or dropped.
    pub(super) fn hold(self: &Arc<Self>, acker: Acker) -> Settle {
        let acker = Arc::new(acker);
        let mut open = self.lock();
        open.last += 1;
        let number = open.last;
        open.ackers.insert(number, Arc::clone(&acker));
        drop(open);
        Settle {
            acker,
            number,
            unsettled: Arc::clone(self),
        }
    }

    /// Says now and then, well within `ack_wait`, that what is held is still worked on.
    pub(super) async fn keep(&self, ack_wait: Duration) -> Infallible {
        loop {
            tokio::time::sleep(ack_wait / 3).await;
            let held: Vec<_> = self.lock().ackers.values().map(Arc::clone).collect();
            for acker in held {
                // Without a connection the message comes again, which changes nothing.
                if let Err(error) = acker.ack_with(AckKind::Progress).await {
                    tracing::debug!(%error, "the inbox was not told that a message is worked on");
                    break;
                }
            }
        }
    }
}

/// Settles one message; dropped without that, it comes again.
pub(super) struct Settle {
    acker: Arc<Acker>,
    number: u64,
    unsettled: Arc<Unsettled>,
}

impl Settle {
    /// Settles it; nothing is said about it from here on, or it would be taken for worked on again.
    async fn settle(&self, how: AckKind) -> Result<(), LedgerError> {
        self.release();
        self.acker.ack_with(how).await.map_err(unavailable)
    }

    fn release(&self) {
        self.unsettled.lock().ackers.remove(&self.number);
    }
}

impl Drop for Settle {
    fn drop(&mut self) {
        self.release();
    }
}

#[async_trait]
impl Ack for Settle {
    async fn ack(&self) -> Result<(), LedgerError> {
        self.settle(AckKind::Ack).await
    }

    async fn term(&self) -> Result<(), LedgerError> {
        self.settle(AckKind::Term).await
    }

    async fn retry(&self, pause: Duration) -> Result<(), LedgerError> {
        self.settle(AckKind::Nak(Some(pause))).await
    }
}
