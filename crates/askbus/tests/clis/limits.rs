//! A person who takes longer than a client waits by itself.

use crate::story::{PATIENCE, Stage};
use anyhow::{Result, ensure};
use askbus_testkit::clis::{Approval, Limit};
use askbus_testkit::model::{Next, Seen};
use std::time::Duration;

/// A call that is handed back has the model go on waiting, and hear the answer.
pub async fn its_model_goes_on_waiting(name: &str) -> Result<()> {
    let mut stage = Stage::set(name).await?;
    let mut run = stage.start(Approval::Tools, Limit::Short)?;
    let id = stage.asked(&run).await?;
    let told = |seen: &Seen| !seen.conversation.results.is_empty();
    let seen = stage.model.until(PATIENCE, told).await?;
    ensure!(
        matches!(&seen.next, Next::Call { .. }),
        "it does not know that it is to go on: {seen:?}"
    );
    stage.still_waits(&id).await?;
    let seen = stage.answered(&id, &mut run).await?;
    ensure!(seen.conversation.results.len() > 1, "{seen:?}");
    Ok(())
}

/// How a call outlives the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// Progress, which starts the client's clock anew.
    Progress,
    /// A result in time that has the model go on waiting.
    HandBack,
}

/// The client is as it comes; the person answers when its own limit is over, and its model hears it.
pub async fn its_own_limit_is_outlived(name: &str, seconds: u64, by: By) -> Result<()> {
    let mut stage = Stage::set(name).await?;
    let mut run = stage.start(Approval::Tools, Limit::Own)?;
    let id = stage.asked(&run).await?;
    // The time itself is what is tested.
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    stage.still_waits(&id).await?;
    let seen = stage.answered(&id, &mut run).await?;
    let calls = seen.conversation.results.len();
    let handed_back = calls > 1;
    ensure!(
        handed_back == (by == By::HandBack),
        "it took {calls} calls: {seen:?}"
    );
    Ok(())
}
