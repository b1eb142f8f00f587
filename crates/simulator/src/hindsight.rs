//! What agents and people can look up when everything is over.

use crate::panel::{self, Socket};
use crate::random::Random;
use crate::world::World;
use askbus_domain::{ClarifyId, Event, SessionId, TenantId};
use askbus_ledger::StoredDraft;
use askbus_ledger::hostile::HostileHandle;
use askbus_wire::client::Client;
use askbus_wire::codec::Decoded;
use askbus_wire::proto::GetClarificationRequest;
use askbus_wire::{convert, proto};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// What was asked in the tenants of a kind.
fn asked(handle: &HostileHandle, whose: impl Fn(&TenantId) -> bool) -> Vec<ClarifyId> {
    let log = handle.log();
    let commits = log.iter().filter_map(|stored| match &stored.decoded {
        Decoded::Commit(commit) if whose(&stored.tenant) => Some(&commit.events),
        _ => None,
    });
    let asked = commits.flatten().filter_map(|event| match event {
        Event::Requested { clarify_id, .. } => Some(*clarify_id),
        _ => None,
    });
    asked.collect()
}

/// Looks every question up at some replica; what it says is a result like any other.
pub(crate) async fn ask_for_everything(
    world: &Arc<World>,
    handle: &HostileHandle,
    random: &mut Random,
) {
    let ids = asked(handle, |tenant| *tenant == world.tenant);
    let Ok(client) = Client::new(&world.target(random), &world.keys.host) else {
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

/// More is never asked in a run.
const MOST: usize = 2_000;

/// Lets a person look at everything that is over: as their screen would, and page by page.
pub(crate) async fn look_back(world: &World, handle: &HostileHandle, random: &mut Random) {
    let last = handle.log().len() as u64;
    let whole = "/api/clarifications?status=settled&limit=1000";
    if let Some(history) = read(world, whole, last, random).await {
        world.records().histories.push(history);
    }
    if let Some(plans) = read(world, "/api/plans?limit=1000", last, random).await {
        world.records().plan_lists.push(plans);
    }
    let limit = random.between(1, 9);
    let (mut cards, mut before) = (Vec::new(), String::new());
    loop {
        let path = format!("/api/history?limit={limit}{before}");
        let Some(mut page) = read(world, &path, last, random).await else {
            return;
        };
        if let Some(Value::Array(list)) = page.get_mut("clarifications").map(Value::take) {
            cards.extend(list);
        }
        match page.get("next").and_then(Value::as_u64) {
            Some(next) if cards.len() <= MOST => before = format!("&before={next}"),
            Some(_) => return world.broken("the history has no end"),
            None => break,
        }
    }
    let ids: BTreeSet<Option<ClarifyId>> = cards.iter().map(panel::question).collect();
    if ids.len() < cards.len() {
        world.broken(format!("the history tells something twice: {cards:?}"));
    }
    let history = json!({"clarifications": cards});
    world.records().histories.push(history);
}

/// What a gateway says that has read the whole log.
async fn read(world: &World, path: &str, last: u64, random: &mut Random) -> Option<Value> {
    let token = world.keys.person("ann")?;
    for _ in 0..40 {
        if let Some(said) = panel::get(world, token, path, random).await
            && said.get("seq").and_then(Value::as_u64) >= Some(last)
        {
            return Some(said);
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    world.broken(format!("nobody can look at what is over: {path}"));
    None
}

/// Nobody gets at another tenant's questions by their ids, to read or to answer them.
pub(crate) async fn look_at_others(world: &World, handle: &HostileHandle, random: &mut Random) {
    let foreign = asked(handle, |tenant| *tenant != world.tenant);
    let Some(token) = world.keys.person("ann") else {
        return;
    };
    let Ok(client) = Client::new(&world.target(random), &world.keys.host) else {
        return;
    };
    for id in foreign.into_iter().take(5) {
        for path in [
            format!("/api/clarifications/{id}"),
            format!("/api/history?text={id}"),
        ] {
            if let Some(found) = panel::get(world, token, &path, random).await
                && found.to_string().contains(&id.to_string())
            {
                world.broken(format!("a person finds another tenant's question: {found}"));
            }
        }
        let request = GetClarificationRequest {
            clarify_id: id.to_string(),
        };
        let mut clarify = client.clarify.clone();
        let looking = timeout(Duration::from_secs(12), clarify.get_clarification(request));
        if let Ok(Ok(found)) = looking.await {
            world.broken(format!("a host finds another tenant's question: {found:?}"));
        }
        answer(world, token, id, random).await;
    }
}

/// Tries to answer another tenant's question.
async fn answer(world: &World, token: &str, id: ClarifyId, random: &mut Random) {
    let Some(mut socket) = Socket::open(world, token, None, random).await else {
        return;
    };
    let answer = json!({"event": "clarify.respond", "clarify_id": id, "answer_id": "stranger",
        "answers": [{"text": "mine"}]});
    if !socket.send(&answer).await {
        return;
    }
    let told = async {
        while let Some(object) = socket.next().await {
            if panel::question(&object) == Some(id) {
                return Some(object);
            }
        }
        None
    };
    if let Ok(Some(told)) = timeout(Duration::from_secs(30), told).await
        && told.get("resolved") != Some(&Value::Bool(false))
    {
        world.broken(format!(
            "a person answers another tenant's question: {told}"
        ));
    }
}

/// Whoever was told that their words are kept as a draft finds them there, and so does everybody
/// what they typed last.
pub(crate) async fn look_for_drafts(world: &World) {
    let (told, typed) = {
        let records = world.records();
        (records.told.clone(), records.typed.clone())
    };
    for told in told.iter().filter(|told| told.is_draft()) {
        let Some(session) = told.session() else {
            world.broken(format!("{told:?} names no session"));
            continue;
        };
        let own =
            |d: &StoredDraft| d.person.as_str() == told.person && d.draft.tab == told.answer_id;
        if !is_kept(world, &session, told.clarify_id, own).await {
            world.broken(format!("{told:?}, but there is no such draft"));
        }
    }
    for (typing, (session, words)) in &typed {
        let own = |d: &StoredDraft| {
            d.person.as_str() == typing.person
                && d.draft.tab == typing.tab
                && d.draft.text.as_ref() == Some(words)
        };
        if !is_kept(world, session, typing.clarify_id, own).await {
            world.broken(format!("{typing:?} is lost: {words}"));
        }
    }
}

/// Whether there is such a draft, or soon is: what was typed last may be on its way.
async fn is_kept(
    world: &World,
    session: &SessionId,
    id: ClarifyId,
    own: impl Fn(&StoredDraft) -> bool,
) -> bool {
    for _ in 0..40 {
        let drafts = &world.bus.drafts;
        if let Ok(drafts) = drafts.list(&world.tenant, session, id).await
            && drafts.iter().any(&own)
        {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    false
}
