//! A call that waits for its question to settle, and may leave it behind without withdrawing it.

use super::place::{self, Patience};
use super::{AskCall, Asked, Inner, Notice, Notices, SERVICE, Settled, closed};
use crate::metrics::Call;
use askbus_telemetry::{Kind, Span};
use askbus_wire::error::WireError;
use askbus_wire::trace::Trace;
use std::sync::Arc;
use tokio::time::Instant;

/// A question that a call waits for. Dropping it before it settled withdraws the question, unless
/// another call waits for it too.
pub struct Waiting {
    inner: Arc<Inner>,
    /// What was asked; none: the question is somebody else's call, and is not asked again.
    call: Option<AskCall>,
    notices: Notices,
    clarify_id: String,
    /// None once it settled, or while it is asked again.
    asked: Option<Asked>,
    /// How it ended for a reason that has nothing to do with anybody's decision.
    lost: Option<Settled>,
    counted: Option<Call>,
    span: Span,
}

impl Waiting {
    pub(super) fn new(
        inner: Arc<Inner>,
        call: AskCall,
        notices: Notices,
        asked: Asked,
        counted: Call,
        span: Span,
    ) -> Self {
        Self {
            call: Some(call),
            ..Self::joined(inner, notices, asked, counted, span)
        }
    }

    /// On a question that another call asked.
    pub(super) fn joined(
        inner: Arc<Inner>,
        notices: Notices,
        asked: Asked,
        counted: Call,
        span: Span,
    ) -> Self {
        Self {
            inner,
            call: None,
            notices,
            clarify_id: asked.clarify_id.clone(),
            asked: Some(asked),
            lost: None,
            counted: Some(counted),
            span,
        }
    }

    /// The service's id of the question.
    pub fn clarify_id(&self) -> &str {
        &self.clarify_id
    }

    /// What was asked, as far as this process did.
    pub fn call(&self) -> Option<&AskCall> {
        self.call.as_ref()
    }

    /// Waits for the end. A question lost only because this process could not be seen for a while is
    /// asked again, as long as the call is open. May be dropped and called again before.
    ///
    /// # Errors
    /// As for [`Asked::wait`].
    pub async fn settled(&mut self) -> Result<Settled, WireError> {
        let settled = self.end().await;
        match &settled {
            Ok(settled) => {
                let (id, reason) = (&settled.clarify_id, settled.outcome.reason);
                let above = self.span.traceparent(None).map(str::to_owned);
                let mut delivery =
                    Span::begin(SERVICE, "deliver", Kind::Internal, above.as_deref());
                for span in [&mut self.span, &mut delivery] {
                    span.note("askbus.clarify_id", || id.clone());
                    span.note("askbus.session", || settled.session_id.clone());
                    span.note("askbus.reason", || reason.as_str());
                }
                if let Some(counted) = self.counted.take() {
                    counted.delivered(reason);
                }
            }
            Err(error) => {
                self.span.failed(error.code.as_str());
                if let Some(counted) = self.counted.take() {
                    counted.failed();
                }
            }
        }
        settled
    }

    async fn end(&mut self) -> Result<Settled, WireError> {
        loop {
            if let Some(asked) = self.asked.as_mut() {
                let settled = asked.wait().await;
                let was_lost = |s: &Settled| self.call.is_some() && asked.was_lost(&s.outcome);
                let lost = settled.as_ref().is_ok_and(was_lost);
                self.asked = None;
                if !lost {
                    return settled;
                }
                self.lost = settled.ok();
            }
            let (Some(call), Some(lost)) = (&self.call, &self.lost) else {
                return Err(closed());
            };
            tracing::info!(clarify_id = lost.clarify_id, "asking again after an outage");
            let again = place::begin(&self.inner, call, &self.notices, Patience::Endless).await;
            self.inner.figures.count_again();
            match again {
                Ok(again) => {
                    self.clarify_id.clone_from(&again.clarify_id);
                    self.asked = Some(again);
                }
                // The turn is over, or another question took the place: it stays withdrawn.
                Err(_) => return self.lost.take().ok_or_else(closed),
            }
        }
    }

    /// Leaves the call before it has a result: the question goes on waiting.
    pub fn handed_back(&mut self) {
        if let Some(counted) = self.counted.take() {
            counted.handed_back();
        }
        self.notices = super::silent();
        if let Some(asked) = &self.asked {
            asked.quiet();
        }
    }

    /// Goes on in the place of `parked`, which waits for the same question.
    pub fn take_over(&mut self, mut parked: Waiting) {
        self.call = self.call.take().or_else(|| parked.call.take());
        parked.let_go();
    }

    /// Waits no more, and withdraws nothing.
    pub fn let_go(mut self) {
        self.handed_back();
        if let Some(asked) = self.asked.take() {
            asked.let_go();
        }
    }
}

/// What became of the wish to wait for a question by its id.
pub enum Joined {
    /// It waits; so does this.
    Waiting(Box<Waiting>),
    /// It is settled.
    Settled(Box<Settled>),
    /// It waits, asked by another process, which is named.
    Elsewhere(String),
}

impl super::Asker {
    /// Asks; the question then waits.
    ///
    /// # Errors
    /// As for [`super::Asker::ask`].
    pub async fn open(&self, call: &AskCall, notices: &Notices) -> Result<Waiting, WireError> {
        let counted = self.inner.figures.call();
        let mut span = Span::begin(SERVICE, "ask", Kind::Server, call.trace.caller());
        let trace = Trace::continuing(span.traceparent(Some(call.trace.as_str())));
        span.note("askbus.dialect", || call.dialect.as_str());
        let call = AskCall {
            trace,
            ..call.clone()
        };
        match self.ask(&call, notices).await {
            Ok(asked) => {
                let (inner, notices) = (Arc::clone(&self.inner), Arc::clone(notices));
                Ok(Waiting::new(inner, call, notices, asked, counted, span))
            }
            Err(error) => {
                span.failed(error.code.as_str());
                counted.failed();
                Err(error)
            }
        }
    }

    /// Asks and waits for the end.
    ///
    /// # Errors
    /// As for [`super::Asker::ask`] and [`Asked::wait`].
    pub async fn settle(&self, call: &AskCall, notices: &Notices) -> Result<Settled, WireError> {
        self.open(call, notices).await?.settled().await
    }

    /// Waits for a question that waits already, by its id.
    ///
    /// # Errors
    /// [`askbus_wire::error::ErrorCode::UnknownClarification`] when there is none (in the profiles of
    /// this credential); [`askbus_wire::error::ErrorCode::Unavailable`] when the service could not be
    /// reached within the patience of this process.
    pub async fn join(
        &self,
        clarify_id: &str,
        trace: &Trace,
        notices: &Notices,
    ) -> Result<Joined, WireError> {
        let counted = self.inner.figures.call();
        let mut span = Span::begin(SERVICE, "await", Kind::Server, trace.caller());
        span.note("askbus.clarify_id", || clarify_id.to_owned());
        let patience = Patience::Until(Instant::now() + self.inner.patience);
        let joined = place::join(&self.inner, clarify_id, trace, notices, patience).await;
        match joined {
            Ok(place::Found::Waits(asked)) => {
                notices(Notice::Asked {
                    clarify_id: clarify_id.to_owned(),
                });
                let (inner, notices) = (Arc::clone(&self.inner), Arc::clone(notices));
                let waiting = Waiting::joined(inner, notices, *asked, counted, span);
                Ok(Joined::Waiting(Box::new(waiting)))
            }
            Ok(place::Found::Settled(settled)) => {
                counted.delivered(settled.outcome.reason);
                Ok(Joined::Settled(settled))
            }
            Ok(place::Found::Elsewhere(asker)) => {
                counted.handed_back();
                Ok(Joined::Elsewhere(asker))
            }
            Err(error) => {
                span.failed(error.code.as_str());
                counted.failed();
                Err(error)
            }
        }
    }
}
