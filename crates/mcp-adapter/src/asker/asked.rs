//! A question that is open, and how it ended.

use super::table::{Fate, Place};
use super::{Inner, WITHDRAW_LIMIT, closed};
use askbus_domain::{
    CancelCause, Circumstances, HARD_CAP, Millis, Outcome, Questions, Reason, Timestamp,
};
use askbus_wire::error::{ErrorCode, WireError};
use askbus_wire::trace::Trace;
use askbus_wire::{convert, proto};
use std::sync::Arc;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// A question before a person. Dropping it before it settled withdraws it in the background.
pub struct Asked {
    /// The service's id.
    pub clarify_id: String,
    /// The session it was asked in.
    pub session_id: String,
    /// The run it was asked in.
    pub run_id: String,
    /// When it times out, Unix milliseconds; none: never.
    pub deadline_ms: Option<i64>,
    /// When it settles in any case, Unix milliseconds.
    pub cap_ms: i64,
    /// When it was asked, Unix milliseconds.
    pub requested_at_ms: i64,
    inner: Arc<Inner>,
    trace: Trace,
    /// Gone once it settled or was withdrawn.
    place: Option<Place>,
    contested: bool,
    own_turn: bool,
    epoch: u64,
}

/// How a question ended.
#[derive(Debug, Clone)]
pub struct Settled {
    /// The service's id.
    pub clarify_id: String,
    /// The session it was asked in.
    pub session_id: String,
    /// The questions in their canonical form.
    pub questions: Questions,
    /// How it ended.
    pub outcome: Outcome,
    /// What its clock was, and its text for a person.
    pub circumstances: Circumstances,
}

impl Asked {
    pub(super) fn new(
        inner: Arc<Inner>,
        response: proto::AskResponse,
        trace: Trace,
        place: Place,
        own_turn: bool,
    ) -> Self {
        Self {
            clarify_id: response.clarify_id,
            session_id: response.session_id,
            run_id: response.run_id,
            deadline_ms: response.deadline_ms,
            cap_ms: response.cap_ms,
            requested_at_ms: response.requested_at_ms,
            epoch: inner.table.epoch(),
            inner,
            trace,
            contested: place.contested,
            place: Some(place),
            own_turn,
        }
    }

    /// Waits until the question is settled, across every outage of the service. Ends once; may be
    /// dropped and called again before.
    ///
    /// # Errors
    /// [`ErrorCode::UnknownClarification`] if the service has lost the question,
    /// [`ErrorCode::UpgradeNeeded`] if this build cannot read how it ended,
    /// [`ErrorCode::Unavailable`] once the process is closing or the end has been told.
    pub async fn wait(&mut self) -> Result<Settled, WireError> {
        let Some(place) = self.place.as_mut() else {
            return Err(closed());
        };
        let fate = (&mut place.fate).await;
        self.place = None;
        match fate {
            Ok(Fate::Settled(clarification)) => read(&clarification).ok_or_else(unreadable),
            Ok(Fate::Refused(error)) => Err(error),
            Ok(Fate::Unknown) => Err(WireError::new(
                ErrorCode::UnknownClarification,
                "The service no longer knows this question, so nothing has been decided. If the \
                 decision is still needed, ask again.",
            )),
            Err(_) => Err(closed()),
        }
    }

    /// Withdraws the question, unless another call of this process waits for it too, and waits at
    /// most 700 ms for the service to confirm; attempts go on behind that.
    pub async fn withdraw(mut self) {
        if let Some(withdrawal) = self.leave() {
            let _ = timeout(WITHDRAW_LIMIT, withdrawal).await;
        }
    }

    /// Waits no more, and withdraws nothing: the question is kept by whoever waits for it next, or
    /// ends with the lease.
    pub(super) fn let_go(mut self) {
        if let Some(place) = self.place.take() {
            self.inner.table.leave(&self.clarify_id, place.key());
        }
    }

    /// Tells of no more notices.
    pub(super) fn quiet(&self) {
        if let Some(place) = &self.place {
            self.inner.table.quiet(&self.clarify_id, place.key());
        }
    }

    fn leave(&mut self) -> Option<JoinHandle<()>> {
        let place = self.place.take()?;
        let last = self.inner.table.leave(&self.clarify_id, place.key());
        let withdraw = || {
            self.inner
                .withdraw(self.clarify_id.clone(), self.trace.clone())
        };
        last.then(withdraw)
    }

    /// Whether it ended only because the service did not see this process for a while, and not by
    /// anybody's decision.
    pub(super) fn was_lost(&self, outcome: &Outcome) -> bool {
        outcome.reason == Reason::Cancelled
            && match outcome.cause {
                Some(CancelCause::AskerGone) => true,
                // An own turn ends with the lease of its process; without an outage in between it
                // was ended on purpose, such as by another process in the same session.
                Some(CancelCause::TurnEnded) => {
                    self.own_turn && self.inner.table.epoch() != self.epoch
                }
                // By an identical call, which did not know of this one.
                Some(CancelCause::Withdrawn) => self.contested,
                None => false,
            }
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        if !self.inner.closing.is_cancelled() {
            drop(self.leave());
        }
    }
}

pub(super) fn unreadable() -> WireError {
    WireError::new(
        ErrorCode::UpgradeNeeded,
        "The question is settled in a way this version cannot read; upgrade askbus here.",
    )
}

pub(super) fn read(clarification: &proto::Clarification) -> Option<Settled> {
    let outcome = clarification.outcome.as_ref()?;
    Some(Settled {
        clarify_id: clarification.clarify_id.clone(),
        session_id: clarification.session_id.clone(),
        questions: convert::questions(&clarification.questions)?,
        outcome: convert::outcome(outcome)?,
        circumstances: Circumstances {
            adjusted: clarification.adjusted.as_ref().and_then(convert::adjusted),
            waited: waited(clarification, outcome),
            deferred_text: Some(outcome.deferred_text.clone()).filter(|text| !text.is_empty()),
        },
    })
}

/// How long it waited, if it ended because no question waits longer.
fn waited(clarification: &proto::Clarification, outcome: &proto::Outcome) -> Option<Millis> {
    let moment = Timestamp::from_unix_millis;
    let no_earlier = clarification
        .deadline_ms
        .is_none_or(|deadline| deadline >= clarification.cap_ms);
    let capped = outcome.timed_out && no_earlier && outcome.resolved_at_ms >= clarification.cap_ms;
    capped.then(|| {
        let waited = moment(clarification.requested_at_ms).until(moment(outcome.resolved_at_ms));
        waited.min(HARD_CAP)
    })
}
