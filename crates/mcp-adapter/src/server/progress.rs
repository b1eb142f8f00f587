//! Progress notifications of one call, so that clients with an idle timer keep waiting.

use super::Panel;
use crate::asker::Notice;
use askbus_wire::error::ErrorCode;
use rmcp::RoleServer;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RequestContext};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, timeout};

/// At least this often.
const INTERVAL: Duration = Duration::from_secs(12);
/// How long one notification may take to leave.
const SEND_LIMIT: Duration = Duration::from_secs(1);

/// Where a call stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// On its way to the service.
    Asking,
    /// The service cannot be reached, or with [`ErrorCode::LogUnavailable`] not its log.
    Unreachable(ErrorCode),
    /// A person has it.
    Waiting,
    /// A person works on it.
    Held,
}

impl From<Notice> for Stage {
    fn from(notice: Notice) -> Self {
        match notice {
            Notice::Unreachable { code } => Stage::Unreachable(code),
            Notice::Asked { .. } => Stage::Waiting,
            Notice::Held { .. } => Stage::Held,
        }
    }
}

/// When the next notification is due.
struct Pace {
    stage: watch::Receiver<Stage>,
    due: Instant,
}

impl Pace {
    /// At once.
    fn new(stage: watch::Receiver<Stage>) -> Self {
        let due = Instant::now();
        Self { stage, due }
    }

    /// Ends at the next change of stage, and in any case soon enough.
    async fn due(&mut self) {
        tokio::select! {
            biased;
            () = tokio::time::sleep_until(self.due) => {}
            Ok(()) = self.stage.changed() => {}
        }
    }

    /// The stage to tell of now; the next notification is due an interval later.
    fn mark(&mut self) -> Stage {
        self.due = Instant::now() + INTERVAL;
        *self.stage.borrow_and_update()
    }
}

/// The progress of one call.
pub(super) struct Progress {
    to: Option<(Peer<RoleServer>, ProgressToken)>,
    pace: Pace,
    panel: Panel,
    /// What the panel said, once there was a question.
    address: Option<String>,
    sent: u32,
}

impl Progress {
    /// Sends to a client that gave a token; to others there is nothing legal to send.
    pub(super) fn new(
        context: &RequestContext<RoleServer>,
        stage: watch::Receiver<Stage>,
        panel: Panel,
    ) -> Self {
        let token = context.meta.get_progress_token();
        Self {
            to: token.map(|token| (context.peer.clone(), token)),
            pace: Pace::new(stage),
            panel,
            address: None,
            sent: 0,
        }
    }

    /// Of a client that gave no token.
    #[cfg(test)]
    pub(super) fn silent() -> Self {
        Self {
            to: None,
            pace: Pace::new(watch::Sender::new(Stage::Asking).subscribe()),
            panel: Arc::new(|| None),
            address: None,
            sent: 0,
        }
    }

    /// Waits until a notification is due: at once, then at every change of stage, and in between
    /// often enough. Never for a client without a token.
    pub(super) async fn due(&mut self) {
        match self.to {
            Some(_) => self.pace.due().await,
            None => std::future::pending().await,
        }
    }

    /// Sends one; not to be dropped halfway while the call goes on, since nothing may follow its
    /// result.
    pub(super) async fn send(&mut self) {
        let Some((peer, token)) = &self.to else {
            return;
        };
        self.sent += 1;
        let stage = self.pace.mark();
        if stage == Stage::Waiting && self.address.is_none() {
            let panel = Arc::clone(&self.panel);
            let address = tokio::task::spawn_blocking(move || panel());
            self.address = match timeout(SEND_LIMIT, address).await {
                Ok(Ok(address)) => address,
                Ok(Err(_)) | Err(_) => None,
            };
        }
        let param = ProgressNotificationParam::new(token.clone(), f64::from(self.sent))
            .with_message(message(stage, self.address.as_deref()));
        // A client that is gone is noticed by the reader of its lines.
        let _ = timeout(SEND_LIMIT, peer.notify_progress(param)).await;
    }
}

fn message(stage: Stage, panel: Option<&str>) -> String {
    match (stage, panel) {
        (Stage::Asking, _) => "Bringing the question to a person".to_owned(),
        (Stage::Unreachable(ErrorCode::LogUnavailable), _) => {
            "The Askbus service is there, but it cannot reach its log; still trying".to_owned()
        }
        (Stage::Unreachable(_), _) => {
            "No Askbus service can be reached; still trying. `askbus up` starts one.".to_owned()
        }
        (Stage::Held, _) => {
            "A person is working on the answer; the deadline no longer counts".to_owned()
        }
        (Stage::Waiting, Some(panel)) => format!("Waiting for a person to answer on {panel}"),
        (Stage::Waiting, None) => {
            "Waiting for a person to answer on the Askbus panel (`askbus inbox` shows it too)"
                .to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn notifications_are_due_at_once_at_changes_and_every_few_seconds() {
        let (stage, stages) = watch::channel(Stage::Asking);
        let start = Instant::now();
        let mut pace = Pace::new(stages);
        pace.due().await;
        assert_eq!(
            (start.elapsed(), pace.mark()),
            (Duration::ZERO, Stage::Asking)
        );
        stage.send_replace(Stage::Waiting);
        pace.due().await;
        assert_eq!(
            (start.elapsed(), pace.mark()),
            (Duration::ZERO, Stage::Waiting)
        );
        for round in 1..=3 {
            pace.due().await;
            pace.mark();
            assert_eq!(start.elapsed(), INTERVAL * round);
        }
        assert!(INTERVAL <= Duration::from_secs(15));
    }

    #[test]
    fn a_waiting_call_says_where_the_question_is() {
        let text = message(Stage::Waiting, Some("http://127.0.0.1:7000"));
        assert!(text.contains("a person") && text.contains("http://127.0.0.1:7000"));
        let unreachable = |code| message(Stage::Unreachable(code), None);
        assert!(unreachable(ErrorCode::Unavailable).contains("askbus up"));
        let no_log = unreachable(ErrorCode::LogUnavailable);
        assert!(no_log.contains("its log") && !no_log.contains("askbus up"));
    }
}
