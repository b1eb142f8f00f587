//! What becomes of one line.

use super::envelope::Envelope;
use super::surrogates;
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorData, GetMeta as _, JsonRpcMessage, ProtocolVersion,
    RequestId,
};
use serde_json::Value;

/// What becomes of a line.
pub(in crate::server) enum Verdict {
    Take(Box<ClientJsonRpcMessage>),
    /// Needs no answer.
    Drop,
    /// With the id of the request that it is, as far as that can be told.
    Refuse(ErrorData, Option<RequestId>),
}

/// Whether rmcp settles on a protocol era with this message; until then it ends on anything that
/// is not a request.
pub(in crate::server) fn decides_era(message: &ClientJsonRpcMessage) -> bool {
    let JsonRpcMessage::Request(request) = message else {
        return false;
    };
    match &request.request {
        ClientRequest::InitializeRequest(_) => true,
        ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_) => false,
        other => {
            let meta = other.get_meta();
            let known = |v: ProtocolVersion| ProtocolVersion::KNOWN_VERSIONS.contains(&v);
            meta.protocol_version().is_some_and(known)
                && meta
                    .missing_required_keys(&ProtocolVersion::V_2026_07_28)
                    .is_empty()
        }
    }
}

/// Judges one line. serde_json refuses nesting beyond 128 levels.
pub(in crate::server) fn judge(line: &[u8], era_known: bool) -> Verdict {
    let line = line
        .strip_prefix(b"\xEF\xBB\xBF")
        .unwrap_or(line)
        .trim_ascii();
    if line.is_empty() {
        return Verdict::Drop;
    }
    let value = match read(line) {
        Ok(value) => value,
        Err(error) => {
            let error = ErrorData::parse_error(error.to_string(), None);
            return Verdict::Refuse(error, Envelope::of(line).request_id());
        }
    };
    let Some(object) = value.as_object() else {
        let error =
            ErrorData::invalid_request("a message is one JSON object; batches are not taken", None);
        return Verdict::Refuse(error, None);
    };
    let id = object
        .get("id")
        .map(|id| serde_json::from_value::<RequestId>(id.clone()).ok());
    let method = object
        .get("method")
        .and_then(Value::as_str)
        .map(str::to_owned);
    let invalid = |problem: &'static str| ErrorData::invalid_request(problem, None);
    let id = match (id, &method) {
        (Some(None), _) if method.is_some() => {
            return Verdict::Refuse(invalid("an id is a string or an integer"), None);
        }
        // An error that answers nothing of ours.
        (Some(None), _) => return Verdict::Drop,
        (id, _) => id.flatten(),
    };
    if object.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return match (&id, &method) {
            (None, Some(_)) => Verdict::Drop,
            _ => Verdict::Refuse(invalid("jsonrpc must be \"2.0\""), id),
        };
    }
    let is_response = object.contains_key("result") || object.contains_key("error");
    match serde_json::from_value::<ClientJsonRpcMessage>(value) {
        Ok(JsonRpcMessage::Request(request)) => {
            Verdict::Take(Box::new(JsonRpcMessage::Request(request)))
        }
        Ok(_) if !era_known => Verdict::Drop,
        Ok(message) => Verdict::Take(Box::new(message)),
        Err(error) => match (id, method) {
            (Some(id), Some(method)) => {
                let problem = format!("the params of {method} cannot be read: {error}");
                Verdict::Refuse(ErrorData::invalid_params(problem, None), Some(id))
            }
            // Notifications are never answered, nor are responses.
            (None, Some(_)) => Verdict::Drop,
            _ if is_response => Verdict::Drop,
            (id, None) => Verdict::Refuse(invalid("method is missing"), id),
        },
    }
}

fn read(line: &[u8]) -> serde_json::Result<Value> {
    serde_json::from_slice(line).or_else(|error| match surrogates::replaced(line) {
        Some(whole) => serde_json::from_slice(&whole),
        None => Err(error),
    })
}
