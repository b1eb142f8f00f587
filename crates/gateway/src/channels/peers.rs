//! The other gateways, as their heartbeats tell: whoever serves a channel and is not heard any more
//! has left it to others.

use crate::gateway::Gateway;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// A gateway that said nothing for this long is gone; two heartbeats may be lost.
const MISSING_AFTER: Duration = Duration::from_secs(12);
const SERVICE: &str = "gateway";
/// How long until lost heartbeats are listened for again.
const RETRY: Duration = Duration::from_secs(1);

/// When each was last heard.
pub(crate) struct Peers {
    heard: Mutex<HashMap<String, Instant>>,
    /// Since when heartbeats are heard without a break.
    listening: Mutex<Option<Instant>>,
}

impl Peers {
    pub(crate) fn new() -> Self {
        Self {
            heard: Mutex::default(),
            listening: Mutex::new(None),
        }
    }

    /// When `instance` counts as gone, unless it is heard before; none while nobody can be heard.
    pub(crate) fn gone_at(&self, instance: &str) -> Option<Instant> {
        let listening = *self
            .listening
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        let last = heard.get(instance).copied().max(listening);
        Some(last.filter(|_| listening.is_some())? + MISSING_AFTER)
    }

    fn hear(&self, instance: String, now: Instant) {
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        heard.retain(|_, at| now.saturating_duration_since(*at) < MISSING_AFTER * 10);
        heard.insert(instance, now);
    }

    fn listen(&self, since: Option<Instant>) {
        *self
            .listening
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = since;
    }
}

/// Hears heartbeats until shutdown.
pub(crate) async fn listen(gateway: Arc<Gateway>, peers: Arc<Peers>) {
    loop {
        if let Ok(mut heartbeats) = gateway.bus.alive.watch().await {
            loop {
                let heartbeat = tokio::select! {
                    biased;
                    () = gateway.shutdown.cancelled() => return,
                    heartbeat = heartbeats.recv() => heartbeat,
                };
                let Some(heartbeat) = heartbeat else { break };
                if heartbeat.service != SERVICE {
                    continue;
                }
                let now = Instant::now();
                // Who hears itself hears the others.
                if heartbeat.instance == gateway.instance {
                    let mut since = peers
                        .listening
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner);
                    since.get_or_insert(now);
                }
                peers.hear(heartbeat.instance, now);
            }
        }
        peers.listen(None);
        tokio::select! {
            biased;
            () = gateway.shutdown.cancelled() => return,
            () = tokio::time::sleep(RETRY) => {}
        }
    }
}
