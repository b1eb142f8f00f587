//! Taking from the inbox: one durable consumer per tenant, pulled by every instance that serves it.

use super::read::{header, moment};
use super::streams::INBOX;
use super::tail::{FIRST_WAIT, LONGEST_WAIT};
use super::unsettled::Unsettled;
use super::{Shared, unavailable};
use crate::{Delivery, LedgerError, ReplySink};
use askbus_domain::TenantId;
use askbus_wire::messages::InboxReply;
use askbus_wire::{headers, subject};
use async_nats::Client;
use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy, pull};
use async_nats::jetstream::message::AckKind;
use async_trait::async_trait;
use futures::{FutureExt as _, StreamExt};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, watch};

/// Messages between the inbox and a taker.
const CAPACITY: usize = 256;
/// Messages asked for at once; small batches stall and fall behind in a burst.
const BATCH: usize = 1000;
/// How long a request for messages lives. A taker that is cut off is alive to its server for minutes,
/// and what is sent in answer to its last request has to come again; so that is soon forgotten.
const EXPIRES: Duration = Duration::from_secs(5);
const HEARTBEAT: Duration = Duration::from_secs(2);
/// Messages with all takers of a tenant together.
const MAX_UNSETTLED: i64 = 5000;
/// Replies go below this and nowhere else: the subject comes from the message, and whoever may
/// write to the inbox must not be able to aim a service's publish at another subject.
const REPLY_PREFIX: &str = "_INBOX.";

/// Starts taking.
pub(super) fn start(
    shared: &Arc<Shared>,
    tenant: &TenantId,
) -> Result<mpsc::Receiver<Delivery>, LedgerError> {
    let (out, deliveries) = mpsc::channel(CAPACITY);
    let taker = Arc::clone(shared);
    shared.spawn(run(taker, tenant.clone(), out))?;
    Ok(deliveries)
}

async fn run(shared: Arc<Shared>, tenant: TenantId, out: mpsc::Sender<Delivery>) {
    let unsettled = Arc::new(Unsettled::default());
    tokio::select! {
        () = take(&shared, &tenant, &out, &unsettled) => {}
        never = unsettled.keep(shared.ack_wait) => match never {},
    }
}

async fn take(
    shared: &Shared,
    tenant: &TenantId,
    out: &mpsc::Sender<Delivery>,
    unsettled: &Arc<Unsettled>,
) {
    let mut generation = shared.link.generation();
    let mut wait = FIRST_WAIT;
    loop {
        let mut any = false;
        let ended = tokio::select! {
            () = shared.stop.cancelled() => return,
            () = out.closed() => return,
            ended = consume(shared, tenant, (out, unsettled), &mut generation, &mut any) => ended,
        };
        let Err(error) = ended else { return };
        if any {
            wait = FIRST_WAIT;
        }
        tracing::debug!(%error, %tenant, "taking from the inbox starts anew");
        tokio::select! {
            () = shared.stop.cancelled() => return,
            () = out.closed() => return,
            () = tokio::time::sleep(wait) => wait = (wait * 2).min(LONGEST_WAIT),
        }
    }
}

/// Takes until the reader leaves (`Ok`) or something asks for a new start.
async fn consume(
    shared: &Shared,
    tenant: &TenantId,
    (out, unsettled): (&mpsc::Sender<Delivery>, &Arc<Unsettled>),
    generation: &mut watch::Receiver<u64>,
    any: &mut bool,
) -> Result<(), LedgerError> {
    shared.link.up().await;
    generation.mark_unchanged();
    let consumer = config(tenant, shared.ack_wait);
    let consumer = shared.context.create_consumer_on_stream(consumer, INBOX);
    let consumer = shared.create(consumer).await?;
    let stream = consumer.stream().max_messages_per_batch(BATCH);
    let mut messages = stream
        .expires(EXPIRES)
        .heartbeat(HEARTBEAT)
        .messages()
        .await
        .map_err(unavailable)?;
    loop {
        let message = tokio::select! {
            biased;
            changed = generation.changed() => {
                changed.map_err(unavailable)?;
                // What came before is served: the inbox takes it for delivered.
                match messages.next().now_or_never() {
                    Some(message) => {
                        generation.mark_changed();
                        message
                    }
                    None => return Err(unavailable("new connection")),
                }
            }
            message = messages.next() => message,
        };
        let message = message.ok_or_else(|| unavailable("the consumer ended"))?;
        *any = true;
        if let Some(delivery) = deliver(shared, unsettled, message.map_err(unavailable)?).await?
            && out.send(delivery).await.is_err()
        {
            return Ok(());
        }
    }
}

fn config(tenant: &TenantId, ack_wait: Duration) -> pull::Config {
    pull::Config {
        durable_name: Some(subject::inbox_consumer(tenant)),
        filter_subject: subject::inbox_tenant(tenant),
        deliver_policy: DeliverPolicy::All,
        ack_policy: AckPolicy::Explicit,
        ack_wait,
        max_ack_pending: MAX_UNSETTLED,
        ..pull::Config::default()
    }
}

/// A message as services see it; one whose subject names no session is never delivered again.
async fn deliver(
    shared: &Shared,
    unsettled: &Arc<Unsettled>,
    message: async_nats::jetstream::Message,
) -> Result<Option<Delivery>, LedgerError> {
    let (stored_at, deliveries) = {
        let info = message.info().map_err(unavailable)?;
        (
            moment(info.published),
            u64::try_from(info.delivered).unwrap_or(1),
        )
    };
    let (message, acker) = message.split();
    let Some((tenant, session, clarify_token)) = subject::parse_inbox(&message.subject) else {
        tracing::error!(subject = %message.subject, "an answer to no session; thrown away");
        acker.ack_with(AckKind::Term).await.map_err(unavailable)?;
        return Ok(None);
    };
    let headers = message.headers.as_ref();
    let reply_to = header(headers, headers::REPLY).filter(|to| is_reply_subject(to));
    Ok(Some(Delivery {
        tenant,
        session,
        clarify_token,
        stored_at,
        deliveries,
        trace: header(headers, headers::TRACEPARENT),
        acker: Box::new(unsettled.hold(acker)),
        reply: Box::new(Reply {
            client: shared.client.clone(),
            reply_to,
        }),
        payload: message.payload,
    }))
}

fn is_reply_subject(subject: &str) -> bool {
    subject.starts_with(REPLY_PREFIX)
        && subject.len() <= 256
        && subject
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'))
}

struct Reply {
    client: Client,
    reply_to: Option<String>,
}

#[async_trait]
impl ReplySink for Reply {
    async fn send(&self, reply: &InboxReply) {
        let Some(subject) = self.reply_to.clone() else {
            return;
        };
        let Ok(payload) = serde_json::to_vec(reply) else {
            return;
        };
        if let Err(error) = self.client.publish(subject, payload.into()).await {
            tracing::debug!(%error, "a verdict was not sent; its author reads the log");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_cannot_be_aimed_at_the_log() {
        assert!(is_reply_subject("_INBOX.abc123.7"));
        assert!(!is_reply_subject("askbus.log.begun.t.s"));
        assert!(!is_reply_subject("_INBOX.a b"));
        assert!(!is_reply_subject("_INBOX.*"));
    }
}
