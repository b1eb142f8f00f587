//! The one stream of a process on which the service tells what becomes of its questions. While it
//! stands, the process counts as alive.

use super::connection::Token;
use super::resolutions::{Link, Resolutions};
use super::{Backoff, Inner, place};
use askbus_wire::error::{ErrorCode, WireError};
use askbus_wire::proto::{self, attach_event::Event};
use async_trait::async_trait;
use std::time::Duration;

/// The service sends a heartbeat every 15 s; three missed ones are a dead stream.
const SILENCE_LIMIT: Duration = Duration::from_secs(45);

enum End {
    /// To be opened again at once, with more ids.
    Gap,
    Closing,
    Lost(WireError),
}

/// Hears outcomes on an attachment.
pub(super) struct Attached;

#[async_trait]
impl Resolutions for Attached {
    async fn keep(&self, inner: &Inner) {
        let mut backoff = Backoff::default();
        let mut refused = 0;
        loop {
            let end = attach(inner, &mut backoff).await;
            inner.table.deaf();
            refused = match &end {
                End::Lost(error) if !place::may_pass(error.code) => refused + 1,
                _ => 0,
            };
            // A token that stands in a file may be replaced there; one that came with a call will not.
            if refused > 1
                && let End::Lost(error) = &end
                && matches!(inner.connection.token(), Token::Value(_))
            {
                inner.table.refused(error);
            }
            match end {
                End::Closing => return,
                End::Gap => {}
                End::Lost(error) => {
                    tracing::debug!(code = error.code.as_str(), "attachment lost");
                    inner.link.send_replace(Link::Failed(error));
                    tokio::select! {
                        biased;
                        () = inner.closing.cancelled() => return,
                        () = inner.kick.notified() => {}
                        () = tokio::time::sleep(backoff.next_pause()) => {}
                    }
                }
            }
        }
    }
}

async fn attach(inner: &Inner, backoff: &mut Backoff) -> End {
    let ids = inner.table.open_ids();
    let request = proto::AttachRequest {
        asker_id: inner.asker_id.clone(),
        open_clarify_ids: ids.clone(),
    };
    let opening = inner
        .connection
        .call(|mut client| async move { client.clarify.attach(request).await });
    let mut stream = tokio::select! {
        biased;
        () = inner.closing.cancelled() => return End::Closing,
        opened = opening => match opened {
            Ok(stream) => stream,
            Err(error) => return End::Lost(error),
        },
    };
    loop {
        let message = tokio::select! {
            biased;
            () = inner.closing.cancelled() => return End::Closing,
            () = inner.table.gap() => return End::Gap,
            message = tokio::time::timeout(SILENCE_LIMIT, stream.message()) => message,
        };
        let event = match message {
            Ok(Ok(Some(message))) => message.event,
            Ok(Ok(None)) => return End::Lost(lost("the service ended the attachment")),
            Ok(Err(status)) => return End::Lost(WireError::from_status(&status)),
            Err(_) => return End::Lost(lost("the service fell silent")),
        };
        match event {
            Some(Event::Attached(_)) => {
                *backoff = Backoff::default();
                let gap = inner.table.listening(&ids);
                inner.link.send_replace(Link::Ready);
                if gap {
                    return End::Gap;
                }
            }
            Some(Event::Resolved(clarification)) => inner.table.settled(clarification),
            Some(Event::UnknownClarifyId(id)) => inner.table.unknown(&id),
            Some(Event::Held(held)) => {
                if let Some(actor) = &held.actor {
                    inner.table.held(&held.clarify_id, &actor.person);
                }
            }
            Some(Event::Heartbeat(_)) | None => {}
        }
    }
}

fn lost(message: &str) -> WireError {
    WireError::new(ErrorCode::Unavailable, message)
}
