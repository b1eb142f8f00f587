//! A reader that is too slow loses messages, and the ledger says so.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[allow(dead_code)]
mod support;

use askbus_ledger::jetstream::{self, JetStreamOptions};
use std::time::Duration;

/// More messages than a subscription of the client holds.
const FLOOD: usize = 70_000;

#[tokio::test(flavor = "multi_thread")]
async fn dropped_messages_are_counted() {
    let server = support::NatsServer::start().await;
    let options = JetStreamOptions::new(server.url(), "slow");
    let (bus, client, handle) = jetstream::connect(options).await.unwrap();
    let bound = Duration::from_secs(30);
    let mut connected = handle.connected();
    let up = connected.wait_for(|up| *up);
    tokio::time::timeout(bound, up).await.unwrap().unwrap();
    assert_eq!(bus.ledger.slow_consumers(), 0);

    let _unread = client.subscribe("flood").await.unwrap();
    client.flush().await.unwrap();
    for _ in 0..FLOOD {
        client.publish("flood", "x".into()).await.unwrap();
    }
    client.flush().await.unwrap();
    let mut slow = handle.slow_consumers();
    let lost = slow.wait_for(|count| *count > 0);
    tokio::time::timeout(bound, lost).await.unwrap().unwrap();
    assert!(bus.ledger.slow_consumers() > 0);
    handle.close().await;
}
