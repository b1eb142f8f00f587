//! Unsent answers: saved at most once a second per person, replayed to their author, and shown to
//! others only as "is writing".

use crate::caller::Person;
use crate::feed::News;
use crate::gateway::Gateway;
use crate::projection::Card;
use askbus_domain::PersonId;
use askbus_ledger::StoredDraft;
use askbus_wire::messages::Draft;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;

/// Questions whose drafts are looked up when a socket opens, the newest.
const MAX_REPLAYED: usize = 200;
/// Drafts of one question replayed to their author, the newest: one for each tab.
const MAX_TABS: usize = 8;
/// Look-ups at once.
const LOOKUPS: usize = 8;
/// How long saving may take; whoever waits for it waits for more than this.
const SAVE_TIMEOUT: Duration = Duration::from_secs(3);

/// Whether the person may save a draft now: once a second.
pub(crate) fn may_save(gateway: &Gateway, person: &Person) -> bool {
    let who = format!("{}\n{}", person.tenant(), person.0.credential.subject);
    gateway.draft_pace.take(&who).is_ok()
}

/// Saves a draft and tells the other sockets; says whether it is saved.
pub(crate) async fn save(
    gateway: &Gateway,
    person: &Person,
    card: Arc<Card>,
    socket: u64,
    draft: Draft,
) -> bool {
    let saved = keep(gateway, person, &card, &draft).await;
    let news = News::Draft {
        card,
        person: person.0.credential.subject.clone(),
        socket,
        draft: Arc::new(draft),
    };
    gateway.feed.tell(person.tenant(), news);
    saved
}

/// Saves a draft, best effort, and says whether it is saved.
pub(crate) async fn keep(gateway: &Gateway, person: &Person, card: &Card, draft: &Draft) -> bool {
    let (tenant, who) = (person.tenant(), &person.0.credential.subject);
    let drafts = &gateway.bus.drafts;
    let saving = drafts.put(tenant, &card.session, card.id(), who, draft);
    let saved = match tokio::time::timeout(SAVE_TIMEOUT, saving).await {
        Ok(Ok(())) => true,
        Ok(Err(error)) => {
            tracing::warn!(%error, clarify_id = %card.id(), "a draft was not saved");
            false
        }
        Err(_) => {
            tracing::warn!(clarify_id = %card.id(), "a draft was not saved in time");
            false
        }
    };
    gateway.figures.count_draft(tenant, saved);
    saved
}

/// The person's own drafts of these questions, of each question the newest last.
pub(crate) async fn own(
    gateway: &Gateway,
    person: &Person,
    cards: &[Arc<Card>],
) -> Vec<(Arc<Card>, StoredDraft)> {
    let mut lookups = JoinSet::new();
    let mut found = Vec::new();
    for card in cards.iter().rev().take(MAX_REPLAYED) {
        if lookups.len() >= LOOKUPS
            && let Some(Ok(own)) = lookups.join_next().await
        {
            found.extend(own);
        }
        let (drafts, person, card) = (
            Arc::clone(&gateway.bus.drafts),
            person.clone(),
            Arc::clone(card),
        );
        lookups.spawn(async move {
            let listed = drafts.list(person.tenant(), &card.session, card.id()).await;
            let who = &person.0.credential.subject;
            let listed = listed.unwrap_or_default().into_iter();
            let mut own: Vec<StoredDraft> = listed.filter(|d| d.person == *who).collect();
            own.sort_by_key(|draft| draft.stored_at);
            own.drain(..own.len().saturating_sub(MAX_TABS));
            let own = own.into_iter().map(|draft| (Arc::clone(&card), draft));
            own.collect::<Vec<_>>()
        });
    }
    while let Some(own) = lookups.join_next().await {
        found.extend(own.unwrap_or_default());
    }
    found
}

/// `clarify.draft` as its author's sockets hear it.
pub(crate) fn own_event(card: &Card, draft: &Draft) -> Value {
    json!({
        "event": "clarify.draft",
        "session_id": card.session,
        "clarify_id": card.id(),
        "own": true,
        "tab": draft.tab,
        "answers": draft.answers,
        "text": draft.text,
    })
}

/// `clarify.draft` as others hear it: who writes, not what.
pub(crate) fn writing_event(card: &Card, person: &PersonId) -> Value {
    json!({
        "event": "clarify.draft",
        "session_id": card.session,
        "clarify_id": card.id(),
        "own": false,
        "person": person,
        "writing": true,
    })
}
