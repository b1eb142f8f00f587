//! Heartbeats within one process.

use super::Shared;
use crate::{Alive, LedgerError};
use askbus_wire::messages::Heartbeat;
use async_trait::async_trait;
use std::sync::Arc;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::mpsc;

/// Heartbeats between publisher and watcher; older ones are dropped under load.
pub(super) const CAPACITY: usize = 256;

/// The in-process heartbeats.
pub(super) struct EmbeddedAlive(pub Arc<Shared>);

#[async_trait]
impl Alive for EmbeddedAlive {
    async fn publish(&self, heartbeat: &Heartbeat) -> Result<(), LedgerError> {
        // Fails only when nobody watches.
        drop(self.0.alive.send(heartbeat.clone()));
        Ok(())
    }

    async fn watch(&self) -> Result<mpsc::Receiver<Heartbeat>, LedgerError> {
        let (out, heartbeats) = mpsc::channel(CAPACITY);
        let mut published = self.0.alive.subscribe();
        let stop = self.0.stop.clone();
        self.0.spawn(async move {
            loop {
                let heartbeat = tokio::select! {
                    () = stop.cancelled() => return,
                    () = out.closed() => return,
                    heartbeat = published.recv() => heartbeat,
                };
                match heartbeat {
                    // A watcher that is behind misses some; the next ones say the same.
                    Ok(heartbeat) => drop(out.try_send(heartbeat)),
                    Err(RecvError::Lagged(_)) => {}
                    Err(RecvError::Closed) => return,
                }
            }
        })?;
        Ok(heartbeats)
    }
}
