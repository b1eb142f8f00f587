//! What comes of a message that was not judged while its author waited.

use super::super::Channel;
use super::steps::{self, Kept};
use super::telling::told;
use super::{Heard, Hearing, Message, tag};
use crate::caller::Person;
use crate::gateway::Gateway;
use crate::projection::Card;
use crate::submit::{self, Judged};
use askbus_domain::AnswerId;
use askbus_domain::text_channel::split;
use askbus_wire::messages::InboxReply;
use std::sync::Arc;

/// A verdict that is still to come, and whose it is.
pub(in super::super) struct Later {
    gateway: Arc<Gateway>,
    channel: Arc<Channel>,
    person: Person,
    message: Message,
    answer_id: AnswerId,
    card: Arc<Card>,
    verdict: submit::Later,
    /// What its person has answered besides, if it is being sent.
    kept: Option<Kept>,
}

impl Later {
    pub(super) fn new(hearing: &Hearing<'_>, card: &Arc<Card>, verdict: submit::Later) -> Self {
        Self {
            gateway: Arc::clone(hearing.gateway),
            channel: Arc::clone(hearing.channel),
            person: hearing.person.clone(),
            message: hearing.message.clone(),
            answer_id: hearing.answer_id.clone(),
            card: Arc::clone(card),
            verdict,
            kept: None,
        }
    }

    /// The same, which sends what is kept here.
    pub(super) fn of(self, kept: Kept) -> Self {
        Self {
            kept: Some(kept),
            ..self
        }
    }

    /// What its author is to be told; none when nobody says what became of it. That it settled the
    /// clarification is told when that ends, as to everybody.
    pub(in super::super) async fn heard(self) -> Option<Heard> {
        let Self {
            gateway,
            channel,
            person,
            message,
            answer_id,
            card,
            verdict,
            kept,
        } = self;
        let judged = verdict.judged(&gateway, &person, &card);
        let judged = tokio::time::timeout(submit::LATEST_VERDICT, judged)
            .await
            .ok()??;
        if let Judged::Reply(InboxReply::Settled { .. }) = judged {
            return None;
        }
        let hearing = Hearing {
            gateway: &gateway,
            channel: &channel,
            person: &person,
            message: &message,
            answer_id,
        };
        if let (Judged::Refused { .. }, Some(kept)) = (&judged, kept) {
            steps::not_sent(&hearing, &card, kept).await;
        }
        let tag = tag(&gateway, &channel, card.id());
        let said = told(Ok(judged), &card, hearing.telling(Some(&card)), &tag);
        Some(Heard {
            verdict: said.verdict,
            clarify_id: Some(card.id()),
            messages: split(&said.lines, channel.limits.message),
            buttons: None,
            later: None,
        })
    }
}
