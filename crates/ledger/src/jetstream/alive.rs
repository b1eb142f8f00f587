//! Heartbeats as plain NATS messages.

use super::{PATIENCE, Shared, unavailable};
use crate::{Alive, LedgerError};
use askbus_wire::messages::Heartbeat;
use askbus_wire::subject;
use async_trait::async_trait;
use futures::StreamExt;
use std::sync::Arc;
use tokio::sync::mpsc;

/// Heartbeats between the bus and a watcher.
const CAPACITY: usize = 256;

pub(super) struct JetStreamAlive(pub Arc<Shared>);

#[async_trait]
impl Alive for JetStreamAlive {
    async fn publish(&self, heartbeat: &Heartbeat) -> Result<(), LedgerError> {
        self.0.connected()?;
        let payload = serde_json::to_vec(heartbeat).map_err(unavailable)?;
        let target = subject::alive(&heartbeat.service, &heartbeat.instance);
        self.0
            .client
            .publish(target, payload.into())
            .await
            .map_err(unavailable)
    }

    async fn watch(&self) -> Result<mpsc::Receiver<Heartbeat>, LedgerError> {
        // The client renews subscriptions by itself on every new connection.
        let mut published = self
            .0
            .client
            .subscribe(subject::ALIVE_WILDCARD)
            .await
            .map_err(unavailable)?;
        if self.0.link.is_connected() {
            let flushed = tokio::time::timeout(PATIENCE, self.0.client.flush()).await;
            flushed.map_err(unavailable)?.map_err(unavailable)?;
        }
        let (out, heartbeats) = mpsc::channel(CAPACITY);
        let stop = self.0.stop.clone();
        self.0.spawn(async move {
            loop {
                let message = tokio::select! {
                    () = stop.cancelled() => return,
                    () = out.closed() => return,
                    message = published.next() => message,
                };
                let Some(message) = message else { return };
                match serde_json::from_slice(&message.payload) {
                    // A watcher that is behind misses some; the next ones say the same.
                    Ok(heartbeat) => drop(out.try_send(heartbeat)),
                    Err(error) => {
                        tracing::debug!(%error, subject = %message.subject, "not a heartbeat");
                    }
                }
            }
        })?;
        Ok(heartbeats)
    }
}
