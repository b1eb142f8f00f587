//! The objects of E9, extended.

use super::{MAX_FRAME_BYTES, Socket, Step, is_over, rooms};
use crate::caller::Person;
use crate::explain::{explain, where_to};
use crate::gateway::Gateway;
use crate::projection::Card;
use crate::submit::{self, Judged, NotSent, PassOn, Sent};
use crate::view::spoken_outcome;
use crate::{drafts, lookup};
use askbus_domain::{Actor, GoesOn, MAX_ANSWER_CHARS, Outcome, SHOWN_HEADER_CHARS, Surface};
use askbus_wire::error::{ErrorCode, WireError};
use askbus_wire::messages::InboxReply;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// What a client may send.
const EVENTS: [&str; 5] = [
    "clarify.respond",
    "clarify.hold",
    "clarify.draft",
    "clarify.pass_on",
    rooms::JOIN,
];

/// The first object: where the log stands, who is signed in, and how much of a text is taken and
/// shown.
pub(crate) fn hello(gateway: &Gateway, person: &Person, seq: u64) -> Value {
    let credential = &person.0.credential;
    json!({
        "event": "hello",
        "seq": seq,
        "you": credential.subject,
        "role": credential.role,
        "tenant": credential.tenant,
        "profiles": credential.profiles,
        "version": gateway.version,
        "server_now": gateway.now().unix_millis(),
        "limits": {"answer_chars": MAX_ANSWER_CHARS, "shown_header_chars": SHOWN_HEADER_CHARS,
            "frame_bytes": MAX_FRAME_BYTES},
    })
}

/// The end of a replay: exactly these wait; a card that is not among them is over.
pub(crate) fn ready(seq: u64, pending: &[Arc<Card>]) -> Value {
    let ids: Vec<_> = pending.iter().map(|card| card.id()).collect();
    json!({"event": "ready", "seq": seq, "pending": ids})
}

/// Sent while nothing else is, so that a page knows a silent connection from a dead one.
pub(super) fn alive(gateway: &Gateway) -> Value {
    json!({"event": "alive", "server_now": gateway.now().unix_millis()})
}

/// A frame that was not understood.
pub(super) fn error(error: &WireError) -> Value {
    json!({"event": "error", "ok": false, "error": error.message, "reason": error.code.as_str()})
}

#[derive(Debug, Deserialize)]
struct Frame {
    event: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
    clarify_id: Option<String>,
    session_id: Option<String>,
    /// The room of a group chat, as its clients spell it (E18).
    #[serde(rename = "roomId")]
    room_id: Option<String>,
}

fn malformed(what: &str) -> WireError {
    WireError::new(
        ErrorCode::InvalidRequest,
        format!("{what}; nothing was done"),
    )
}

fn sent(object: Value) -> Result<Sent, WireError> {
    serde_json::from_value(object).map_err(|_| {
        malformed(
            "clarify.respond takes response, or action and answers; what you wrote was not sent",
        )
    })
}

/// Where a person acts who uses a socket: a browser, or a terminal that says so.
fn surface(said: Option<&Surface>) -> Surface {
    match said {
        Some(Surface::Terminal) => Surface::Terminal,
        _ => Surface::Web,
    }
}

impl Socket {
    /// What a frame wants is done, unless there were too many.
    pub(super) async fn hear_studio(
        &mut self,
        object: Value,
        paced: Result<(), WireError>,
    ) -> Step {
        // Several answers may be on their way: whatever is said of one names it.
        let text = |field: &str| object.get(field).filter(|id| id.is_string()).cloned();
        let (answer_id, clarify_id) = (text("answer_id"), text("clarify_id"));
        let taken = match paced {
            Ok(()) => self.studio_frame(object).await,
            Err(error) => Err(Refused::Frame(error)),
        };
        let reply = match taken {
            Ok(()) => return Ok(()),
            Err(Refused::Frame(error)) => match clarify_id.as_ref().and_then(Value::as_str) {
                Some(id) if error.code == ErrorCode::RateLimited => not_resolved(id, None, &error),
                _ => self::error(&error),
            },
            Err(Refused::Reply(object)) => object,
            Err(Refused::End(end)) => return Err(end),
        };
        self.send(&about(reply, answer_id)).await
    }

    async fn studio_frame(&mut self, object: Value) -> Result<(), Refused> {
        let frame: Frame = serde_json::from_value(object.clone())
            .map_err(|_| malformed("the frame is not an object with event and clarify_id"))?;
        let event = frame.event.or(frame.kind).unwrap_or_default();
        if !EVENTS.contains(&event.as_str()) {
            let events = EVENTS.join(", ");
            return Err(malformed(&format!("event must be one of {events}")).into());
        }
        if event == rooms::JOIN {
            let room = frame
                .room_id
                .ok_or_else(|| malformed("roomId is required"))?;
            return Err(Refused::Reply(self.join_room(&room)));
        }
        let Some(id) = frame.clarify_id else {
            return Err(malformed("clarify_id is required").into());
        };
        if let (Some(room), "clarify.respond") = (frame.room_id, event.as_str()) {
            let taken = self.respond_in_room(room.clone(), &id, sent(object)?).await;
            return taken.map_err(|e| Refused::Reply(rooms::not_taken(&room, &id, &e)));
        }
        let found = lookup::find(&self.gateway, &self.person.viewer(), &id).await;
        let named = frame.session_id.filter(|s| !s.is_empty());
        let card = match found {
            Ok(card) if named.as_ref().is_none_or(|s| s == card.session.as_str()) => card,
            Ok(_) => {
                let unknown = askbus_domain::Rejection::UnknownClarification.into();
                return Err(Refused::Reply(not_resolved(
                    &id,
                    named.as_deref(),
                    &unknown,
                )));
            }
            Err(error) => {
                return Err(Refused::Reply(not_resolved(&id, named.as_deref(), &error)));
            }
        };
        match event.as_str() {
            "clarify.respond" => self.respond(card, object),
            "clarify.hold" => {
                let said = object.get("surface").cloned();
                let said = said.and_then(|word| serde_json::from_value(word).ok());
                self.hold(card, surface(said.as_ref()));
                Ok(())
            }
            "clarify.pass_on" => self.pass_on(card, object),
            _ => {
                let draft: drafts::Sent = serde_json::from_value(object)
                    .map_err(|_| malformed("a draft has tab, answers and text"))?;
                self.note_draft(card, draft.into())
                    .await
                    .map_err(Refused::End)
            }
        }
    }

    fn respond(&mut self, card: Arc<Card>, object: Value) -> Result<(), Refused> {
        let sent = sent(object)?;
        let actor = Actor {
            person: self.person.0.credential.subject.clone(),
            surface: surface(sent.surface.as_ref()),
        };
        let response = sent.into_response(&card, actor)?;
        let answer_id = response.answer_id.clone();
        // The draft is what was just sent; saving it after the answer would bring it back.
        self.unsaved.retain(|(id, _), _| *id != card.id());
        let of = Arc::clone(&card);
        self.send_answer(card, response, move |judged| {
            let mut reply = match judged {
                Ok(judged) => verdict(&of, judged),
                Err(not_sent) => unsent(&of, &not_sent),
            };
            if let Value::Object(fields) = &mut reply {
                fields.insert("answer_id".to_owned(), json!(answer_id));
                fields.insert("run_id".to_owned(), json!(of.run));
            }
            vec![reply]
        });
        Ok(())
    }

    fn hold(&mut self, card: Arc<Card>, surface: Surface) {
        let (gateway, person) = (Arc::clone(&self.gateway), self.person.clone());
        let trace = self.trace.clone();
        let work = async move {
            let judged = submit::hold(&gateway, &person, &card, surface, &trace).await;
            match judged {
                // Everybody hears of the hold from the log, its author too.
                Ok(Judged::Unjudged | Judged::Reply(InboxReply::Held)) => Vec::new(),
                Ok(judged) => vec![verdict(&card, judged)],
                Err(not_sent) => vec![unsent(&card, &not_sent)],
            }
        };
        self.begin(Box::pin(work));
    }

    fn pass_on(&mut self, card: Arc<Card>, object: Value) -> Result<(), Refused> {
        let answer_id = object.get("answer_id").cloned();
        let pass: PassOn = serde_json::from_value(object)
            .map_err(|_| malformed("clarify.pass_on takes answer_id"))?;
        let (gateway, person) = (Arc::clone(&self.gateway), self.person.clone());
        let trace = self.trace.clone();
        let work = async move {
            let surface = surface(pass.surface.as_ref());
            let judged = submit::pass_on(&gateway, &person, &card, pass, surface, &trace).await;
            let reply = match judged {
                Ok(Judged::Reply(InboxReply::PassedOn { goes_on })) => passed_on(&card, goes_on),
                Ok(judged) => verdict(&card, judged),
                Err(not_sent) => unsent(&card, &not_sent),
            };
            vec![about(reply, answer_id)]
        };
        self.begin(Box::pin(work));
        Ok(())
    }
}

/// `clarify.passed_on`, to the author alone.
fn passed_on(card: &Card, goes_on: GoesOn) -> Value {
    let on_its_way = goes_on.is_on_its_way();
    json!({
        "event": "clarify.passed_on", "session_id": card.session, "clarify_id": card.id(),
        "passed_on": on_its_way, "goes_on": goes_on, "kept": true,
        "error": (!on_its_way).then(|| format!("what you wrote is kept and {}", where_to(goes_on))),
    })
}

/// A reply with the answer it is about, if the frame named one.
fn about(mut reply: Value, answer_id: Option<Value>) -> Value {
    if let (Some(id), Value::Object(fields)) = (answer_id, &mut reply) {
        fields.insert("answer_id".to_owned(), id);
    }
    reply
}

/// What stops a frame.
enum Refused {
    /// An `error` object.
    Frame(WireError),
    /// An object of its own.
    Reply(Value),
    /// The connection.
    End(super::End),
}

impl From<WireError> for Refused {
    fn from(error: WireError) -> Self {
        Refused::Frame(error)
    }
}

/// `clarify.resolved` with `resolved:false`, to the author alone, about a question that was not
/// found: nothing of what was sent is kept.
fn not_resolved(id: &str, session: Option<&str>, error: &WireError) -> Value {
    json!({
        "event": "clarify.resolved",
        "session_id": session,
        "clarify_id": id,
        "resolved": false,
        "error": error.message,
        "reason": error.code.as_str(),
        "kept": false,
    })
}

/// The same about what could not be sent.
fn unsent(card: &Card, not_sent: &NotSent) -> Value {
    let id = card.id().to_string();
    let mut object = not_resolved(&id, Some(card.session.as_str()), &not_sent.error);
    if let Value::Object(fields) = &mut object {
        fields.insert("kept".to_owned(), not_sent.kept.into());
    }
    object
}

/// The reply to the author.
fn verdict(card: &Card, judged: Judged) -> Value {
    let (id, session) = (card.id().to_string(), card.session.as_str());
    let mut object = Map::new();
    if is_over(&judged) {
        object.insert("stale".to_owned(), true.into());
    }
    let extra = match judged {
        Judged::Unjudged | Judged::Reply(InboxReply::Held | InboxReply::PassedOn { .. }) => {
            json!({"event": "clarify.sent", "session_id": session, "clarify_id": id})
        }
        Judged::Reply(InboxReply::Settled { outcome }) => {
            object.extend(spoken_outcome(&outcome));
            json!({"event": "clarify.resolved", "session_id": session, "clarify_id": id,
                "resolved": true, "verdict": "settled"})
        }
        Judged::Reply(InboxReply::Conflict { outcome }) => over(card, "conflict", &outcome, None),
        Judged::Reply(InboxReply::Late { outcome, goes_on }) => {
            over(card, "late", &outcome, goes_on)
        }
        Judged::Refused {
            reason,
            error,
            kept,
        } => refused(card, &reason, &error, kept),
        Judged::Reply(InboxReply::Refused { reason, error }) => {
            refused(card, &reason, &error, false)
        }
    };
    if let Value::Object(fields) = extra {
        object.extend(fields);
    }
    object.into()
}

fn over(card: &Card, verdict: &str, outcome: &Outcome, goes_on: Option<GoesOn>) -> Value {
    json!({
        "event": "clarify.resolved", "session_id": card.session, "clarify_id": card.id(),
        "resolved": false, "verdict": verdict, "error": explain(outcome, goes_on), "goes_on": goes_on,
        "reason": outcome.reason.studio_reason(), "outcome_reason": outcome.reason,
        "decided_by": outcome.decided_by(), "actor": outcome.actor,
        "outcome": spoken_outcome(outcome), "kept": true,
    })
}

fn refused(card: &Card, reason: &str, error: &str, kept: bool) -> Value {
    json!({
        "event": "clarify.resolved", "session_id": card.session, "clarify_id": card.id(),
        "resolved": false, "verdict": "refused", "error": error, "reason": reason, "kept": kept,
    })
}

/// Reads a frame as each event does, whatever it is.
#[cfg(test)]
pub(super) fn read_any(value: &Value) {
    let _ = serde_json::from_value::<Frame>(value.clone());
    let _ = serde_json::from_value::<drafts::Sent>(value.clone());
}
