//! Progress notifications of one call, so that clients with an idle timer keep waiting.

use crate::asker::Notice;
use rmcp::RoleServer;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RequestContext};
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
    /// The service cannot be reached.
    Unreachable,
    /// A person has it.
    Waiting,
}

impl From<Notice> for Stage {
    fn from(notice: Notice) -> Self {
        match notice {
            Notice::Unreachable => Stage::Unreachable,
            Notice::Asked { .. } => Stage::Waiting,
        }
    }
}

/// The progress of one call.
pub(super) struct Progress {
    to: Option<(Peer<RoleServer>, ProgressToken)>,
    stage: watch::Receiver<Stage>,
    panel: Option<String>,
    sent: u32,
    due: Instant,
}

impl Progress {
    /// Sends to a client that gave a token; to others there is nothing legal to send.
    pub(super) fn new(
        context: &RequestContext<RoleServer>,
        stage: watch::Receiver<Stage>,
        panel: Option<String>,
    ) -> Self {
        let token = context.meta.get_progress_token();
        Self {
            to: token.map(|token| (context.peer.clone(), token)),
            stage,
            panel,
            sent: 0,
            due: Instant::now(),
        }
    }

    /// Waits until a notification is due: at once, then at every change of stage, and in between
    /// often enough. Never for a client without a token.
    pub(super) async fn due(&mut self) {
        if self.to.is_none() {
            return std::future::pending().await;
        }
        tokio::select! {
            biased;
            () = tokio::time::sleep_until(self.due) => {}
            Ok(()) = self.stage.changed() => {}
        }
    }

    /// Sends one; not to be dropped halfway, since nothing may follow the result of the call.
    pub(super) async fn send(&mut self) {
        let Some((peer, token)) = &self.to else {
            return;
        };
        self.sent += 1;
        let stage = *self.stage.borrow_and_update();
        let param = ProgressNotificationParam::new(token.clone(), f64::from(self.sent))
            .with_message(message(stage, self.panel.as_deref()));
        // A client that is gone is noticed by the reader of its lines.
        let _ = timeout(SEND_LIMIT, peer.notify_progress(param)).await;
        self.due = Instant::now() + INTERVAL;
    }
}

fn message(stage: Stage, panel: Option<&str>) -> String {
    match (stage, panel) {
        (Stage::Asking, _) => "Bringing the question to a person".to_owned(),
        (Stage::Unreachable, _) => {
            "No Askbus service can be reached; still trying. `askbus up` starts one.".to_owned()
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

    #[test]
    fn a_waiting_call_says_where_the_question_is() {
        let text = message(Stage::Waiting, Some("http://127.0.0.1:7000"));
        assert!(text.contains("a person") && text.contains("http://127.0.0.1:7000"));
        assert!(message(Stage::Unreachable, None).contains("askbus up"));
    }
}
