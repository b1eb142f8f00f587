//! What a channel missed while nobody served it, or while it had no room: read from the log itself,
//! from where the channel's position says on, however much that is.

use super::Channel;
use super::backlog::{Backlog, Said};
use crate::feed::{News, Viewer};
use crate::gateway::Gateway;
use crate::lookup;
use crate::projection::Card;
use askbus_domain::Event;
use askbus_ledger::{LedgerError, Stored};
use askbus_wire::codec::Decoded;
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::broadcast;

/// What a look came to.
pub(super) struct Looked {
    /// The news from then on; none when there was no room for everything.
    pub following: Option<broadcast::Receiver<Arc<News>>>,
    /// Questions that wait and had no room.
    pub left: usize,
}

/// Takes in what the log holds after the position, commit by commit, in its order, as far as there is
/// room: the rest stays in the log.
pub(super) async fn look(
    gateway: &Gateway,
    channel: &Channel,
    backlog: &mut Backlog,
) -> Result<Looked, LedgerError> {
    let looked = |following, left: &BTreeMap<u64, Vec<Said>>| Looked {
        following,
        left: left.values().map(Vec::len).sum(),
    };
    let mut waiting: BTreeMap<u64, Vec<Said>> = BTreeMap::new();
    let Some(viewer) = channel.viewer() else {
        return Ok(looked(None, &waiting));
    };
    // Of what has ended nothing is needed that the picture holds: it does not go back far enough.
    let mut now = gateway.feed.snapshot(&viewer, u64::MAX);
    let new = |card: &&Arc<Card>| card.requested_seq > backlog.position && channel.tells(card);
    for card in now.pending.iter().filter(new) {
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
                return Ok(looked(None, &waiting));
            }
            waiting.remove(&stored.seq);
            if stored.seq == to {
                break;
            }
        }
    }
    while let Some(commit) = waiting.first_entry() {
        if !backlog.take(*commit.key(), commit.get()) {
            return Ok(looked(None, &waiting));
        }
        commit.remove();
    }
    backlog.reached(to);
    Ok(looked(Some(now.news), &waiting))
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
    let mut folded = None;
    for event in &commit.events {
        match event {
            Event::Requested { clarify_id, .. } if !said.contains(&Said::Asked(*clarify_id)) => {
                backlog.untold(*clarify_id);
            }
            // It is not looked up: many may have come and gone.
            Event::Resolved { clarify_id, .. } if backlog.is_untold(*clarify_id) => {
                said.push(Said::Ended(*clarify_id, 0));
            }
            Event::Resolved { clarify_id, .. } => {
                let kept = gateway.feed.card(&viewer.tenant, *clarify_id);
                if kept.is_none() && folded.is_none() {
                    folded = Some(lookup::session(gateway, viewer, &stored.session).await?);
                }
                let read = folded.as_ref().and_then(|f| f.card(*clarify_id).cloned());
                if let Some(card) = kept.or(read).filter(|card| channel.tells(card)) {
                    said.push(Said::Ended(*clarify_id, card.requested_seq));
                }
            }
            _ => {}
        }
    }
    Ok(said)
}
