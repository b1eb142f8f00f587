//! Waiting for a log that is not there yet.

use crate::{Ledger, LedgerError};
use std::time::Duration;

/// How long between two looks.
const RETRY: Duration = Duration::from_secs(1);

/// The last sequence of the log, as soon as the log can be reached; says so while it waits. Waits
/// for ever: callers race it against their shutdown.
///
/// # Errors
/// [`LedgerError::Misconfigured`], which waiting does not mend.
pub async fn until_reachable(ledger: &dyn Ledger) -> Result<u64, LedgerError> {
    loop {
        match ledger.last_seq().await {
            Ok(last) => return Ok(last),
            Err(error @ LedgerError::Misconfigured(_)) => return Err(error),
            Err(error) => tracing::warn!(%error, "waiting for the log"),
        }
        tokio::time::sleep(RETRY).await;
    }
}
