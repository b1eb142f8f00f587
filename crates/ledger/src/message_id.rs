//! What makes an inbox message the same message, wherever it is stored.

use crate::Submission;
use askbus_wire::messages::InboxBody;
use askbus_wire::subject::token;
use sha2::{Digest as _, Sha256};

/// `tenant/clarification/author/kind/message/content`, each as a token: ids are chosen by authors, so
/// without the scope one author could swallow another's message by using its id, and without kind
/// and content an author's corrected answer would be swallowed by their first one. Only a true
/// repetition is a duplicate; what an answer id means is for the domain to say.
///
/// `payload` is the message as it is stored.
pub(crate) fn message_id(submission: &Submission, payload: &[u8]) -> String {
    let message = &submission.message;
    let kind = match message.body {
        InboxBody::Respond(_) => "respond",
        InboxBody::Hold { .. } => "hold",
        InboxBody::PassOn { .. } => "pass_on",
    };
    let digest: [u8; 32] = Sha256::digest(payload).into();
    let [half @ .., _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _] = digest;
    format!(
        "{}/{}/{}/{kind}/{}/{:032x}",
        token(submission.tenant.as_str()),
        submission.clarify_id,
        token(message.actor().person.as_str()),
        token(message.message_id()),
        u128::from_be_bytes(half),
    )
}

/// A `traceparent` fit for a header: printable ASCII of a sane length. Anything else is dropped,
/// because a trace is never worth refusing an answer for.
pub(crate) fn fit_trace(trace: Option<&str>) -> Option<&str> {
    trace.filter(|t| t.len() <= 128 && t.bytes().all(|b| b.is_ascii_graphic()))
}
