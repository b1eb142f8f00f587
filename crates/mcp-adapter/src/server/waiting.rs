//! One call that waits: until its question settles, the client leaves, or its client's limit is near.

use super::progress::{Progress, Stage};
use crate::asker::{Joined, Settled, Waiting};
use askbus_domain::CancelCause;
use askbus_wire::error::WireError;
use rmcp::RoleServer;
use rmcp::service::RequestContext;
use std::future::Future;
use std::pin::pin;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

/// How long a question that is on its way is followed up after its call's connection is gone.
const LAST_MOMENT: Duration = Duration::from_secs(2);

/// How a call ends.
pub(super) enum End {
    /// The question settled, or could not be asked.
    Settled(Box<Result<Settled, WireError>>),
    /// The question was asked, and how it ends will not be heard here.
    Unheard(String, WireError),
    /// The client's limit is near; the question waits, if it could be asked by then.
    HandedBack(Option<Box<Waiting>>),
    /// The client withdrew the call; what it waited for by then.
    Cancelled(Option<Box<Waiting>>),
    /// The connection is gone; whether the client meant it cannot be told.
    Lost(Option<Box<Waiting>>),
}

/// How a call may be left by its client.
pub(super) struct Leaving {
    /// The client cancelled the call, or is gone for good.
    pub(super) cancelled: CancellationToken,
    /// Only its connection is gone.
    pub(super) lost: Option<CancellationToken>,
}

impl Leaving {
    /// True when the client withdrew the call; false when only the connection is gone.
    async fn left(&self) -> bool {
        match &self.lost {
            None => self.cancelled.cancelled().await,
            Some(lost) => tokio::select! {
                () = lost.cancelled() => {}
                () = self.cancelled.cancelled() => {}
            },
        }
        // A lost connection cancels its calls too.
        !self
            .lost
            .as_ref()
            .is_some_and(CancellationToken::is_cancelled)
    }
}

/// What a call begins with.
pub(super) enum Opened {
    Waiting(Box<Waiting>),
    Settled(Box<Settled>),
}

impl From<Waiting> for Opened {
    fn from(waiting: Waiting) -> Self {
        Opened::Waiting(Box::new(waiting))
    }
}

impl TryFrom<Joined> for Opened {
    /// Who asked.
    type Error = String;

    fn try_from(joined: Joined) -> Result<Self, String> {
        match joined {
            Joined::Waiting(waiting) => Ok(Opened::Waiting(waiting)),
            Joined::Settled(settled) => Ok(Opened::Settled(settled)),
            Joined::Elsewhere(asker) => Err(asker),
        }
    }
}

/// Waits.
pub(super) struct Wait {
    pub(super) leaving: Leaving,
    /// When the call is handed back; none: it is not.
    pub(super) hand_back: Option<Instant>,
    pub(super) progress: Progress,
}

enum Step<T> {
    Done(T),
    Left(bool),
    Due,
}

impl Wait {
    /// Waits until the call ends one way or another.
    pub(super) async fn run(
        mut self,
        open: impl Future<Output = Result<Opened, WireError>>,
    ) -> End {
        let mut waiting = {
            let mut open = pin!(open);
            match self.step(&mut open).await {
                Step::Done(Ok(Opened::Waiting(waiting))) => waiting,
                Step::Done(Ok(Opened::Settled(settled))) => {
                    return End::Settled(Box::new(Ok(*settled)));
                }
                Step::Done(Err(error)) => return End::Settled(Box::new(Err(error))),
                Step::Left(true) => return End::Cancelled(None),
                // On its way to the service: dropped now, the question would be withdrawn.
                Step::Left(false) => {
                    return match timeout(LAST_MOMENT, open).await {
                        Ok(Ok(Opened::Waiting(waiting))) => End::Lost(Some(waiting)),
                        Ok(Ok(Opened::Settled(settled))) => End::Settled(Box::new(Ok(*settled))),
                        // There is no question that anybody could come back for.
                        Ok(Err(error)) => End::Settled(Box::new(Err(error))),
                        Err(_) => End::Lost(None),
                    };
                }
                Step::Due => return End::HandedBack(None),
            }
        };
        let step = {
            let mut settled = pin!(waiting.settled());
            self.step(&mut settled).await
        };
        match step {
            Step::Done(Ok(settled)) => End::Settled(Box::new(Ok(settled))),
            Step::Done(Err(error)) => End::Unheard(waiting.clarify_id().to_owned(), error),
            Step::Left(true) => End::Cancelled(Some(waiting)),
            Step::Left(false) => End::Lost(Some(waiting)),
            Step::Due => End::HandedBack(Some(waiting)),
        }
    }

    async fn step<F: Future + Unpin>(&mut self, future: &mut F) -> Step<F::Output> {
        let limit = self.hand_back;
        loop {
            tokio::select! {
                biased;
                meant = self.leaving.left() => return Step::Left(meant),
                done = &mut *future => return Step::Done(done),
                () = due(limit) => return Step::Due,
                () = self.progress.due() => {}
            }
            // Not in the select above: what is half sent may not follow the result.
            tokio::select! {
                biased;
                _ = self.leaving.left() => {}
                () = self.progress.send() => {}
            }
        }
    }
}

async fn due(limit: Option<Instant>) {
    match limit {
        Some(limit) => sleep_until(limit).await,
        None => std::future::pending().await,
    }
}

/// A stage that notices move, and what hears of it.
pub(super) fn stages() -> (crate::Notices, watch::Receiver<Stage>) {
    let (stage, stages) = watch::channel(Stage::Asking);
    let notices: crate::Notices = std::sync::Arc::new(move |notice| {
        let now = Stage::from(notice);
        stage.send_if_modified(|stage| std::mem::replace(stage, now) != now);
    });
    (notices, stages)
}

/// What the client said of itself.
pub(super) fn client_name(context: &RequestContext<RoleServer>) -> Option<String> {
    context.client_info().map(|client| client.name)
}

impl Opened {
    /// Takes the place of the same question where it is parked.
    pub(super) fn instead_of(mut self, asker: &crate::asker::Asker, clarify_id: &str) -> Self {
        if let Some(parked) = asker.take_parked(clarify_id) {
            match &mut self {
                Opened::Waiting(waiting) => waiting.take_over(parked),
                // Nobody decided that: it is asked again, by the call that had asked it.
                Opened::Settled(settled)
                    if parked.call().is_some()
                        && settled.outcome.cause == Some(CancelCause::AskerGone) =>
                {
                    return parked.into();
                }
                Opened::Settled(_) => parked.let_go(),
            }
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use askbus_wire::error::ErrorCode;

    fn wait(lost: &CancellationToken) -> Wait {
        Wait {
            leaving: Leaving {
                cancelled: lost.child_token(),
                lost: Some(lost.clone()),
            },
            hand_back: None,
            progress: Progress::silent(),
        }
    }

    /// A question whose connection went before it was known to be asked, and which was refused then,
    /// is nobody's to come back for: whoever still reads the reply hears of the refusal.
    // contract: E11
    #[tokio::test(start_paused = true)]
    async fn a_refusal_is_heard_although_the_connection_went_before() {
        let lost = CancellationToken::new();
        let refused = async {
            lost.cancel();
            tokio::time::sleep(Duration::from_secs(1)).await;
            Err(WireError::new(ErrorCode::TooManyPending, "no more"))
        };
        let end = wait(&lost).run(refused).await;
        let End::Settled(settled) = end else {
            panic!("it ended otherwise");
        };
        assert_eq!(settled.unwrap_err().code, ErrorCode::TooManyPending);
        // What is not known by then is followed up no longer.
        let never = std::future::pending();
        let start = Instant::now();
        assert!(matches!(wait(&lost).run(never).await, End::Lost(None)));
        assert_eq!(start.elapsed(), LAST_MOMENT);
    }
}
