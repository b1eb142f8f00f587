//! Who is there: people, told to others by heartbeat, and askers, heard of by theirs.

use crate::askers::{Asker, Askers};
use crate::caller::Person;
use crate::gateway::Gateway;
use crate::people::People;
use askbus_domain::{Clarification, SCHEMA, SessionId, TenantId, Timestamp};
use askbus_wire::messages::{Heartbeat, PersonPresent};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// How often an instance says that it is alive.
const HEARTBEAT: Duration = Duration::from_secs(5);
const SERVICE: &str = "gateway";
/// People named in one heartbeat at most; more go into further ones.
const PEOPLE_PER_HEARTBEAT: usize = 200;
/// How long telling the others may take when it leaves.
const FAREWELL: Duration = Duration::from_millis(500);
/// When this process has not heard itself for this long it hears nobody.
const SILENCE: Duration = HEARTBEAT.saturating_mul(2);

/// People and askers.
pub(crate) struct Presence {
    people: People,
    next_socket: AtomicU64,
    askers: Mutex<Askers>,
}

/// One open socket of a person.
pub(crate) struct Seat {
    gateway: Arc<Gateway>,
    who: Option<PersonPresent>,
    /// Tells sockets of this process apart.
    pub number: u64,
}

impl Presence {
    pub(crate) fn new() -> Self {
        Self {
            people: People::default(),
            next_socket: AtomicU64::new(1),
            askers: Mutex::default(),
        }
    }

    /// A person looked at what waits, once; of one session or of all.
    pub(crate) fn looked(&self, person: &Person, session: Option<&SessionId>) {
        let who = person.present(session.cloned());
        self.people.look(&who, Instant::now());
    }

    /// How many sockets are open, by tenant.
    pub(crate) fn open(&self) -> HashMap<TenantId, usize> {
        self.people.open()
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
    /// Counts a socket for as long as the seat lives. One that shows a session only counts for
    /// that one.
    pub(crate) fn sit(gateway: &Arc<Gateway>, person: &Person, session: Option<&str>) -> Self {
        let who = match session {
            None | Some("") => Some(person.present(None)),
            // Under a name that is none nothing is ever shown.
            Some(name) => SessionId::new(name)
                .ok()
                .map(|session| person.present(Some(session))),
        };
        if let Some(who) = &who {
            gateway.presence.people.enter(who, Instant::now());
        }
        Self {
            number: gateway.presence.next_socket.fetch_add(1, Ordering::Relaxed),
            gateway: Arc::clone(gateway),
            who,
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        if let Some(who) = &self.who {
            self.gateway.presence.people.leave(who, Instant::now());
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
                publish(&gateway, gateway.presence.people.all(now)).await;
            }
            () = gateway.presence.people.changed() => {
                publish(&gateway, gateway.presence.people.news(Instant::now())).await;
            }
        }
    }
}

/// Tells the others that this instance leaves.
pub(crate) async fn farewell(gateway: &Gateway) {
    let heartbeat = Heartbeat {
        service: SERVICE.to_owned(),
        instance: gateway.instance.clone(),
        version: gateway.version.clone(),
        schema: SCHEMA,
        parts: 1,
        leaves: true,
        ..Heartbeat::default()
    };
    let told = tokio::time::timeout(FAREWELL, gateway.bus.alive.publish(&heartbeat)).await;
    if !matches!(told, Ok(Ok(()))) {
        tracing::debug!("nobody was told that this gateway leaves");
    }
}

/// Says that this instance is alive and that these people are or were there.
async fn publish(gateway: &Gateway, mut people: Vec<PersonPresent>) {
    let parts = people.len().div_ceil(PEOPLE_PER_HEARTBEAT).max(1);
    let parts = u32::try_from(parts).unwrap_or(u32::MAX);
    for part in 0..parts {
        let rest = people.split_off(people.len().min(PEOPLE_PER_HEARTBEAT));
        let heartbeat = Heartbeat {
            service: SERVICE.to_owned(),
            instance: gateway.instance.clone(),
            version: gateway.version.clone(),
            schema: SCHEMA,
            present: gateway.presence.people.tenants(),
            people: std::mem::replace(&mut people, rest),
            part,
            parts,
            ..Heartbeat::default()
        };
        if let Err(error) = gateway.bus.alive.publish(&heartbeat).await {
            tracing::debug!(%error, "the heartbeat was not sent");
        }
    }
}
