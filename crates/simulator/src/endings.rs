//! How a run comes to its end: what waits ends by itself, and nothing stays in the inbox.

use crate::world::{LEASE, World};
use askbus_domain::{ClarifyId, Event, Session, SessionId, TenantId};
use askbus_ledger::hostile::HostileHandle;
use askbus_wire::codec::Decoded;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::timeout;

/// Everybody has come to an end by then.
const AGENTS_END_WITHIN: Duration = Duration::from_mins(10);
/// People are done by then.
const PEOPLE_END_WITHIN: Duration = Duration::from_mins(10);
/// The inbox is empty by then.
const DRAINED_WITHIN: Duration = Duration::from_mins(5);
/// No turn is begun for longer than ten minutes.
const TURNS_END_WITHIN: Duration = Duration::from_mins(12);
/// After everybody is gone: a lease, and as long as a bus needs to show it that loses nothing but a
/// heartbeat that cannot be sent now and then.
const LEASES_END_WITHIN: Duration = Duration::from_secs(20);
/// The same on a bus that loses many heartbeats.
const LEASES_END_LATE_WITHIN: Duration = Duration::from_mins(4);

/// Waits until everybody has ended and everything is judged.
pub(crate) async fn settle_down(
    worlds: &[Arc<World>],
    handle: &HostileHandle,
    mut agents: JoinSet<()>,
) {
    let Some(world) = worlds.first() else { return };
    let ended = async { while agents.join_next().await.is_some() {} };
    if timeout(AGENTS_END_WITHIN, ended).await.is_err() {
        world.broken("an agent does not come to an end");
    }
    // Shared by all tenants, like all that follows.
    world.asked.cancel();
    leases_end(world, handle).await;
    // People have read the log by then, and do what they mean to do.
    tokio::time::sleep(Duration::from_secs(5)).await;
    world.acting.close();
    if timeout(PEOPLE_END_WITHIN, world.acting.wait())
        .await
        .is_err()
    {
        world.broken("a person does not come to an end");
    }
    let drained = async {
        while handle.unjudged() > 0 {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    };
    if timeout(DRAINED_WITHIN, drained).await.is_err() {
        world.broken(format!("{} messages stay in the inbox", handle.unjudged()));
    }
}

/// Nothing waits longer than its lease for those who are gone, and no turn goes on without them.
async fn leases_end(world: &World, handle: &HostileHandle) {
    let within = if world.records().heartbeats_arrive {
        LEASES_END_WITHIN
    } else {
        LEASES_END_LATE_WITHIN
    };
    let over = async {
        while pending(handle).next().is_some() || turns_on(handle) {
            tokio::time::sleep(Duration::from_millis(LEASE.0 / 10)).await;
        }
    };
    if timeout(within, over).await.is_err() {
        let waiting: Vec<String> = pending(handle).map(|id| id.to_string()).collect();
        world.broken(format!(
            "everybody is gone for {within:?}, and there still is: {waiting:?}, a turn: {}",
            turns_on(handle)
        ));
    }
}

/// Waits for turns that nobody holds and that end by their time.
pub(crate) async fn turns_run_out(world: &World, handle: &HostileHandle) {
    let over = async {
        while sessions(handle).any(|session| session.active_turn().is_some()) {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    };
    if timeout(TURNS_END_WITHIN, over).await.is_err() {
        world.broken("a turn goes on beyond its time");
    }
}

/// Whether a turn is active in any session that somebody has to hold.
fn turns_on(handle: &HostileHandle) -> bool {
    sessions(handle).any(|session| session.turn_lease().is_some())
}

fn sessions(handle: &HostileHandle) -> impl Iterator<Item = Session> {
    let mut sessions: BTreeMap<(TenantId, SessionId), Session> = BTreeMap::new();
    for stored in handle.log() {
        if let Decoded::Commit(commit) = &stored.decoded {
            let key = (stored.tenant.clone(), stored.session.clone());
            let session = sessions.entry(key).or_default();
            commit.events.iter().for_each(|event| session.evolve(event));
        }
    }
    sessions.into_values()
}

/// The questions of the log that are not settled.
fn pending(handle: &HostileHandle) -> impl Iterator<Item = ClarifyId> {
    let mut open = BTreeSet::new();
    for stored in handle.log() {
        let Decoded::Commit(commit) = &stored.decoded else {
            continue;
        };
        for event in &commit.events {
            match event {
                Event::Requested { clarify_id, .. } => {
                    open.insert(*clarify_id);
                }
                Event::Resolved { clarify_id, .. } => {
                    open.remove(clarify_id);
                }
                _ => {}
            }
        }
    }
    open.into_iter()
}
