//! Reads what the person writes, and tells them what became of it.

mod sending;

use super::super::chat::{self, Heard, Message};
use super::super::given_up::{self, GivenUp};
use super::super::http::Target;
use super::super::ilink::{self, Failed, Received, Updates};
use super::super::teller::Read;
use super::super::{Channel, MOST_FOLLOWED, Way};
use super::outbox::Outbox;
use crate::gateway::Gateway;
use askbus_domain::Timestamp;
use futures::StreamExt as _;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use std::collections::{HashMap, VecDeque};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
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

/// What happens beside a call for messages.
enum Event {
    /// Something is to be sent.
    Due,
    /// An attempt to send the text with this id came to this.
    Sent(String, Result<(), Failed>),
    /// What became of a message that was not judged in time.
    Judged(Option<Box<(Received, Heard)>>),
}

/// The state of a listener.
struct Listener<'a> {
    gateway: &'a Arc<Gateway>,
    channel: &'a Arc<Channel>,
    target: &'a Target,
    bot: &'a str,
    tell: mpsc::Sender<Read>,
    /// How far messages were read, and how far that is written down.
    cursor: String,
    written: String,
    /// Why no messages can be had, and what is written down of that.
    problem: Option<String>,
    known_problem: Option<String>,
    outbox: Outbox,
    /// The attempt that is under way; one at most, so that texts come in their order. Once begun it is
    /// not given up: nobody would know whether it was taken.
    sending: FuturesUnordered<BoxFuture<'a, (String, Result<(), Failed>)>>,
    /// Verdicts that are still to come.
    judging: JoinSet<Option<Box<(Received, Heard)>>>,
    /// The newest context of each person.
    contexts: HashMap<String, String>,
    given_up: Vec<GivenUp>,
    answered: VecDeque<String>,
    pause: Duration,
}

impl Drop for Listener<'_> {
    fn drop(&mut self) {
        self.channel.told_here.forget();
        self.channel.unsaid(0);
    }
}

/// Where a channel's own messages were read up to, and why they could not be, as it stands on the bus.
pub(in super::super) struct Stands {
    pub cursor: String,
    pub problem: Option<String>,
}

/// Waits for what the person writes, for as long as this gateway serves the channel.
pub(in super::super) async fn listen(
    gateway: Arc<Gateway>,
    channel: Arc<Channel>,
    stands: Stands,
    tell: mpsc::Sender<Read>,
) {
    let Way::WeChat { target, bot } = &channel.way else {
        return;
    };
    let given_up = given_up::read(&gateway, &channel).await;
    let given_up = given_up.unwrap_or_else(|error| {
        tracing::warn!(%error, channel = channel.name, "replies that were given up are not known");
        Vec::new()
    });
    let mut listener = Listener {
        gateway: &gateway,
        channel: &channel,
        target,
        bot,
        tell,
        written: stands.cursor.clone(),
        cursor: stands.cursor,
        problem: stands.problem.clone(),
        known_problem: stands.problem,
        outbox: Outbox::new(channel.retries),
        sending: FuturesUnordered::new(),
        judging: JoinSet::new(),
        contexts: HashMap::new(),
        given_up,
        answered: VecDeque::new(),
        pause: PAUSE.0,
    };
    listener.count();
    while listener.round().await.is_ok() {}
}

impl Listener<'_> {
    /// Reads messages once, answers them, and sends meanwhile what is to be sent.
    async fn round(&mut self) -> Result<(), Gone> {
        while !self.outbox.has_room() {
            let event = self.event().await;
            self.handle(event).await?;
        }
        let began = Instant::now();
        let (target, bot, cursor) = (self.target, self.bot, self.cursor.clone());
        let mut calling = pin!(ilink::updates(target, bot, &cursor));
        let updates = loop {
            let event = tokio::select! {
                biased;
                updates = &mut calling => break updates,
                event = self.event() => event,
            };
            self.handle(event).await?;
        };
        let pause = match updates {
            Ok(updates) => {
                self.problem = None;
                let new = self.take(updates).await?;
                let early = began.elapsed() < HELD;
                (!new && early).then(|| self.longer())
            }
            Err(failed) => {
                tracing::warn!(channel = self.channel.name, error = %failed, "no messages can be had");
                self.channel.failed();
                self.problem = Some(failed.to_string());
                self.write_down(None).await?;
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
            let event = tokio::select! {
                biased;
                () = &mut over => return Ok(()),
                event = self.event() => event,
            };
            self.handle(event).await?;
        }
    }

    /// Waits for what happens next. Nothing of it is lost when the wait is broken off.
    async fn event(&mut self) -> Event {
        let due = self.outbox.due().filter(|_| self.sending.is_empty());
        tokio::select! {
            biased;
            Some((id, sent)) = self.sending.next() => Event::Sent(id, sent),
            Some(judged) = self.judging.join_next() => Event::Judged(judged.ok().flatten()),
            () = at(due) => Event::Due,
        }
    }

    async fn handle(&mut self, event: Event) -> Result<(), Gone> {
        match event {
            Event::Due => {
                self.send_next();
                Ok(())
            }
            Event::Sent(id, sent) => self.sent(&id, sent).await,
            Event::Judged(judged) => {
                if let Some(judged) = judged {
                    let (mut received, heard) = *judged;
                    if let Some(newest) = self.contexts.get(&received.from) {
                        received.context.clone_from(newest);
                    }
                    let id = format!("{}.judged", received.id);
                    self.tell(&id, &received, heard);
                }
                self.write_down(None).await
            }
        }
    }

    /// Takes what came, and says whether anything was new.
    async fn take(&mut self, updates: Updates) -> Result<bool, Gone> {
        if updates.left_out > 0 {
            self.channel.failed();
            tracing::error!(
                channel = self.channel.name,
                left_out = updates.left_out,
                "messages that are too large to be read were left out"
            );
        }
        let mut context = None;
        let mut new = updates.cursor != self.cursor && updates.left_out > 0;
        for received in &updates.messages {
            if self.answered.contains(&received.id) {
                continue;
            }
            new = true;
            let known = self.channel.person(Some(&received.from)).is_some();
            if known && !received.context.is_empty() {
                self.outbox.renew(&received.from, &received.context);
                self.contexts
                    .insert(received.from.clone(), received.context.clone());
                context = Some(received.context.clone());
            }
            self.answer(received).await;
            if known {
                self.tell_again(&received.from);
            }
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
        let channel = Arc::clone(self.channel);
        let judging = channel.told_here.judging();
        let mut heard = chat::hear(self.gateway, self.channel, person, &message).await;
        if let Some(later) = heard.later.take() {
            self.follow(received.clone(), later);
        }
        self.tell(&received.id, received, heard);
        drop(judging);
    }

    /// Waits beside everything else for what becomes of a message.
    fn follow(&mut self, received: Received, later: chat::Later) {
        if self.judging.len() >= MOST_FOLLOWED {
            tracing::warn!(
                channel = self.channel.name,
                "too many messages wait to be judged; what becomes of one is not told"
            );
            return;
        }
        self.judging
            .spawn(async move { Some(Box::new((received, later.heard().await?))) });
    }

    /// Writes down how far messages were read once everybody was told what became of theirs: what was
    /// read and not told when this process dies comes again, and counts once.
    async fn write_down(&mut self, context: Option<String>) -> Result<(), Gone> {
        let told = self.outbox.is_empty() && self.judging.is_empty();
        let cursor = if told { &self.cursor } else { &self.written };
        let as_before = *cursor == self.written && self.problem == self.known_problem;
        if as_before && context.is_none() {
            return Ok(());
        }
        let cursor = cursor.clone();
        let (done, written) = oneshot::channel();
        let read = Read {
            cursor: cursor.clone(),
            problem: self.problem.clone(),
            context,
            done,
        };
        self.tell.send(read).await.map_err(|_| Gone)?;
        written.await.map_err(|_| Gone)?;
        self.written = cursor;
        self.known_problem.clone_from(&self.problem);
        Ok(())
    }
}

/// Waits until then, or for ever.
async fn at(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
    }
}
