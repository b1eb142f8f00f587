//! Whom a question is meant for, and who may answer it.

use crate::{GroupId, IdError, PersonId};
use serde::{Deserialize, Serialize};
use std::fmt;

/// What the groups of rooms' managers begin with.
const ROOM: &str = "room:";

/// Words for nobody in particular, which models send where they are to name somebody.
const EVERYBODY: [&str; 22] = [
    "null",
    "none",
    "nobody",
    "undefined",
    "n/a",
    "default",
    "user",
    "users",
    "the user",
    "human",
    "humans",
    "person",
    "people",
    "me",
    "you",
    "any",
    "anyone",
    "anybody",
    "all",
    "everyone",
    "everybody",
    "here",
];

/// The one person or the group that a question is meant for.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Addressee {
    /// One person.
    Person(PersonId),
    /// Everybody whose credential names the group.
    Group(GroupId),
}

/// What a credential allows its bearer beside their name.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Rights {
    /// The groups it names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<GroupId>,
    /// Whether it is an operator's.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub operator: bool,
}

impl Rights {
    /// Whether there is nothing in them.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Addressee {
    /// Reads `ann`, `person:ann` or `group:ops`.
    ///
    /// # Errors
    /// What is wrong with the name.
    pub fn parse(text: &str) -> Result<Self, IdError> {
        match text.split_once(':') {
            Some(("group", name)) => GroupId::new(name).map(Addressee::Group),
            Some(("person", name)) => PersonId::new(name).map(Addressee::Person),
            _ => PersonId::new(text).map(Addressee::Person),
        }
    }

    /// Whether this word, without regard to case, means whoever may answer. A person of that name is
    /// `person:NAME`.
    pub fn is_everybody(word: &str) -> bool {
        EVERYBODY
            .iter()
            .any(|known| word.eq_ignore_ascii_case(known))
    }

    /// The managers of a group chat: the people with group `room:<id>` (E18).
    ///
    /// # Errors
    /// What is wrong with the name of the room.
    pub fn managers_of(room: &str) -> Result<Self, IdError> {
        GroupId::new(format!("{ROOM}{}", room.trim())).map(Addressee::Group)
    }

    /// The room whose managers they are, if they are.
    pub fn room(&self) -> Option<&str> {
        match self {
            Addressee::Group(name) => name.as_str().strip_prefix(ROOM),
            Addressee::Person(_) => None,
        }
    }

    /// Whether `person` with these rights may answer: the addressed, and operators. Names of people are
    /// compared without regard to case, for agents write them as they hear them; names of groups are
    /// names of other systems and stand as they are.
    pub fn allows(&self, rights: &Rights, person: &PersonId) -> bool {
        rights.operator
            || match self {
                Addressee::Person(name) => {
                    name == person || name.as_str().to_lowercase() == person.as_str().to_lowercase()
                }
                Addressee::Group(name) => rights.groups.contains(name),
            }
    }
}

impl fmt::Display for Addressee {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Addressee::Person(name) => write!(f, "person:{name}"),
            Addressee::Group(name) => write!(f, "group:{name}"),
        }
    }
}
