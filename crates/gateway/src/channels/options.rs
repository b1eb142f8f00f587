//! What a channel is started with.

use super::http::Target;
use super::signature::SigningKey;
use askbus_domain::text_channel::ChannelLimits;
use askbus_domain::{Language, PersonId, ProfileId, TenantId};
use std::fmt;
use std::time::Duration;

/// A channel.
#[derive(Debug)]
pub struct ChannelOptions {
    /// Its name, unique in a configuration.
    pub name: String,
    /// Whose questions it tells.
    pub tenant: TenantId,
    /// Of these profiles, at least one.
    pub profiles: Vec<ProfileId>,
    /// In this language; none: in the one that the question was asked under.
    pub language: Option<Language>,
    /// What fits it.
    pub limits: ChannelLimits,
    /// Who answers through it, at least one.
    pub people: Vec<ChannelPerson>,
    /// How it is reached.
    pub way: Way,
    /// How often what became of a message is tried to be told to its author.
    pub retries: Retries,
}

/// How often something is tried, and how long after an attempt that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retries {
    /// Attempts; then it is given up.
    pub attempts: u32,
    /// Before the second attempt. Each pause is twice the one before it.
    pub first: Duration,
    /// The longest pause.
    pub most: Duration,
}

impl Default for Retries {
    /// Twelve attempts within some five minutes.
    fn default() -> Self {
        Self {
            attempts: 12,
            first: Duration::from_millis(500),
            most: Duration::from_mins(1),
        }
    }
}

impl Retries {
    /// How long after so many attempts the next one is made.
    pub(super) fn pause(&self, attempts: u32) -> Duration {
        let doubled = attempts.saturating_sub(1).min(16);
        self.first.saturating_mul(1 << doubled).min(self.most)
    }
}

/// Somebody who answers through a channel.
#[derive(Debug, Clone)]
pub struct ChannelPerson {
    /// How the channel names them; none: whoever writes there.
    pub from: Option<String>,
    /// Who they are.
    pub subject: PersonId,
    /// Their groups.
    pub groups: Vec<String>,
}

/// How a channel is reached.
pub enum Way {
    /// Signed JSON over HTTP.
    Webhook {
        /// Where messages go.
        target: Target,
        /// Signs them, and checks what comes.
        signing: SigningKey,
    },
    /// The iLink bot interface of WeChat.
    WeChat {
        /// Where the interface is.
        target: Target,
        /// What the bot shows.
        bot: String,
    },
}

impl Way {
    /// The word of the kind, as it stands in surfaces.
    pub(crate) const fn kind(&self) -> &'static str {
        match self {
            Way::Webhook { .. } => "webhook",
            Way::WeChat { .. } => "wechat",
        }
    }
}

impl fmt::Debug for Way {
    /// Without what must stay secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind())
    }
}
