//! The session above a sub-agent's.

use crate::SessionId;
use serde::{Deserialize, Serialize};

/// Whose sub-agent asks: its questions are shown under that session (D15).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Parent {
    /// The session that started it.
    pub session_id: SessionId,
    /// What the sub-agent is called, for the person; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
}

/// The name of a sub-agent at most, in characters.
const MAX_NAME_CHARS: usize = 100;

impl Parent {
    /// The name is for display only: cut, never refused.
    pub fn new(session_id: SessionId, name: &str) -> Self {
        let name = name.trim().chars().take(MAX_NAME_CHARS).collect();
        Self { session_id, name }
    }
}
