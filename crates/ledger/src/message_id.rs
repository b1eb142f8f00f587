//! What makes an inbox message the same message, wherever it is stored.

use crate::Submission;
use askbus_wire::subject::token;

/// `tenant/clarification/author/message`, each as a token: ids are chosen by authors, so without
/// this scope one author could swallow another's message by using its id.
pub(crate) fn message_id(submission: &Submission) -> String {
    let message = &submission.message;
    format!(
        "{}/{}/{}/{}",
        token(submission.tenant.as_str()),
        submission.clarify_id,
        token(message.actor().person.as_str()),
        token(message.message_id()),
    )
}

/// A `traceparent` fit for a header: printable ASCII of a sane length. Anything else is dropped,
/// because a trace is never worth refusing an answer for.
pub(crate) fn fit_trace(trace: Option<&str>) -> Option<&str> {
    trace.filter(|t| t.len() <= 128 && t.bytes().all(|b| b.is_ascii_graphic()))
}
