//! What is answered of several questions and not sent yet. It is kept as a draft, so that it outlives
//! this process and shows in the panel, together with the messages that said it: the same message
//! again says nothing new.

use super::Hearing;
use crate::drafts;
use crate::projection::Card;
use crate::submit;
use crate::trace::Trace;
use askbus_domain::text_channel::WaitingHere;
use askbus_domain::{AnswerEntry, AnswerId, Clarification};
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

/// What is kept cannot be read now.
#[derive(Debug)]
pub(super) struct Unknown;

/// What is answered of a clarification.
#[derive(Debug, Default)]
pub(super) struct Kept {
    pub answers: Vec<AnswerEntry>,
    messages: Vec<String>,
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
    }))
}

/// The tab under which a channel keeps what is answered so far.
fn tab(hearing: &Hearing<'_>) -> String {
    hearing.channel.surface.to_string()
}

/// Keeps what is answered now, and says whether it is kept. Whoever answers is there: the countdown
/// stops.
pub(super) async fn keep(
    hearing: &Hearing<'_>,
    card: &Arc<Card>,
    answers: Vec<AnswerEntry>,
    before: Kept,
) -> bool {
    let Hearing {
        gateway,
        channel,
        person,
        ..
    } = hearing;
    let mut messages = before.messages;
    messages.push(name(&hearing.answer_id));
    messages.drain(..messages.len().saturating_sub(MOST_MESSAGES));
    let draft = Draft {
        tab: tab(hearing),
        answers,
        text: None,
        messages,
    };
    if !drafts::keep(gateway, person, card, &draft).await {
        return false;
    }
    let trace = Trace::continuing(None);
    if let Err(error) = submit::hold(gateway, person, card, channel.surface.clone(), &trace).await {
        tracing::warn!(error = %error.error, channel = channel.name, "a countdown was not stopped");
    }
    true
}
