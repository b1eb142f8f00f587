//! The ids of a client's requests that have no reply yet. A second request under one of them would be done
//! as well, and only one of the two could be told what came of it.

use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, JsonRpcMessage, RequestId, ServerJsonRpcMessage,
};
use std::collections::{HashSet, VecDeque};

/// So many ids of cancelled requests are remembered.
const CANCELLED: usize = 1_000;

/// The open requests of one client.
#[derive(Default)]
pub(super) struct Open {
    ids: HashSet<RequestId>,
    /// Of those, what is never answered, oldest first. What is done for it may be about to end, and would
    /// then be taken for the reply to a later request under the id.
    cancelled: VecDeque<RequestId>,
}

impl Open {
    /// Whether a request under this id has no reply yet.
    pub(super) fn has(&self, id: &RequestId) -> bool {
        self.ids.contains(id)
    }

    /// Takes note of a message of the client. The id of its request, if one under that id is open.
    pub(super) fn take(&mut self, message: &ClientJsonRpcMessage) -> Option<RequestId> {
        match message {
            JsonRpcMessage::Request(request) if !self.ids.insert(request.id.clone()) => {
                Some(request.id.clone())
            }
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) =
                    &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.cancel(id);
                }
                None
            }
            _ => None,
        }
    }

    /// Takes note of a message to the client.
    pub(super) fn answer(&mut self, message: &ServerJsonRpcMessage) {
        let id = match message {
            JsonRpcMessage::Response(response) => Some(&response.id),
            JsonRpcMessage::Error(error) => error.id.as_ref(),
            _ => None,
        };
        if let Some(id) = id
            && self.ids.remove(id)
        {
            self.cancelled.retain(|cancelled| cancelled != id);
        }
    }

    fn cancel(&mut self, id: &RequestId) {
        if !self.ids.contains(id) || self.cancelled.contains(id) {
            return;
        }
        self.cancelled.push_back(id.clone());
        if self.cancelled.len() > CANCELLED
            && let Some(oldest) = self.cancelled.pop_front()
        {
            self.ids.remove(&oldest);
        }
    }
}
