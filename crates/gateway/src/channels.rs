//! Chats through which people are told that something waits, and answer: each channel follows the
//! log by itself, with a position of its own on the bus, so that a quiet or broken one delays nobody.
//!
//! Of all gateways one serves a channel: the one whose name stands in the channel's position. What a
//! channel has told is kept there as well, and what happened nowhere but in the log.

mod backlog;
mod catching_up;
mod chat;
#[cfg(test)]
mod fuzz;
mod given_up;
mod http;
mod ilink;
mod options;
mod owner;
mod peers;
mod routes;
mod signature;
mod teller;
mod undelivered;
mod webhook;
mod wechat;

pub use http::{Target, TargetError};
pub use options::{ChannelOptions, ChannelPerson, Retries, Way};
pub use signature::SigningKey;
pub use wechat::LIMITS as WECHAT_LIMITS;

pub(crate) use routes::{list, reply};

use crate::caller::{Caller, Person};
use crate::feed::Viewer;
use crate::gateway::Gateway;
use crate::presence;
use crate::projection::Card;
use askbus_credential::{Credential, Role};
use askbus_domain::text_channel::{ChannelLimits, Put};
use askbus_domain::{Clarification, IdError, Language, ProfileId, Surface, TenantId};
use askbus_telemetry::{Family, Labels};
use askbus_wire::tenants::Tenants;
use peers::Peers;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

/// Verdicts that are waited for at once, of one channel, after their messages were replied to.
const MOST_FOLLOWED: usize = 64;

/// A channel as it is configured, with what it counts.
pub(crate) struct Channel {
    pub name: String,
    pub tenant: TenantId,
    pub language: Option<Language>,
    pub limits: ChannelLimits,
    pub surface: Surface,
    pub way: Way,
    pub told_here: wechat::ToldHere,
    pub retries: Retries,
    /// Verdicts that came too late for the reply to a message, and are waited for.
    pub following: Arc<Semaphore>,
    people: Vec<Known>,
    counts: Counts,
}

/// A person of a channel.
struct Known {
    /// How the channel names them; none: whoever writes there.
    from: Option<String>,
    person: Person,
}

#[derive(Default)]
struct Counts {
    delivered: AtomicU64,
    failed: AtomicU64,
    undelivered: AtomicU64,
    unsaid: AtomicU64,
    replies: AtomicU64,
}

/// Why a channel cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum ChannelError {
    /// Two of the same name.
    #[error("there are two channels named {0}")]
    Twice(String),
    /// Its name does not fit a subject.
    #[error("channel {0}: {1}")]
    Name(String, IdError),
    /// Nobody answers through it.
    #[error("channel {0} names no person")]
    Nobody(String),
    /// It allows no profile.
    #[error("channel {0} names no profile")]
    NoProfile(String),
}

impl Channel {
    fn new(options: ChannelOptions) -> Result<Self, ChannelError> {
        let name = options.name;
        let surface = Surface::channel(options.way.kind(), &name)
            .map_err(|e| ChannelError::Name(name.clone(), e))?;
        if options.people.is_empty() {
            return Err(ChannelError::Nobody(name));
        }
        if options.profiles.is_empty() {
            return Err(ChannelError::NoProfile(name));
        }
        let known = |person: ChannelPerson| Known {
            person: acting(&name, &options.tenant, &options.profiles, &person),
            from: person.from,
        };
        Ok(Self {
            people: options.people.into_iter().map(known).collect(),
            name,
            tenant: options.tenant,
            language: options.language,
            limits: options.limits,
            surface,
            way: options.way,
            told_here: wechat::ToldHere::default(),
            retries: options.retries,
            following: Arc::new(Semaphore::new(MOST_FOLLOWED)),
            counts: Counts::default(),
        })
    }

    /// Who speaks when the channel says that `from` does; none when it is nobody of whom the
    /// configuration knows.
    pub(crate) fn person(&self, from: Option<&str>) -> Option<&Person> {
        let is = |known: &&Known| match (&known.from, from) {
            (None, None) => true,
            (Some(name), Some(from)) => name == from,
            // Whoever the channel names, all that write there are one person.
            (None, Some(_)) => self.people.len() == 1,
            (Some(_), None) => false,
        };
        self.people.iter().find(is).map(|known| &known.person)
    }

    /// What its people see.
    pub(crate) fn viewer(&self) -> Option<Viewer> {
        self.people.first().map(|known| known.person.viewer())
    }

    /// Whether somebody of the channel may answer a question.
    pub(crate) fn tells(&self, card: &Card) -> bool {
        let sees = self.viewer().is_some_and(|viewer| viewer.sees(card));
        let answers = |c: &Clarification| self.people.iter().any(|k| k.person.may_answer(c));
        sees && answers(&card.clarification)
    }

    /// A question of a clarification as this channel puts it.
    pub(crate) fn put<'a>(
        &self,
        of: &'a Clarification,
        index: usize,
        tag: &'a str,
        language: Language,
    ) -> Put<'a> {
        let put = Put::of(of, index, tag, language);
        if self.people.len() > 1 {
            put.among_several(of)
        } else {
            put
        }
    }

    /// The language in which a question is put.
    pub(crate) fn language(&self, of: &Clarification) -> Language {
        self.language.unwrap_or(of.terms.language)
    }

    /// The name of its position on the bus.
    fn position_name(&self) -> String {
        format!("channel.{}", self.name)
    }

    fn delivered(&self) {
        self.counts.delivered.fetch_add(1, Ordering::Relaxed);
    }

    fn failed(&self) {
        self.counts.failed.fetch_add(1, Ordering::Relaxed);
    }

    fn undelivered(&self, count: usize) {
        let count = u64::try_from(count).unwrap_or(u64::MAX);
        self.counts.undelivered.store(count, Ordering::Relaxed);
    }

    /// So many replies to people are still to be sent.
    fn unsaid(&self, count: usize) {
        let count = u64::try_from(count).unwrap_or(u64::MAX);
        self.counts.unsaid.store(count, Ordering::Relaxed);
    }

    fn heard(&self) {
        self.counts.replies.fetch_add(1, Ordering::Relaxed);
    }
}

/// The person that the configuration says somebody of a channel is. It holds no token: nothing that
/// a channel sends can be used anywhere else.
fn acting(
    channel: &str,
    tenant: &TenantId,
    profiles: &[ProfileId],
    person: &ChannelPerson,
) -> Person {
    Person(Arc::new(Caller {
        credential: Credential {
            id: format!("channel {channel}"),
            subject: person.subject.clone(),
            role: Role::Person,
            tenant: tenant.clone(),
            profiles: profiles.to_vec(),
            groups: person.groups.clone(),
            expires_at: u64::MAX,
            parents: Vec::new(),
            browser: false,
        },
        token: String::new(),
        browser: false,
    }))
}

fn read(count: &AtomicU64) -> u64 {
    count.load(Ordering::Relaxed)
}

/// The channels that a gateway serves, or would if no other one did.
#[derive(Default)]
pub(crate) struct ChannelTable(HashMap<String, Arc<Channel>>);

impl ChannelTable {
    /// All of them are looked at; those of tenants that this gateway does not serve are left to others,
    /// for it sees nothing of their questions.
    pub(crate) fn new(
        options: Vec<ChannelOptions>,
        serves: &Tenants,
    ) -> Result<Self, ChannelError> {
        let mut channels = HashMap::new();
        for one in options {
            let channel = Channel::new(one)?;
            let name = channel.name.clone();
            if channels.insert(name.clone(), Arc::new(channel)).is_some() {
                return Err(ChannelError::Twice(name));
            }
        }
        channels.retain(|_, channel| serves.serves(&channel.tenant));
        Ok(Self(channels))
    }

    /// The channel with this name.
    pub(crate) fn get(&self, name: &str) -> Option<&Arc<Channel>> {
        self.0.get(name)
    }

    /// Those of a tenant, by name.
    pub(crate) fn of(&self, tenant: &TenantId) -> Vec<&Arc<Channel>> {
        let mut found: Vec<_> = self.0.values().filter(|c| c.tenant == *tenant).collect();
        found.sort_by(|a, b| a.name.cmp(&b.name));
        found
    }

    /// What they did and what they could not.
    pub(crate) fn figures(&self) -> Vec<Family> {
        let mut channels: Vec<&Arc<Channel>> = self.0.values().collect();
        channels.sort_by(|a, b| a.name.cmp(&b.name));
        let each = |count: fn(&Counts) -> u64| {
            let figure = |channel: &&Arc<Channel>| {
                let labels = Labels::tenant(channel.tenant.as_str());
                let labels = labels.which("channel", channel.name.clone());
                (labels, count(&channel.counts))
            };
            channels.iter().map(figure).collect::<Vec<_>>()
        };
        #[allow(clippy::cast_precision_loss, reason = "exact up to 2^53")]
        let undelivered = each(|c| read(&c.undelivered) + read(&c.unsaid))
            .into_iter()
            .map(|(labels, n)| (labels, n as f64));
        vec![
            Family::counters(
                "askbus_gateway_channel_delivered",
                "Messages that a channel took.",
                each(|c| read(&c.delivered)),
            ),
            Family::counters(
                "askbus_gateway_channel_failed",
                "Attempts to deliver a message that failed.",
                each(|c| read(&c.failed)),
            ),
            Family::counters(
                "askbus_gateway_channel_replies",
                "Messages that came through a channel.",
                each(|c| read(&c.replies)),
            ),
            Family::gauges(
                "askbus_gateway_channel_undelivered",
                "Messages and replies that a channel did not take yet; 0 at gateways that do not serve it.",
                undelivered,
            ),
        ]
    }
}

/// Serves every channel until shutdown; then the others learn at once that this gateway leaves.
pub(crate) fn start(gateway: &Arc<Gateway>) {
    if gateway.channels.0.is_empty() {
        return;
    }
    let peers = Arc::new(Peers::new());
    let listening = peers::listen(Arc::clone(gateway), Arc::clone(&peers));
    gateway.tasks.spawn(listening);
    let gateway = Arc::clone(gateway);
    gateway.tasks.clone().spawn(async move {
        let mut serving = JoinSet::new();
        for channel in gateway.channels.0.values() {
            let (gateway, peers) = (Arc::clone(&gateway), Arc::clone(&peers));
            serving.spawn(owner::run(gateway, Arc::clone(channel), peers));
        }
        while serving.join_next().await.is_some() {}
        // Only now nothing is told any more by this one.
        presence::farewell(&gateway).await;
    });
}
