//! What other instances hear of this one.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod world;

use askbus_credential::Role;
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

fn beat(names: &[&str], part: u32, parts: u32) -> Heartbeat {
    let tenant = TenantId::new("local").unwrap();
    let lease = |name: &&str| Lease::asker(&tenant, &AskerId::new(*name).unwrap());
    Heartbeat {
        service: "session-binding".into(),
        instance: "one".into(),
        leases: names.iter().map(lease).collect(),
        part,
        parts,
        ..Heartbeat::default()
    }
}

// contract: E11
#[tokio::test(flavor = "multi_thread")]
async fn an_open_card_hears_at_once_that_its_asker_is_gone_and_that_it_is_back() {
    let world = World::start().await;
    let ann = world.person("ann");
    let mut heard = world.bus.alive.watch().await.unwrap();
    // Nobody was heard of yet: that is no reason to call anybody gone.
    let id = world.ask("s", Dialect::Ask, json!({"question": "q"})).await;
    let mut socket = world.socket("/ws", &ann).await;
    let replay = socket.replay().await;
    assert_eq!(replay[1]["disconnected"], json!(null), "{replay:?}");
    // The gateway hears itself: it may judge from now on.
    let own = async { while heard.recv().await.unwrap().service != "gateway" {} };
    tokio::time::timeout(BOUND, own).await.unwrap();
    let publish = |heartbeat: Heartbeat| {
        let bus = world.bus.clone();
        async move { bus.alive.publish(&heartbeat).await.unwrap() }
    };
    publish(beat(&["asker", "other"], 0, 1)).await;
    // Half of what is said does not mean that the rest is gone.
    publish(beat(&["other"], 0, 2)).await;
    publish(beat(&["asker"], 1, 2)).await;
    publish(beat(&["other"], 0, 1)).await;
    let gone = socket.until(|o| o["event"] == "clarify.asker").await;
    assert_eq!(
        (&gone["clarify_id"], &gone["disconnected"]),
        (&json!(id), &json!(true)),
        "{gone}"
    );
    let left = gone["kept_until"].as_i64().unwrap() - gone["server_now"].as_i64().unwrap();
    assert!((10_000..=15_000).contains(&left), "its lease: {gone}");
    let late = world.socket("/ws", &ann).await.replay().await;
    assert_eq!(late[1]["disconnected"], true, "{late:?}");
    publish(beat(&["asker"], 0, 1)).await;
    let back = socket.until(|o| o["event"] == "clarify.asker").await;
    assert_eq!(
        (&back["disconnected"], &back["kept_until"]),
        (&json!(false), &json!(null)),
        "{back}"
    );
    drop(socket);
    world.end().await;
}

/// The next heartbeat of the gateway that names somebody.
async fn named(heard: &mut tokio::sync::mpsc::Receiver<Heartbeat>) -> Heartbeat {
    let somebody = async {
        loop {
            let heartbeat = heard.recv().await.unwrap();
            if heartbeat.service == "gateway" && !heartbeat.people.is_empty() {
                return heartbeat;
            }
        }
    };
    tokio::time::timeout(BOUND, somebody)
        .await
        .expect("a heartbeat that names somebody")
}

// contract: D9 D14
#[tokio::test(flavor = "multi_thread")]
async fn who_looks_at_what_waits_is_there_and_who_reads_anything_else_is_not() {
    let world = World::start().await;
    let mut heard = world.bus.alive.watch().await.unwrap();
    // None of these counts: scripts of the machine, agents, and everything but what waits.
    for path in [
        "/api/clarifications?status=pending",
        "/api/clarify/waiting",
        "/api/clarify/health",
    ] {
        let response = world.http.get(world.url(path)).send().await.unwrap();
        assert_eq!(response.status().as_u16(), 200, "{path}");
    }
    let ann = world.person("ann");
    for path in [
        "/api/clarify/waiting",
        "/api/clarify/health",
        "/api/me",
        "/api/clarifications?status=settled",
    ] {
        assert_eq!(world.get(path, &ann).await.0, 200, "{path}");
    }
    let agent = world.token(Role::Agent, "robot", "local", &["default"]);
    assert_eq!(
        world
            .get("/api/clarifications?status=pending", &agent)
            .await
            .0,
        403
    );

    let eve = world.token(Role::Operator, "eve", "acme", &["default", "ops"]);
    let (status, _) = world.get("/api/clarifications?session=s", &eve).await;
    assert_eq!(status, 200);
    let heartbeat = named(&mut heard).await;
    let [person] = &heartbeat.people[..] else {
        panic!("one person and nobody else: {heartbeat:?}");
    };
    let profiles: Vec<_> = person.profiles.iter().map(ToString::to_string).collect();
    assert_eq!(profiles, ["default", "ops"]);
    assert_eq!(
        (person.tenant.as_str(), person.person.as_str()),
        ("acme", "eve")
    );
    assert!(person.rights.operator);
    assert_eq!(person.session.as_ref().unwrap().as_str(), "s");
    assert!(heartbeat.present.is_empty(), "no socket is open");
    world.end().await;
}

// contract: D9
#[tokio::test(flavor = "multi_thread")]
async fn a_socket_that_opens_or_closes_is_told_at_once() {
    let world = World::start().await;
    let mut heard = world.bus.alive.watch().await.unwrap();
    let ann = world.person("ann");
    let mut socket = world.socket("/ws", &ann).await;
    socket.replay().await;
    let heartbeat = named(&mut heard).await;
    assert_eq!(heartbeat.people[0].person.as_str(), "ann");
    assert_eq!(
        (heartbeat.people[0].ago_ms, heartbeat.present.len()),
        (0, 1)
    );
    drop(socket);
    // Still named for a while, but with nothing open.
    let closed = async {
        loop {
            let heartbeat = named(&mut heard).await;
            if heartbeat.present.is_empty() {
                return heartbeat;
            }
        }
    };
    let heartbeat = tokio::time::timeout(BOUND, closed).await.unwrap();
    assert_eq!(heartbeat.people[0].person.as_str(), "ann");
    world.end().await;
}
