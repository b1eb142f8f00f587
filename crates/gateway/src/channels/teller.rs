//! Tells people through one channel what the log says: each question once, as long as it takes.

use super::backlog::{Message, What};
use super::owner::{Held, Lost};
use super::{Channel, Way, webhook, wechat};
use crate::feed::News;
use crate::gateway::Gateway;
use crate::lookup;
use crate::projection::{Card, ChangeKind};
use askbus_domain::ClarifyId;
use rand::Rng as _;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio::sync::{broadcast, mpsc};
use tokio::task::JoinSet;
use tokio::time::Instant;

/// Messages on their way at once.
const AT_ONCE: usize = 4;
/// Between two attempts, at first and at most.
const PAUSE: (Duration, Duration) = (Duration::from_millis(500), Duration::from_mins(5));

type Key = (ClarifyId, What);
type Sent = (Key, Result<(), String>);

/// What a channel that polls for messages wants to be written down.
#[derive(Debug)]
pub(super) struct Read {
    pub cursor: String,
    pub context: Option<String>,
    /// Told once it stands on the bus.
    pub done: tokio::sync::oneshot::Sender<()>,
}

/// Where what is written for the channel itself comes from.
struct Listening {
    /// Ends with the teller.
    _tasks: JoinSet<()>,
    read: mpsc::Receiver<Read>,
}

/// The running state of a teller.
struct Teller<'a> {
    gateway: &'a Arc<Gateway>,
    channel: &'a Arc<Channel>,
    held: &'a mut Held,
    sending: JoinSet<Sent>,
    under_way: HashSet<ClarifyId>,
    not_before: HashMap<Key, Instant>,
}

/// Tells what the log says for as long as this gateway serves the channel.
pub(super) async fn run(gateway: &Arc<Gateway>, channel: &Arc<Channel>, held: &mut Held) -> Lost {
    let mut listening = listen(gateway, channel, held);
    let mut teller = Teller {
        gateway,
        channel,
        held,
        sending: JoinSet::new(),
        under_way: HashSet::new(),
        not_before: HashMap::new(),
    };
    let mut news = teller.look();
    loop {
        teller.start();
        let next = teller.next_attempt();
        let room = teller.held.written.backlog.has_room();
        let lost = tokio::select! {
            Some(sent) = teller.sending.join_next() => match sent {
                Ok(sent) => teller.settle(sent).await,
                Err(_) => Ok(()),
            },
            Some(read) = listening.read.recv() => teller.note(read).await,
            came = news.recv(), if room => {
                teller.take(came, &mut news);
                Ok(())
            }
            () = tokio::time::sleep_until(next) => Ok(()),
        };
        if lost.is_err() {
            return Lost;
        }
        // What waited in the log for room is looked at again.
        if !room && teller.held.written.backlog.has_room() {
            news = teller.look();
        }
    }
}

fn listen(gateway: &Arc<Gateway>, channel: &Arc<Channel>, held: &Held) -> Listening {
    let (tell, read) = mpsc::channel(1);
    let mut tasks = JoinSet::new();
    if let Way::WeChat { .. } = channel.way {
        let cursor = held.written.cursor.clone();
        tasks.spawn(wechat::listen(
            Arc::clone(gateway),
            Arc::clone(channel),
            cursor,
            tell,
        ));
    }
    Listening {
        _tasks: tasks,
        read,
    }
}

impl Teller<'_> {
    /// Takes in everything that the log holds now, in its order, as far as there is room.
    fn look(&mut self) -> broadcast::Receiver<Arc<News>> {
        let backlog = &mut self.held.written.backlog;
        let Some(viewer) = self.channel.viewer() else {
            return broadcast::Sender::new(1).subscribe();
        };
        let snapshot = self.gateway.feed.snapshot(&viewer, backlog.position);
        let waiting = snapshot
            .pending
            .iter()
            .map(|c| (c.requested_seq, What::Asked, c));
        let ended = snapshot
            .resolved
            .iter()
            .map(|(seq, c)| (*seq, What::Ended, c));
        let mut all: Vec<(u64, What, &Arc<Card>)> = waiting.chain(ended).collect();
        all.sort_by_key(|(seq, what, _)| (*seq, *what));
        for (seq, what, card) in all {
            if !self.channel.tells(card) {
                continue;
            }
            if !backlog.has_room() {
                // The rest is looked at when there is room again.
                backlog.reached(seq.saturating_sub(1));
                return snapshot.news;
            }
            match what {
                What::Asked => backlog.asked(seq, card.id()),
                What::Ended => backlog.ended(card.requested_seq, seq, card.id()),
            }
        }
        backlog.reached(snapshot.seq);
        snapshot.news
    }

    /// Takes in news, and all that came together with them.
    fn take(
        &mut self,
        came: Result<Arc<News>, RecvError>,
        news: &mut broadcast::Receiver<Arc<News>>,
    ) {
        let Ok(first) = came else {
            // Too many to follow one by one.
            *news = self.look();
            return;
        };
        // What one commit says comes together; once the picture shows it, all of it was sent.
        let shown = self.gateway.feed.folded();
        self.hear(&first);
        loop {
            match news.try_recv() {
                Ok(more) if self.held.written.backlog.has_room() => self.hear(&more),
                Err(TryRecvError::Empty | TryRecvError::Closed) => break,
                Ok(_) | Err(TryRecvError::Lagged(_)) => {
                    *news = self.look();
                    return;
                }
            }
        }
        self.held.written.backlog.reached(shown);
    }

    fn hear(&mut self, news: &News) {
        let News::Change(change) = news else { return };
        let card = &change.card;
        let seen = self.channel.viewer().is_some_and(|v| v.sees(card));
        if !seen || !self.channel.tells(card) {
            return;
        }
        let backlog = &mut self.held.written.backlog;
        match change.kind {
            ChangeKind::Requested => backlog.asked(change.seq, card.id()),
            ChangeKind::Resolved => backlog.ended(card.requested_seq, change.seq, card.id()),
            _ => {}
        }
    }

    /// Messages whose time has come, one of each question at a time.
    fn due(&self, now: Instant) -> Vec<Message> {
        let is_due = |m: &&Message| {
            let at = self.not_before.get(&(m.id, m.what));
            !self.under_way.contains(&m.id) && at.is_none_or(|at| *at <= now)
        };
        let open = self.held.written.backlog.open.iter();
        open.filter(is_due).cloned().collect()
    }

    /// Sends what is due, as far as the channel takes so much at once.
    fn start(&mut self) {
        for message in self.due(Instant::now()) {
            if self.sending.len() >= AT_ONCE {
                return;
            }
            if !self.under_way.insert(message.id) {
                continue;
            }
            self.held.written.backlog.begins(message.id, message.what);
            let (gateway, channel) = (Arc::clone(self.gateway), Arc::clone(self.channel));
            let context = self.held.written.context.clone();
            self.sending.spawn(async move {
                let key = (message.id, message.what);
                (key, deliver(&gateway, &channel, key, &context).await)
            });
        }
        let open = &self.held.written.backlog.open;
        self.channel.undelivered(open.len());
    }

    /// When something is to be sent again at the latest.
    fn next_attempt(&self) -> Instant {
        let far = Instant::now() + PAUSE.1;
        if self.sending.len() >= AT_ONCE {
            return far;
        }
        let open = self.held.written.backlog.open.iter();
        let waits = open.filter(|m| !self.under_way.contains(&m.id));
        let times = waits.filter_map(|m| self.not_before.get(&(m.id, m.what)));
        times.min().copied().unwrap_or(far)
    }

    /// Writes down what became of an attempt.
    async fn settle(&mut self, (key, outcome): Sent) -> Result<(), Lost> {
        let (id, what) = key;
        self.under_way.remove(&id);
        self.not_before.remove(&key);
        let backlog = &mut self.held.written.backlog;
        match outcome {
            Ok(()) => {
                self.channel.delivered();
                backlog.done(id, what);
            }
            Err(problem) => {
                self.channel.failed();
                let attempts = backlog.attempts(id, what);
                let given_up = backlog.failed(id, what, &problem, self.gateway.now());
                tracing::warn!(channel = self.channel.name, clarify_id = %id, what = what.as_str(),
                    attempts, given_up, problem, "a message was not delivered");
                self.not_before
                    .insert(key, Instant::now() + pause(attempts));
            }
        }
        let open = self.held.written.backlog.open.len();
        self.channel.undelivered(open);
        self.held.save().await
    }

    /// Writes down how far the channel's own messages were read.
    async fn note(&mut self, read: Read) -> Result<(), Lost> {
        self.held.written.cursor = read.cursor;
        if let Some(context) = read.context {
            self.held.written.context = context;
            // What failed for want of it is tried again at once.
            self.not_before.clear();
        }
        self.held.save().await?;
        // Whoever read it may have stopped.
        let _ = read.done.send(());
        Ok(())
    }
}

/// Half to one and a half times the pause after so many attempts, so that a place that comes back is
/// not overrun.
fn pause(attempts: u32) -> Duration {
    let doubled = attempts.saturating_sub(1).min(16);
    let pause = PAUSE.0.saturating_mul(1 << doubled).min(PAUSE.1);
    pause.mul_f64(rand::rng().random_range(0.5..1.5))
}

/// One attempt. What needs no telling any more counts as told.
async fn deliver(
    gateway: &Arc<Gateway>,
    channel: &Arc<Channel>,
    (id, what): Key,
    context: &str,
) -> Result<(), String> {
    let Some(viewer) = channel.viewer() else {
        return Ok(());
    };
    let card = lookup::find(gateway, &viewer, &id.to_string()).await;
    let card = card.map_err(|e| e.message)?;
    match (what, card.clarification.is_pending()) {
        (What::Asked, false) => return Ok(()),
        (What::Ended, true) => return Err("the log does not show its end yet".to_owned()),
        _ => {}
    }
    match &channel.way {
        Way::Webhook { target, signing } => {
            webhook::deliver(gateway, channel, (target, signing), &card, what).await
        }
        Way::WeChat { target, bot } => {
            wechat::deliver(channel, (target, bot), &card, what, context).await
        }
    }
}
