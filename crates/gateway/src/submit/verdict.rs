//! From the inbox to a verdict: the one that was sent in time, else the one that the log has.

use super::{Followed, Judged};
use crate::caller::Person;
use crate::gateway::Gateway;
use crate::projection::Card;
use crate::{lookup, metrics};
use askbus_domain::{Rejection, Verdict, verdict};
use askbus_ledger::{LedgerError, Submission};
use askbus_telemetry::Kind;
use askbus_wire::error::{ErrorCode, WireError};
use askbus_wire::messages::{InboxBody, InboxReply};
use std::sync::Arc;
use std::time::Duration;

/// How long the author waits for the verdict before the log is read instead.
const VERDICT_TIMEOUT: Duration = Duration::from_secs(3);

/// Puts a message into the inbox and finds out what became of it.
pub(super) async fn judged(
    gateway: &Gateway,
    person: &Person,
    card: &Arc<Card>,
    mut submission: Submission,
) -> Result<Followed, WireError> {
    // What has ended is judged all the same: the author may have answered it before.
    if card.clarification.is_pending() && !person.may_answer(&card.clarification) {
        let refused = Verdict::Refused(Rejection::NotAddressed);
        return Ok((Judged::Reply(refused.into()), None));
    }
    let body = submission.message.body.clone();
    let submitted = {
        let caller = submission.trace.take();
        let mut span = metrics::span("submit", Kind::Producer, card, caller.as_deref());
        submission.trace = span.traceparent(caller.as_deref()).map(str::to_owned);
        let submitted = gateway.bus.inbox.submit(submission).await;
        submitted.map_err(not_sent).inspect_err(|error| {
            span.failed(error.code.as_str());
        })?
    };
    let mut reply = submitted.reply;
    let in_time = tokio::time::timeout(VERDICT_TIMEOUT, &mut reply).await;
    if let Ok(Ok(reply)) = in_time {
        return Ok((Judged::Reply(reply), None));
    }
    let read = read_verdict(gateway, person, card, &body).await;
    let may_come = in_time.is_err() && matches!(read, Judged::Unjudged);
    Ok((read, may_come.then_some(reply)))
}

fn not_sent(error: LedgerError) -> WireError {
    match error {
        LedgerError::TooLarge(what) => {
            let message = format!("{what}; it was not sent, shorten it");
            WireError::new(ErrorCode::TooLarge, message)
        }
        LedgerError::Full => {
            let message = "the inbox is full; it was not sent, try again later";
            WireError::new(ErrorCode::Full, message)
        }
        LedgerError::InDoubt(_) => {
            tracing::warn!(%error, "whether an answer was stored is not known");
            let message = "the inbox did not say that it has it, so it may or may not have been \
                           sent; try again, the same answer counts once";
            WireError::new(ErrorCode::Unavailable, message)
        }
        LedgerError::Unavailable(_) | LedgerError::Misconfigured(_) => {
            tracing::warn!(%error, "an answer could not be stored");
            let message = "the inbox cannot be reached; it was not sent, try again";
            WireError::new(ErrorCode::Unavailable, message)
        }
    }
}

/// The verdict as the log has it, when nobody sent one.
async fn read_verdict(
    gateway: &Gateway,
    person: &Person,
    card: &Arc<Card>,
    body: &InboxBody,
) -> Judged {
    // Verdicts are late when much is to be judged: the log must not be searched as a whole then.
    let in_log = lookup::in_session(gateway, &person.viewer(), &card.session, card.id()).await;
    let Ok(Some(now)) = in_log else {
        return Judged::Unjudged;
    };
    match body {
        InboxBody::Respond(response) => match verdict(&now.clarification, response) {
            Some(verdict) => Judged::Reply(verdict.into()),
            None => Judged::Unjudged,
        },
        InboxBody::Hold { .. } => match &now.clarification.outcome {
            Some(outcome) => Judged::Reply(InboxReply::Late {
                outcome: Arc::clone(outcome),
                goes_on: None,
            }),
            None if now.clarification.held_by.is_some() => Judged::Reply(InboxReply::Held),
            None => Judged::Unjudged,
        },
        InboxBody::PassOn {
            actor, answer_id, ..
        } => {
            let note = now.clarification.late_note(&actor.person, answer_id);
            match note.and_then(askbus_domain::LateNote::way) {
                Some(goes_on) => Judged::Reply(InboxReply::PassedOn { goes_on }),
                None => Judged::Unjudged,
            }
        }
    }
}
