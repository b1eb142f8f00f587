//! How a refusal looks over HTTP: `{ok:false, error, reason}` and the status of the one table.

use askbus_domain::Outcome;
use askbus_wire::error::{ErrorCode, WireError};
use axum::body::Body;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use serde_json::{Map, Value, json};

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
    put("dismissed_questions", json!(outcome.declined));
    put("assumptions", json!(outcome.assumptions));
    put("text", json!(outcome.text));
    put("late", json!(outcome.late));
    put("answer_id", json!(outcome.answer_id));
    put("resolved_at", json!(outcome.resolved_at));
    fields
}
