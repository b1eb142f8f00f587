//! Waiting for a log that is not there yet.

use crate::{Ledger, LedgerError};
use std::time::Duration;

/// How long between the first two looks: a connection takes milliseconds, and every start makes one.
const FIRST: Duration = Duration::from_millis(10);
/// How long between two looks at most.
const LONGEST: Duration = Duration::from_secs(1);

/// The last sequence of the log, as soon as the log can be reached; says so when that takes seconds. Waits
/// for ever: callers race it against their shutdown.
///
/// # Errors
/// [`LedgerError::Misconfigured`], which waiting does not mend.
pub async fn until_reachable(ledger: &dyn Ledger) -> Result<u64, LedgerError> {
    let mut pause = FIRST;
    loop {
        match ledger.last_seq().await {
            Ok(last) => return Ok(last),
            Err(error @ LedgerError::Misconfigured(_)) => return Err(error),
            Err(error) if pause == LONGEST => tracing::warn!(%error, "waiting for the log"),
            Err(error) => tracing::debug!(%error, "waiting for the log"),
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST);
    }
}
