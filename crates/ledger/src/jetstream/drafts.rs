//! Drafts on JetStream: a stream that keeps the last message of each subject.

use super::append::refusal;
use super::read::moment;
use super::streams::DRAFTS;
use super::{PATIENCE, Shared, unavailable};
use crate::{Drafts, LedgerError, StoredDraft};
use askbus_domain::{ClarifyId, PersonId, SessionId, TenantId};
use askbus_wire::messages::Draft;
use askbus_wire::subject;
use async_nats::jetstream::message::PublishMessage;
use async_trait::async_trait;
use std::sync::Arc;

pub(super) struct JetStreamDrafts(pub Arc<Shared>);

#[async_trait]
impl Drafts for JetStreamDrafts {
    async fn put(
        &self,
        tenant: &TenantId,
        session: &SessionId,
        id: ClarifyId,
        person: &PersonId,
        draft: &Draft,
    ) -> Result<(), LedgerError> {
        let payload = crate::drafts::encode(draft)?;
        let target = subject::draft(tenant, session, id, person, &draft.tab);
        let message = PublishMessage::build().payload(payload.into());
        let refused = self.0.link.refused(&target);
        let publish = async { self.0.context.send_publish(target, message).await?.await };
        let answered = self
            .0
            .on_connection(tokio::time::timeout(PATIENCE, publish));
        let answered = tokio::select! {
            answered = answered => answered?,
            error = refused => return Err(error),
        };
        match answered {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(error)) => Err(refusal(&error)),
            Err(_) => Err(unavailable("the draft was not acknowledged in time")),
        }
    }

    async fn put_if(
        &self,
        tenant: &TenantId,
        session: &SessionId,
        id: ClarifyId,
        person: &PersonId,
        draft: &Draft,
        expected: u64,
    ) -> Result<Option<u64>, LedgerError> {
        let payload = crate::drafts::encode(draft)?;
        let target = subject::draft(tenant, session, id, person, &draft.tab);
        self.0.put_guarded(target, payload.into(), expected).await
    }

    async fn list(
        &self,
        tenant: &TenantId,
        session: &SessionId,
        id: ClarifyId,
    ) -> Result<Vec<StoredDraft>, LedgerError> {
        let filter = subject::draft_clarification(tenant, session, id);
        let (mut found, mut next) = (Vec::new(), 1);
        // One read per tab in which somebody is writing: few.
        while let Some(message) = self
            .0
            .get(DRAFTS, |get| {
                get.sequence(next).next_by_subject(filter.as_str())
            })
            .await?
        {
            next = message.sequence + 1;
            let at = moment(message.time);
            found.extend(crate::drafts::decode(
                &message.subject,
                &message.payload,
                at,
                message.sequence,
            ));
        }
        Ok(found)
    }
}
