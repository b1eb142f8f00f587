//! The ids of a client's requests that have no reply yet. A second request under one of them would be done
//! as well, and only one of the two could be told what came of it.

use super::lines::named;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ErrorData, JsonRpcMessage, RequestId,
    ServerJsonRpcMessage,
};
use std::collections::{HashSet, VecDeque};

/// So many ids of cancelled requests are remembered.
const CANCELLED: usize = 1_000;

/// The open requests of one client.
#[derive(Debug, Default)]
pub(super) struct OpenIds {
    ids: HashSet<RequestId>,
    /// Of those, what is never answered, oldest first. What is done for it may be about to end, and would
    /// then be taken for the reply to a later request under the id.
    cancelled: VecDeque<RequestId>,
}

impl OpenIds {
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

    /// Takes note that a request was not done after all, and has no reply to come.
    pub(super) fn forget(&mut self, id: &RequestId) {
        self.ids.remove(id);
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

/// Why a request under an open id is refused. It is said without the id: under that, it would end the request
/// that is open.
pub(super) fn refusal(id: &RequestId) -> ErrorData {
    let id = named(&id.to_string());
    let text =
        format!("a request with the id {id} has no reply yet; nothing was done for this one");
    ErrorData::invalid_request(text, None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn request(id: &Value) -> ClientJsonRpcMessage {
        let request = json!({"jsonrpc": "2.0", "id": id, "method": "ping"});
        serde_json::from_value(request).unwrap()
    }

    fn cancelled(id: u64) -> ClientJsonRpcMessage {
        let params = json!({"requestId": id});
        let method = "notifications/cancelled";
        let cancel = json!({"jsonrpc": "2.0", "method": method, "params": params});
        serde_json::from_value(cancel).unwrap()
    }

    fn error(id: u64) -> ServerJsonRpcMessage {
        let id = Some(RequestId::Number(i64::try_from(id).unwrap()));
        ServerJsonRpcMessage::error(ErrorData::internal_error("e", None), id)
    }

    // contract: E13
    #[test]
    fn an_id_is_open_until_its_reply_and_numbers_are_no_strings() {
        let mut open = OpenIds::default();
        assert_eq!(open.take(&request(&json!(7))), None);
        assert_eq!(open.take(&request(&json!("7"))), None);
        for id in [json!(7), json!("7")] {
            let taken = open.take(&request(&id));
            assert_eq!(taken.map(|id| json!(id)), Some(id));
        }
        open.answer(&error(7));
        assert_eq!(open.take(&request(&json!(7))), None);
        let text = RequestId::String("7".into());
        assert!(open.has(&text));
        open.forget(&text);
        assert!(!open.has(&text));
    }

    // contract: E13
    #[test]
    fn a_cancelled_id_is_open_until_many_more_were_cancelled() {
        let mut open = OpenIds::default();
        for id in 0..=CANCELLED {
            assert_eq!(open.take(&request(&json!(id))), None);
        }
        for id in 0..u64::try_from(CANCELLED).unwrap() {
            open.take(&cancelled(id));
            // Once is enough.
            open.take(&cancelled(id));
        }
        assert!(open.has(&RequestId::Number(0)));
        open.take(&cancelled(u64::try_from(CANCELLED).unwrap()));
        assert!(!open.has(&RequestId::Number(0)));
        assert!(open.has(&RequestId::Number(1)));
    }
}
