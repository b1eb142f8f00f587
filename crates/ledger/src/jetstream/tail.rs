//! The tail: one unfiltered consumer after the other, each starting where the last one ended.
//!
//! The library has an ordered consumer of its own, but after a reconnect it notices what was lost
//! on the wire only when the next message comes. Here every new connection, missed heartbeat, gap
//! and error simply leads to a new consumer.

use super::read::{moment, stored};
use super::streams::LOG;
use super::{Shared, unavailable};
use crate::{LedgerError, Stored};
use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy, pull};
use futures::StreamExt;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, watch};

/// Messages between a tail and its reader.
const CAPACITY: usize = 1024;
/// Messages asked for at once.
const BATCH: usize = 2000;
/// The server says this often that it is alive; two misses end the consumer.
const HEARTBEAT: Duration = Duration::from_secs(2);
/// How long a request for messages lives.
const EXPIRES: Duration = Duration::from_secs(30);
/// How long the server keeps a consumer nobody asks.
const FORGET_AFTER: Duration = Duration::from_mins(1);
/// Waits between consumers that came to nothing.
pub(super) const FIRST_WAIT: Duration = Duration::from_millis(20);
pub(super) const LONGEST_WAIT: Duration = Duration::from_secs(2);

/// Why a consumer came to its end.
enum End {
    /// Nobody reads any more.
    Done,
    /// A new one is needed.
    Again(String),
}

struct Tail {
    shared: Arc<Shared>,
    out: mpsc::Sender<Arc<Stored>>,
    /// The next sequence to deliver.
    next: u64,
    generation: watch::Receiver<u64>,
}

/// Starts a tail.
pub(super) fn start(
    shared: &Arc<Shared>,
    from: u64,
) -> Result<mpsc::Receiver<Arc<Stored>>, LedgerError> {
    let (out, messages) = mpsc::channel(CAPACITY);
    let generation = shared.link.generation();
    let tail = Tail {
        shared: Arc::clone(shared),
        out,
        next: from.max(1),
        generation,
    };
    shared.spawn(tail.run())?;
    shared.watch_servers();
    Ok(messages)
}

impl Tail {
    async fn run(mut self) {
        let mut wait = FIRST_WAIT;
        loop {
            let before = self.next;
            let ended = tokio::select! {
                () = self.shared.stop.cancelled() => return,
                () = self.out.closed() => return,
                ended = Self::consume(&self.shared, &self.out, &mut self.next, &mut self.generation) => ended,
            };
            let End::Again(reason) = ended else { return };
            if self.next > before {
                wait = FIRST_WAIT;
            }
            tracing::debug!(reason, next = self.next, "a tail starts anew");
            tokio::select! {
                () = self.shared.stop.cancelled() => return,
                () = self.out.closed() => return,
                () = tokio::time::sleep(wait) => wait = (wait * 2).min(LONGEST_WAIT),
            }
        }
    }

    /// Reads one consumer for as long as it is sound.
    async fn consume(
        shared: &Shared,
        out: &mpsc::Sender<Arc<Stored>>,
        next: &mut u64,
        generation: &mut watch::Receiver<u64>,
    ) -> End {
        shared.link.up().await;
        generation.mark_unchanged();
        let mut messages = match messages(shared, *next).await {
            Ok(messages) => messages,
            Err(error) => return End::Again(error.to_string()),
        };
        let mut delivered = 0;
        loop {
            let message = tokio::select! {
                biased;
                changed = generation.changed() => {
                    return if changed.is_err() { End::Done } else { End::Again("new connection".into()) };
                }
                message = messages.next() => message,
            };
            let message = match message {
                Some(Ok(message)) => message,
                Some(Err(error)) => return End::Again(error.to_string()),
                None => return End::Again("the consumer ended".into()),
            };
            let (seq, at) = match message.info() {
                Ok(info) => {
                    delivered += 1;
                    if info.consumer_sequence != delivered {
                        return End::Again("messages were lost on the way".into());
                    }
                    (info.stream_sequence, moment(info.published))
                }
                Err(error) => return End::Again(error.to_string()),
            };
            if seq < *next {
                continue;
            }
            shared.clock.stored(seq, at.unix_millis());
            let headers = message.headers.as_ref();
            if let Some(stored) = stored(seq, at, &message.subject, headers, &message.payload)
                && out.send(stored).await.is_err()
            {
                return End::Done;
            }
            *next = seq + 1;
        }
    }
}

async fn messages(shared: &Shared, from: u64) -> Result<pull::Stream, LedgerError> {
    let config = pull::Config {
        deliver_policy: DeliverPolicy::ByStartSequence {
            start_sequence: from,
        },
        ack_policy: AckPolicy::None,
        memory_storage: true,
        num_replicas: 1,
        inactive_threshold: FORGET_AFTER,
        // No filter: any filter replays many times slower.
        ..pull::Config::default()
    };
    let consumer = shared.context.create_consumer_on_stream(config, LOG);
    let consumer = shared.create(consumer).await?;
    let stream = consumer.stream().max_messages_per_batch(BATCH);
    stream
        .expires(EXPIRES)
        .heartbeat(HEARTBEAT)
        .messages()
        .await
        .map_err(unavailable)
}
