//! The WeChat channel: one chat with one person, through the iLink bot interface.

use super::backlog::What;
use super::chat::{self, Message};
use super::http::Target;
use super::ilink::{self, Failed, MAX_TEXT, Received};
use super::teller::Read;
use super::{Channel, Way};
use crate::gateway::Gateway;
use crate::projection::Card;
use askbus_domain::Timestamp;
use askbus_domain::text_channel::{ChannelLimits, Length, Put, Telling, Unit, split};
use std::iter;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

/// What fits, unless it is configured to be less.
pub const LIMITS: ChannelLimits = ChannelLimits {
    message: Length {
        most: MAX_TEXT,
        unit: Unit::Characters,
    },
    messages: 5,
    buttons: None,
};
/// Between two calls for messages after one that failed, and after the bot was signed out.
const PAUSE: Duration = Duration::from_secs(2);
const SIGNED_OUT_PAUSE: Duration = Duration::from_mins(1);

/// One attempt to tell the person of the chat.
pub(super) async fn deliver(
    channel: &Channel,
    (target, bot): (&Target, &str),
    card: &Card,
    what: What,
    context: &str,
) -> Result<(), String> {
    let Some(to) = channel.people.first().and_then(|k| k.from.as_deref()) else {
        return Ok(());
    };
    let c = &card.clarification;
    let language = channel.language(c);
    let tag = chat::tag(card.id(), iter::empty());
    let messages = match (what, &c.outcome) {
        // Whoever settled it here was told so then.
        (What::Ended, Some(outcome))
            if outcome
                .actor
                .as_ref()
                .is_some_and(|a| a.surface == channel.surface) =>
        {
            return Ok(());
        }
        (What::Ended, Some(outcome)) => {
            let lines = Telling(language).ended(&tag, &c.questions, outcome);
            split(&lines, channel.limits.message)
        }
        _ => Put::of(c, 0, &tag, language).messages(&channel.limits),
    };
    if context.is_empty() {
        return Err("the person has not written to the bot yet".to_owned());
    }
    for (n, text) in messages.iter().enumerate() {
        let client_id = format!("{}.{}.{n}", card.id(), what.as_str());
        let sent = ilink::send(target, bot, to, context, &client_id, text).await;
        sent.map_err(|e| e.to_string())?;
    }
    Ok(())
}

/// Waits for what the person writes, for as long as this gateway serves the channel.
pub(super) async fn listen(
    gateway: Arc<Gateway>,
    channel: Arc<Channel>,
    mut cursor: String,
    tell: mpsc::Sender<Read>,
) {
    let Way::WeChat { target, bot } = &channel.way else {
        return;
    };
    loop {
        let updates = match ilink::updates(target, bot, &cursor).await {
            Ok(updates) => updates,
            Err(failed) => {
                tracing::warn!(channel = channel.name, error = %failed, "no messages can be had");
                let pause = match failed {
                    Failed::SignedOut => SIGNED_OUT_PAUSE,
                    _ => PAUSE,
                };
                tokio::time::sleep(pause).await;
                continue;
            }
        };
        let mut context = None;
        for received in &updates.messages {
            if channel.person(Some(&received.from)).is_some() {
                context = Some(received.context.clone())
                    .filter(|c| !c.is_empty())
                    .or(context);
            }
            answer(&gateway, &channel, (target, bot), received).await;
        }
        if updates.cursor == cursor && context.is_none() {
            continue;
        }
        cursor.clone_from(&updates.cursor);
        // Only now: what was read and not answered when this process died comes again, and counts
        // once.
        let (done, written) = oneshot::channel();
        let read = Read {
            cursor: cursor.clone(),
            context,
            done,
        };
        if tell.send(read).await.is_err() || written.await.is_err() {
            return;
        }
    }
}

/// Takes one message and tells its author what became of it.
async fn answer(
    gateway: &Arc<Gateway>,
    channel: &Channel,
    (target, bot): (&Target, &str),
    received: &Received,
) {
    let Some(person) = channel.person(Some(&received.from)) else {
        tracing::warn!(
            channel = channel.name,
            "somebody unknown wrote to the bot; it is left out"
        );
        return;
    };
    let message = Message {
        id: received.id.clone(),
        text: received.text.clone(),
        about: received.quotes.clone(),
        written_at: received.written_at.map(Timestamp::from_unix_millis),
    };
    let heard = chat::hear(gateway, channel, person, &message).await;
    for (n, text) in heard.messages.iter().enumerate() {
        let client_id = format!("{}.{n}", received.id);
        let (to, context) = (&received.from, &received.context);
        if let Err(error) = ilink::send(target, bot, to, context, &client_id, text).await {
            tracing::warn!(channel = channel.name, %error, verdict = heard.verdict,
                "what became of a message was not told");
            return;
        }
    }
}
