//! Tells people through one channel what the log says: each question once, as long as it takes.

use super::backlog::{Failed, Message, Said, What};
use super::owner::{Held, Lost};
use super::{Channel, Way, catching_up, webhook, wechat};
use crate::feed::News;
use crate::gateway::Gateway;
use crate::lookup;
use crate::projection::ChangeKind;
use askbus_domain::ClarifyId;
use rand::Rng as _;
use std::collections::{BTreeMap, HashMap, HashSet};
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
/// How long until a log that cannot be read is read again.
const RETRY: Duration = Duration::from_secs(1);

type Key = (ClarifyId, What);
type Sent = (Key, Result<Done, Failed>);
type Following = broadcast::Receiver<Arc<News>>;

/// What an attempt that did not fail came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Done {
    /// The channel took it.
    Taken,
    /// The question was over already.
    Over,
    /// The channel does not tell of it any more: it is configured otherwise.
    NotOurs,
}

/// What a channel that polls for messages wants to be written down.
#[derive(Debug)]
pub(super) struct Read {
    pub cursor: String,
    /// Why its messages cannot be read now.
    pub problem: Option<String>,
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
    /// What waits in the log for room.
    behind: usize,
}

/// Tells what the log says until the gateway stops, or for as long as this one serves the channel.
/// What is on its way when the gateway stops is waited for, so that it is not told again.
pub(super) async fn run(
    gateway: &Arc<Gateway>,
    channel: &Arc<Channel>,
    held: &mut Held,
) -> Result<(), Lost> {
    let mut listening = listen(gateway, channel, held);
    let mut teller = Teller {
        gateway,
        channel,
        held,
        sending: JoinSet::new(),
        under_way: HashSet::new(),
        not_before: HashMap::new(),
        behind: 0,
    };
    // None while not everything was looked at that the log holds.
    let mut following: Option<Following> = None;
    let mut look_at = Instant::now();
    while !gateway.shutdown.is_cancelled() {
        let room = teller.held.written.backlog.has_room();
        if following.is_none() && room && look_at <= Instant::now() {
            following = tokio::select! {
                biased;
                () = gateway.shutdown.cancelled() => break,
                looked = teller.look() => looked,
            };
            look_at = Instant::now() + RETRY;
        }
        teller.start().await?;
        let mut next = teller.next_attempt();
        if following.is_none() && teller.held.written.backlog.has_room() {
            next = next.min(look_at);
        }
        tokio::select! {
            biased;
            () = gateway.shutdown.cancelled() => break,
            Some(sent) = teller.sending.join_next() => {
                if let Ok(sent) = sent {
                    teller.settle(sent).await?;
                }
            }
            Some(read) = listening.read.recv() => teller.note(read).await?,
            came = next_of(&mut following) => {
                if !following.as_mut().is_some_and(|news| teller.take(came, news)) {
                    following = None;
                    look_at = Instant::now();
                }
            }
            () = tokio::time::sleep_until(next) => {}
        }
    }
    drop(listening);
    while let Some(sent) = teller.sending.join_next().await {
        if let Ok(sent) = sent {
            teller.settle(sent).await?;
        }
    }
    Ok(())
}

/// The next news, if they are followed.
async fn next_of(following: &mut Option<Following>) -> Result<Arc<News>, RecvError> {
    match following {
        Some(news) => news.recv().await,
        None => std::future::pending().await,
    }
}

fn listen(gateway: &Arc<Gateway>, channel: &Arc<Channel>, held: &Held) -> Listening {
    let (tell, read) = mpsc::channel(1);
    let mut tasks = JoinSet::new();
    if let Way::WeChat { .. } = channel.way {
        let stands = wechat::Stands {
            cursor: held.written.cursor.clone(),
            problem: held.written.problem.clone(),
        };
        tasks.spawn(wechat::listen(
            Arc::clone(gateway),
            Arc::clone(channel),
            stands,
            tell,
        ));
    }
    Listening {
        _tasks: tasks,
        read,
    }
}

impl Teller<'_> {
    /// Takes in everything that the log holds now, in its order, as far as there is room; the news from
    /// then on, if that was all of it.
    async fn look(&mut self) -> Option<Following> {
        let backlog = &mut self.held.written.backlog;
        let looked = catching_up::look(self.gateway, self.channel, backlog).await;
        match looked {
            Ok(looked) => {
                self.behind = looked.left;
                looked.following
            }
            Err(error) => {
                tracing::warn!(%error, channel = self.channel.name, "the log cannot be read; trying again");
                None
            }
        }
    }

    /// Takes in news, and all that came together with them; false when not all of it could be.
    fn take(&mut self, came: Result<Arc<News>, RecvError>, news: &mut Following) -> bool {
        // Too many to follow one by one.
        let Ok(first) = came else { return false };
        let mut heard: BTreeMap<u64, Vec<Said>> = BTreeMap::new();
        self.hear(&first, &mut heard);
        loop {
            // What one commit says comes together; once the picture shows it, all of it was sent.
            let shown = self.gateway.feed.folded();
            loop {
                match news.try_recv() {
                    Ok(more) => self.hear(&more, &mut heard),
                    Err(TryRecvError::Empty | TryRecvError::Closed) => break,
                    Err(TryRecvError::Lagged(_)) => return false,
                }
            }
            let backlog = &mut self.held.written.backlog;
            while let Some(commit) = heard.first_entry().filter(|commit| *commit.key() <= shown) {
                if !backlog.take(*commit.key(), commit.get()) {
                    return false;
                }
                commit.remove();
            }
            if heard.is_empty() {
                backlog.reached(shown);
                return true;
            }
        }
    }

    /// What news say of a question that the channel tells of.
    fn hear(&self, news: &News, heard: &mut BTreeMap<u64, Vec<Said>>) {
        let News::Change(change) = news else { return };
        let card = &change.card;
        let said = match change.kind {
            ChangeKind::Requested => Said::Asked(card.id()),
            ChangeKind::Resolved => Said::Ended(card.id(), card.requested_seq),
            ChangeKind::Held | ChangeKind::Late => return,
        };
        if self.channel.tells(card) {
            heard.entry(change.seq).or_default().push(said);
        }
    }

    /// Messages whose time has come, one of each question at a time, those first that nobody has tried.
    fn due(&self, now: Instant) -> Vec<Message> {
        let is_due = |m: &&Message| {
            let at = self.not_before.get(&(m.id, m.what));
            !self.under_way.contains(&m.id) && at.is_none_or(|at| *at <= now)
        };
        let open = self.held.written.backlog.open.iter();
        let due = open.filter(is_due).cloned();
        let (mut due, again): (Vec<_>, Vec<_>) = due.partition(|m| m.attempts == 0);
        due.extend(again);
        due
    }

    /// Sends what is due, as far as the channel takes so much at once. That a question may be heard of
    /// stands on the bus before it is: else nobody would hear its end, should this process die.
    async fn start(&mut self) -> Result<(), Lost> {
        let free = AT_ONCE.saturating_sub(self.sending.len());
        let mut starting = Vec::with_capacity(free);
        let mut first = false;
        for message in self.due(Instant::now()) {
            if starting.len() < free && self.under_way.insert(message.id) {
                let begins = self.held.written.backlog.begins(message.id, message.what);
                first |= begins && message.what == What::Asked;
                starting.push(message);
            }
        }
        if first {
            self.held.save().await?;
        }
        for message in starting {
            let (gateway, channel) = (Arc::clone(self.gateway), Arc::clone(self.channel));
            let context = self.held.written.context.clone();
            self.sending.spawn(async move {
                let key = (message.id, message.what);
                (key, deliver(&gateway, &channel, key, &context).await)
            });
        }
        self.count();
        Ok(())
    }

    fn count(&self) {
        let told = self.held.written.backlog.undelivered();
        self.channel.undelivered(told + self.behind);
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
        let mut refused = (outcome.is_err() && what == What::Asked).then_some(id);
        match outcome {
            Ok(Done::Taken) => {
                self.channel.delivered();
                backlog.done(id, what);
            }
            Ok(Done::Over) => backlog.needless(id, what),
            Ok(Done::NotOurs) => backlog.done(id, what),
            Err(failed) => {
                self.channel.failed();
                let attempts = backlog.attempts(id, what);
                let given_up = backlog.failed(id, what, &failed, self.gateway.now());
                let problem = failed.problem;
                tracing::warn!(channel = self.channel.name, clarify_id = %id, what = what.as_str(),
                    attempts, given_up, problem, "a message was not delivered");
                self.not_before
                    .insert(key, Instant::now() + pause(attempts));
            }
        }
        while let Some((id, attempts)) = backlog.come_again(refused.take()) {
            let at = Instant::now() + pause(attempts);
            self.not_before.insert((id, What::Asked), at);
        }
        self.not_before
            .retain(|(id, what), _| backlog.holds(*id, *what));
        self.count();
        self.held.save().await
    }

    /// Writes down how far the channel's own messages were read.
    async fn note(&mut self, read: Read) -> Result<(), Lost> {
        self.held.written.cursor = read.cursor;
        self.held.written.problem = read.problem;
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

/// One attempt.
async fn deliver(
    gateway: &Arc<Gateway>,
    channel: &Arc<Channel>,
    (id, what): Key,
    context: &str,
) -> Result<Done, Failed> {
    let Some(viewer) = channel.viewer() else {
        return Ok(Done::NotOurs);
    };
    let card = match lookup::find(gateway, &viewer, &id.to_string()).await {
        Ok(card) if channel.tells(&card) => card,
        Ok(_) => return Ok(Done::NotOurs),
        Err(error) if lookup::is_unknown(&error) => return Ok(Done::NotOurs),
        Err(error) => return Err(Failed::unheard(error.message)),
    };
    match (what, card.clarification.is_pending()) {
        (What::Asked, false) => return Ok(Done::Over),
        (What::Ended, true) => return Err(Failed::unheard("the log does not show its end yet")),
        _ => {}
    }
    match &channel.way {
        Way::Webhook { target, signing } => {
            webhook::deliver(gateway, channel, (target, signing), &card, what).await?;
        }
        Way::WeChat { target, bot } => {
            wechat::deliver(gateway, channel, (target, bot), &card, what, context).await?;
        }
    }
    Ok(Done::Taken)
}
