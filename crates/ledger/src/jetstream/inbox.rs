//! The inbox on JetStream.

use super::append::refusal;
use super::read::moment;
use super::streams::INBOX;
use super::{PATIENCE, Shared, take, unavailable};
use crate::message_id::{fit_trace, message_id};
use crate::{Delivery, Inbox, LedgerError, Submission, Submitted};
use askbus_domain::{ClarifyId, MAX_COMMIT_BYTES, SessionId, TenantId, Timestamp};
use askbus_wire::{headers, subject};
use async_nats::jetstream::message::PublishMessage;
use async_trait::async_trait;
use std::sync::Arc;
use tokio::sync::mpsc;

pub(super) struct JetStreamInbox(pub Arc<Shared>);

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
        self.0.connected()?;
        let (reply_to, reply) = self.0.replies.expect();
        let actor = subject::token(submission.message.actor().person.as_str());
        let mut message = PublishMessage::build()
            .message_id(message_id(&submission, &payload))
            .payload(payload.into())
            .header(headers::REPLY, reply_to.as_str())
            .header(headers::ACTOR, actor.as_str())
            .header(headers::SCHEMA, submission.message.schema.to_string());
        if let Some(trace) = fit_trace(submission.trace.as_deref()) {
            message = message.header(headers::TRACEPARENT, trace);
        }
        let target = subject::inbox(
            &submission.tenant,
            &submission.session,
            submission.clarify_id,
        );
        let refused = self.0.link.refused(&target);
        let publish = async { self.0.context.send_publish(target, message).await?.await };
        let answered = tokio::select! {
            answered = tokio::time::timeout(PATIENCE, publish) => answered,
            error = refused => return Err(error),
        };
        match answered {
            Ok(Ok(_)) => Ok(Submitted { reply }),
            Ok(Err(error)) => Err(refusal(&error)),
            // Sending the same message again is safe: it is stored once.
            Err(_) => Err(unavailable("the inbox did not say in time that it has it")),
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
