//! How a clarification ended and who decided it: one vocabulary for every adapter.

use crate::{ChannelId, IdError, PersonId};
use serde::{Deserialize, Serialize};
use std::fmt;

/// How a clarification ended. Only [`Reason::Response`] means a person agreed to anything (E19).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// A person answered.
    Response,
    /// A person needs more information; text and choices are kept.
    AskBack,
    /// A person declined to answer.
    Dismissed,
    /// A person skipped; recommendations become assumptions.
    Skipped,
    /// Nobody answered in time.
    Timeout,
    /// The turn is over, or the caller withdrew or is gone.
    Cancelled,
    /// Nobody was present; recommendations adopted.
    Unattended,
    /// The question becomes the turn's reply.
    Deferred,
    /// Asking is switched off.
    Off,
}

/// Who decided an outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DecidedBy {
    /// A person.
    Person,
    /// A policy; there is no actor.
    Policy,
    /// The system; there is no actor.
    System,
}

impl Reason {
    /// Every reason.
    pub const ALL: [Reason; 9] = [
        Reason::Response,
        Reason::AskBack,
        Reason::Dismissed,
        Reason::Skipped,
        Reason::Timeout,
        Reason::Cancelled,
        Reason::Unattended,
        Reason::Deferred,
        Reason::Off,
    ];

    /// Who decides this reason; fixed by the vocabulary.
    pub const fn decided_by(self) -> DecidedBy {
        match self {
            Reason::Response | Reason::AskBack | Reason::Dismissed | Reason::Skipped => {
                DecidedBy::Person
            }
            Reason::Timeout | Reason::Unattended | Reason::Deferred | Reason::Off => {
                DecidedBy::Policy
            }
            Reason::Cancelled => DecidedBy::System,
        }
    }

    /// Whether the agent gets this result to read: it is there, and its question was taken.
    pub(crate) const fn is_read(self) -> bool {
        !matches!(self, Reason::Cancelled | Reason::Off)
    }

    /// The word as it stands on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Reason::Response => "response",
            Reason::AskBack => "ask_back",
            Reason::Dismissed => "dismissed",
            Reason::Skipped => "skipped",
            Reason::Timeout => "timeout",
            Reason::Cancelled => "cancelled",
            Reason::Unattended => "unattended",
            Reason::Deferred => "deferred",
            Reason::Off => "off",
        }
    }
}

impl DecidedBy {
    /// The word as it stands on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            DecidedBy::Person => "person",
            DecidedBy::Policy => "policy",
            DecidedBy::System => "system",
        }
    }
}

/// Where a person was when they acted.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Surface {
    /// The browser panel or another WebSocket client.
    Web,
    /// The command line.
    Terminal,
    /// An HTTP route.
    Http,
    /// A chat, by its kind and name, such as `webhook:team`.
    Channel(ChannelId),
}

impl Surface {
    /// The chat `name` of a kind of channels.
    ///
    /// # Errors
    /// The two together are too long, or hold control characters.
    pub fn channel(kind: &str, name: &str) -> Result<Self, IdError> {
        ChannelId::new(format!("{kind}:{name}")).map(Surface::Channel)
    }

    /// The word as it stands on the wire.
    pub fn as_str(&self) -> &str {
        match self {
            Surface::Web => "web",
            Surface::Terminal => "terminal",
            Surface::Http => "http",
            Surface::Channel(id) => id.as_str(),
        }
    }
}

impl fmt::Display for Surface {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl From<Surface> for String {
    fn from(surface: Surface) -> Self {
        surface.as_str().to_owned()
    }
}

impl TryFrom<String> for Surface {
    type Error = String;

    fn try_from(word: String) -> Result<Self, String> {
        match word.as_str() {
            "web" => Ok(Surface::Web),
            "terminal" => Ok(Surface::Terminal),
            "http" => Ok(Surface::Http),
            // The kind of a channel may be newer than this build; its word says what it is.
            channel if channel.contains(':') => ChannelId::new(channel)
                .map_or_else(|e| Err(e.to_string()), |id| Ok(Surface::Channel(id))),
            other => Err(format!("there is no surface {other}")),
        }
    }
}

/// A person and the surface they used.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Actor {
    /// Who.
    pub person: PersonId,
    /// Where.
    pub surface: Surface,
}

/// Why the system withdrew a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CancelCause {
    /// The caller withdrew it (`notifications/cancelled`, end of input, a signal).
    Withdrawn,
    /// The asker's lease ran out.
    AskerGone,
    /// The turn ended.
    TurnEnded,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_surface_is_its_word() {
        let chat = Surface::channel("webhook", "team").unwrap();
        for (surface, word) in [
            (Surface::Web, "web"),
            (Surface::Terminal, "terminal"),
            (Surface::Http, "http"),
            (chat, "webhook:team"),
        ] {
            assert_eq!(surface.to_string(), word);
            assert_eq!(serde_json::to_value(&surface).unwrap(), word);
            let read: Surface = serde_json::from_value(word.into()).unwrap();
            assert_eq!(read, surface);
        }
        for word in ["phone", "", "webhook:\n", "Web"] {
            let read = serde_json::from_value::<Surface>(word.into());
            assert!(read.is_err(), "{word:?}");
        }
    }

    // contract: E19
    #[test]
    fn words_are_the_serialized_form() {
        for reason in Reason::ALL {
            assert_eq!(serde_json::to_value(reason).unwrap(), reason.as_str());
            assert_eq!(
                serde_json::to_value(reason.decided_by()).unwrap(),
                reason.decided_by().as_str()
            );
        }
    }
}
