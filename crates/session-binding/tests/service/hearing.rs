//! Nobody is taken for gone by a process that did not hear for as long as a lease lasts.

use crate::agent::outcome;
use crate::world::{Setup, TENANT, World};
use askbus_domain::{AskerId, Millis, TenantId};
use askbus_ledger::{Alive, Bus, LedgerError};
use askbus_wire::messages::{Heartbeat, Lease};
use async_trait::async_trait;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

const LEASE: Millis = Millis(3_000);

/// Heartbeats that are heard when the test says so, and never otherwise.
#[derive(Default)]
struct Told(Mutex<Option<mpsc::Sender<Heartbeat>>>);

impl Told {
    async fn say(&self, instance: &str, askers: &[&str]) {
        let sender = self.0.lock().unwrap().clone().unwrap();
        let tenant = TenantId::new(TENANT).unwrap();
        let lease = |name: &&str| Lease::asker(&tenant, &AskerId::new(*name).unwrap());
        let heartbeat = Heartbeat {
            service: "session-binding".to_owned(),
            instance: instance.to_owned(),
            leases: askers.iter().map(lease).collect(),
            ..Heartbeat::default()
        };
        sender.send(heartbeat).await.unwrap();
    }
}

#[async_trait]
impl Alive for Told {
    async fn publish(&self, _: &Heartbeat) -> Result<(), LedgerError> {
        Ok(())
    }

    async fn watch(&self) -> Result<mpsc::Receiver<Heartbeat>, LedgerError> {
        let (sender, receiver) = mpsc::channel(8);
        *self.0.lock().unwrap() = Some(sender);
        Ok(receiver)
    }
}

// contract: E11
#[tokio::test(start_paused = true)]
async fn a_lease_runs_out_only_while_heartbeats_are_known_to_be_heard() {
    let world = World::in_memory();
    let told = Arc::new(Told::default());
    let setup = Setup {
        lease: LEASE,
        instance: "this".to_owned(),
        ..Setup::in_memory()
    };
    let alive = Arc::clone(&told);
    let replica = world.replica_with(setup, |bus| Bus { alive, ..bus }).await;
    let agent = world.agent(&replica);
    let context = agent.begin("s").await;
    let begun = Instant::now();
    let at = |ms| sleep_until(begun + Duration::from_millis(ms));
    told.say("this", &[]).await;
    let id = agent.ask(&context, "anybody?").await;
    for ms in [900, 1_950] {
        at(ms).await;
        told.say("this", &[]).await;
    }
    // Silence, in which the asker is named elsewhere and nobody hears it: three seconds after it was
    // heard last this process still takes itself for hearing, and does not know.
    at(3_400).await;
    assert_eq!(agent.get(&id).await.status, "pending");
    at(3_420).await;
    told.say("other", &[&agent.asker]).await;
    for ms in [3_430, 4_300, 5_300, 6_000] {
        at(ms).await;
        told.say("this", &[]).await;
    }
    // Heard without a break, but not for a whole lease after it was named.
    at(6_410).await;
    told.say("this", &[]).await;
    assert_eq!(agent.get(&id).await.status, "pending");
    at(6_450).await;
    told.say("this", &[]).await;
    at(7_200).await;
    assert_eq!(outcome(&agent.get(&id).await).cause, "asker_gone");
    replica.stop().await;
}
