//! What becomes of one line.

use super::envelope::Envelope;
use super::surrogates;
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorData, GetMeta as _, JsonRpcMessage, ProtocolVersion,
    RequestId,
};
use serde_json::Value;

/// The longest id of a request, in bytes. Ids are kept as long as their requests are open.
pub(in crate::server) const MAX_ID: usize = 128;
/// The longest name of a method or tool, in characters. It is told back, and none of ours is as long.
const MAX_NAME: usize = 100;
/// How much is told of what a parser says, in characters; it may quote what was sent.
const MAX_PROBLEM: usize = 200;

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
        (Some(None), Some(_)) => {
            return Verdict::Refuse(invalid("an id is a string or an integer"), None);
        }
        (Some(Some(RequestId::String(id))), Some(_)) if id.len() > MAX_ID => {
            let problem = format!("an id has at most {MAX_ID} bytes");
            return Verdict::Refuse(ErrorData::invalid_request(problem, None), None);
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
            match unknown(method.as_deref().unwrap_or_default(), &request.request) {
                Some(error) => Verdict::Refuse(error, Some(request.id)),
                None => Verdict::Take(Box::new(JsonRpcMessage::Request(request))),
            }
        }
        Ok(_) if !era_known => Verdict::Drop,
        Ok(message) => Verdict::Take(Box::new(message)),
        Err(error) => match (id, method) {
            (Some(id), Some(method)) => {
                let (method, error) = (named(&method), cut(&error.to_string(), MAX_PROBLEM));
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

/// What is said to a request for something of a name so long that it cannot exist. rmcp would
/// tell all of it back, and log it.
fn unknown(method: &str, request: &ClientRequest) -> Option<ErrorData> {
    if is_long(method) {
        let code = rmcp::model::ErrorCode::METHOD_NOT_FOUND;
        return Some(ErrorData::new(code, named(method), None));
    }
    match request {
        ClientRequest::CallToolRequest(call) if is_long(&call.params.name) => {
            Some(no_tool(&call.params.name))
        }
        _ => None,
    }
}

/// What is said to a call of a tool that there is not.
pub(in crate::server) fn no_tool(name: &str) -> ErrorData {
    ErrorData::invalid_params(format!("there is no tool {:?} here", named(name)), None)
}

/// A name that a client made up, short enough for a sentence.
pub(in crate::server) fn named(name: &str) -> String {
    cut(name, MAX_NAME)
}

fn is_long(name: &str) -> bool {
    name.chars().nth(MAX_NAME).is_some()
}

fn cut(text: &str, most: usize) -> String {
    match text.chars().nth(most) {
        Some(_) => text.chars().take(most).chain(['…']).collect(),
        None => text.to_owned(),
    }
}

fn read(line: &[u8]) -> serde_json::Result<Value> {
    serde_json::from_slice(line).or_else(|error| match surrogates::replaced(line) {
        Some(whole) => serde_json::from_slice(&whole),
        None => Err(error),
    })
}
