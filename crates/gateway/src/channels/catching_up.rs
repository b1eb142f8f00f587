//! What a channel missed while nobody served it, or while it had no room: read from the log itself,
//! from where the channel's position says on, however much that is.

use super::Channel;
use super::backlog::{Backlog, Said};
use crate::feed::{News, Viewer};
use crate::gateway::Gateway;
use crate::lookup;
use askbus_domain::{ClarifyId, Event};
use askbus_ledger::{LedgerError, Stored};
use askbus_wire::codec::Decoded;
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::broadcast;

/// Takes in what the log holds after the position, commit by commit, in its order. Returns the news
/// from then on, or none when there is no room for more: the rest stays in the log.
pub(super) async fn look(
    gateway: &Gateway,
    channel: &Channel,
    backlog: &mut Backlog,
) -> Result<Option<broadcast::Receiver<Arc<News>>>, LedgerError> {
    let Some(viewer) = channel.viewer() else {
        return Ok(None);
    };
    // Of what has ended nothing is needed that the picture holds: it does not go back far enough.
    let mut now = gateway.feed.snapshot(&viewer, u64::MAX);
    let told_of = now.pending.iter().filter(|card| channel.tells(card));
    let mut waiting: BTreeMap<u64, Vec<Said>> = BTreeMap::new();
    for card in told_of {
        let asked = Said::Asked(card.id());
        waiting.entry(card.requested_seq).or_default().push(asked);
    }
    now.forget();
    let (from, to) = (backlog.position, now.seq);
    // Before a channel was served for the first time nobody was told of anything that may have ended.
    // What the log does not hold any more nobody looks for.
    let missed = from > 0 && from < to && gateway.bus.ledger.read_at(to).await?.is_some();
    if missed {
        let mut tail = gateway.bus.ledger.tail(from + 1).await?;
        while let Some(stored) = tail.recv().await.filter(|stored| stored.seq <= to) {
            let said = said(gateway, &viewer, channel, backlog, &stored, &waiting).await?;
            if !backlog.take(stored.seq, &said) {
                return Ok(None);
            }
            waiting.remove(&stored.seq);
            if stored.seq == to {
                break;
            }
        }
    }
    for (seq, said) in waiting {
        if !backlog.take(seq, &said) {
            return Ok(None);
        }
    }
    backlog.reached(to);
    Ok(Some(now.news))
}

/// What one message of the log says of questions that the channel tells of.
async fn said(
    gateway: &Gateway,
    viewer: &Viewer,
    channel: &Channel,
    backlog: &mut Backlog,
    stored: &Stored,
    waiting: &BTreeMap<u64, Vec<Said>>,
) -> Result<Vec<Said>, LedgerError> {
    let mut said = waiting.get(&stored.seq).cloned().unwrap_or_default();
    let Decoded::Commit(commit) = &stored.decoded else {
        return Ok(said);
    };
    if stored.tenant != viewer.tenant {
        return Ok(said);
    }
    for event in &commit.events {
        match event {
            Event::Requested { clarify_id, .. } if !said.contains(&Said::Asked(*clarify_id)) => {
                backlog.untold(*clarify_id);
            }
            Event::Resolved { clarify_id, .. } => {
                let ended = ended(gateway, viewer, channel, backlog, *clarify_id).await?;
                said.extend(ended);
            }
            _ => {}
        }
    }
    Ok(said)
}

async fn ended(
    gateway: &Gateway,
    viewer: &Viewer,
    channel: &Channel,
    backlog: &Backlog,
    id: ClarifyId,
) -> Result<Option<Said>, LedgerError> {
    // It is not looked up: many may have come and gone.
    if backlog.is_untold(id) {
        return Ok(Some(Said::Ended(id, 0)));
    }
    match lookup::find(gateway, viewer, &id.to_string()).await {
        Ok(card) => Ok(channel
            .tells(&card)
            .then_some(Said::Ended(id, card.requested_seq))),
        Err(error) if lookup::is_unknown(&error) => Ok(None),
        Err(error) => Err(LedgerError::Unavailable(error.message)),
    }
}
