//! Which of several gateways serves a channel, and what that one writes down.

use super::Channel;
use super::backlog::Backlog;
use super::peers::Peers;
use super::teller;
use crate::gateway::Gateway;
use askbus_domain::TenantId;
use askbus_ledger::{LedgerError, Positions};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// How long until the bus is asked again.
const RETRY: Duration = Duration::from_secs(1);
/// How long a gateway waits to hear of one it knows nothing of.
const UNHEARD: Duration = Duration::from_secs(5);
/// How long what is on its way may take when the gateway stops; what takes longer is told again, under
/// the same id.
const DRAIN: Duration = Duration::from_secs(3);

/// A channel's position, as it stands on the bus.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Written {
    /// The gateway that serves the channel; empty: none does.
    #[serde(default)]
    pub owner: String,
    /// What was told.
    #[serde(flatten)]
    pub backlog: Backlog,
    /// How far the channel's own messages were read, in its own words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub cursor: String,
    /// What the channel wants to be shown with the next message, in its own words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub context: String,
    /// Why the channel's own messages cannot be read now, if they cannot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// This gateway does not serve the channel any more.
#[derive(Debug)]
pub(super) struct Lost;

/// The position as this gateway holds it.
pub(super) struct Held {
    positions: Arc<dyn Positions>,
    tenant: TenantId,
    name: String,
    revision: u64,
    pub written: Written,
}

impl Held {
    /// Writes the position down. Returns when that is known to be so, however long the bus takes:
    /// whoever goes on without would tell again what was told.
    pub(super) async fn save(&mut self) -> Result<(), Lost> {
        loop {
            let value = serde_json::to_vec(&self.written).map_err(|_| Lost)?;
            let put = self
                .positions
                .put(&self.tenant, &self.name, self.revision, &value);
            match put.await {
                Ok(Some(revision)) => {
                    self.revision = revision;
                    return Ok(());
                }
                Ok(None) => return self.is_ours().await,
                Err(LedgerError::InDoubt(_)) => {
                    if self.is_ours().await.is_ok() {
                        return Ok(());
                    }
                }
                Err(error) => {
                    tracing::warn!(%error, channel = self.name, "a position was not saved");
                }
            }
            tokio::time::sleep(RETRY).await;
        }
    }

    fn is_written(&self, value: &[u8]) -> bool {
        serde_json::to_vec(&self.written).is_ok_and(|written| written == value)
    }

    /// Whether what stands there is what was to be written.
    async fn is_ours(&mut self) -> Result<(), Lost> {
        loop {
            match self.positions.get(&self.tenant, &self.name).await {
                Ok(Some(now)) if self.is_written(&now.value) => {
                    self.revision = now.revision;
                    return Ok(());
                }
                Ok(_) => return Err(Lost),
                Err(error) => {
                    tracing::warn!(%error, channel = self.name, "a position was not read");
                }
            }
            tokio::time::sleep(RETRY).await;
        }
    }
}

/// The position as it stands on the bus, whoever serves the channel.
pub(super) async fn read(
    gateway: &Gateway,
    channel: &Channel,
) -> Result<(u64, Written), LedgerError> {
    let name = channel.position_name();
    let found = gateway.bus.positions.get(&channel.tenant, &name).await?;
    Ok(found.map_or((0, Written::default()), |position| {
        let written = serde_json::from_slice(&position.value).unwrap_or_else(|error| {
            tracing::error!(%error, channel = channel.name, "a position cannot be read; it begins anew");
            Written::default()
        });
        (position.revision, written)
    }))
}

/// Serves a channel whenever no other gateway does, until shutdown.
pub(super) async fn run(gateway: Arc<Gateway>, channel: Arc<Channel>, peers: Arc<Peers>) {
    loop {
        let mut held = tokio::select! {
            biased;
            () = gateway.shutdown.cancelled() => return,
            held = claim(&gateway, &channel, &peers) => held,
        };
        tracing::info!(channel = channel.name, "this gateway serves the channel");
        let stopped = tokio::select! {
            stopped = teller::run(&gateway, &channel, &mut held) => stopped,
            () = late(&gateway) => Ok(()),
        };
        channel.undelivered(0);
        if stopped.is_ok() {
            leave(&channel, held).await;
            return;
        }
        tracing::info!(channel = channel.name, "another gateway serves the channel");
    }
}

/// When this gateway has been told to stop and waits no longer for what is on its way.
async fn late(gateway: &Gateway) {
    gateway.shutdown.cancelled().await;
    tokio::time::sleep(DRAIN).await;
}

/// Lets another gateway have the channel at once.
async fn leave(channel: &Channel, mut held: Held) {
    held.written.owner.clear();
    // Nobody waits longer: without it the others take over when they hear that this one leaves.
    match tokio::time::timeout(RETRY, held.save()).await {
        Ok(Ok(())) => tracing::info!(channel = channel.name, "the channel is free"),
        Ok(Err(Lost)) => {}
        Err(_) => tracing::warn!(channel = channel.name, "the channel was not handed over"),
    }
}

/// Waits until this gateway is the one that serves the channel.
async fn claim(gateway: &Gateway, channel: &Channel, peers: &Peers) -> Held {
    let began = Instant::now();
    loop {
        let mut left = peers.left();
        match read(gateway, channel).await {
            Ok((revision, mut written)) => {
                // A log that one process holds has no other gateway.
                let free = written.owner.is_empty()
                    || written.owner == gateway.instance
                    || gateway.bus.ledger.clock_is_own();
                let gone = peers.gone_at(&written.owner);
                if !free && gone.is_none_or(|at| at > Instant::now()) {
                    let unheard = Instant::now().max(began) + UNHEARD;
                    tokio::select! {
                        () = left.heard() => {}
                        () = tokio::time::sleep_until(gone.unwrap_or(unheard)) => {}
                    }
                    continue;
                }
                written.owner.clone_from(&gateway.instance);
                let mut held = Held {
                    positions: Arc::clone(&gateway.bus.positions),
                    tenant: channel.tenant.clone(),
                    name: channel.position_name(),
                    revision,
                    written,
                };
                if held.save().await.is_ok() {
                    return held;
                }
            }
            Err(error) => tracing::warn!(%error, channel = channel.name, "a position was not read"),
        }
        tokio::time::sleep(RETRY).await;
    }
}
