//! Reads what the person writes, and tells them what became of it.

use super::super::chat::{self, Message};
use super::super::http::Target;
use super::super::ilink::{self, Failed, Received, Updates};
use super::super::teller::Read;
use super::super::{Channel, Way};
use super::outbox::{self, Outbox, Text};
use crate::gateway::Gateway;
use askbus_domain::Timestamp;
use std::collections::VecDeque;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

/// Between two calls for messages after one that failed, at first and at most, and after the bot was
/// signed out.
const PAUSE: (Duration, Duration) = (Duration::from_secs(2), Duration::from_mins(1));
const SIGNED_OUT_PAUSE: Duration = Duration::from_mins(1);
/// The interface holds a call until something is there. One that comes back sooner with nothing new is
/// not made again at once.
const HELD: Duration = Duration::from_secs(1);
/// Messages remembered as answered, the last ones: an interface that does not move on sends them again.
const ANSWERED: usize = 256;

/// Nobody writes down any more how far messages were read.
struct Gone;

/// The state of a listener.
struct Listener<'a> {
    gateway: &'a Arc<Gateway>,
    channel: &'a Channel,
    target: &'a Target,
    bot: &'a str,
    tell: mpsc::Sender<Read>,
    /// How far messages were read, and how far that is written down.
    cursor: String,
    written: String,
    outbox: Outbox,
    answered: VecDeque<String>,
    pause: Duration,
}

impl Drop for Listener<'_> {
    fn drop(&mut self) {
        self.channel.told_here.forget();
        self.channel.unsaid(0);
    }
}

/// Waits for what the person writes, for as long as this gateway serves the channel.
pub(in super::super) async fn listen(
    gateway: Arc<Gateway>,
    channel: Arc<Channel>,
    cursor: String,
    tell: mpsc::Sender<Read>,
) {
    let Way::WeChat { target, bot } = &channel.way else {
        return;
    };
    let mut listener = Listener {
        gateway: &gateway,
        channel: &channel,
        target,
        bot,
        tell,
        written: cursor.clone(),
        cursor,
        outbox: Outbox::default(),
        answered: VecDeque::new(),
        pause: PAUSE.0,
    };
    while listener.round().await.is_ok() {}
}

impl Listener<'_> {
    /// Reads messages once, answers them, and sends meanwhile what is to be sent.
    async fn round(&mut self) -> Result<(), Gone> {
        while !self.outbox.has_room() {
            due(self.outbox.due()).await;
            self.send_next().await?;
        }
        let began = Instant::now();
        let (target, bot, cursor) = (self.target, self.bot, self.cursor.clone());
        let mut calling = pin!(ilink::updates(target, bot, &cursor));
        let updates = loop {
            tokio::select! {
                biased;
                () = due(self.outbox.due()) => self.send_next().await?,
                updates = &mut calling => break updates,
            }
        };
        let pause = match updates {
            Ok(updates) => {
                let new = self.take(updates).await?;
                let early = began.elapsed() < HELD;
                (!new && early).then(|| self.longer())
            }
            Err(failed) => {
                tracing::warn!(channel = self.channel.name, error = %failed, "no messages can be had");
                let longer = self.longer();
                Some(match failed {
                    Failed::SignedOut => SIGNED_OUT_PAUSE,
                    _ => longer,
                })
            }
        };
        if let Some(pause) = pause {
            return self.sleep(pause).await;
        }
        self.pause = PAUSE.0;
        Ok(())
    }

    fn longer(&mut self) -> Duration {
        let pause = self.pause;
        self.pause = (pause * 2).min(PAUSE.1);
        pause
    }

    /// Waits, and sends meanwhile what is to be sent.
    async fn sleep(&mut self, pause: Duration) -> Result<(), Gone> {
        let mut over = pin!(tokio::time::sleep(pause));
        loop {
            tokio::select! {
                biased;
                () = due(self.outbox.due()) => self.send_next().await?,
                () = &mut over => return Ok(()),
            }
        }
    }

    /// Takes what came, and says whether anything was new.
    async fn take(&mut self, updates: Updates) -> Result<bool, Gone> {
        let mut context = None;
        let mut new = false;
        for received in &updates.messages {
            if self.answered.contains(&received.id) {
                continue;
            }
            new = true;
            if self.channel.person(Some(&received.from)).is_some() && !received.context.is_empty() {
                self.outbox.renew(&received.from, &received.context);
                context = Some(received.context.clone());
            }
            self.answer(received).await;
            self.answered.push_back(received.id.clone());
            let surplus = self.answered.len().saturating_sub(ANSWERED);
            self.answered.drain(..surplus);
        }
        self.cursor = updates.cursor;
        self.write_down(context).await?;
        Ok(new)
    }

    /// Judges one message; what its author is told goes into the outbox.
    async fn answer(&mut self, received: &Received) {
        let Some(person) = self.channel.person(Some(&received.from)) else {
            tracing::warn!(
                channel = self.channel.name,
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
        let judging = self.channel.told_here.judging();
        let heard = chat::hear(self.gateway, self.channel, person, &message).await;
        let settled = heard.clarify_id.filter(|_| heard.verdict == "settled");
        if let Some(id) = settled {
            self.channel.told_here.to_tell(id);
        }
        drop(judging);
        let last = heard.messages.len().saturating_sub(1);
        let texts = heard
            .messages
            .into_iter()
            .enumerate()
            .map(|(n, text)| Text {
                client_id: format!("{}.{n}", received.id),
                to: received.from.clone(),
                context: received.context.clone(),
                text,
                settled: settled.filter(|_| n == last),
            });
        self.outbox.put(texts);
        self.channel.unsaid(self.outbox.len());
    }

    /// Sends what is to be sent next. Once begun it is not given up: nobody would know whether it was
    /// taken.
    async fn send_next(&mut self) -> Result<(), Gone> {
        let Some(text) = self.outbox.next() else {
            return Ok(());
        };
        let Text {
            client_id,
            to,
            context,
            text,
            settled,
        } = text;
        let settled = *settled;
        let sent = ilink::send(self.target, self.bot, to, context, client_id, text).await;
        let done = match sent {
            Ok(()) => {
                self.outbox.sent();
                Some(true)
            }
            Err(error) => {
                self.channel.failed();
                let failed = self.outbox.failed(Instant::now());
                let given_up = failed != outbox::Failed::Again;
                tracing::warn!(channel = self.channel.name, %error, given_up,
                    "what became of a message was not told");
                given_up.then_some(false)
            }
        };
        self.channel.unsaid(self.outbox.len());
        if let (Some(sent), Some(id)) = (done, settled) {
            self.channel.told_here.told(id, sent);
        }
        self.write_down(None).await
    }

    /// Writes down how far messages were read once everybody was told what became of theirs: what was
    /// read and not told when this process dies comes again, and counts once.
    async fn write_down(&mut self, context: Option<String>) -> Result<(), Gone> {
        let cursor = if self.outbox.is_empty() {
            &self.cursor
        } else {
            &self.written
        };
        if *cursor == self.written && context.is_none() {
            return Ok(());
        }
        let cursor = cursor.clone();
        let (done, written) = oneshot::channel();
        let read = Read {
            cursor: cursor.clone(),
            context,
            done,
        };
        self.tell.send(read).await.map_err(|_| Gone)?;
        written.await.map_err(|_| Gone)?;
        self.written = cursor;
        Ok(())
    }
}

/// Waits until something is to be sent.
async fn due(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}
