//! The WeChat channel: one chat with one person, through the iLink bot interface.

mod listening;
mod outbox;
mod told_here;

pub(super) use listening::{Stands, listen};
pub(crate) use told_here::ToldHere;

use super::Channel;
use super::backlog::{Failed, What};
use super::chat;
use super::http::Target;
use super::ilink::{self, MAX_TEXT};
use crate::gateway::Gateway;
use crate::projection::Card;
use askbus_domain::text_channel::{ChannelLimits, Length, Telling, Unit, split};
use std::time::Duration;

/// How long the end of a clarification waits for the reply that tells it to whoever settled it.
const PATIENCE: Duration = Duration::from_secs(5);

/// What fits, unless it is configured to be less.
pub const LIMITS: ChannelLimits = ChannelLimits {
    message: Length {
        most: MAX_TEXT,
        unit: Unit::Characters,
    },
    messages: 5,
    buttons: None,
};

/// One attempt to tell the person of the chat.
pub(super) async fn deliver(
    gateway: &Gateway,
    channel: &Channel,
    (target, bot): (&Target, &str),
    card: &Card,
    what: What,
    context: &str,
) -> Result<(), Failed> {
    let Some(to) = channel.people.first().and_then(|k| k.from.as_deref()) else {
        return Ok(());
    };
    let c = &card.clarification;
    let language = channel.language(c);
    let tag = chat::tag(gateway, channel, card.id());
    let messages = match (what, &c.outcome) {
        (What::Ended, Some(outcome)) => {
            let actor = outcome.actor.as_ref();
            let here = actor.is_some_and(|a| a.surface == channel.surface);
            if here {
                let told = channel.told_here.was_told(card.id());
                match tokio::time::timeout(PATIENCE, told).await {
                    Ok(true) => return Ok(()),
                    Ok(false) => {}
                    // Others are told of theirs meanwhile.
                    Err(_) => return Err(Failed::unheard("whoever settled it is being told so")),
                }
            }
            let lines = Telling(language).ended(&tag, &c.questions, outcome);
            split(&lines, channel.limits.message)
        }
        _ => channel.put(c, 0, &tag, language).messages(&channel.limits),
    };
    if context.is_empty() {
        return Err(Failed::unheard("the person has not written to the bot yet"));
    }
    for (n, text) in messages.iter().enumerate() {
        let client_id = format!("{}.{}.{n}", card.id(), what.as_str());
        let sent = ilink::send(target, bot, to, context, &client_id, text).await;
        sent.map_err(|error| match n {
            0 if error.is_refusal() => Failed::unheard(error.to_string()),
            _ => Failed::in_doubt(error.to_string()),
        })?;
    }
    Ok(())
}
