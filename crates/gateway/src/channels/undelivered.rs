//! What a channel did not deliver, as people see it.

use super::backlog::{Message, What};
use super::given_up::{self, GivenUp};
use super::{Channel, owner};
use crate::caller::Person;
use crate::gateway::Gateway;
use crate::lookup;
use crate::projection::Card;
use askbus_domain::{ClarifyId, PersonId};
use askbus_wire::error::{ErrorCode, WireError};
use serde_json::{Value, json};
use std::sync::Arc;

/// Questions looked at that a channel has not come to yet.
const MOST: usize = 1_000;

/// What is not delivered of what this person sees, as the bus has it: also when another gateway serves
/// the channel. None where nothing of the channel is theirs to see.
pub(super) async fn undelivered(
    gateway: &Arc<Gateway>,
    channel: &Channel,
    person: &Person,
) -> Result<Option<Value>, WireError> {
    let (viewer, eyes) = (channel.viewer(), person.viewer());
    let theirs = viewer.as_ref().is_some_and(|v| v.shares_with(&eyes));
    if !theirs {
        return Ok(None);
    }
    let read = owner::read(gateway, channel).await;
    let (_, written) = read.map_err(|e| WireError::new(ErrorCode::Unavailable, e))?;
    let backlog = &written.backlog;
    let untold = |card: &Card| {
        card.requested_seq > backlog.position
            && !backlog.holds(card.id(), What::Asked)
            && channel.tells(card)
            && eyes.sees(card)
    };
    let cards = viewer.map(|v| gateway.feed.pending(&v, untold, MOST).1);
    let mut list = Vec::new();
    let seen = async |id: ClarifyId| match lookup::find(gateway, &eyes, &id.to_string()).await {
        Ok(_) => Ok(true),
        Err(error) if lookup::is_unknown(&error) => Ok(false),
        Err(error) => Err(error),
    };
    for message in &backlog.open {
        if seen(message.id).await? {
            list.push(tried(message));
        }
    }
    for put_off in &backlog.put_off {
        if seen(put_off.id).await? {
            list.push(not_tried(put_off.id, put_off.attempts));
        }
    }
    let cards = cards.iter().flatten();
    list.extend(cards.map(|card| not_tried(card.id(), 0)));
    let mut replies = Vec::new();
    let given_up = given_up::read(gateway, channel).await;
    for one in given_up.map_err(|e| WireError::new(ErrorCode::Unavailable, e))? {
        let to = channel.person(one.to.as_deref());
        let to = to.map(|person| &person.0.credential.subject);
        let own = to == Some(&person.0.credential.subject);
        let shown = match one.about {
            _ if own => true,
            Some(id) => seen(id).await?,
            None => false,
        };
        if shown {
            replies.push(reply(&one, to));
        }
    }
    Ok(Some(json!({
        "name": channel.name,
        "kind": channel.way.kind(),
        "served_by": Some(&written.owner).filter(|o| !o.is_empty()),
        "position": backlog.position,
        "problem": written.problem,
        "undelivered": list.len() + replies.len(),
        "messages": list,
        "replies": replies,
    })))
}

fn tried(message: &Message) -> Value {
    json!({"clarify_id": message.id, "what": message.what, "attempts": message.attempts,
        "problem": message.problem, "failed_at": message.failed_at})
}

/// What somebody was to be told of their own message, and was not.
fn reply(one: &GivenUp, to: Option<&PersonId>) -> Value {
    json!({"to": to, "text": one.text, "clarify_id": one.about, "since": one.since,
        "attempts": one.attempts, "problem": one.problem, "failed_at": one.failed_at})
}

/// One that is not on its way now, after so many attempts.
fn not_tried(id: ClarifyId, attempts: u32) -> Value {
    json!({"clarify_id": id, "what": What::Asked, "attempts": attempts, "problem": null,
        "failed_at": null})
}
