//! What is answered of several questions and not sent yet. It is kept as a draft, so that it outlives
//! this process and shows in the panel, together with the messages that said it: the same message
//! again says nothing new. Whoever changes it does so only if it is still what they have read.

use super::Hearing;
use crate::drafts;
use crate::projection::Card;
use crate::submit;
use crate::trace::Trace;
use askbus_domain::text_channel::WaitingHere;
use askbus_domain::{AnswerEntry, AnswerId, Clarification, Millis, Timestamp};
use askbus_ledger::LedgerError;
use askbus_wire::messages::Draft;
use futures::{StreamExt as _, TryStreamExt as _};
use std::sync::Arc;
use std::time::Duration;

/// How long it may take to read what is kept.
const PATIENCE: Duration = Duration::from_secs(2);
/// Messages remembered with one clarification, the last ones.
const MOST_MESSAGES: usize = 64;
/// Characters of the id of an answer by which a message is remembered.
const NAME: usize = 32;
/// Clarifications of several questions, the last that ended, in which a message is looked for.
const MOST_ENDED: usize = 32;
/// Look-ups at once.
const LOOKUPS: usize = 8;
/// How long a message that sends everything may be between saying so and having sent it.
const SENDING: Millis = Millis(10_000);

/// What is kept cannot be read now.
#[derive(Debug)]
pub(super) struct Unknown;

/// Why a message changed nothing of what is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NotKept {
    /// Another message changed it meanwhile, or is sending all of it.
    Overtaken,
    /// Nobody knows whether it did.
    InDoubt,
    /// It cannot be written now.
    Failed,
}

/// What is answered of a clarification.
#[derive(Debug, Default)]
pub(super) struct Kept {
    pub answers: Vec<AnswerEntry>,
    messages: Vec<String>,
    /// The message that sends all of it, and since when.
    sent_by: Option<(String, Timestamp)>,
    /// Which writing of it this is; 0: there is none.
    revision: u64,
}

impl Kept {
    /// Whether this message is part of it.
    pub(super) fn holds(&self, answer_id: &AnswerId) -> bool {
        self.messages.contains(&name(answer_id))
    }

    /// How many questions are answered, and the index of the next one.
    pub(super) fn standing(&self, clarification: &Clarification) -> (usize, usize) {
        let waiting = WaitingHere::of(clarification, &self.answers);
        let (next, _) = waiting.next();
        (waiting.done(), next)
    }
}

fn name(answer_id: &AnswerId) -> String {
    answer_id.as_str().chars().take(NAME).collect()
}

/// What the person of this chat answered so far.
pub(super) async fn kept(hearing: &Hearing<'_>, card: &Card) -> Result<Kept, Unknown> {
    if card.clarification.questions.len() < 2 {
        return Ok(Kept::default());
    }
    tokio::time::timeout(PATIENCE, read(hearing, card))
        .await
        .unwrap_or(Err(Unknown))
}

/// The same of several clarifications, all within the time that one may take.
pub(super) async fn kept_of_all(
    hearing: &Hearing<'_>,
    cards: Vec<Arc<Card>>,
) -> Result<Vec<(Arc<Card>, Kept)>, Unknown> {
    let reading = futures::stream::iter(cards)
        .map(|card| async move {
            let kept = read(hearing, &card).await?;
            Ok((card, kept))
        })
        .buffer_unordered(LOOKUPS)
        .try_collect();
    let read = tokio::time::timeout(PATIENCE, reading).await;
    read.unwrap_or(Err(Unknown))
}

/// The clarification of several questions of which this message answered one before it ended: `named`,
/// or one of the last.
pub(super) async fn kept_in_ended(
    hearing: &Hearing<'_>,
    named: Option<&Arc<Card>>,
) -> Result<Option<Arc<Card>>, Unknown> {
    let several = |card: &Card| card.clarification.questions.len() > 1 && !card.settled_at_once();
    let mine = |card: &Card| several(card) && hearing.person.may_answer(&card.clarification);
    let viewer = hearing.person.viewer();
    let (_, mut cards) = hearing.gateway.feed.settled(&viewer, mine, MOST_ENDED);
    cards.extend(named.filter(|card| several(card)).cloned());
    let all = kept_of_all(hearing, cards).await?;
    let holds = |(card, kept): (Arc<Card>, Kept)| kept.holds(&hearing.answer_id).then_some(card);
    Ok(all.into_iter().find_map(holds))
}

async fn read(hearing: &Hearing<'_>, card: &Card) -> Result<Kept, Unknown> {
    let (tenant, who) = (
        hearing.person.tenant(),
        &hearing.person.0.credential.subject,
    );
    let drafts = &hearing.gateway.bus.drafts;
    let drafts = drafts.list(tenant, &card.session, card.id()).await;
    let drafts = drafts.map_err(|error| {
        tracing::warn!(%error, clarify_id = %card.id(), "a draft was not read");
        Unknown
    })?;
    let tab = tab(hearing);
    let own = drafts.into_iter();
    let own = own.filter(|d| d.person == *who && d.draft.tab == tab);
    let newest = own.max_by_key(|d| d.stored_at);
    Ok(newest.map_or_else(Kept::default, |stored| Kept {
        answers: stored.draft.answers,
        messages: stored.draft.messages,
        sent_by: stored.draft.sent_by.map(|by| (by, stored.stored_at)),
        revision: stored.revision,
    }))
}

/// The tab under which a channel keeps what is answered so far.
fn tab(hearing: &Hearing<'_>) -> String {
    hearing.channel.surface.to_string()
}

/// Keeps what is answered now. Whoever answers is there: the countdown stops.
pub(super) async fn keep(
    hearing: &Hearing<'_>,
    card: &Arc<Card>,
    answers: Vec<AnswerEntry>,
    before: &Kept,
) -> Result<(), NotKept> {
    let mut messages = before.messages.clone();
    messages.push(name(&hearing.answer_id));
    messages.drain(..messages.len().saturating_sub(MOST_MESSAGES));
    let draft = Draft {
        messages,
        ..draft(hearing, answers)
    };
    write(hearing, card, &draft, before).await?;
    let Hearing {
        gateway,
        channel,
        person,
        ..
    } = hearing;
    // One hold is enough, and nobody judges a second one that is the same.
    let now = gateway.feed.card(person.tenant(), card.id());
    if now.as_ref().unwrap_or(card).clarification.held_by.is_some() {
        return Ok(());
    }
    let trace = Trace::continuing(None);
    if let Err(error) = submit::hold(gateway, person, card, channel.surface.clone(), &trace).await {
        tracing::warn!(error = %error.error, channel = channel.name, "a countdown was not stopped");
    }
    Ok(())
}

/// Notes that this message sends what is kept, so that none of the same moment adds to it and is told
/// that it was kept. Returns what is kept then.
pub(super) async fn sending(
    hearing: &Hearing<'_>,
    card: &Arc<Card>,
    kept: Kept,
) -> Result<Kept, NotKept> {
    if card.clarification.questions.len() < 2 {
        return Ok(kept);
    }
    let draft = Draft {
        messages: kept.messages.clone(),
        sent_by: Some(name(&hearing.answer_id)),
        ..draft(hearing, kept.answers.clone())
    };
    let revision = write(hearing, card, &draft, &kept).await?;
    Ok(Kept { revision, ..kept })
}

/// Notes that it was not sent after all. Where that fails, others wait a little longer.
pub(super) async fn not_sent(hearing: &Hearing<'_>, card: &Card, kept: Kept) {
    if card.clarification.questions.len() < 2 {
        return;
    }
    let draft = Draft {
        messages: kept.messages,
        ..draft(hearing, kept.answers)
    };
    // It was logged.
    let _ = drafts::keep_if(hearing.gateway, hearing.person, card, &draft, kept.revision).await;
}

fn draft(hearing: &Hearing<'_>, answers: Vec<AnswerEntry>) -> Draft {
    Draft {
        tab: tab(hearing),
        answers,
        text: None,
        messages: Vec::new(),
        sent_by: None,
    }
}

async fn write(
    hearing: &Hearing<'_>,
    card: &Card,
    draft: &Draft,
    before: &Kept,
) -> Result<u64, NotKept> {
    if is_being_sent(hearing, card, before).await {
        return Err(NotKept::Overtaken);
    }
    let (gateway, person) = (hearing.gateway, hearing.person);
    match drafts::keep_if(gateway, person, card, draft, before.revision).await {
        Ok(Some(revision)) => Ok(revision),
        Ok(None) => Err(NotKept::Overtaken),
        Err(LedgerError::InDoubt(_)) => Err(NotKept::InDoubt),
        Err(_) => Err(NotKept::Failed),
    }
}

/// Whether another message sends it: it said so a moment ago, or what it sent is not judged yet.
async fn is_being_sent(hearing: &Hearing<'_>, card: &Card, kept: &Kept) -> bool {
    let Some((by, at)) = &kept.sent_by else {
        return false;
    };
    if *by == name(&hearing.answer_id) {
        return false;
    }
    let (gateway, tenant) = (hearing.gateway, hearing.person.tenant());
    if at.until(gateway.now()) <= SENDING {
        return true;
    }
    let oldest = gateway.bus.inbox.oldest(tenant, &card.session, card.id());
    let oldest = tokio::time::timeout(PATIENCE, oldest).await;
    !matches!(oldest, Ok(Ok(None)))
}
