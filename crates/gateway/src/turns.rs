//! Turns of hosts that speak HTTP (E14, E15, E20): begin, hold, end, and what tools the agent used.
//! The objects have the names of the gRPC messages; session-binding judges everything about them.

use crate::body;
use crate::caller::Host;
use crate::gateway::Gateway;
use crate::params::Context;
use crate::reply::{Refusal, ok};
use crate::studio::within;
use crate::trace::Trace;
use askbus_wire::client::{Bearer, Client};
use askbus_wire::convert;
use askbus_wire::error::ErrorCode;
use askbus_wire::headers::TRACEPARENT;
use askbus_wire::proto::{self, begin_turn_request::Life};
use askbus_wire::surrogates;
use axum::body::Body;
use axum::extract::{Extension, State};
use axum::response::Response;
use http::{HeaderMap, Request};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::sync::Arc;

/// Selects among the profiles that the credential allows.
const PROFILE: &str = "x-hermes-profile";

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Begin {
    begin_id: String,
    session_id: String,
    run_id: String,
    profile: String,
    lease_ms: Option<u64>,
    for_ms: Option<u64>,
    policy: Option<Policy>,
    source: String,
    session_source: String,
    agent_kind: String,
    input_kind: String,
    group_chat: bool,
    room_id: String,
    natively_capable: bool,
    interaction_disabled: bool,
    terminal: bool,
    language: String,
    parent: Option<Parent>,
    toolset: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Policy {
    timeout_ms: Option<u64>,
    min_timeout_ms: Option<u64>,
    max_timeout_ms: Option<u64>,
    grace_ms: Option<u64>,
    on_timeout: String,
    when_absent: String,
    max_pending: Option<u32>,
    unanswered_limit: Option<u32>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parent {
    session_id: String,
    #[serde(default)]
    name: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Hold {
    profile: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct End {
    end: String,
    profile: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct ToolUse {
    tool: String,
    profile: String,
}

/// A host's call on its way to session-binding.
struct Call<T> {
    client: Client,
    trace: Trace,
    said: T,
    /// The profile that the request's headers select.
    profile: String,
}

impl<T: DeserializeOwned> Call<T> {
    async fn read(
        gateway: &Gateway,
        Host(caller): &Host,
        trace: Trace,
        request: Request<Body>,
    ) -> Result<Self, Refusal> {
        let (parts, body) = request.into_parts();
        let said = read(body::read(body).await?.as_ref())?;
        Ok(Self {
            client: Client::over(
                gateway.session_binding.of(&caller.credential.tenant)?,
                Bearer::new(&caller.token)?,
            ),
            trace,
            said,
            profile: selected(&parts.headers),
        })
    }
}

impl<T> Call<T> {
    fn message<M>(&self, message: M) -> tonic::Request<M> {
        let mut request = tonic::Request::new(message);
        if let Ok(value) = self.trace.as_str().parse() {
            request.metadata_mut().insert(TRACEPARENT, value);
        }
        request
    }

    /// What the body says goes before the header.
    fn profile(&self, said: &str) -> String {
        if said.is_empty() {
            self.profile.clone()
        } else {
            said.to_owned()
        }
    }
}

fn selected(headers: &HeaderMap) -> String {
    let named = headers.get(PROFILE).and_then(|v| v.to_str().ok());
    named.unwrap_or_default().trim().to_owned()
}

/// A body of a known form; an empty one is an empty object. A host is told what is wrong with it:
/// nothing in it is a person's.
fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Refusal> {
    let bytes = if bytes.is_empty() { b"{}" } else { bytes };
    let refuse = |what: &dyn std::fmt::Display| {
        let message = format!("{what}; nothing was done");
        Refusal::new(ErrorCode::InvalidRequest, message)
    };
    let value: Value =
        surrogates::from_slice(bytes).map_err(|_| refuse(&"the body is not JSON"))?;
    if !value.is_object() {
        return Err(refuse(&"the body must be a JSON object"));
    }
    serde_json::from_value(value).map_err(|error| refuse(&error))
}

/// `POST /api/turns/begin`.
pub(crate) async fn begin(
    State(gateway): State<Arc<Gateway>>,
    host: Host,
    Extension(trace): Extension<Trace>,
    request: Request<Body>,
) -> Result<Response, Refusal> {
    let call = Call::<Begin>::read(&gateway, &host, trace, request).await?;
    let message = call.message(begin_request(&call)?);
    let mut turns = call.client.turns.clone();
    let begun = within(turns.begin_turn(message)).await?.into_inner();
    let late: Vec<Value> = begun.late.iter().map(convert::late_message).collect();
    Ok(ok(&json!({
        "ok": true,
        "context_id": begun.context_id,
        "session_id": begun.session_id,
        "run_id": begun.run_id,
        "instruction": begun.instruction,
        "capabilities": begun.capabilities,
        "late": late,
    })))
}

fn begin_request(call: &Call<Begin>) -> Result<proto::BeginTurnRequest, Refusal> {
    let said = &call.said;
    let life = match (said.lease_ms, said.for_ms) {
        (Some(_), Some(_)) => {
            let message = "lease_ms or for_ms, not both: a turn is held or lives for a while; \
                           nothing was done";
            return Err(Refusal::new(ErrorCode::InvalidRequest, message));
        }
        (Some(lease), None) => Some(Life::LeaseMs(lease)),
        (None, Some(life)) => Some(Life::ForMs(life)),
        (None, None) => None,
    };
    let policy = said.policy.as_ref().map(|policy| proto::TurnPolicy {
        timeout_ms: policy.timeout_ms,
        min_timeout_ms: policy.min_timeout_ms,
        max_timeout_ms: policy.max_timeout_ms,
        grace_ms: policy.grace_ms,
        on_timeout: policy.on_timeout.clone(),
        when_absent: policy.when_absent.clone(),
        max_pending: policy.max_pending,
        unanswered_limit: policy.unanswered_limit,
    });
    let parent = said.parent.as_ref().map(|parent| proto::Parent {
        session_id: parent.session_id.clone(),
        name: parent.name.clone(),
    });
    Ok(proto::BeginTurnRequest {
        begin_id: said.begin_id.clone(),
        session_id: said.session_id.clone(),
        run_id: said.run_id.clone(),
        profile: call.profile(&said.profile),
        life,
        policy,
        source: said.source.clone(),
        session_source: said.session_source.clone(),
        agent_kind: said.agent_kind.clone(),
        input_kind: said.input_kind.clone(),
        group_chat: said.group_chat,
        natively_capable: said.natively_capable,
        interaction_disabled: said.interaction_disabled,
        terminal: said.terminal,
        language: said.language.clone(),
        parent,
        toolset: said.toolset.clone(),
        room_id: said.room_id.clone(),
    })
}

/// `POST /api/turns/{context_id}/hold`: the turn lives for one more lease.
pub(crate) async fn hold(
    State(gateway): State<Arc<Gateway>>,
    host: Host,
    Extension(trace): Extension<Trace>,
    Context(context_id): Context,
    request: Request<Body>,
) -> Result<Response, Refusal> {
    let call = Call::<Hold>::read(&gateway, &host, trace, request).await?;
    let message = call.message(proto::KeepTurnRequest {
        context_id,
        profile: call.profile(&call.said.profile),
    });
    let mut turns = call.client.turns.clone();
    let kept = within(turns.keep_turn(message)).await?.into_inner();
    let ended = Some(kept.ended).filter(|e| !e.is_empty());
    Ok(ok(
        &json!({"ok": true, "ended": ended, "lease_ms": kept.lease_ms}),
    ))
}

/// `POST /api/turns/{context_id}/end`.
pub(crate) async fn end(
    State(gateway): State<Arc<Gateway>>,
    host: Host,
    Extension(trace): Extension<Trace>,
    Context(context_id): Context,
    request: Request<Body>,
) -> Result<Response, Refusal> {
    let call = Call::<End>::read(&gateway, &host, trace, request).await?;
    // How it ended is nothing to be guessed: what was forgotten is no success.
    if call.said.end.is_empty() {
        let message = "end is completed, failed, stopped or disposed; nothing was done";
        return Err(Refusal::new(ErrorCode::InvalidRequest, message));
    }
    let end = call.said.end.clone();
    let message = call.message(proto::EndTurnRequest {
        context_id,
        end,
        profile: call.profile(&call.said.profile),
    });
    let mut turns = call.client.turns.clone();
    let ended = within(turns.end_turn(message)).await?.into_inner();
    let deferred: Vec<Value> = ended
        .deferred
        .iter()
        .map(|d| json!({"clarify_id": d.clarify_id, "text": d.text}))
        .collect();
    Ok(ok(&json!({
        "ok": true,
        "asked": ended.asked,
        "auto": ended.auto,
        "deferred": deferred,
    })))
}

/// `POST /api/turns/{context_id}/tool-use`.
pub(crate) async fn tool_use(
    State(gateway): State<Arc<Gateway>>,
    host: Host,
    Extension(trace): Extension<Trace>,
    Context(context_id): Context,
    request: Request<Body>,
) -> Result<Response, Refusal> {
    let call = Call::<ToolUse>::read(&gateway, &host, trace, request).await?;
    let message = call.message(proto::ReportToolUseRequest {
        context_id,
        profile: call.profile(&call.said.profile),
        tool: call.said.tool.clone(),
    });
    let mut turns = call.client.turns.clone();
    let reported = within(turns.report_tool_use(message)).await?.into_inner();
    Ok(ok(&json!({"ok": true, "work_begun": reported.work_begun})))
}

/// Reads a body as each route does, whatever it is.
#[cfg(test)]
pub(crate) fn read_any_body(bytes: &[u8]) {
    let _ = read::<Begin>(bytes);
    let _ = read::<Hold>(bytes);
    let _ = read::<End>(bytes);
    let _ = read::<ToolUse>(bytes);
}
