//! The objects of N2, for clients that know one question with plain choices.

use super::{Socket, Step, is_over};
use crate::explain::explain;
use crate::lookup;
use crate::projection::Card;
use crate::submit::{Judged, NotSent, Sent};
use askbus_domain::{Actor, Outcome, Surface};
use askbus_wire::error::{ErrorCode, WireError};
use askbus_wire::messages::InboxReply;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;

/// `clarify_request`; none for what this dialect cannot show.
pub(super) fn request(card: &Card) -> Option<Value> {
    let questions = &card.clarification.questions;
    if questions.len() != 1 {
        return None;
    }
    let question = questions.first();
    let mut data = json!({"requestId": card.id(), "question": question.question});
    if !question.options.is_empty()
        && let Value::Object(fields) = &mut data
    {
        let labels: Vec<&str> = question.options.iter().map(|o| o.label.as_str()).collect();
        fields.insert("choices".to_owned(), json!(labels));
    }
    Some(json!({"type": "clarify_request", "sessionId": card.session, "data": data}))
}

/// `clarify_resolved`; none for what this dialect did not show.
pub(super) fn resolved(card: &Card, outcome: &Outcome) -> Option<Value> {
    let shown = card.clarification.questions.len() == 1 && !card.settled_at_once();
    shown.then(|| {
        json!({
            "type": "clarify_resolved",
            "sessionId": card.session,
            "requestId": card.id(),
            "reason": outcome.reason.studio_reason(),
        })
    })
}

/// `clarify_error`: a frame or an answer that was not taken.
pub(super) fn error(
    error: &WireError,
    session: Option<&str>,
    request: Option<&str>,
    stale: bool,
) -> Value {
    json!({
        "type": "clarify_error",
        "sessionId": session,
        "requestId": request,
        "error": error.message,
        "reason": error.code.as_str(),
        "stale": stale,
    })
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Frame {
    #[serde(rename = "type")]
    kind: String,
    session_id: String,
    request_id: String,
    #[serde(default)]
    answer: Option<String>,
}

impl Socket {
    pub(super) async fn hear_interaction(&mut self, object: Value) -> Step {
        let frame = match serde_json::from_value::<Frame>(object) {
            Ok(frame) if frame.kind == "clarify_response" => frame,
            _ => {
                let message = "the frame is no clarify_response with sessionId, requestId and answer; nothing was done";
                return self
                    .refuse(WireError::new(ErrorCode::InvalidRequest, message))
                    .await;
            }
        };
        let (session, id) = (frame.session_id.clone(), frame.request_id.clone());
        if let Err(refused) = self.answer(frame).await {
            return self
                .send(&error(&refused, Some(&session), Some(&id), false))
                .await;
        }
        Ok(())
    }

    async fn answer(&mut self, frame: Frame) -> Result<(), WireError> {
        let card = lookup::find(&self.gateway, &self.person.viewer(), &frame.request_id).await?;
        if card.session.as_str() != frame.session_id {
            return Err(askbus_domain::Rejection::UnknownClarification.into());
        }
        let person = self.person.0.credential.subject.clone();
        let actor = Actor {
            person,
            surface: Surface::Web,
        };
        let response = Sent::plain(frame.answer).into_response(&card, actor)?;
        let waited = card.clarification.is_pending();
        let of = Arc::clone(&card);
        self.send_answer(card, response, move |judged| told(&of, waited, judged));
        Ok(())
    }
}

/// Reads a frame, whatever it is.
#[cfg(test)]
pub(super) fn read_any(value: &Value) {
    let _ = serde_json::from_value::<Frame>(value.clone());
}

/// What the author of an answer is told of what became of it.
fn told(card: &Card, waited: bool, judged: Result<Judged, NotSent>) -> Vec<Value> {
    let (session, id) = (card.session.as_str(), card.id().to_string());
    let refused = |code, message: String, stale| {
        let refused = WireError::new(code, message);
        vec![error(&refused, Some(session), Some(&id), stale)]
    };
    let judged = match judged {
        Ok(judged) => judged,
        Err(not_sent) => return vec![error(&not_sent.error, Some(session), Some(&id), false)],
    };
    let over = is_over(&judged);
    match judged {
        // What waited until now is told to everybody from the log.
        Judged::Reply(InboxReply::Settled { .. }) if waited => Vec::new(),
        Judged::Reply(InboxReply::Settled { outcome }) => {
            resolved(card, &outcome).into_iter().collect()
        }
        Judged::Unjudged | Judged::Reply(InboxReply::Held | InboxReply::PassedOn { .. }) => {
            Vec::new()
        }
        Judged::Reply(InboxReply::Conflict { outcome }) => refused(
            ErrorCode::UnknownClarification,
            explain(&outcome, None),
            over,
        ),
        Judged::Reply(InboxReply::Late { outcome, goes_on }) => {
            let why = explain(&outcome, goes_on);
            refused(ErrorCode::UnknownClarification, why, over)
        }
        Judged::Refused { reason, error, .. }
        | Judged::Reply(InboxReply::Refused { reason, error }) => {
            let code = ErrorCode::parse(&reason).unwrap_or(ErrorCode::InvalidAnswer);
            refused(code, error, false)
        }
    }
}
