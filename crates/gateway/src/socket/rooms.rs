//! Group chats (E18): a room's managers join it, are told what waits there, and answer.

use super::Socket;
use crate::caller::Person;
use crate::explain::explain;
use crate::lookup;
use crate::plans;
use crate::projection::Card;
use crate::submit::{Judged, NotSent, Sent};
use askbus_domain::{Actor, Addressee, Rejection, Surface};
use askbus_wire::error::{ErrorCode, WireError};
use askbus_wire::messages::InboxReply;
use serde_json::{Map, Value, json};

/// The frame that joins a room.
pub(super) const JOIN: &str = "room.join";

/// Whether they are among the managers of the room.
fn manages(person: &Person, room: &str) -> bool {
    let me = &person.0.credential.subject;
    Addressee::managers_of(room).is_ok_and(|managers| managers.allows(&person.rights(), me))
}

fn not_a_manager() -> WireError {
    let message = "you are not among the managers of this room; nothing was done";
    WireError::new(ErrorCode::NotAddressed, message)
}

fn is_of(to: Option<&Addressee>, room: &str) -> bool {
    to.and_then(Addressee::room) == Some(room.trim())
}

impl Socket {
    /// The reply to whoever joins a room.
    pub(super) fn join_room(&self, room: &str) -> Value {
        if !manages(&self.person, room) {
            let error = not_a_manager();
            return json!({"event": "room.joined", "roomId": room, "error": error.message,
                "reason": error.code.as_str()});
        }
        let feed = &self.gateway.feed;
        let viewer = self.person.viewer();
        let here = |card: &Card| is_of(card.clarification.to.as_ref(), room);
        let (seq, pending) = feed.pending(&viewer, here, usize::MAX);
        let pending: Vec<Value> = pending.iter().filter_map(|c| self.requested(c)).collect();
        let (_, shown) = feed.plans(&viewer, |c| is_of(c.to.as_ref(), room), usize::MAX);
        let shown: Vec<Value> = shown.iter().map(|card| plans::object(card)).collect();
        json!({"event": "room.joined", "ok": true, "roomId": room, "pendingClarifies": pending,
            "plans": shown, "seq": seq})
    }

    /// Takes an answer given in a room; what became of it is acknowledged.
    pub(super) async fn respond_in_room(
        &mut self,
        room: String,
        id: &str,
        sent: Sent,
    ) -> Result<(), WireError> {
        if !manages(&self.person, &room) {
            return Err(not_a_manager());
        }
        let card = lookup::find(&self.gateway, &self.person.viewer(), id).await?;
        if !is_of(card.clarification.to.as_ref(), &room) {
            return Err(Rejection::UnknownClarification.into());
        }
        let actor = Actor {
            person: self.person.0.credential.subject.clone(),
            surface: Surface::Web,
        };
        let response = sent.into_response(&card, actor)?;
        self.unsaved.retain(|(id, _), _| *id != card.id());
        let (id, answer_id) = (card.id(), response.answer_id.clone());
        self.send_answer(card, response, move |judged| {
            let mut reply = match judged {
                Ok(judged) => acknowledged(judged),
                Err(NotSent { error, kept }) => refused(error.code.as_str(), &error.message, kept),
            };
            reply.insert("roomId".to_owned(), room.clone().into());
            reply.insert("clarify_id".to_owned(), json!(id));
            reply.insert("answer_id".to_owned(), json!(answer_id));
            vec![reply.into()]
        });
        Ok(())
    }
}

/// An answer in a room that was not sent.
pub(super) fn not_taken(room: &str, id: &str, error: &WireError) -> Value {
    let mut reply = refused(error.code.as_str(), &error.message, false);
    reply.insert("roomId".to_owned(), room.into());
    reply.insert("clarify_id".to_owned(), id.into());
    reply.into()
}

fn ack(fields: Value) -> Map<String, Value> {
    let mut ack = Map::new();
    ack.insert("event".to_owned(), "clarify.ack".into());
    if let Value::Object(fields) = fields {
        ack.extend(fields);
    }
    ack
}

fn refused(reason: &str, error: &str, kept: bool) -> Map<String, Value> {
    ack(json!({"error": error, "reason": reason, "kept": kept}))
}

/// `{ok, resolved, stale?}`, or `{error}`.
fn acknowledged(judged: Judged) -> Map<String, Value> {
    let stale = |explanation: String| {
        ack(json!({"ok": true, "resolved": false, "stale": true, "explanation": explanation}))
    };
    match judged {
        Judged::Reply(InboxReply::Settled { .. }) => ack(json!({"ok": true, "resolved": true})),
        // It is stored; everybody hears how the question ends.
        Judged::Unjudged | Judged::Reply(InboxReply::Held | InboxReply::PassedOn { .. }) => {
            ack(json!({"ok": true, "resolved": false}))
        }
        Judged::Reply(InboxReply::Conflict { outcome }) => stale(explain(&outcome, None)),
        Judged::Reply(InboxReply::Late { outcome, goes_on }) => stale(explain(&outcome, goes_on)),
        Judged::Refused {
            reason,
            error,
            kept,
        } => refused(&reason, &error, kept),
        Judged::Reply(InboxReply::Refused { reason, error }) => refused(&reason, &error, false),
    }
}
