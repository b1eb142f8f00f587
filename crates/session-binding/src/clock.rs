//! The log's time: this machine's clock, corrected by what the log's own timestamps show.

use askbus_domain::Timestamp;
use askbus_ledger::Ledger;
use std::time::{SystemTime, UNIX_EPOCH};

/// Beyond this difference to the log's clock no deadline is fired here, in milliseconds.
pub(crate) const MAX_SKEW_MS: i64 = 1_000;

/// Now, by the clock that also stamps answers.
pub(crate) fn now(ledger: &dyn Ledger) -> Timestamp {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let local = i64::try_from(since.as_millis()).unwrap_or(i64::MAX);
    Timestamp::from_unix_millis(local.saturating_add(ledger.clock_offset_ms()))
}

/// Whether this machine's clock is close enough to the log's to fire deadlines.
pub(crate) fn trustworthy(ledger: &dyn Ledger) -> bool {
    ledger.clock_offset_ms().abs() <= MAX_SKEW_MS
}
