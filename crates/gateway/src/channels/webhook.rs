//! The webhook channel: what is asked goes out as signed JSON, with the text as a chat would show it;
//! replies come back the same way, by id or as text.

mod verdict;

pub(super) use verdict::{Of, follow};

use super::Channel;
use super::backlog::{Failed, What};
use super::chat;
use super::http::Target;
use super::signature::SigningKey;
use crate::gateway::Gateway;
use crate::projection::Card;
use crate::reply::outcome_fields;
use askbus_domain::text_channel::{Telling, split};
use bytes::Bytes;
use serde_json::{Map, Value, json};
use std::time::Duration;

/// How long a place may take for one message.
const PATIENCE: Duration = Duration::from_secs(10);

/// One attempt to deliver a message. Its id is the same in every attempt, so that whoever gets it
/// twice can tell.
pub(super) async fn deliver(
    gateway: &Gateway,
    channel: &Channel,
    (target, signing): (&Target, &SigningKey),
    card: &Card,
    what: What,
) -> Result<(), Failed> {
    let id = format!("{}.{}", card.id(), what.as_str());
    let body = Bytes::from(message(gateway, channel, card, what).to_string());
    post(gateway, (target, signing), &id, body).await
}

/// One attempt to bring a body there, signed.
async fn post(
    gateway: &Gateway,
    (target, signing): (&Target, &SigningKey),
    id: &str,
    body: Bytes,
) -> Result<(), Failed> {
    let now = gateway.clock.now().unix_millis().div_euclid(1_000);
    let headers = signing
        .sign(id, now, &body)
        .ok_or_else(|| Failed::unheard("it cannot be signed"))?;
    let status = target.tell(headers, body, PATIENCE).await;
    let status = status.map_err(|e| Failed::in_doubt(e.to_string()))?;
    if status.is_success() {
        return Ok(());
    }
    let problem = format!("it answered {}", status.as_u16());
    // Whoever fails may have shown it before; whoever says no, or somewhere else, has not.
    Err(if status.is_client_error() || status.is_redirection() {
        Failed::unheard(problem)
    } else {
        Failed::in_doubt(problem)
    })
}

fn message(gateway: &Gateway, channel: &Channel, card: &Card, what: What) -> Value {
    let c = &card.clarification;
    let language = channel.language(c);
    let tag = chat::tag(gateway, channel, card.id());
    let mut object = Map::new();
    let mut put = |key: &str, value: Value| object.insert(key.to_owned(), value);
    put("type", format!("question.{}", what.as_str()).into());
    put("channel", channel.name.clone().into());
    put("tenant", json!(channel.tenant));
    put("clarify_id", json!(c.id));
    put("name", tag.clone().into());
    put("session_id", json!(card.session));
    put("profile", json!(card.profile));
    put("asker", json!(c.asker));
    put("to", json!(c.to));
    put("language", language.as_str().into());
    put("requested_at", json!(c.requested_at));
    put(
        "deadline",
        json!(c.clock.deadline.filter(|_| c.held_by.is_none())),
    );
    put("questions", json!(*c.questions));
    if let (What::Ended, Some(outcome)) = (what, &c.outcome) {
        let lines = Telling(language).ended(&tag, &c.questions, outcome);
        put("messages", json!(split(&lines, channel.limits.message)));
        put("outcome", outcome_fields(outcome).into());
    } else {
        let first = channel.put(c, 0, &tag, language);
        put("messages", json!(first.messages(&channel.limits)));
        put("buttons", json!(first.buttons(&channel.limits)));
    }
    object.into()
}
