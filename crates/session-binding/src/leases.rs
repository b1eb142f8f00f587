//! Leases: who is still there. Each instance's heartbeat names the askers attached to it and the
//! turns held through it; a name that no heartbeat carried for its lease time is gone (E11, E20).

use crate::commands::Work;
use crate::projection::{Key, LeaseKey};
use crate::service::Core;
use askbus_domain::{Command, Millis, SCHEMA};
use askbus_wire::messages::{Heartbeat, Kept, Lease};
use futures::StreamExt as _;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, Semaphore};
use tokio::time::{Instant, MissedTickBehavior};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// How long a lease of `wanted` is: a shorter one than three heartbeats would run out between two of them.
pub(crate) fn granted(wanted: Millis, heartbeat: Duration) -> Millis {
    let shortest = u64::try_from((heartbeat * 3).as_millis()).unwrap_or(u64::MAX);
    wanted.max(Millis(shortest))
}

/// Names in one heartbeat at most; more go into further ones.
const NAMES_PER_HEARTBEAT: usize = 500;
/// Lost leases settled at the same time.
const AT_ONCE: usize = 64;

/// What is known about who is there.
pub(crate) struct Leases {
    /// Held through this process, with how many streams hold each.
    local: Mutex<BTreeMap<LeaseKey, usize>>,
    /// When a heartbeat last named it.
    seen: Mutex<HashMap<LeaseKey, Instant>>,
    /// Since when this process has heard heartbeats without interruption, its own included, and
    /// when it heard its own last. A process that hears nobody knows nothing about who is gone.
    hearing: Mutex<Option<(Instant, Instant)>>,
    /// Kept through this process until a moment, without anybody holding on to it.
    kept: Mutex<BTreeMap<LeaseKey, Instant>>,
    /// What is being settled, for which sessions.
    settling: Mutex<BTreeSet<(LeaseKey, Key)>>,
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
        let last = !local.contains_key(&self.key);
        drop(local);
        // The lease runs from the last moment it was held, not from the last heartbeat.
        self.core.leases.see(self.key.clone());
        if last {
            // People are told at once that it is not there any more.
            self.core.leases.changed.notify_one();
        }
    }
}

impl Leases {
    pub(crate) fn new() -> Self {
        Self {
            local: Mutex::default(),
            seen: Mutex::default(),
            hearing: Mutex::default(),
            kept: Mutex::default(),
            settling: Mutex::default(),
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

    /// Notes a sign of life that the other replicas are to hear of: the name stands in the heartbeat
    /// that goes out at once and in those of the next `time`.
    pub(crate) fn keep(&self, key: LeaseKey, time: Duration) {
        self.see(key.clone());
        let until = Instant::now() + time;
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.insert(key, until);
        drop(kept);
        self.changed.notify_one();
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
        let hearing = *self.hearing.lock().unwrap_or_else(PoisonError::into_inner);
        if hearing.is_some() {
            self.see(key);
        }
    }

    /// Notes that this process heard itself at `now`; after a longer silence it begins anew.
    fn heard_oneself(&self, now: Instant, silence: Duration) {
        let since = self.hearing(now, silence).map_or(now, |(since, _)| since);
        *self.hearing.lock().unwrap_or_else(PoisonError::into_inner) = Some((since, now));
    }

    /// Between which moments everybody was heard without interruption; none when that has ended at
    /// `now`.
    pub(crate) fn hearing(&self, now: Instant, silence: Duration) -> Option<(Instant, Instant)> {
        let hearing = *self.hearing.lock().unwrap_or_else(PoisonError::into_inner);
        hearing.filter(|(_, last)| now.duration_since(*last) <= silence)
    }

    fn stop_hearing(&self) {
        *self.hearing.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// A name that is new here counts from `now`. Names that nobody uses are forgotten: what was
    /// seen of them must not count against their next use.
    fn mind(&self, in_use: &[(LeaseKey, Millis, Vec<Key>)], now: Instant) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let used: BTreeSet<&LeaseKey> = in_use.iter().map(|(k, ..)| k).collect();
        seen.retain(|key, _| used.contains(key));
        for (key, ..) in in_use {
            seen.entry(key.clone()).or_insert(now);
        }
    }

    fn last_seen(&self, key: &LeaseKey) -> Option<Instant> {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.get(key).copied()
    }

    fn start_settling(&self, core: &Arc<Core>, lease: &LeaseKey, key: &Key) -> Option<Settling> {
        let entry = (lease.clone(), key.clone());
        let mut settling = self.settling.lock().unwrap_or_else(PoisonError::into_inner);
        settling.insert(entry.clone()).then(|| Settling {
            core: Arc::clone(core),
            entry,
        })
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
        for key in heartbeat.leases.iter().filter_map(read) {
            seen.insert(key, now);
        }
    }

    fn names(&self, now: Instant) -> Vec<Lease> {
        let local = self.local.lock().unwrap_or_else(PoisonError::into_inner);
        let mut keys: BTreeSet<LeaseKey> = local.keys().cloned().collect();
        drop(local);
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|_, until| *until > now);
        keys.extend(kept.keys().cloned());
        keys.iter().map(write).collect()
    }
}

fn write(key: &LeaseKey) -> Lease {
    match key {
        LeaseKey::Asker(tenant, asker) => Lease::asker(tenant, asker),
        LeaseKey::Holder(tenant, name) => Lease::turn(tenant, name),
    }
}

fn read(lease: &Lease) -> Option<LeaseKey> {
    Some(match lease.kept()? {
        Kept::Asker(tenant, asker) => LeaseKey::Asker(tenant, asker),
        Kept::Turn(tenant, name) => LeaseKey::Holder(tenant, name),
    })
}

impl Core {
    /// After a longer silence this process knows nothing about who is gone: the bus was away, or the
    /// process itself was stopped. A silence that goes unnoticed and another instance's pause between
    /// two heartbeats together stay below the shortest lease, which is three heartbeats.
    pub(crate) fn silence(&self) -> Duration {
        self.heartbeat * 3 / 2
    }
}

/// Says that this instance is alive, at once when something attaches, else at the set pace.
pub(crate) async fn publish(core: Arc<Core>, stop: CancellationToken) {
    let mut pace = tokio::time::interval(core.heartbeat);
    pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            biased;
            () = stop.cancelled() => return,
            _ = pace.tick() => {}
            () = core.leases.changed.notified() => {}
        }
        let mut names = core.leases.names(Instant::now());
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
                part,
                parts: u32::try_from(parts).unwrap_or(u32::MAX),
                ..Heartbeat::default()
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
    let mut scan = tokio::time::interval((core.heartbeat / 3).max(Duration::from_millis(50)));
    scan.set_missed_tick_behavior(MissedTickBehavior::Delay);
    // Settling may take as long as the bus is away. Hearing goes on meanwhile: signs of life that
    // wait to be heard must not count as missing.
    let settling = TaskTracker::new();
    let slots = Arc::new(Semaphore::new(AT_ONCE));
    'listen: loop {
        let mut heartbeats = match core.bus.alive.watch().await {
            Ok(receiver) => receiver,
            Err(error) => {
                tracing::warn!(%error, "heartbeats cannot be heard; leases are left alone");
                tokio::select! {
                    biased;
                    () = stop.cancelled() => break 'listen,
                    () = tokio::time::sleep(Duration::from_secs(1)) => continue 'listen,
                }
            }
        };
        loop {
            tokio::select! {
                // What was said comes before what is made of it.
                biased;
                () = stop.cancelled() => break 'listen,
                heartbeat = heartbeats.recv() => {
                    let Some(heartbeat) = heartbeat else { continue 'listen };
                    core.leases.heard(&heartbeat);
                    core.presence.hear(&heartbeat, Instant::now());
                    if heartbeat.instance == core.instance {
                        core.leases.heard_oneself(Instant::now(), core.silence());
                    }
                }
                _ = scan.tick() => {
                    let gone = gone(&core, Instant::now());
                    if !gone.is_empty() {
                        settling.spawn(settle(Arc::clone(&core), gone, Arc::clone(&slots), stop.clone()));
                    }
                }
            }
        }
    }
    settling.close();
    settling.wait().await;
}

/// Everybody who is gone at `now` and whom nothing is settled for yet.
fn gone(core: &Arc<Core>, now: Instant) -> Vec<(Lost, Settling)> {
    if core.leases.hearing(now, core.silence()).is_none() {
        core.leases.stop_hearing();
        return Vec::new();
    }
    core.presence.sweep(now);
    let in_use = core.projection.leases();
    core.leases.mind(&in_use, now);
    let mut gone = Vec::new();
    for (lease, ttl, sessions) in in_use {
        let lost = Lost { lease, ttl };
        if !lost.is_gone(core, now) {
            continue;
        }
        for key in sessions {
            if let Some(settling) = core.leases.start_settling(core, &lost.lease, &key) {
                gone.push((lost.clone(), settling));
            }
        }
    }
    gone
}

/// Settles for all of them, so many at a time, the next one as soon as a slot is free. Those that a
/// later scan found share the slots and come after them.
async fn settle(
    core: Arc<Core>,
    gone: Vec<(Lost, Settling)>,
    slots: Arc<Semaphore>,
    stop: CancellationToken,
) {
    let settle_one = |(lost, settling): (Lost, Settling)| {
        let (core, slots) = (&core, &slots);
        async move {
            // The slots are never closed.
            let Ok(_slot) = slots.acquire().await else {
                return;
            };
            let key = settling.entry.1.clone();
            tracing::info!(tenant = %key.0, session = %key.1, lease = ?lost.lease, "its lease ran out");
            if let Err(error) = core.submit(key, Work::Lost(lost), None).await {
                tracing::warn!(%error, "a lost lease could not be settled yet");
            }
        }
    };
    // What is under way when the service stops is waited for; the rest is found by whoever is left.
    let until_stop = futures::stream::iter(gone).take_until(stop.cancelled());
    until_stop.for_each_concurrent(AT_ONCE, settle_one).await;
}

/// A lease that ran out.
#[derive(Clone)]
pub(crate) struct Lost {
    lease: LeaseKey,
    ttl: Millis,
}

impl Lost {
    /// Whether it ran out by what is known at `now`. Asked again whenever the command is decided,
    /// which may be long after the scan.
    pub(crate) fn is_gone(&self, core: &Core, now: Instant) -> bool {
        let ttl = Duration::from_millis(granted(self.ttl, core.heartbeat).0);
        let leases = &core.leases;
        // It has to have run out while this process was known to hear.
        let heard_nothing = |((since, last), seen): ((Instant, Instant), Instant)| {
            last.duration_since(seen.max(since)) >= ttl
        };
        leases
            .hearing(now, core.silence())
            .zip(leases.last_seen(&self.lease))
            .is_some_and(heard_nothing)
            && !leases.is_local(&self.lease)
    }

    /// What follows for a session.
    pub(crate) fn command(&self) -> Command {
        match &self.lease {
            LeaseKey::Asker(_, asker_id) => Command::AskerLost {
                asker_id: asker_id.clone(),
            },
            LeaseKey::Holder(_, name) => Command::HolderLost { name: name.clone() },
        }
    }
}

/// Keeps a lease from being settled twice at once for a session, from when it was found to be lost.
struct Settling {
    core: Arc<Core>,
    entry: (LeaseKey, Key),
}

impl Drop for Settling {
    fn drop(&mut self) {
        let settling = &self.core.leases.settling;
        settling
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&self.entry);
    }
}
