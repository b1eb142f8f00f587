//! What agents and people can look up when everything is over.

use crate::panel;
use crate::random::Random;
use crate::world::{World, keys, tenant};
use askbus_domain::{ClarifyId, Event};
use askbus_ledger::hostile::HostileHandle;
use askbus_wire::client::Client;
use askbus_wire::codec::Decoded;
use askbus_wire::proto::GetClarificationRequest;
use askbus_wire::{convert, proto};
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// Looks every question up at some replica; what it says is a result like any other.
pub(crate) async fn ask_for_everything(
    world: &Arc<World>,
    handle: &HostileHandle,
    random: &mut Random,
) {
    let ids: Vec<ClarifyId> = handle
        .log()
        .iter()
        .filter_map(|stored| match &stored.decoded {
            Decoded::Commit(commit) => Some(commit.events.clone()),
            Decoded::Unreadable { .. } => None,
        })
        .flatten()
        .filter_map(|event| match event {
            Event::Requested { clarify_id, .. } => Some(clarify_id),
            _ => None,
        })
        .collect();
    let Ok(client) = Client::new(&world.target(random), &keys().host) else {
        return;
    };
    for id in ids {
        match look_up(&client, id).await {
            Some(found) => {
                // That it waits is told by the log.
                if let Some(outcome) = found.outcome.as_ref().and_then(convert::outcome) {
                    world.records().results.push((id, outcome));
                }
            }
            None => world.broken(format!("{id} cannot be looked up")),
        }
    }
}

async fn look_up(client: &Client, id: ClarifyId) -> Option<proto::Clarification> {
    for _ in 0..40 {
        let request = GetClarificationRequest {
            clarify_id: id.to_string(),
        };
        let mut clarify = client.clarify.clone();
        let looking = clarify.get_clarification(request);
        if let Ok(Ok(found)) = timeout(Duration::from_secs(12), looking).await {
            return Some(found.into_inner());
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    None
}

/// Lets a person look at everything that is over, as their screen would.
pub(crate) async fn look_back(world: &World, handle: &HostileHandle, random: &mut Random) {
    const PATH: &str = "/api/clarifications?status=settled&limit=1000";
    let Some(token) = panel::token("ann") else {
        return;
    };
    let last = handle.log().len() as u64;
    for _ in 0..40 {
        if let Some(history) = panel::get(world, token, PATH, random).await
            && history.get("seq").and_then(Value::as_u64) >= Some(last)
        {
            world.records().histories.push(history);
            return;
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    world.broken("nobody can look at what is over");
}

/// Whoever was told that their words are kept as a draft finds them there.
pub(crate) async fn look_for_drafts(world: &World) {
    let told = world.records().told.clone();
    for told in told.iter().filter(|told| told.is_draft()) {
        let Some(session) = told.session() else {
            world.broken(format!("{told:?} names no session"));
            continue;
        };
        let mut kept = false;
        // A read may fail on this bus.
        for _ in 0..20 {
            let drafts = &world.bus.drafts;
            if let Ok(drafts) = drafts.list(&tenant(), &session, told.clarify_id).await {
                kept = drafts
                    .iter()
                    .any(|d| d.person.as_str() == told.person && d.draft.tab == told.answer_id);
                break;
            }
        }
        if !kept {
            world.broken(format!("{told:?}, but there is no such draft"));
        }
    }
}
