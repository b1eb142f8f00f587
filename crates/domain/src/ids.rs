//! Identifiers as types, so that a session id can never stand where a tenant id belongs.

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;
use uuid::Uuid;

/// The longest a textual id may be once percent-encoded for a bus subject, in bytes.
pub const MAX_TOKEN_BYTES: usize = 128;

/// Why a text is not an id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    /// Nothing but white space.
    #[error("{kind} is empty")]
    Empty {
        /// Which id.
        kind: &'static str,
    },
    /// Longer than [`MAX_TOKEN_BYTES`] once encoded.
    #[error("{kind} is longer than {MAX_TOKEN_BYTES} bytes once encoded for a subject")]
    TooLong {
        /// Which id.
        kind: &'static str,
    },
    /// Contains a control character.
    #[error("{kind} contains a control character")]
    Control {
        /// Which id.
        kind: &'static str,
    },
    /// Not a UUID.
    #[error("{kind} is not a UUID")]
    NotUuid {
        /// Which id.
        kind: &'static str,
    },
}

/// Length of `text` once every byte outside `A-Z a-z 0-9 - _` is written as `%XX`.
fn encoded_len(text: &str) -> usize {
    text.bytes()
        .map(|b| {
            if b.is_ascii_alphanumeric() || b == b'-' || b == b'_' {
                1
            } else {
                3
            }
        })
        .sum()
}

/// The longest text of plain characters that fits however it is encoded.
const ALWAYS_FITS: usize = MAX_TOKEN_BYTES / 3;

fn check_token(kind: &'static str, text: &str) -> Result<(), IdError> {
    // Nearly all ids, and a long log holds millions.
    if (1..=ALWAYS_FITS).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic()) {
        Ok(())
    } else if text.trim().is_empty() {
        Err(IdError::Empty { kind })
    } else if text.chars().any(char::is_control) {
        Err(IdError::Control { kind })
    } else if encoded_len(text) > MAX_TOKEN_BYTES {
        Err(IdError::TooLong { kind })
    } else {
        Ok(())
    }
}

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident, $kind:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[serde(into = "String")]
        pub struct $name(std::sync::Arc<str>);

        impl $name {
            /// Takes `text` as an id: not blank, no control characters, at most
            /// [`MAX_TOKEN_BYTES`] bytes once percent-encoded.
            pub fn new(text: impl AsRef<str>) -> Result<Self, IdError> {
                check_token($kind, text.as_ref())?;
                Ok(Self(text.as_ref().into()))
            }
            /// The id as text.
            pub fn as_str(&self) -> &str { &self.0 }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { f.write_str(&self.0) }
        }
        impl TryFrom<String> for $name {
            type Error = IdError;
            fn try_from(text: String) -> Result<Self, IdError> { Self::new(text) }
        }
        impl From<$name> for String {
            fn from(id: $name) -> Self { id.0.as_ref().to_owned() }
        }
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_str(Reading(|text: &str| Self::new(text)))
            }
        }
    };
}

/// Reads a text as an id, without a copy in between.
struct Reading<T>(fn(&str) -> Result<T, IdError>);

impl<T> Visitor<'_> for Reading<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        (self.0)(text).map_err(E::custom)
    }
}

macro_rules! uuid_id {
    ($(#[$doc:meta])* $name:ident, $kind:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Uuid);

        impl $name {
            /// Wraps a UUID that the caller made; this crate mints none.
            pub const fn from_uuid(id: Uuid) -> Self { Self(id) }
            /// The UUID itself.
            pub const fn uuid(self) -> Uuid { self.0 }
            /// Reads the hyphenated form.
            pub fn parse(text: &str) -> Result<Self, IdError> {
                Uuid::try_parse(text).map(Self).map_err(|_| IdError::NotUuid { kind: $kind })
            }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { self.0.fmt(f) }
        }
    };
}

text_id!(/// A customer whose sessions, people and questions nobody else sees.
    TenantId, "tenant");
text_id!(/// A working profile within a tenant; a session belongs to the profile that first used it.
    ProfileId, "profile");
text_id!(/// One conversation of an agent; unique within a tenant.
    SessionId, "session_id");
text_id!(/// The host's own marker for the run behind a turn.
    RunId, "run_id");
text_id!(/// One asking process (an adapter instance); its heartbeat is the lease of its questions.
    AskerId, "asker_id");
text_id!(/// A person: the `sub` of their credential.
    PersonId, "person");
text_id!(/// A group of people, as credentials name it.
    GroupId, "group");
text_id!(/// A chat through which people are asked: its kind and its name, such as `webhook:team`.
    ChannelId, "channel");
text_id!(/// Names one question within a clarification, `q1`, `q2` ….
    QuestionId, "question_id");
text_id!(/// Names one option within a question, `o1`, `o2` ….
    OptionId, "option_id");
text_id!(/// A name that heartbeats carry to keep a turn alive.
    LeaseName, "lease");
text_id!(/// The caller's id of one `Ask`; repeating it returns the first outcome.
    AskId, "ask_id");
text_id!(/// The caller's id of one `BeginTurn`; repeating it returns the first outcome.
    BeginId, "begin_id");
text_id!(/// The caller's id of one update of a plan; repeating it returns the first outcome.
    UpdateId, "update_id");
text_id!(/// The surface's id of one answer; repeating it returns the first outcome.
    AnswerId, "answer_id");

uuid_id!(/// One clarification (a call's questions together); a UUIDv7 made by the service.
    ClarifyId, "clarify_id");
uuid_id!(/// The plan of one turn; made by the service.
    PlanId, "plan_id");
uuid_id!(/// The capability of one turn, shown to the agent as `context_id` (E5).
    ContextId, "context_id");
uuid_id!(/// One commit of the log; looked up after any error to learn whether it was written.
    CommitId, "commit_id");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_ids_refuse_what_a_subject_cannot_carry() {
        assert_eq!(
            SessionId::new("  "),
            Err(IdError::Empty { kind: "session_id" })
        );
        assert_eq!(
            SessionId::new("a\nb"),
            Err(IdError::Control { kind: "session_id" })
        );
        assert!(SessionId::new("a".repeat(128)).is_ok());
        assert_eq!(
            SessionId::new("a".repeat(129)),
            Err(IdError::TooLong { kind: "session_id" })
        );
        // Each of these takes nine bytes once encoded.
        assert!(SessionId::new("会".repeat(14)).is_ok());
        assert!(SessionId::new("会".repeat(15)).is_err());
    }

    #[test]
    fn ids_are_checked_when_they_are_read() {
        assert!(serde_json::from_str::<TenantId>("\" \"").is_err());
        assert!(serde_json::from_str::<ClarifyId>("\"nope\"").is_err());
    }
}
