//! Positions on JetStream: a stream that keeps the last message of each subject; its sequence is the
//! revision.

use super::append::{is_conflict, refusal};
use super::streams::POSITIONS;
use super::{PATIENCE, Shared};
use crate::positions::check;
use crate::{LedgerError, Position, Positions};
use askbus_domain::TenantId;
use askbus_wire::subject;
use async_nats::jetstream::context::PublishErrorKind;
use async_nats::jetstream::message::PublishMessage;
use async_trait::async_trait;
use std::sync::Arc;

pub(super) struct JetStreamPositions(pub Arc<Shared>);

#[async_trait]
impl Positions for JetStreamPositions {
    async fn get(&self, tenant: &TenantId, name: &str) -> Result<Option<Position>, LedgerError> {
        let subject = subject::position(tenant, name);
        let found = self
            .0
            .get(POSITIONS, |get| get.last_by_subject(subject.as_str()))
            .await?;
        Ok(found.map(|message| Position {
            revision: message.sequence,
            value: message.payload,
        }))
    }

    async fn put(
        &self,
        tenant: &TenantId,
        name: &str,
        expected: u64,
        value: &[u8],
    ) -> Result<Option<u64>, LedgerError> {
        check(value)?;
        let target = subject::position(tenant, name);
        // Every writer of a position is guarded by the very subject it writes to.
        let message = PublishMessage::build()
            .payload(value.to_vec().into())
            .expected_last_subject_sequence(expected);
        let refused = self.0.link.refused(&target);
        self.0.connected()?;
        let publish = async { self.0.context.send_publish(target, message).await?.await };
        let answered = self
            .0
            .on_connection(tokio::time::timeout(PATIENCE, publish));
        let answered = tokio::select! {
            answered = answered => answered,
            error = refused => return Err(error),
        };
        let in_doubt = |why: String| Err(LedgerError::InDoubt(why));
        match answered {
            Ok(Ok(Ok(ack))) => Ok(Some(ack.sequence)),
            Ok(Ok(Err(error))) if is_conflict(&error) => Ok(None),
            Ok(Ok(Err(error))) => match error.kind() {
                PublishErrorKind::TimedOut | PublishErrorKind::BrokenPipe => {
                    in_doubt(error.to_string())
                }
                _ => Err(refusal(&error)),
            },
            Ok(Err(_)) => in_doubt("no acknowledgement in time".to_owned()),
            Err(lost) => in_doubt(lost.to_string()),
        }
    }
}
