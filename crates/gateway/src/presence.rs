//! Who is there: people with an open socket, told to others by heartbeat, and askers, heard of by
//! theirs.

use crate::askers::{Asker, Askers};
use crate::gateway::Gateway;
use askbus_domain::{Clarification, SCHEMA, TenantId, Timestamp};
use askbus_wire::messages::{Heartbeat, Lease};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// How often an instance says that it is alive.
const HEARTBEAT: Duration = Duration::from_secs(5);
const SERVICE: &str = "gateway";
/// When this process has not heard itself for this long it hears nobody.
const SILENCE: Duration = HEARTBEAT.saturating_mul(2);

/// People and askers.
pub(crate) struct Presence {
    sockets: Mutex<HashMap<TenantId, usize>>,
    next_socket: AtomicU64,
    askers: Mutex<Askers>,
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

    /// How many sockets are open, by tenant.
    pub(crate) fn open(&self) -> HashMap<TenantId, usize> {
        let sockets = self.sockets.lock().unwrap_or_else(PoisonError::into_inner);
        sockets.clone()
    }

    fn askers(&self) -> std::sync::MutexGuard<'_, Askers> {
        self.askers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the asker of a question is there. `now` is the log's time.
    pub(crate) fn asker(&self, tenant: &TenantId, of: &Clarification, now: Timestamp) -> Asker {
        self.askers().of(tenant, of, now, Instant::now())
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

/// Publishes and hears heartbeats until shutdown, and tells the sockets whose askers come and go.
pub(crate) async fn run(gateway: Arc<Gateway>) {
    let mut tick = tokio::time::interval(HEARTBEAT);
    tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut heard = None;
    let mut again = true;
    let mut own_last = None;
    loop {
        if heard.is_none() && again {
            again = false;
            heard = gateway.bus.alive.watch().await.ok();
        }
        let next = async {
            match &mut heard {
                Some(heard) => heard.recv().await,
                // Watching is tried again with the next tick.
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = gateway.shutdown.cancelled() => return,
            heartbeat = next => if let Some(heartbeat) = heartbeat {
                let now = Instant::now();
                if heartbeat.service == SERVICE && heartbeat.instance == gateway.instance {
                    own_last = Some(now);
                    gateway.presence.askers().listen(now);
                }
                let changed = gateway.presence.askers().hear(&heartbeat, now);
                gateway.feed.askers_changed(&changed);
            } else {
                // Again with the next tick, not at once: a closed bus closes every watch at once.
                heard = None;
                again = false;
                gateway.presence.askers().deaf();
            },
            _ = tick.tick() => {
                again = true;
                let now = Instant::now();
                if own_last.is_none_or(|last| now.duration_since(last) > SILENCE) {
                    gateway.presence.askers().deaf();
                }
                let changed = gateway.presence.askers().sweep(now);
                gateway.feed.askers_changed(&changed);
                let heartbeat = Heartbeat {
                    service: SERVICE.to_owned(),
                    instance: gateway.instance.clone(),
                    version: gateway.version.clone(),
                    schema: SCHEMA,
                    present: gateway.presence.present(),
                    ..Heartbeat::default()
                };
                if let Err(error) = gateway.bus.alive.publish(&heartbeat).await {
                    tracing::debug!(%error, "the heartbeat was not sent");
                }
            }
        }
    }
}
