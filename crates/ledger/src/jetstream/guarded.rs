//! Writing the last value of a subject if nobody else wrote it meanwhile. The stream keeps one message of
//! each subject; its sequence is the revision.

use super::append::{is_conflict, refusal};
use super::{PATIENCE, Shared};
use crate::LedgerError;
use async_nats::jetstream::context::PublishErrorKind;
use async_nats::jetstream::message::PublishMessage;
use bytes::Bytes;

impl Shared {
    /// Writes `value` if the last message of `subject` is still the one with the sequence `expected` (0:
    /// there is none), and returns its own; none when it is not.
    pub(super) async fn put_guarded(
        &self,
        subject: String,
        value: Bytes,
        expected: u64,
    ) -> Result<Option<u64>, LedgerError> {
        // The guard is the very subject that is written to.
        let message = PublishMessage::build()
            .payload(value)
            .expected_last_subject_sequence(expected);
        let refused = self.link.refused(&subject);
        self.connected()?;
        let publish = async { self.context.send_publish(subject, message).await?.await };
        let answered = self.on_connection(tokio::time::timeout(PATIENCE, publish));
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
