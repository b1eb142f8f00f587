//! Replies that their authors were never told: given up after many attempts. They are kept beside the
//! channel's position, so that every gateway shows them.

use super::Channel;
use crate::gateway::Gateway;
use askbus_domain::{ClarifyId, MAX_COMMIT_BYTES, Timestamp};
use askbus_ledger::LedgerError;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Replies kept of one channel at most, the last ones, and how large all of them are together, in bytes
/// as they are written down.
const MOST: usize = 64;
const MOST_BYTES: usize = MAX_COMMIT_BYTES / 2;
/// How long each is kept: later nobody looks for it.
const KEPT_DAYS: u64 = 7;
const KEPT_MS: u64 = KEPT_DAYS * 24 * 3_600_000;
/// What is kept of why the last attempt failed, in characters.
const MAX_PROBLEM: usize = 160;
/// How often a change is tried when others change it too, and how long it may take.
const ATTEMPTS: usize = 5;
const PATIENCE: Duration = Duration::from_secs(3);

/// A text that somebody was to be told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct GivenUp {
    /// The same in every attempt.
    pub id: String,
    /// How the channel names whom.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    pub text: String,
    /// Which clarification their message was for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<ClarifyId>,
    /// When it was to be told.
    pub since: Timestamp,
    pub attempts: u32,
    /// Why the last attempt failed, and when.
    pub problem: String,
    pub failed_at: Timestamp,
}

/// Adds one to a list, in place of itself if it was given up before.
pub(super) fn add(list: &mut Vec<GivenUp>, mut one: GivenUp) {
    one.problem = one.problem.chars().take(MAX_PROBLEM).collect();
    let known = list.iter().position(|known| known.id == one.id);
    if let Some(known) = known.map(|at| list.remove(at)) {
        one.since = known.since;
        one.attempts = one.attempts.saturating_add(known.attempts);
    }
    list.push(one);
    while list.len() > MOST || (list.len() > 1 && size(list) > MOST_BYTES) {
        let oldest = list.remove(0);
        tracing::warn!(
            id = oldest.id,
            "a reply that was given up is not listed any more"
        );
    }
}

fn size(list: &[GivenUp]) -> usize {
    serde_json::to_vec(list).map_or(0, |written| written.len())
}

/// Those of a channel as the bus has them, oldest first.
pub(super) async fn read(
    gateway: &Gateway,
    channel: &Channel,
) -> Result<Vec<GivenUp>, LedgerError> {
    read_with_revision(gateway, channel)
        .await
        .map(|(_, list)| list)
}

async fn read_with_revision(
    gateway: &Gateway,
    channel: &Channel,
) -> Result<(u64, Vec<GivenUp>), LedgerError> {
    let positions = &gateway.bus.positions;
    let found = positions.get(&channel.tenant, &name(channel)).await?;
    Ok(found.map_or((0, Vec::new()), |position| {
        let read = serde_json::from_slice(&position.value);
        let mut list: Vec<GivenUp> = read.unwrap_or_else(|error| {
            tracing::error!(%error, channel = channel.name, "a list of replies cannot be read; it begins anew");
            Vec::new()
        });
        let now = gateway.now();
        list.retain(|one| one.failed_at.until(now).0 <= KEPT_MS);
        (position.revision, list)
    }))
}

/// Changes the list on the bus; where that cannot be done it is said in the log alone.
pub(super) async fn change(
    gateway: &Gateway,
    channel: &Channel,
    change: impl Fn(&mut Vec<GivenUp>),
) {
    let changing = async {
        for _ in 0..ATTEMPTS {
            let (revision, mut list) = read_with_revision(gateway, channel).await?;
            let before = list.clone();
            change(&mut list);
            if list == before {
                return Ok(true);
            }
            if put(gateway, channel, revision, &list).await? {
                return Ok(true);
            }
        }
        Ok::<_, LedgerError>(false)
    };
    match tokio::time::timeout(PATIENCE, changing).await {
        Ok(Ok(true)) => {}
        Ok(Err(error)) => {
            tracing::warn!(%error, channel = channel.name, "the list of replies that were given up is not up to date");
        }
        Ok(Ok(false)) | Err(_) => {
            tracing::warn!(
                channel = channel.name,
                "the list of replies that were given up is not up to date"
            );
        }
    }
}

/// Writes a list if nobody else did; whether it stands there.
async fn put(
    gateway: &Gateway,
    channel: &Channel,
    revision: u64,
    list: &[GivenUp],
) -> Result<bool, LedgerError> {
    let value = serde_json::to_vec(list).map_err(|e| LedgerError::Unavailable(e.to_string()))?;
    let (positions, tenant) = (&gateway.bus.positions, &channel.tenant);
    let put = positions
        .put(tenant, &name(channel), revision, &value)
        .await;
    match put {
        Ok(written) => Ok(written.is_some()),
        // It is read again.
        Err(LedgerError::InDoubt(_)) => Ok(false),
        Err(error) => Err(error),
    }
}

fn name(channel: &Channel) -> String {
    format!("replies.{}", channel.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(id: usize, text: String) -> GivenUp {
        GivenUp {
            id: id.to_string(),
            to: Some("o9@im.wechat".into()),
            text,
            about: None,
            since: Timestamp::from_unix_millis(id.try_into().unwrap()),
            attempts: 12,
            problem: "it answered ret -2".repeat(20),
            failed_at: Timestamp::from_unix_millis(1_000),
        }
    }

    #[test]
    fn the_list_is_bounded_and_fits_one_message_of_the_bus() {
        let mut list = Vec::new();
        for n in 0..3 * MOST {
            add(&mut list, one(n, "\u{1}".repeat(2_000)));
        }
        assert!(list.len() <= MOST && list.last().unwrap().id == (3 * MOST - 1).to_string());
        let written = serde_json::to_vec(&list).unwrap();
        let size = written.len();
        assert!(size < MAX_COMMIT_BYTES, "{size}");
        let read: Vec<GivenUp> = serde_json::from_slice(&written).unwrap();
        assert_eq!(read, list);
    }

    #[test]
    fn one_that_is_given_up_again_stands_there_once() {
        let mut list = Vec::new();
        add(&mut list, one(1, "first".into()));
        add(&mut list, one(2, "second".into()));
        let again = GivenUp {
            since: Timestamp::from_unix_millis(9),
            ..one(1, "first".into())
        };
        add(&mut list, again);
        let ids: Vec<&str> = list.iter().map(|one| one.id.as_str()).collect();
        assert_eq!(ids, ["2", "1"]);
        assert_eq!((list[1].attempts, list[1].since.unix_millis()), (24, 1));
        assert_eq!(list[1].problem.chars().count(), MAX_PROBLEM);
    }
}
