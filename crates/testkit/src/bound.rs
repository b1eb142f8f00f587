//! Waiting is always bounded: a test that waits for nothing fails, and says what it waited for.

use anyhow::{Result, anyhow};
use std::time::Duration;

/// The longest a test waits for one thing; generous, for slow machines.
pub const LIMIT: Duration = Duration::from_secs(30);

/// Waits for `future` at most [`LIMIT`].
///
/// # Errors
/// When the time is over; `what` is named.
pub async fn within<T>(what: &str, future: impl Future<Output = T>) -> Result<T> {
    let waited = tokio::time::timeout(LIMIT, future).await;
    waited.map_err(|_| anyhow!("nothing within {} s: {what}", LIMIT.as_secs()))
}
