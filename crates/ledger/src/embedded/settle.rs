//! What a taker of the embedded inbox does with a message.

use super::Shared;
use super::writer::Request;
use crate::{Ack, LedgerError, ReplySink};
use askbus_wire::messages::InboxReply;
use async_trait::async_trait;
use std::sync::Arc;

/// Settles one message.
pub(super) struct Settle {
    pub shared: Arc<Shared>,
    pub seq: u64,
}

#[async_trait]
impl Ack for Settle {
    async fn ack(&self) -> Result<(), LedgerError> {
        self.shared.inbox.settle(self.seq);
        self.shared.request(Request::Settle(self.seq)).await
    }

    async fn term(&self) -> Result<(), LedgerError> {
        self.ack().await
    }
}

/// Tells the authors of one message.
pub(super) struct Reply {
    pub shared: Arc<Shared>,
    pub seq: u64,
}

#[async_trait]
impl ReplySink for Reply {
    async fn send(&self, reply: &InboxReply) {
        let waiters = self.shared.inbox.take_waiters(self.seq);
        for waiter in waiters {
            // An author who stopped listening reads the log.
            drop(waiter.send(reply.clone()));
        }
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        self.shared.inbox.drop_waiters_of_settled(self.seq);
    }
}
