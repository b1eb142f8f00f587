//! The other gateways, as their heartbeats tell: whoever serves a channel and is not heard any more
//! has left it to others.

use crate::gateway::Gateway;
use askbus_wire::messages::Heartbeat;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

/// A gateway that said nothing for this long is gone; two heartbeats may be lost.
const MISSING_AFTER: Duration = Duration::from_secs(12);
const SERVICE: &str = "gateway";
/// How long until lost heartbeats are listened for again.
const RETRY: Duration = Duration::from_secs(1);

/// When each was last heard.
pub(crate) struct Peers {
    heard: Mutex<HashMap<String, Heard>>,
    /// Since when heartbeats are heard without a break.
    listening: Mutex<Option<Instant>>,
    /// Counts those that said that they leave.
    left: watch::Sender<u64>,
}

/// What was heard of one last.
#[derive(Debug, Clone, Copy)]
enum Heard {
    /// That it is there.
    Alive(Instant),
    /// That it leaves.
    Leaving(Instant),
}

impl Heard {
    fn at(self) -> Instant {
        match self {
            Heard::Alive(at) | Heard::Leaving(at) => at,
        }
    }
}

/// Hears of whoever leaves from when it was made on.
pub(crate) struct Left(watch::Receiver<u64>);

impl Left {
    /// Waits until a gateway leaves.
    pub(crate) async fn heard(&mut self) {
        if self.0.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

impl Peers {
    pub(crate) fn new() -> Self {
        Self {
            heard: Mutex::default(),
            listening: Mutex::new(None),
            left: watch::Sender::new(0),
        }
    }

    /// Those who leave from now on.
    pub(crate) fn left(&self) -> Left {
        Left(self.left.subscribe())
    }

    /// When `instance` counts as gone, unless it is heard before; none while nobody can be heard.
    pub(crate) fn gone_at(&self, instance: &str) -> Option<Instant> {
        let listening = *self
            .listening
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        let last = match heard.get(instance) {
            Some(Heard::Leaving(at)) => return Some(*at),
            Some(Heard::Alive(at)) => Some(*at),
            None => None,
        };
        Some(last.max(listening).filter(|_| listening.is_some())? + MISSING_AFTER)
    }

    fn hear(&self, heartbeat: Heartbeat, now: Instant) {
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        heard.retain(|_, last| now.saturating_duration_since(last.at()) < MISSING_AFTER * 10);
        if heartbeat.leaves {
            tracing::info!(heartbeat.instance, "another gateway leaves its channels");
            heard.insert(heartbeat.instance, Heard::Leaving(now));
            drop(heard);
            self.left.send_modify(|count| *count += 1);
        } else {
            heard.insert(heartbeat.instance, Heard::Alive(now));
        }
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
                peers.hear(heartbeat, now);
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

#[cfg(test)]
mod tests {
    use super::*;

    fn heartbeat(instance: &str, leaves: bool) -> Heartbeat {
        Heartbeat {
            service: SERVICE.to_owned(),
            instance: instance.to_owned(),
            leaves,
            ..Heartbeat::default()
        }
    }

    #[tokio::test(start_paused = true)]
    async fn who_leaves_is_gone_at_once_and_wakes_who_waits_for_it() {
        let peers = Peers::new();
        let began = Instant::now();
        assert_eq!(peers.gone_at("g1"), None, "nobody is heard yet");
        peers.listen(Some(began));
        peers.hear(heartbeat("g1", false), began);
        assert_eq!(peers.gone_at("g1"), Some(began + MISSING_AFTER));
        let mut left = peers.left();
        peers.hear(heartbeat("g2", false), began);
        let waiting = tokio::time::timeout(MISSING_AFTER, left.heard());
        assert!(waiting.await.is_err(), "nobody left");
        let now = Instant::now();
        peers.hear(heartbeat("g1", true), now);
        // The clock stands still for as long as somebody can go on.
        tokio::time::timeout(MISSING_AFTER, left.heard())
            .await
            .unwrap();
        assert_eq!(Instant::now(), now);
        assert_eq!(peers.gone_at("g1"), Some(now));
        // The same name again is one that came back.
        peers.hear(heartbeat("g1", false), now);
        assert_eq!(peers.gone_at("g1"), Some(now + MISSING_AFTER));
    }
}
