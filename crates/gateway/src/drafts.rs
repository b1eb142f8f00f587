//! Unsent answers: saved at most once a second per person, replayed to their author, and shown to
//! others only as "is writing".

use crate::body::read_json_within;
use crate::caller::Person;
use crate::feed::Written;
use crate::gateway::Gateway;
use crate::lookup;
use crate::params::Id;
use crate::projection::Card;
use crate::reply::{Refusal, ok};
use askbus_domain::{AnswerEntry, MAX_COMMIT_BYTES, PersonId};
use askbus_ledger::{LedgerError, StoredDraft};
use askbus_wire::error::ErrorCode;
use askbus_wire::messages::Draft;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use http::Request;
use serde::Deserialize;
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
/// A longer name of a tab is cut.
const MAX_TAB: usize = 64;

/// A draft as surfaces send it.
#[derive(Debug, Deserialize)]
pub(crate) struct Sent {
    #[serde(default)]
    tab: String,
    #[serde(default)]
    answers: Vec<AnswerEntry>,
    #[serde(default)]
    text: Option<String>,
}

impl From<Sent> for Draft {
    fn from(sent: Sent) -> Self {
        Draft {
            tab: cut_tab(&sent.tab),
            answers: sent.answers,
            text: sent.text,
            messages: Vec::new(),
            sent_by: None,
        }
    }
}

/// The name of a tab as it is kept.
pub(crate) fn cut_tab(tab: &str) -> String {
    tab.chars().take(MAX_TAB).collect()
}

/// `POST /api/clarifications/{id}/draft`: what `clarify.draft` does, for whoever has no socket.
pub(crate) async fn post(
    State(gateway): State<Arc<Gateway>>,
    person: Person,
    Id(id): Id,
    request: Request<Body>,
) -> Result<Response, Refusal> {
    let sent: Sent = read_json_within(request.into_body(), MAX_COMMIT_BYTES).await?;
    let card = lookup::find(&gateway, &person.viewer(), &id).await?;
    let not_saved = |code, why: &str| {
        let message = format!("{why}; the draft was not saved; it is still on your screen");
        Err(Refusal::new(code, message))
    };
    if !may_save(&gateway, &person) {
        let why = "drafts are saved once a second";
        return not_saved(ErrorCode::RateLimited, why);
    }
    if !save(&gateway, &person, card, None, sent.into()).await {
        return not_saved(ErrorCode::Unavailable, "the service did not take it");
    }
    Ok(ok(&json!({"ok": true})))
}

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
    socket: Option<u64>,
    draft: Draft,
) -> bool {
    let saved = keep(gateway, person, &card, &draft).await;
    let written = Written {
        card,
        person: person.0.credential.subject.clone(),
        socket,
        draft: Arc::new(draft),
    };
    let now = || gateway.now();
    gateway.feed.tell_draft(person.tenant(), now, written);
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

/// Saves a draft if the last one of its tab has still this revision (0: there is none), and returns the
/// new one; none when another one was saved meanwhile.
pub(crate) async fn keep_if(
    gateway: &Gateway,
    person: &Person,
    card: &Card,
    draft: &Draft,
    expected: u64,
) -> Result<Option<u64>, LedgerError> {
    let (tenant, who) = (person.tenant(), &person.0.credential.subject);
    let drafts = &gateway.bus.drafts;
    let saving = drafts.put_if(tenant, &card.session, card.id(), who, draft, expected);
    let saved = tokio::time::timeout(SAVE_TIMEOUT, saving).await;
    let saved = saved.unwrap_or_else(|_| Err(LedgerError::InDoubt("not in time".to_owned())));
    if let Err(error) = &saved {
        tracing::warn!(%error, clarify_id = %card.id(), "a draft was not saved");
    }
    if !matches!(saved, Ok(None)) {
        gateway.figures.count_draft(tenant, saved.is_ok());
    }
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

/// `clarify.draft` as this person hears it: their own whole, of another's only who writes.
pub(crate) fn event(written: &Written, person: &Person) -> Value {
    if written.person == person.0.credential.subject {
        own_event(&written.card, &written.draft)
    } else {
        writing_event(&written.card, &written.person)
    }
}

fn writing_event(card: &Card, person: &PersonId) -> Value {
    json!({
        "event": "clarify.draft",
        "session_id": card.session,
        "clarify_id": card.id(),
        "own": false,
        "person": person,
        "writing": true,
    })
}
