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
    match serde_json::from_slice::<Commit>(payload) {
        Ok(commit) if commit.schema <= SCHEMA => Decoded::Commit(Box::new(commit)),
        Ok(commit) => newer(commit.schema),
        Err(error) => unreadable(payload, &error),
    }
}

fn newer(schema: u32) -> Decoded {
    Decoded::Unreadable {
        problem: format!("schema {schema} is newer than {SCHEMA}"),
    }
}

/// A newer schema explains best why a commit is not one of this build's.
fn unreadable(payload: &[u8], error: &serde_json::Error) -> Decoded {
    #[derive(Deserialize)]
    struct Envelope {
        schema: u32,
    }
    match serde_json::from_slice::<Envelope>(payload) {
        Ok(Envelope { schema }) if schema > SCHEMA => newer(schema),
        _ => Decoded::Unreadable {
            problem: error.to_string(),
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

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(payload: &str) -> String {
        match decode_commit(payload.as_bytes()) {
            Decoded::Unreadable { problem } => problem,
            Decoded::Commit(commit) => panic!("{commit:?}"),
        }
    }

    #[test]
    fn a_commit_of_a_newer_schema_is_not_acted_upon_even_if_it_can_be_read() {
        let commit = |schema: u32, event: &str| {
            format!(
                r#"{{"schema":{schema},"commit_id":"0197e0a0-0000-7000-8000-000000000000",
                "tenant":"t","session_id":"s","at":"2026-01-01T00:00:00.000Z","events":[{event}]}}"#
            )
        };
        let ended = r#"{"event":"ended","context_id":"0197e0a0-0000-7000-8000-000000000001",
            "end":"completed"}"#;
        let read = decode_commit(commit(SCHEMA, ended).as_bytes());
        assert!(matches!(read, Decoded::Commit(c) if c.events.len() == 1));
        let is_newer = format!("schema {} is newer than {SCHEMA}", SCHEMA + 1);
        assert_eq!(problem(&commit(SCHEMA + 1, ended)), is_newer);
        let strange = r#"{"event":"teleported"}"#;
        assert_eq!(problem(&commit(SCHEMA + 1, strange)), is_newer);
        assert!(problem(&commit(SCHEMA, strange)).contains("teleported"));
        assert!(problem("{").contains("EOF"));
    }
}
