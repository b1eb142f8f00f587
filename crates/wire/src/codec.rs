//! Commits as JSON on the bus: written by this version, read from any.

use askbus_domain::{Commit, MAX_COMMIT_BYTES, SCHEMA};
use serde::Deserialize;

/// What a stored message turned out to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decoded {
    /// A commit of a schema this build knows.
    Commit(Box<Commit>),
    /// Something this build cannot act upon: a newer schema, an unknown event, or not a commit.
    Unreadable {
        /// Why, for the operator.
        problem: String,
    },
}

/// A commit that does not fit one message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a commit of {size} bytes is larger than {MAX_COMMIT_BYTES}")]
pub struct TooLarge {
    /// Its size in bytes.
    pub size: usize,
}

/// Writes a commit, at most [`MAX_COMMIT_BYTES`] bytes.
pub fn encode_commit(commit: &Commit) -> Result<Vec<u8>, TooLarge> {
    // Serializing plain data to memory fails only for maps with odd keys, which events do not have.
    let json = serde_json::to_vec(commit).unwrap_or_default();
    if json.is_empty() || json.len() > MAX_COMMIT_BYTES {
        return Err(TooLarge { size: json.len() });
    }
    Ok(json)
}

/// Reads whatever the log holds.
pub fn decode_commit(payload: &[u8]) -> Decoded {
    #[derive(Deserialize)]
    struct Envelope {
        schema: u32,
    }
    match serde_json::from_slice::<Envelope>(payload) {
        Ok(Envelope { schema }) if schema > SCHEMA => {
            return Decoded::Unreadable {
                problem: format!("schema {schema} is newer than {SCHEMA}"),
            };
        }
        Ok(_) => {}
        Err(e) => {
            return Decoded::Unreadable {
                problem: e.to_string(),
            };
        }
    }
    match serde_json::from_slice(payload) {
        Ok(commit) => Decoded::Commit(Box::new(commit)),
        Err(e) => Decoded::Unreadable {
            problem: e.to_string(),
        },
    }
}

/// The value of the `Askbus-Event` header: all events of the commit, in order.
pub fn event_names(commit: &Commit) -> String {
    commit
        .events
        .iter()
        .map(|e| e.kind().as_str())
        .collect::<Vec<_>>()
        .join(",")
}
