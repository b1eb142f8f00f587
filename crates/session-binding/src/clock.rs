//! The log's time: this machine's clock, corrected by what the log's own timestamps show.

use crate::service::Core;
use askbus_domain::Timestamp;
use askbus_ledger::Ledger;

/// Beyond this difference to the log's clock no deadline is fired here, in milliseconds.
pub(crate) const MAX_SKEW_MS: i64 = 1_000;

impl Core {
    /// Now, by the clock that also stamps answers.
    pub(crate) fn now(&self) -> Timestamp {
        let local = self.clock.now().unix_millis();
        Timestamp::from_unix_millis(local.saturating_add(self.bus.ledger.clock_offset_ms()))
    }
}

/// Whether this machine's clock is close enough to the log's to fire deadlines. Where this process
/// stamps the log itself there is no other opinion, and nobody else to leave deadlines to.
pub(crate) fn trustworthy(ledger: &dyn Ledger) -> bool {
    ledger.clock_is_own() || ledger.clock_offset_ms().abs() <= MAX_SKEW_MS
}
