//! Who is there: people with an open socket, told to others by heartbeat, and askers, heard of by
//! theirs.

use crate::gateway::Gateway;
use askbus_domain::{AskerId, SCHEMA, TenantId};
use askbus_wire::messages::{Heartbeat, Lease};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How often an instance says that it is alive.
const HEARTBEAT: Duration = Duration::from_secs(5);
/// An asker that nobody named for this long counts as disconnected.
const MISSING_AFTER: Duration = Duration::from_secs(15);
/// Askers remembered at most.
const MAX_ASKERS: usize = 200_000;

/// People and askers.
pub(crate) struct Presence {
    sockets: Mutex<HashMap<TenantId, usize>>,
    next_socket: AtomicU64,
    askers: Mutex<HashMap<Lease, Instant>>,
    /// Since when heartbeats are heard without a break.
    listening: Mutex<Option<Instant>>,
}

/// One open socket of a tenant.
pub(crate) struct Seat {
    gateway: Arc<Gateway>,
    tenant: TenantId,
    /// Tells sockets of this process apart.
    pub number: u64,
}

impl Presence {
    pub(crate) fn new() -> Self {
        Self {
            sockets: Mutex::default(),
            next_socket: AtomicU64::new(1),
            askers: Mutex::default(),
            listening: Mutex::default(),
        }
    }

    fn present(&self) -> Vec<Lease> {
        let sockets = self.sockets.lock().unwrap_or_else(PoisonError::into_inner);
        let lease = |t: &TenantId| Lease {
            tenant: t.to_string(),
            name: "*".to_owned(),
        };
        sockets.keys().map(lease).collect()
    }

    /// Whether the asker is gone; none while that cannot be told yet.
    pub(crate) fn disconnected(&self, tenant: &TenantId, asker: &AskerId) -> Option<bool> {
        let since = (*self
            .listening
            .lock()
            .unwrap_or_else(PoisonError::into_inner))?;
        let askers = self.askers.lock().unwrap_or_else(PoisonError::into_inner);
        match askers.get(&Lease::asker(tenant, asker)) {
            Some(seen) if seen.elapsed() < MISSING_AFTER => Some(false),
            _ if since.elapsed() < MISSING_AFTER => None,
            _ => Some(true),
        }
    }

    fn hear(&self, heartbeat: Heartbeat) {
        if heartbeat.leases.is_empty() {
            return;
        }
        let now = Instant::now();
        let mut askers = self.askers.lock().unwrap_or_else(PoisonError::into_inner);
        for lease in heartbeat.leases {
            askers.insert(lease, now);
        }
        if askers.len() > MAX_ASKERS {
            askers.retain(|_, seen| seen.elapsed() < MISSING_AFTER);
        }
    }

    fn listens(&self, since: Option<Instant>) {
        *self
            .listening
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = since;
    }
}

impl Seat {
    /// Counts a socket for as long as the seat lives.
    pub(crate) fn sit(gateway: &Arc<Gateway>, tenant: &TenantId) -> Self {
        let presence = &gateway.presence;
        let mut sockets = presence
            .sockets
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *sockets.entry(tenant.clone()).or_default() += 1;
        let number = presence.next_socket.fetch_add(1, Ordering::Relaxed);
        Self {
            gateway: Arc::clone(gateway),
            tenant: tenant.clone(),
            number,
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let presence = &self.gateway.presence;
        let mut sockets = presence
            .sockets
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = sockets.get_mut(&self.tenant) {
            *count -= 1;
            if *count == 0 {
                sockets.remove(&self.tenant);
            }
        }
    }
}

/// Publishes and hears heartbeats until shutdown.
pub(crate) async fn run(gateway: Arc<Gateway>) {
    let mut tick = tokio::time::interval(HEARTBEAT);
    tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut heard = None;
    let mut again = true;
    loop {
        if heard.is_none() && again {
            again = false;
            heard = gateway.bus.alive.watch().await.ok();
            gateway
                .presence
                .listens(heard.as_ref().map(|_| Instant::now()));
        }
        let next = async {
            match &mut heard {
                Some(heard) => heard.recv().await,
                // Watching is tried again with the next tick.
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = gateway.shutdown.cancelled() => return,
            heartbeat = next => if let Some(heartbeat) = heartbeat {
                gateway.presence.hear(heartbeat);
            } else {
                // Again with the next tick, not at once: a closed bus closes every watch at once.
                heard = None;
                again = false;
                gateway.presence.listens(None);
            },
            _ = tick.tick() => {
                again = true;
                let heartbeat = Heartbeat {
                    service: "gateway".to_owned(),
                    instance: gateway.instance.clone(),
                    version: gateway.version.clone(),
                    schema: SCHEMA,
                    leases: Vec::new(),
                    present: gateway.presence.present(),
                };
                if let Err(error) = gateway.bus.alive.publish(&heartbeat).await {
                    tracing::debug!(%error, "the heartbeat was not sent");
                }
            }
        }
    }
}
