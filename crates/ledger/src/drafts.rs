//! A draft as bytes, the same wherever it is kept.

use crate::{LedgerError, StoredDraft};
use askbus_domain::{MAX_COMMIT_BYTES, Timestamp};
use askbus_wire::messages::Draft;
use askbus_wire::subject;

/// Writes a draft, at most as large as a commit may be.
pub(crate) fn encode(draft: &Draft) -> Result<Vec<u8>, LedgerError> {
    let payload = serde_json::to_vec(draft).map_err(|e| LedgerError::Unavailable(e.to_string()))?;
    if payload.len() > MAX_COMMIT_BYTES {
        let size = payload.len();
        let problem = format!("a draft of {size} bytes is larger than {MAX_COMMIT_BYTES}");
        return Err(LedgerError::TooLarge(problem));
    }
    Ok(payload)
}

/// Reads the draft kept under `subject`; none when it is not one. A draft that cannot be read is
/// worth nothing to anybody, so it is left out rather than reported.
pub(crate) fn decode(
    subject: &str,
    payload: &[u8],
    stored_at: Timestamp,
    revision: u64,
) -> Option<StoredDraft> {
    let person = subject::parse_draft(subject)?;
    let draft = serde_json::from_slice(payload).ok()?;
    Some(StoredDraft {
        person,
        draft,
        stored_at,
        revision,
    })
}
