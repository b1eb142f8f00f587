//! The verdict on a reply that was not judged while the webhook waited for it, told by a message of its
//! own.

use super::super::chat::{Heard, Later};
use super::super::given_up::{self, GivenUp};
use super::super::{Channel, Way};
use crate::gateway::Gateway;
use bytes::Bytes;
use serde_json::json;
use std::sync::Arc;

/// The reply that it is about.
pub(in super::super) struct Of {
    /// Its `webhook-id`.
    pub id: String,
    /// How the channel named whoever wrote it.
    pub from: Option<String>,
}

/// Waits for the verdict beside everything else and tells it.
pub(in super::super) fn follow(
    gateway: &Arc<Gateway>,
    channel: &Arc<Channel>,
    of: Of,
    later: Later,
) {
    let Ok(permit) = Arc::clone(&channel.following).try_acquire_owned() else {
        tracing::warn!(
            channel = channel.name,
            "too many replies wait to be judged; what becomes of one is not told"
        );
        return;
    };
    let (gateway, channel) = (Arc::clone(gateway), Arc::clone(channel));
    gateway.tasks.clone().spawn(async move {
        let _permit = permit;
        let telling = async {
            if let Some(heard) = later.heard().await {
                tell(&gateway, &channel, &of, &heard).await;
            }
        };
        tokio::select! {
            biased;
            () = gateway.shutdown.cancelled() => {
                tracing::warn!(channel = channel.name, "what becomes of a reply is not told: this gateway stops");
            }
            () = telling => {}
        }
    });
}

/// Tells it until it is taken, or given up.
async fn tell(gateway: &Gateway, channel: &Channel, of: &Of, heard: &Heard) {
    let id = format!("{}.judged", of.id);
    let since = gateway.now();
    let body = json!({
        "type": "reply.judged",
        "channel": channel.name,
        "tenant": channel.tenant,
        "reply_id": of.id,
        "from": of.from,
        "clarify_id": heard.clarify_id,
        "verdict": heard.verdict,
        "messages": heard.messages,
    });
    let body = Bytes::from(body.to_string());
    let mut attempts = 0;
    loop {
        let Err(problem) = attempt(gateway, channel, &id, &body).await else {
            return channel.delivered();
        };
        attempts += 1;
        channel.failed();
        let given_up = attempts >= channel.retries.attempts;
        tracing::warn!(
            channel = channel.name,
            problem,
            attempts,
            given_up,
            "what became of a reply was not told"
        );
        if given_up {
            let one = GivenUp {
                id,
                to: of.from.clone(),
                text: heard.messages.join("\n"),
                about: heard.clarify_id,
                since,
                attempts,
                problem,
                failed_at: gateway.now(),
            };
            return given_up::change(gateway, channel, |list| {
                given_up::add(list, one.clone());
            })
            .await;
        }
        tokio::time::sleep(channel.retries.pause(attempts)).await;
    }
}

async fn attempt(
    gateway: &Gateway,
    channel: &Channel,
    id: &str,
    body: &Bytes,
) -> Result<(), String> {
    let Way::Webhook { target, signing } = &channel.way else {
        return Err("it is no webhook".to_owned());
    };
    let posted = super::post(gateway, (target, signing), id, body.clone()).await;
    posted.map_err(|failed| failed.problem)
}
