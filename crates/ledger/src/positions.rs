//! What a position may be, wherever it is kept.

use crate::LedgerError;
use askbus_domain::MAX_COMMIT_BYTES;

/// At most as large as a commit may be.
pub(crate) fn check(value: &[u8]) -> Result<(), LedgerError> {
    if value.len() > MAX_COMMIT_BYTES {
        let size = value.len();
        let problem = format!("a position of {size} bytes is larger than {MAX_COMMIT_BYTES}");
        return Err(LedgerError::TooLarge(problem));
    }
    Ok(())
}
