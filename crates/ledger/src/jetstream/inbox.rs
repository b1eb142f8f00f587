//! The inbox on JetStream.

use super::append::{note, refusal};
use super::read::moment;
use super::streams::INBOX;
use super::{QUICK, Shared, take, unavailable};
use crate::message_id::{fit_trace, message_id};
use crate::{Delivery, Inbox, LedgerError, Submission, Submitted};
use askbus_domain::{ClarifyId, MAX_COMMIT_BYTES, SessionId, TenantId, Timestamp};
use askbus_wire::{headers, subject};
use async_nats::jetstream::message::PublishMessage;
use async_trait::async_trait;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::Instant;

/// For how long a submission is tried. Servers whose leader died take four to nine seconds to agree
/// on another; and its author does not wait for ever.
const STORED_WITHIN: Duration = Duration::from_secs(9);
/// Waits between attempts to store a submission.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);
/// How long a submission waits for a connection that was lost just now.
const RECONNECT: Duration = Duration::from_secs(1);

pub(super) struct JetStreamInbox(pub Arc<Shared>);

impl JetStreamInbox {
    async fn publish(&self, target: &str, message: PublishMessage) -> Result<(), LedgerError> {
        let refused = self.0.link.refused(target);
        let publish = self.0.context.send_publish(target.to_owned(), message);
        let publish = async { publish.await?.await };
        self.0.connected()?;
        let answered = self.0.on_connection(tokio::time::timeout(QUICK, publish));
        let answered = tokio::select! {
            answered = answered => answered.map_err(|lost| LedgerError::InDoubt(lost.to_string()))?,
            error = refused => return Err(error),
        };
        match answered {
            Ok(Ok(_)) => {
                self.0.servers.stored();
                Ok(())
            }
            Ok(Err(error)) => {
                note(&self.0, &error);
                Err(refusal(&error))
            }
            Err(_) => {
                self.0.servers.silent();
                Err(LedgerError::InDoubt(
                    "the inbox said nothing in time".into(),
                ))
            }
        }
    }
}

#[async_trait]
impl Inbox for JetStreamInbox {
    async fn submit(&self, submission: Submission) -> Result<Submitted, LedgerError> {
        let payload = serde_json::to_vec(&submission.message).map_err(unavailable)?;
        if payload.len() > MAX_COMMIT_BYTES {
            return Err(LedgerError::TooLarge(format!(
                "an answer of {} bytes is larger than {MAX_COMMIT_BYTES}",
                payload.len()
            )));
        }
        let (reply_to, reply) = self.0.replies.expect();
        let give_up = Instant::now() + STORED_WITHIN;
        let actor = subject::token(submission.message.actor().person.as_str());
        let target = subject::inbox(
            &submission.tenant,
            &submission.session,
            submission.clarify_id,
        );
        let mut message = PublishMessage::build()
            .message_id(message_id(&submission, &payload))
            .payload(payload.into())
            .header(headers::REPLY, reply_to.as_str())
            .header(headers::ACTOR, actor.as_str())
            .header(headers::SCHEMA, submission.message.schema.to_string());
        if let Some(trace) = fit_trace(submission.trace.as_deref()) {
            message = message.header(headers::TRACEPARENT, trace);
        }
        // The same message again is stored once, so what a server that died took with it is sent
        // again to those that are left, and its author notices nothing.
        let (mut pause, mut in_doubt) = (FIRST_PAUSE, false);
        loop {
            let error = match self.publish(&target, message.clone()).await {
                Ok(()) => return Ok(Submitted { reply }),
                Err(LedgerError::Unavailable(why)) if in_doubt => LedgerError::InDoubt(why),
                Err(error @ (LedgerError::Unavailable(_) | LedgerError::InDoubt(_))) => error,
                Err(error) => return Err(error),
            };
            in_doubt = matches!(error, LedgerError::InDoubt(_));
            if Instant::now() + pause >= give_up {
                return Err(error);
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
            // Without any connection its author had better know soon.
            let up = tokio::time::timeout(RECONNECT, self.0.link.up()).await;
            if up.is_err() {
                return Err(error);
            }
        }
    }

    async fn take(&self, tenant: &TenantId) -> Result<mpsc::Receiver<Delivery>, LedgerError> {
        take::start(&self.0, tenant)
    }

    async fn oldest(
        &self,
        tenant: &TenantId,
        session: &SessionId,
        id: ClarifyId,
    ) -> Result<Option<Timestamp>, LedgerError> {
        let subject = subject::inbox(tenant, session, id);
        let oldest = self
            .0
            .get(INBOX, |get| get.next_by_subject(subject))
            .await?;
        Ok(oldest.map(|message| moment(message.time)))
    }
}
