//! What a message of a person may be for.

use super::super::Channel;
use super::Hearing;
use super::steps::{self, Kept};
use crate::caller::Person;
use crate::gateway::Gateway;
use crate::lookup;
use crate::projection::Card;
use askbus_domain::ClarifyId;
use askbus_domain::text_channel::{
    Chat, EndedHere, Listed, Mentions, Reply, Tag, WaitingHere, named_of_others,
};
use askbus_wire::error::WireError;
use std::sync::Arc;

/// Questions in a list at most; it says how many more there are.
const MOST_LISTED: usize = 100;
/// Ended questions that one name is looked up among at most: it means none of so many.
const MOST_NAMED: usize = 20;

/// The open questions of a person in a channel, and those that ended and the message may be for.
pub(super) struct Open {
    waiting: Vec<Arc<Card>>,
    ended: Vec<Arc<Card>>,
    /// What ended last.
    pub last: Option<Arc<Card>>,
    pub chat: Chat,
    /// What the channel tells of and this person may not answer.
    others: Vec<Arc<Card>>,
    names: Vec<Tag>,
}

impl Open {
    pub(super) async fn of(
        gateway: &Gateway,
        channel: &Channel,
        person: &Person,
        reply: &Reply<'_>,
    ) -> Result<Self, WireError> {
        let viewer = person.viewer();
        let mine = |card: &Card| person.may_answer(&card.clarification);
        let put_here = |card: &Card| !card.settled_at_once() && mine(card);
        let mentions = reply.mentions();
        let (_, waiting) = gateway.feed.pending(&viewer, mine, usize::MAX);
        let of_others =
            |card: &Card| mentions.concern(card.id()) && !mine(card) && channel.tells(card);
        let (_, others) = gateway.feed.pending(&viewer, of_others, MOST_NAMED);
        let concerned = |card: &Card| mentions.concern(card.id()) && put_here(card);
        let (_, mut ended) = gateway.feed.settled(&viewer, concerned, MOST_NAMED);
        let (_, last) = gateway.feed.settled(&viewer, put_here, 1);
        for id in of_the_past(&mentions, &waiting, &ended) {
            match lookup::find(gateway, &viewer, &id.to_string()).await {
                Ok(card) if put_here(&card) && !card.clarification.is_pending() => ended.push(card),
                Ok(_) => {}
                Err(error) if lookup::is_unknown(&error) => {}
                Err(error) => return Err(error),
            }
        }
        let waits = |card: &Arc<Card>| WaitingHere::of(&card.clarification, &[]);
        let over = |card: &Arc<Card>| EndedHere {
            id: card.id(),
            questions: Arc::clone(&card.clarification.questions),
        };
        let chat = Chat {
            waiting: waiting.iter().map(waits).collect(),
            ended: ended.iter().map(over).collect(),
        };
        Ok(Self {
            chat,
            waiting,
            ended,
            others,
            last: last.into_iter().next(),
            names: names(gateway, channel),
        })
    }

    pub(super) fn card(&self, id: ClarifyId) -> Option<&Arc<Card>> {
        let mut all = self.waiting.iter().chain(&self.ended);
        all.find(|card| card.id() == id)
    }

    /// The question of somebody else in this chat that a reply names.
    pub(super) fn of_others(&self, reply: &Reply<'_>) -> Option<&Arc<Card>> {
        let ids: Vec<ClarifyId> = self.others.iter().map(|card| card.id()).collect();
        let named = named_of_others(&self.chat, &ids, reply)?;
        self.others.iter().find(|card| card.id() == named)
    }

    /// One of them, the oldest that waits if there is one.
    pub(super) fn any(&self) -> Option<&Arc<Card>> {
        self.waiting.first().or(self.last.as_ref())
    }

    /// Notes what was answered of one that waits.
    pub(super) fn fill(&mut self, id: ClarifyId, kept: &Kept) {
        let Some(card) = self.card(id).cloned() else {
            return;
        };
        if let Some(waiting) = self.chat.waiting.iter_mut().find(|w| w.id == id) {
            *waiting = WaitingHere::of(&card.clarification, &kept.answers);
        }
    }

    /// These as lines of a list, and how many more there are: of several questions the one that is to
    /// be answered next, as far as that can be read.
    pub(super) async fn listed(
        &mut self,
        hearing: &Hearing<'_>,
        ids: &[ClarifyId],
    ) -> (Vec<Listed<'_>>, usize) {
        let more = ids.len().saturating_sub(MOST_LISTED);
        let ids = ids.get(..MOST_LISTED).unwrap_or(ids);
        let waiting = self.waiting.iter().filter(|card| ids.contains(&card.id()));
        let several = waiting.filter(|card| card.clarification.questions.len() > 1);
        let several: Vec<Arc<Card>> = several.cloned().collect();
        for (card, kept) in steps::kept_of_all(hearing, several)
            .await
            .unwrap_or_default()
        {
            self.fill(card.id(), &kept);
        }
        let waiting = self.chat.waiting.iter().filter(|w| ids.contains(&w.id));
        let waiting = waiting.map(|w| (w.id, w.next().1, false));
        let ended = self.chat.ended.iter().filter(|e| ids.contains(&e.id));
        let ended = ended.map(|e| (e.id, e.questions.first(), true));
        let mut lines = Vec::new();
        for (id, question, over) in waiting.chain(ended) {
            lines.push(Listed {
                tag: self.tag(id),
                question: &question.question,
                over,
            });
        }
        (lines, more)
    }

    /// The name of a question, as short as it may be in this chat.
    pub(super) fn tag(&self, id: ClarifyId) -> String {
        name_beside(id, &self.names)
    }
}

/// Those named by their whole id that the picture does not hold, or not as this person's.
fn of_the_past(
    mentions: &Mentions<'_>,
    waiting: &[Arc<Card>],
    ended: &[Arc<Card>],
) -> Vec<ClarifyId> {
    let known = |id: &ClarifyId| waiting.iter().chain(ended).any(|card| card.id() == *id);
    mentions.ids().filter(|id| !known(id)).collect()
}

/// The names of all that a name in this channel could be mistaken for: a message of what has ended may
/// be replied to long after.
fn names(gateway: &Gateway, channel: &Channel) -> Vec<Tag> {
    let ids = channel.viewer().map(|viewer| gateway.feed.ids(&viewer));
    ids.unwrap_or_default().into_iter().map(Tag::of).collect()
}

fn name_beside(id: ClarifyId, names: &[Tag]) -> String {
    Tag::of(id).beside(names.iter().copied())
}

/// The name of a question, as short as it may be in a channel.
pub(in super::super) fn tag(gateway: &Gateway, channel: &Channel, id: ClarifyId) -> String {
    name_beside(id, &names(gateway, channel))
}
