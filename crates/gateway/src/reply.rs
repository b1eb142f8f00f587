//! How a refusal looks over HTTP: `{ok:false, error, reason}` and the status of the one table.

use askbus_domain::Outcome;
use askbus_wire::error::{ErrorCode, WireError};
use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::{HeaderValue, StatusCode, header};
use serde_json::{Map, Value, json};
use std::time::Duration;

/// A body larger than this is refused.
const MAX_BODY_BYTES: usize = 1024 * 1024;
/// A body that takes longer than this is given up.
const BODY_TIMEOUT: Duration = Duration::from_secs(15);

/// A request that was not granted.
#[derive(Debug)]
pub(crate) struct Refusal(pub WireError);

impl Refusal {
    pub(crate) fn new(code: ErrorCode, message: impl std::fmt::Display) -> Self {
        Self(WireError::new(code, message))
    }
}

impl From<WireError> for Refusal {
    fn from(error: WireError) -> Self {
        Self(error)
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.0.code.http());
        respond(
            status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
            &error_object(&self.0),
        )
    }
}

/// `{ok:false, error, reason}`.
pub(crate) fn error_object(error: &WireError) -> Value {
    json!({"ok": false, "error": error.message, "reason": error.code.as_str()})
}

/// A JSON response.
pub(crate) fn respond(status: StatusCode, body: &Value) -> Response {
    let mut response = Response::new(Body::from(body.to_string()));
    *response.status_mut() = status;
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    response
}

/// A JSON response with status 200.
pub(crate) fn ok(body: &Value) -> Response {
    respond(StatusCode::OK, body)
}

/// The whole body, at most 1 MiB and within 15 seconds.
pub(crate) async fn read_body(body: Body) -> Result<Bytes, Refusal> {
    let read = axum::body::to_bytes(body, MAX_BODY_BYTES);
    match tokio::time::timeout(BODY_TIMEOUT, read).await {
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(error)) if is_length_limit(&error) => {
            let message = "the body is larger than 1 MiB; nothing was done; shorten it";
            Err(Refusal::new(ErrorCode::TooLarge, message))
        }
        Ok(Err(_)) => Err(Refusal::new(
            ErrorCode::InvalidRequest,
            "the body broke off; nothing was done; send it again",
        )),
        Err(_) => Err(Refusal::new(
            ErrorCode::InvalidRequest,
            "the body took too long; nothing was done; send it again",
        )),
    }
}

fn is_length_limit(error: &axum::Error) -> bool {
    let mut source: Option<&dyn std::error::Error> = Some(error);
    while let Some(error) = source {
        if error.to_string().contains("length limit") {
            return true;
        }
        source = error.source();
    }
    false
}

/// A body as JSON of a known form.
pub(crate) async fn read_json<T: serde::de::DeserializeOwned>(body: Body) -> Result<T, Refusal> {
    let bytes = read_body(body).await?;
    // An empty body is an empty object: every field of ours that may be left out has a default.
    let bytes = if bytes.is_empty() {
        Bytes::from_static(b"{}")
    } else {
        bytes
    };
    let invalid = |error: &serde_json::Error| {
        // Nothing of the message of an error: it may quote what a person wrote.
        tracing::debug!(
            line = error.line(),
            column = error.column(),
            "a body was refused"
        );
        let what = "the body is not the JSON object expected here; nothing was done";
        Refusal::new(ErrorCode::InvalidRequest, what)
    };
    // A list would be taken for an object's fields in their order.
    let object: Map<String, Value> = serde_json::from_slice(&bytes).map_err(|e| invalid(&e))?;
    serde_json::from_value(Value::Object(object)).map_err(|e| invalid(&e))
}

/// How a clarification ended, as fields.
pub(crate) fn outcome_fields(outcome: &Outcome) -> Map<String, Value> {
    let mut fields = Map::new();
    let mut put = |key: &str, value: Value| fields.insert(key.to_owned(), value);
    put("reason", json!(outcome.reason));
    put("decided_by", json!(outcome.decided_by()));
    put("actor", json!(outcome.actor));
    put("cause", json!(outcome.cause));
    put("answers", json!(outcome.answers));
    put("partial", json!(outcome.partial));
    put("unanswered", json!(outcome.unanswered));
    put("assumptions", json!(outcome.assumptions));
    put("text", json!(outcome.text));
    put("answer_id", json!(outcome.answer_id));
    put("resolved_at", json!(outcome.resolved_at));
    fields
}
