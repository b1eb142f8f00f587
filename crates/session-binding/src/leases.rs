//! Leases: who is still there. Each instance's heartbeat names the askers attached to it and the
//! turns held through it; a name that no heartbeat carried for its lease time is gone (E11, E20).

use crate::projection::LeaseKey;
use crate::service::Core;
use askbus_domain::{Command, SCHEMA};
use askbus_wire::messages::{Heartbeat, Lease};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{Instant, MissedTickBehavior};
use tokio_util::sync::CancellationToken;

/// Names in one heartbeat at most; more go into further ones.
const NAMES_PER_HEARTBEAT: usize = 500;

/// What is known about who is there.
pub(crate) struct Leases {
    /// Held through this process, with how many streams hold each.
    local: Mutex<HashMap<LeaseKey, usize>>,
    /// When a heartbeat last named it.
    seen: Mutex<HashMap<LeaseKey, Instant>>,
    /// Since when this process has heard heartbeats without interruption, its own included. A
    /// process that hears nobody knows nothing about who is gone.
    listening_since: Mutex<Option<Instant>>,
    changed: Notify,
}

/// Keeps a name alive through this process until dropped.
pub(crate) struct Held {
    core: Arc<Core>,
    key: LeaseKey,
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut local = self
            .core
            .leases
            .local
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = local.get_mut(&self.key) {
            *count -= 1;
            if *count == 0 {
                local.remove(&self.key);
            }
        }
        drop(local);
        // The lease runs from the last moment it was held, not from the last heartbeat.
        self.core.leases.see(self.key.clone());
    }
}

impl Leases {
    pub(crate) fn new() -> Self {
        Self {
            local: Mutex::default(),
            seen: Mutex::default(),
            listening_since: Mutex::new(None),
            changed: Notify::new(),
        }
    }

    /// Holds a name through this process.
    pub(crate) fn hold(core: &Arc<Core>, key: LeaseKey) -> Held {
        core.leases.see(key.clone());
        let mut local = core
            .leases
            .local
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *local.entry(key.clone()).or_default() += 1;
        drop(local);
        core.leases.changed.notify_one();
        Held {
            core: Arc::clone(core),
            key,
        }
    }

    /// Notes a sign of life.
    pub(crate) fn see(&self, key: LeaseKey) {
        self.seen
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(key, Instant::now());
    }

    /// Notes that somebody asked or began something under this name. While nobody is watched every
    /// name counts as seen at the moment watching begins, so a replay keeps no names.
    pub(crate) fn asked(&self, key: LeaseKey) {
        if self.listening_since().is_some() {
            self.see(key);
        }
    }

    fn listening_since(&self) -> Option<Instant> {
        *self
            .listening_since
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn listen_since(&self, since: Option<Instant>) {
        *self
            .listening_since
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = since;
    }

    fn is_local(&self, key: &LeaseKey) -> bool {
        self.local
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .contains_key(key)
    }

    fn heard(&self, heartbeat: &Heartbeat) {
        let now = Instant::now();
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        for lease in &heartbeat.leases {
            if let Some(key) = parse(lease) {
                seen.insert(key, now);
            }
        }
    }

    fn names(&self) -> Vec<Lease> {
        let local = self.local.lock().unwrap_or_else(PoisonError::into_inner);
        local.keys().map(write).collect()
    }
}

/// Askers and holders share one list in the heartbeat, told apart by a prefix.
fn write(key: &LeaseKey) -> Lease {
    match key {
        LeaseKey::Asker(tenant, asker) => Lease {
            tenant: tenant.to_string(),
            name: format!("asker:{asker}"),
        },
        LeaseKey::Holder(tenant, name) => Lease {
            tenant: tenant.to_string(),
            name: format!("turn:{name}"),
        },
    }
}

fn parse(lease: &Lease) -> Option<LeaseKey> {
    use askbus_domain::{AskerId, LeaseName, TenantId};
    let tenant = TenantId::new(&lease.tenant).ok()?;
    match lease.name.split_once(':')? {
        ("asker", name) => Some(LeaseKey::Asker(tenant, AskerId::new(name).ok()?)),
        ("turn", name) => Some(LeaseKey::Holder(tenant, LeaseName::new(name).ok()?)),
        _ => None,
    }
}

/// Says that this instance is alive, at once when something attaches, else at the set pace.
pub(crate) async fn publish(core: Arc<Core>, stop: CancellationToken) {
    let mut pace = tokio::time::interval(core.heartbeat);
    pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            _ = pace.tick() => {}
            () = core.leases.changed.notified() => {}
        }
        let mut names = core.leases.names();
        let parts = names.len().div_ceil(NAMES_PER_HEARTBEAT).max(1);
        let mut part = 0;
        loop {
            let rest = names.split_off(names.len().min(NAMES_PER_HEARTBEAT));
            let heartbeat = Heartbeat {
                service: "session-binding".to_owned(),
                instance: core.instance.clone(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
                schema: SCHEMA,
                leases: names,
                present: Vec::new(),
                part,
                parts: u32::try_from(parts).unwrap_or(u32::MAX),
            };
            part += 1;
            if let Err(error) = core.bus.alive.publish(&heartbeat).await {
                tracing::debug!(%error, "heartbeat not sent");
            }
            if rest.is_empty() {
                break;
            }
            names = rest;
        }
    }
}

/// Listens to heartbeats and settles for those who are gone.
pub(crate) async fn watch(core: Arc<Core>, stop: CancellationToken) {
    let mut own_last: Option<Instant> = None;
    // After a longer silence this process knows nothing about who is gone: the bus was away, or the
    // process itself was stopped. A silence that goes unnoticed and another instance's pause between
    // two heartbeats together stay below the shortest lease, which is three heartbeats.
    let silence = core.heartbeat * 3 / 2;
    let unbroken = |last: Option<Instant>| last.is_some_and(|at| at.elapsed() <= silence);
    let mut scan = tokio::time::interval((core.heartbeat / 3).max(Duration::from_millis(50)));
    scan.set_missed_tick_behavior(MissedTickBehavior::Delay);
    'listen: loop {
        let mut heartbeats = match core.bus.alive.watch().await {
            Ok(receiver) => receiver,
            Err(error) => {
                tracing::warn!(%error, "heartbeats cannot be heard; leases are left alone");
                tokio::select! {
                    () = stop.cancelled() => return,
                    () = tokio::time::sleep(Duration::from_secs(1)) => continue 'listen,
                }
            }
        };
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                heartbeat = heartbeats.recv() => {
                    let Some(heartbeat) = heartbeat else { continue 'listen };
                    core.leases.heard(&heartbeat);
                    if heartbeat.instance == core.instance {
                        let now = Instant::now();
                        if !unbroken(own_last) || core.leases.listening_since().is_none() {
                            core.leases.listen_since(Some(now));
                        }
                        own_last = Some(now);
                    }
                }
                _ = scan.tick() => {
                    if unbroken(own_last) {
                        settle_gone(&core).await;
                    } else {
                        core.leases.listen_since(None);
                    }
                }
            }
        }
    }
}

async fn settle_gone(core: &Arc<Core>) {
    let Some(listening) = core.leases.listening_since() else {
        return;
    };
    let in_use = core.projection.leases();
    let now = Instant::now();
    {
        // A name that is new here counts from now. Names that nobody uses are forgotten: what was
        // seen of them must not count against their next use.
        let mut seen = core
            .leases
            .seen
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let used: std::collections::HashSet<&LeaseKey> = in_use.iter().map(|(k, ..)| k).collect();
        seen.retain(|key, _| used.contains(key));
        for (key, ..) in &in_use {
            seen.entry(key.clone()).or_insert(now);
        }
    }
    for (lease, ttl, sessions) in in_use {
        let seen = core
            .leases
            .seen
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(&lease)
            .copied();
        let last = seen.unwrap_or(now).max(listening);
        // A shorter lease than three heartbeats would run out between two of them.
        let ttl = Duration::from_millis(ttl.0).max(core.heartbeat * 3);
        if last.elapsed() < ttl || core.leases.is_local(&lease) {
            continue;
        }
        for key in sessions {
            let command = match &lease {
                LeaseKey::Asker(_, asker_id) => Command::AskerLost {
                    asker_id: asker_id.clone(),
                },
                LeaseKey::Holder(_, name) => Command::HolderLost { name: name.clone() },
            };
            tracing::info!(tenant = %key.0, session = %key.1, ?lease, "its lease ran out");
            if let Err(error) = core.commands().run(key, command, None).await {
                tracing::warn!(%error, "a lost lease could not be settled yet");
            }
        }
    }
}
