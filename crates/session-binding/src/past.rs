//! What was asked and planned before, read from the log when somebody still speaks of it.

use crate::commands::CommandError;
use crate::projection::Key;
use crate::service::Core;
use askbus_domain::{
    Clarification, ClarifyId, Command, ContextId, Event, Plan, Rejection, Session, TenantId,
    Timestamp, UpdateId, decide_past,
};
use askbus_ledger::LedgerError;
use askbus_wire::codec::Decoded;
use std::sync::Arc;

/// Finds a clarification that no current turn knows, with its session.
pub(crate) async fn find(
    core: &Core,
    tenant: &TenantId,
    id: ClarifyId,
) -> Result<Option<(Key, Clarification)>, LedgerError> {
    let Some(requested) = core.bus.ledger.find_requested(tenant, id).await? else {
        return Ok(None);
    };
    let key = (tenant.clone(), requested.session.clone());
    Ok(read(core, &key, requested.seq, id).await?.map(|c| (key, c)))
}

/// Everything that a turn asked, read from the log: its session may have forgotten it.
pub(crate) async fn asked_in(
    core: &Core,
    key: &Key,
    context: ContextId,
) -> Result<Vec<Clarification>, LedgerError> {
    let mut asked: Vec<Clarification> = Vec::new();
    for stored in core.bus.ledger.read_session(&key.0, &key.1, 1).await? {
        let Decoded::Commit(commit) = &stored.decoded else {
            continue;
        };
        for event in &commit.events {
            for known in &mut asked {
                known.evolve(event);
            }
            let new = Clarification::requested(event);
            asked.extend(new.filter(|new| new.context_id == context));
        }
    }
    Ok(asked)
}

/// A session's plan as its latest update with this id left it.
pub(crate) async fn planned_by(
    core: &Core,
    key: &Key,
    id: &UpdateId,
) -> Result<Option<Arc<Plan>>, LedgerError> {
    let stored = core.bus.ledger.read_session(&key.0, &key.1, 1).await?;
    let mut newest_first = stored.iter().rev().filter_map(|s| match &s.decoded {
        Decoded::Commit(commit) => Some(commit.events.iter()),
        Decoded::Unreadable { .. } => None,
    });
    Ok(newest_first.find_map(|mut events| {
        events.find_map(|event| match event {
            Event::Plan {
                update_id, plan, ..
            } if update_id == id => Some(Arc::clone(plan)),
            _ => None,
        })
    }))
}

async fn read(
    core: &Core,
    key: &Key,
    from: u64,
    id: ClarifyId,
) -> Result<Option<Clarification>, LedgerError> {
    let stored = core.bus.ledger.read_session(&key.0, &key.1, from).await?;
    let events = stored.iter().filter_map(|s| match &s.decoded {
        Decoded::Commit(commit) => Some(commit.events.iter()),
        Decoded::Unreadable { .. } => None,
    });
    Ok(Clarification::from_history(id, events.flatten()))
}

/// Decides about what a person did about a question of an earlier turn.
pub(crate) async fn decide(
    core: &Core,
    key: &Key,
    state: &Session,
    id: ClarifyId,
    command: &Command,
    now: Timestamp,
) -> Result<Vec<Event>, CommandError> {
    match find(core, &key.0, id).await? {
        Some((found, clarification)) if found == *key => {
            Ok(decide_past(state, &clarification, command, now)?)
        }
        _ => Err(Rejection::UnknownClarification.into()),
    }
}
