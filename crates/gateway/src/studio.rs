//! The blocking route of hosts (E5–E7): one call asks and waits for the outcome. It is passed on to
//! session-binding, which judges everything about it.

use crate::body;
use crate::caller::Asker;
use crate::gateway::Gateway;
use crate::metrics::SERVICE;
use crate::passthrough::unreachable;
use crate::reply::{Refusal, ok};
use crate::trace::Trace;
use askbus_domain::{Dialect, Outcome, StudioResult, studio_result};
use askbus_telemetry::{Kind, Span};
use askbus_wire::client::{Bearer, Client};
use askbus_wire::convert;
use askbus_wire::error::{ErrorCode, WireError};
use askbus_wire::headers::TRACEPARENT;
use askbus_wire::proto::{self, attach_event};
use askbus_wire::surrogates;
use axum::body::Body;
use axum::extract::{Extension, State};
use axum::response::Response;
use http::Request;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::time::Duration;
use tonic::Streaming;

/// How long the caller's transport waits (E13: 330 s), less the way back.
const CALL_LIMIT_MS: u64 = 320_000;
/// Attaching and asking answer within this.
const CALL_TIMEOUT: Duration = Duration::from_secs(10);
/// The whole call ends within this, whatever happened to the attachment.
const WHOLE_TIMEOUT: Duration = Duration::from_secs(330);
/// Between attempts to attach again.
const RETRY: Duration = Duration::from_millis(500);

/// `POST /api/studio/clarifications/request`.
pub(crate) async fn request(
    State(gateway): State<Arc<Gateway>>,
    Asker(caller): Asker,
    Extension(trace): Extension<Trace>,
    request: Request<Body>,
) -> Result<Response, Refusal> {
    let said = Said::read(request, "nobody was asked").await?;
    let mut span = Span::begin(SERVICE, "ask", Kind::Server, trace.caller());
    span.note("askbus.dialect", || Dialect::Studio.as_str());
    let trace = Trace::continuing(span.traceparent(Some(trace.as_str())));
    let call = Call {
        client: Client::over(
            gateway.session_binding.of(&caller.credential.tenant)?,
            Bearer::new(&caller.token)?,
        ),
        // An attachment of its own: when the caller leaves, this future is dropped, the attachment
        // with it, and the lease of the question runs out (E11).
        asker_id: format!("http-{}", uuid::Uuid::new_v4()),
        trace,
    };
    let ask = proto::AskRequest {
        ask_id: uuid::Uuid::new_v4().to_string(),
        context_id: said.context_id,
        profile: said.profile,
        asker_id: call.asker_id.clone(),
        dialect: Dialect::Studio.as_str().to_owned(),
        input: Some(proto::ask_request::Input::ArgumentsJson(
            said.arguments_json,
        )),
        call_limit_ms: Some(CALL_LIMIT_MS),
        ..proto::AskRequest::default()
    };
    tokio::select! {
        () = gateway.shutdown.cancelled() => {
            let message = "the service is stopping; what was asked waits for its lease; ask again";
            Err(Refusal::new(ErrorCode::Unavailable, message))
        }
        settled = tokio::time::timeout(WHOLE_TIMEOUT, call.run(ask)) => {
            let (clarify_id, outcome) = settled.map_err(|_| Refusal(unreachable()))??;
            span.note("askbus.clarify_id", || clarify_id.clone());
            span.note("askbus.reason", || outcome.reason.as_str());
            Ok(ok(&result(&clarify_id, &outcome)))
        }
    }
}

/// What the call of a host says, whichever tool it stands for.
pub(crate) struct Said {
    pub context_id: String,
    /// What the headers select among the profiles that the credential allows.
    pub profile: String,
    /// The body as an object.
    pub arguments: Map<String, Value>,
    /// The whole body: session-binding reads the rest, after it has looked at the context.
    pub arguments_json: String,
}

impl Said {
    /// Reads a request; `nothing` says what has not happened when it cannot be read.
    pub(crate) async fn read(request: Request<Body>, nothing: &str) -> Result<Self, Refusal> {
        let (parts, body) = request.into_parts();
        let profile = parts
            .headers
            .get("x-hermes-profile")
            .and_then(|v| v.to_str().ok());
        let profile = profile.unwrap_or_default().trim().to_owned();
        let body = body::read(body).await?;
        // What an agent wrote, also where it was cut in the middle of a character.
        let body = surrogates::replaced(&body).map_or(body, Into::into);
        let invalid =
            |what: &str| Refusal::new(ErrorCode::InvalidRequest, format!("{what}; {nothing}"));
        let arguments: Value =
            serde_json::from_slice(&body).map_err(|_| invalid("the body is not JSON"))?;
        let Value::Object(arguments) = arguments else {
            return Err(invalid("the body must be a JSON object"));
        };
        let context_id = match arguments.get("context_id") {
            Some(Value::String(text)) if !text.trim().is_empty() => text.trim().to_owned(),
            Some(Value::String(_)) | None => return Err(invalid("context_id is required")),
            Some(_) => return Err(invalid("context_id must be a string")),
        };
        let arguments_json =
            String::from_utf8(body.to_vec()).map_err(|_| invalid("the body is not UTF-8"))?;
        Ok(Self {
            context_id,
            profile,
            arguments,
            arguments_json,
        })
    }
}

/// E7's result.
fn result(clarify_id: &str, outcome: &Outcome) -> Value {
    let StudioResult {
        reason,
        response,
        outcome_reason,
    } = studio_result(outcome);
    let mut result = json!({
        "ok": true,
        "clarify_id": clarify_id,
        "response": response,
        "reason": reason,
    });
    if let Value::Object(fields) = &mut result {
        if let Some(word) = outcome_reason {
            fields.insert("outcome_reason".to_owned(), word.into());
        }
        // They ride with this result and with no other.
        if !outcome.late.is_empty() {
            fields.insert("late".to_owned(), json!(outcome.late));
        }
    }
    result
}

struct Call {
    client: Client,
    asker_id: String,
    trace: Trace,
}

type Events = Streaming<proto::AttachEvent>;

impl Call {
    fn message<T>(&self, message: T) -> tonic::Request<T> {
        let mut request = tonic::Request::new(message);
        if let Ok(value) = self.trace.as_str().parse() {
            request.metadata_mut().insert(TRACEPARENT, value);
        }
        request
    }

    async fn run(self, ask: proto::AskRequest) -> Result<(String, Outcome), WireError> {
        let mut events = self.attach(Vec::new()).await?;
        let mut clarify = self.client.clarify.clone();
        let asked = within(clarify.ask(self.message(ask))).await?;
        let asked = asked.into_inner();
        if let Some(settled) = &asked.settled {
            return Ok((asked.clarify_id, read(settled)?));
        }
        let id = asked.clarify_id;
        loop {
            match self.outcome_of(&id, &mut events).await? {
                Some(outcome) => return Ok((id, outcome)),
                // An attachment can end at any time; the question goes on.
                None => events = self.attach_again(&id).await,
            }
        }
    }

    /// Opens the attachment and waits until session-binding knows it.
    async fn attach(&self, open_clarify_ids: Vec<String>) -> Result<Events, WireError> {
        let request = proto::AttachRequest {
            asker_id: self.asker_id.clone(),
            open_clarify_ids,
        };
        let mut clarify = self.client.clarify.clone();
        let mut events = within(clarify.attach(self.message(request)))
            .await?
            .into_inner();
        match within(events.message()).await? {
            Some(proto::AttachEvent {
                event: Some(attach_event::Event::Attached(_)),
            }) => Ok(events),
            _ => Err(unreachable()),
        }
    }

    async fn attach_again(&self, id: &str) -> Events {
        loop {
            tokio::time::sleep(RETRY).await;
            match self.attach(vec![id.to_owned()]).await {
                Ok(events) => return events,
                Err(error) => tracing::debug!(%error, "attaching again"),
            }
        }
    }

    /// The outcome when it comes; none when the attachment ends first.
    async fn outcome_of(
        &self,
        id: &str,
        events: &mut Events,
    ) -> Result<Option<Outcome>, WireError> {
        loop {
            match events.message().await {
                Ok(Some(proto::AttachEvent {
                    event: Some(attach_event::Event::Resolved(c)),
                })) if c.clarify_id == id => {
                    return read(&c).map(Some);
                }
                Ok(Some(proto::AttachEvent {
                    event: Some(attach_event::Event::UnknownClarifyId(unknown)),
                })) if unknown == id => {
                    return Err(WireError::from(
                        askbus_domain::Rejection::UnknownClarification,
                    ));
                }
                Ok(Some(_)) => {}
                Ok(None) | Err(_) => return Ok(None),
            }
        }
    }
}

/// How a clarification ended.
fn read(settled: &proto::Clarification) -> Result<Outcome, WireError> {
    let outcome = settled.outcome.as_ref().and_then(convert::outcome);
    outcome.ok_or_else(|| {
        WireError::new(
            ErrorCode::UpgradeNeeded,
            "the outcome cannot be read by this version; upgrade the gateway",
        )
    })
}

/// A call's answer, or an error in our words; session-binding gets ten seconds.
pub(crate) async fn within<T>(
    call: impl Future<Output = Result<T, tonic::Status>>,
) -> Result<T, WireError> {
    match tokio::time::timeout(CALL_TIMEOUT, call).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(status)) => {
            let error = WireError::from_status(&status);
            Err(if error.code == ErrorCode::Unavailable {
                unreachable()
            } else {
                error
            })
        }
        Err(_) => Err(unreachable()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(value: Value) -> Outcome {
        serde_json::from_value(value).unwrap()
    }

    // contract: E7 E19
    #[test]
    fn a_result_has_four_words_a_finer_one_and_late_messages() {
        let answer = json!({"question_id": "q1", "options": [], "text": "prod"});
        let late = json!({"clarify_id": "01a22db2-b5ef-72d9-8d4d-32ea513796ea", "answer_id": "a0",
            "actor": {"person": "ann", "surface": "web"}, "asked": "Where?", "action": "answer",
            "answers": [answer], "stored_at": "2027-01-15T08:00:00Z"});
        let said = outcome(
            json!({"reason": "response", "answers": [answer], "late": [late],
            "resolved_at": "2027-01-15T08:00:00Z"}),
        );
        let expected = json!({"ok": true, "clarify_id": "c", "response": "prod", "reason": "response",
            "late": [late]});
        assert_eq!(result("c", &said), expected);
        let nobody =
            outcome(json!({"reason": "unattended", "resolved_at": "2027-01-15T08:00:00Z"}));
        let expected = json!({"ok": true, "clarify_id": "c", "response": "", "reason": "timeout",
            "outcome_reason": "unattended"});
        assert_eq!(result("c", &nobody), expected);
    }
}
