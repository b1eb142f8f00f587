//! The routes of channels: what they could not deliver, and what comes through a webhook.

use super::chat::{self, Message};
use super::signature::SigningKey;
use super::undelivered::undelivered;
use super::{Channel, Way, webhook};
use crate::body;
use crate::caller::Person;
use crate::gateway::Gateway;
use crate::reply::{Refusal, ok};
use askbus_domain::Timestamp;
use askbus_wire::error::ErrorCode;
use askbus_wire::surrogates;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::response::Response;
use http::{HeaderMap, Request};
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;

/// A reply as a webhook sends it.
#[derive(Debug, Deserialize)]
pub(super) struct Sent {
    pub(super) text: String,
    /// An id, a name, or the message that is quoted.
    #[serde(default)]
    reply_to: Option<String>,
    /// How the channel names whoever wrote it.
    #[serde(default)]
    from: Option<String>,
    /// When it was written, where that is not when it was signed.
    #[serde(default)]
    written_at: Option<Timestamp>,
}

/// `GET /api/channels`: the channels of a person's tenant and what they did not deliver.
pub(crate) async fn list(
    State(gateway): State<Arc<Gateway>>,
    person: Person,
) -> Result<Response, Refusal> {
    let mut channels = Vec::new();
    for channel in gateway.channels.of(person.tenant()) {
        channels.extend(undelivered(&gateway, channel, &person).await?);
    }
    Ok(ok(&json!({"ok": true, "channels": channels})))
}

/// `POST /api/channels/{name}/reply`: a message of a person, signed as outgoing ones are. Whose
/// questions it may answer follows from the channel, before anything of the body is read.
pub(crate) async fn reply(
    State(gateway): State<Arc<Gateway>>,
    Path(name): Path<String>,
    headers: HeaderMap,
    request: Request<Body>,
) -> Result<Response, Refusal> {
    let body = request.into_body();
    let (channel, signing) = match webhook_named(&gateway, &name) {
        Ok(found) => found,
        Err(refused) => {
            body::linger(body).await;
            return Err(refused);
        }
    };
    let unsigned = |why: &dyn std::fmt::Display| {
        let message = format!("{why}; nothing was done");
        Refusal::new(ErrorCode::Unauthenticated, message)
    };
    let now = gateway.clock.now().unix_millis().div_euclid(1_000);
    let signed = match SigningKey::head(&headers, now) {
        Ok(signed) => signed,
        Err(why) => {
            body::linger(body).await;
            return Err(unsigned(&why));
        }
    };
    let bytes = body::read(body).await?;
    let verified = signing.verify(&headers, &signed, &bytes);
    verified.map_err(|why| unsigned(&why))?;
    let sent: Sent = read(&bytes)?;
    let Some(person) = channel.person(said(sent.from.as_deref())) else {
        let message = "this channel knows nobody of that name; nothing was sent";
        return Err(Refusal::new(ErrorCode::Forbidden, message));
    };
    // The end of that second: the clock of a header is no finer.
    let signed_at = signed.at.saturating_mul(1_000).saturating_add(999);
    let signed_at = Timestamp::from_unix_millis(signed_at);
    let message = Message {
        id: signed.id,
        text: sent.text,
        about: said(sent.reply_to.as_deref()).map(str::to_owned),
        // Nobody signs what is not written yet.
        written_at: Some(sent.written_at.map_or(signed_at, |at| at.min(signed_at))),
    };
    let mut heard = chat::hear(&gateway, &channel, person, &message).await;
    if let Some(later) = heard.later.take() {
        let (id, from) = (message.id.clone(), said(sent.from.as_deref()));
        let of = webhook::Of {
            id,
            from: from.map(str::to_owned),
        };
        webhook::follow(&gateway, &channel, of, later);
    }
    Ok(ok(&json!({
        "ok": true,
        "verdict": heard.verdict,
        "clarify_id": heard.clarify_id,
        "messages": heard.messages,
        "buttons": heard.buttons,
    })))
}

/// A value, if there is one: programs send an empty text where there is none.
fn said(value: Option<&str>) -> Option<&str> {
    value.filter(|value| !value.trim().is_empty())
}

pub(super) fn read(bytes: &[u8]) -> Result<Sent, Refusal> {
    // A list would be taken for an object's fields in their order.
    let object: Result<serde_json::Map<String, Value>, _> = surrogates::from_slice(bytes);
    let sent = object.and_then(|object| serde_json::from_value(Value::Object(object)));
    sent.map_err(|_| {
        let message = "the body is not an object with a text; nothing was sent";
        Refusal::new(ErrorCode::InvalidRequest, message)
    })
}

/// A webhook channel and its key. Channels of another kind and none at all are one refusal.
fn webhook_named<'a>(
    gateway: &'a Gateway,
    name: &str,
) -> Result<(Arc<Channel>, &'a SigningKey), Refusal> {
    let found = gateway.channels.get(name);
    let served = found.filter(|channel| gateway.tenants.serves(&channel.tenant));
    if let Some((channel, Way::Webhook { signing, .. })) = served.map(|c| (c, &c.way)) {
        return Ok((Arc::clone(channel), signing));
    }
    let message = "there is no such webhook here; nothing was done";
    Err(Refusal::new(ErrorCode::NotFound, message))
}
