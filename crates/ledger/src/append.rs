//! Appending with certainty: after any error, look for one's own commit.

use crate::{AppendError, Ledger};
use askbus_domain::Commit;
use askbus_wire::codec::Decoded;

/// Writes `commit` guarded by `expected`, and turns every doubtful outcome into a known one: if the
/// session's log holds a commit with this id after an error, it was written.
///
/// # Errors
/// [`AppendError::Conflict`] when another commit came first; [`AppendError::Uncertain`] when the
/// log could not be read after the error either, or does not hold it yet (it may still be on its
/// way). Then the same commit may be appended again: it is written once.
pub async fn append(
    ledger: &dyn Ledger,
    commit: &Commit,
    expected: u64,
    trace: Option<&str>,
) -> Result<u64, AppendError> {
    let error = match ledger.append_once(commit, expected, trace).await {
        Ok(seq) => return Ok(seq),
        Err(error) => error,
    };
    if let AppendError::Ledger(crate::LedgerError::TooLarge(_)) = &error {
        return Err(error);
    }
    let written = ledger
        .read_session(&commit.tenant, &commit.session_id, expected + 1)
        .await;
    let own = |decoded: &Decoded| matches!(decoded, Decoded::Commit(c) if c.commit_id == commit.commit_id);
    match written {
        Ok(stored) => match stored.iter().find(|s| own(&s.decoded)) {
            Some(found) => Ok(found.seq),
            None if stored.is_empty() => Err(error),
            None => Err(AppendError::Conflict),
        },
        Err(_) => match error {
            AppendError::Conflict => Err(AppendError::Uncertain("conflict, then no read".into())),
            other => Err(other),
        },
    }
}
