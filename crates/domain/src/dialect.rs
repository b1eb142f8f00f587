//! The tool dialects that ask, and what each takes for granted.

use crate::Millis;
use serde::{Deserialize, Serialize};

/// How the asker speaks; it decides defaults, never outcomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dialect {
    /// `ask_user`: several structured questions (A).
    Ask,
    /// `ekko_studio_clarify`: one question within a host's turn (E).
    Studio,
    /// `clarify`: one question with at most four choices (N).
    Interaction,
}

impl Dialect {
    /// The timeout when the caller names none; none is never (A defaults, E13, N5).
    pub const fn default_timeout(self) -> Option<Millis> {
        match self {
            Dialect::Ask | Dialect::Interaction => None,
            Dialect::Studio => Some(Millis(300_000)),
        }
    }

    /// The longest timeout a caller may get; none is no limit of the dialect's own (E13).
    pub(crate) const fn max_timeout(self) -> Option<Millis> {
        match self {
            Dialect::Ask | Dialect::Interaction => None,
            Dialect::Studio => self.default_timeout(),
        }
    }

    /// How many clarifications of one session may wait when this dialect asks one more.
    pub const fn pending_limit(self) -> usize {
        match self {
            Dialect::Ask | Dialect::Interaction => 32,
            Dialect::Studio => 1,
        }
    }

    /// Options a question may have (E3, N1).
    pub const fn max_options(self) -> usize {
        match self {
            Dialect::Ask | Dialect::Studio => crate::MAX_OPTIONS,
            Dialect::Interaction => 4,
        }
    }

    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Dialect::Ask => "ask",
            Dialect::Studio => "studio",
            Dialect::Interaction => "interaction",
        }
    }

    /// Reads the name on the wire.
    pub fn parse(text: &str) -> Option<Self> {
        [Dialect::Ask, Dialect::Studio, Dialect::Interaction]
            .into_iter()
            .find(|d| d.as_str() == text)
    }
}
