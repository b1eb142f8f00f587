//! Reads that are never stale: single messages from the stream's leader, and longer stretches from
//! a consumer that is read up to a sequence the leader named.

use super::{PATIENCE, Shared, unavailable};
use crate::{LedgerError, Stored};
use askbus_domain::Timestamp;
use askbus_wire::{codec, headers, subject};
use async_nats::HeaderMap;
use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy, pull};
use async_nats::jetstream::message::StreamMessage;
use async_nats::jetstream::stream::{RawMessageBuilder, RawMessageErrorKind, WithHeaders};
use futures::StreamExt;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

/// Messages asked for at once.
const BATCH: usize = 500;
/// How long the server keeps a consumer that was not removed.
const FORGET_AFTER: Duration = Duration::from_secs(10);

/// A moment of the server's clock.
pub(super) fn moment(at: async_nats::datetime::DateTime) -> Timestamp {
    let millis = at.unix_timestamp_nanos().div_euclid(1_000_000);
    Timestamp::from_unix_millis(i64::try_from(millis).unwrap_or(i64::MAX))
}

/// The value of a header.
pub(super) fn header(headers: Option<&HeaderMap>, name: &str) -> Option<String> {
    headers?.get(name).map(|value| value.as_str().to_owned())
}

/// A message of the log as services see it; none when its subject names no session.
pub(super) fn stored(
    seq: u64,
    at: Timestamp,
    subject: &str,
    headers: Option<&HeaderMap>,
    payload: &[u8],
) -> Option<Arc<Stored>> {
    let Some((tenant, session)) = subject::parse_log(subject) else {
        tracing::error!(
            seq,
            subject,
            "a message of the log belongs to no session; left out"
        );
        return None;
    };
    let trace = header(headers, headers::TRACEPARENT);
    let decoded = codec::decode_commit(payload);
    Some(Arc::new(Stored {
        seq,
        stored_at: at,
        tenant,
        session,
        decoded,
        trace,
    }))
}

/// [`stored`] of a single read.
pub(super) fn stored_single(message: &StreamMessage) -> Option<Arc<Stored>> {
    let (seq, at) = (message.sequence, moment(message.time));
    stored(
        seq,
        at,
        &message.subject,
        Some(&message.headers),
        &message.payload,
    )
}

impl Shared {
    /// One message from the leader of a stream.
    pub(super) async fn get(
        &self,
        stream: &str,
        which: impl FnOnce(RawMessageBuilder<WithHeaders>) -> RawMessageBuilder<WithHeaders>,
    ) -> Result<Option<StreamMessage>, LedgerError> {
        let refused = self
            .link
            .refused(&format!("$JS.API.STREAM.MSG.GET.{stream}"));
        let stream = self
            .context
            .get_stream_no_info(stream)
            .await
            .map_err(unavailable)?;
        let answered = self.on_connection(which(stream.raw_message_builder()).send());
        let answered = tokio::select! {
            answered = answered => answered?,
            error = refused => return Err(error),
        };
        match answered {
            Ok(message) => Ok(Some(message)),
            Err(error) if error.kind() == RawMessageErrorKind::NoMessageFound => Ok(None),
            Err(error) => Err(unavailable(error)),
        }
    }

    /// Visits the messages of a filter from `start` to `last`, which must exist; ends early when
    /// told to. The consumer may be served by a replica that is behind, so it is the leader's
    /// `last` that says when everything was seen.
    pub(super) async fn scan(
        &self,
        stream: &str,
        filter: String,
        start: DeliverPolicy,
        last: u64,
        mut visit: impl FnMut(&async_nats::jetstream::Message, u64, Timestamp) -> ControlFlow<()>,
    ) -> Result<(), LedgerError> {
        let config = pull::Config {
            filter_subject: filter,
            deliver_policy: start,
            ack_policy: AckPolicy::None,
            memory_storage: true,
            num_replicas: 1,
            inactive_threshold: FORGET_AFTER,
            ..pull::Config::default()
        };
        let lost = self.link.lost();
        let consumer = self.context.create_consumer_on_stream(config, stream);
        let consumer = self.on_connection(consumer).await?.map_err(unavailable)?;
        tokio::pin!(lost);
        let mut messages = consumer
            .stream()
            .max_messages_per_batch(BATCH)
            .expires(PATIENCE)
            .heartbeat(Duration::from_secs(1))
            .messages()
            .await
            .map_err(unavailable)?;
        let outcome = loop {
            let next = tokio::select! {
                biased;
                next = tokio::time::timeout(PATIENCE, messages.next()) => next,
                () = &mut lost => break Err(unavailable("the connection to the bus was lost meanwhile")),
            };
            let message = match next {
                Ok(Some(Ok(message))) => message,
                Ok(Some(Err(error))) => break Err(unavailable(error)),
                Ok(None) | Err(_) => break Err(unavailable("a read of the log came to a halt")),
            };
            let (seq, at) = match message.info() {
                Ok(info) => (info.stream_sequence, moment(info.published)),
                Err(error) => break Err(unavailable(error)),
            };
            if seq <= last && visit(&message, seq, at).is_break() || seq >= last {
                break Ok(());
            }
        };
        drop(messages);
        // If this fails the server forgets the consumer by itself.
        let name = &consumer.cached_info().name;
        let removed = self.context.delete_consumer_from_stream(name, stream);
        drop(self.on_connection(removed).await);
        outcome
    }
}
