//! What other instances hear of this one.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod world;

use askbus_domain::{AskerId, Dialect, TenantId};
use askbus_wire::messages::{Heartbeat, Lease};
use serde_json::json;
use world::{BOUND, World};

// contract: D9
#[tokio::test(flavor = "multi_thread")]
async fn an_open_socket_counts_as_presence_and_an_asker_that_is_named_as_connected() {
    let world = World::start().await;
    let mut heard = world.bus.alive.watch().await.unwrap();
    let ann = world.person("ann");
    let mut socket = world.socket("/ws", &ann).await;
    socket.replay().await;
    let present = async {
        loop {
            let heartbeat = heard.recv().await.unwrap();
            if heartbeat.service == "gateway" && !heartbeat.present.is_empty() {
                return heartbeat;
            }
        }
    };
    let heartbeat = tokio::time::timeout(BOUND, present)
        .await
        .expect("a heartbeat with a person");
    assert_eq!(
        heartbeat.present,
        [Lease {
            tenant: "local".into(),
            name: "*".into()
        }]
    );
    assert_eq!(
        (heartbeat.instance.as_str(), heartbeat.version.as_str()),
        ("test", "0.0.0-test")
    );
    let binding = Heartbeat {
        service: "session-binding".into(),
        leases: vec![Lease::asker(
            &TenantId::new("local").unwrap(),
            &AskerId::new("asker").unwrap(),
        )],
        ..Heartbeat::default()
    };
    world.bus.alive.publish(&binding).await.unwrap();
    let id = world.ask("s", Dialect::Ask, json!({"question": "q"})).await;
    // Heartbeats are heard beside the requests: asked again until it shows, within the bound.
    let connected = async {
        loop {
            let (_, object) = world.get(&format!("/api/clarifications/{id}"), &ann).await;
            if object["clarification"]["disconnected"] == false {
                return;
            }
        }
    };
    tokio::time::timeout(BOUND, connected)
        .await
        .expect("the asker is known to be there");
    drop(socket);
    world.end().await;
}
