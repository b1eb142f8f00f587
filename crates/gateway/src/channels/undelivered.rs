//! What a channel did not deliver, as people see it.

use super::backlog::What;
use super::{Channel, owner};
use crate::gateway::Gateway;
use crate::projection::Card;
use askbus_ledger::LedgerError;
use serde_json::{Value, json};
use std::sync::Arc;

/// Questions looked at that a channel has not come to yet.
const MOST: usize = 1_000;

/// What is not delivered, as the bus has it: also when another gateway serves the channel.
pub(super) async fn undelivered(
    gateway: &Arc<Gateway>,
    channel: &Channel,
) -> Result<Value, LedgerError> {
    let (_, written) = owner::read(gateway, channel).await?;
    let backlog = &written.backlog;
    let untold = |card: &Card| {
        let known = backlog.open.iter().any(|m| m.id == card.id());
        card.requested_seq > backlog.position && !known && channel.tells(card)
    };
    let viewer = channel.viewer();
    let cards = viewer.map(|v| gateway.feed.pending(&v, untold, MOST).1);
    let mut list: Vec<Value> = backlog
        .open
        .iter()
        .map(|m| {
            json!({"clarify_id": m.id, "what": m.what, "attempts": m.attempts,
                "problem": m.problem, "failed_at": m.failed_at})
        })
        .collect();
    list.extend(cards.iter().flatten().map(|card| {
        json!({"clarify_id": card.id(), "what": What::Asked, "attempts": 0, "problem": null,
            "failed_at": null})
    }));
    Ok(json!({
        "name": channel.name,
        "kind": channel.way.kind(),
        "served_by": Some(&written.owner).filter(|o| !o.is_empty()),
        "position": backlog.position,
        "undelivered": list.len(),
        "messages": list,
    }))
}
