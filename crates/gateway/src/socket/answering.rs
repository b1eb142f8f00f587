//! Answers that come over a socket: what became of each is told to its author, also where that is known
//! only after they were told that it waits to be judged.

use super::{Done, Socket};
use crate::projection::Card;
use crate::submit::{self, Judged, Later, NotSent};
use askbus_domain::Response;
use askbus_wire::messages::InboxReply;
use std::sync::Arc;
use tokio::sync::oneshot;

/// Verdicts waited for at once, of one socket, after its person was told that they are still to come.
const MOST_FOLLOWED: usize = 64;

impl Socket {
    /// Sends an answer. `tell` says what its author is told of what became of it.
    pub(super) fn send_answer(
        &mut self,
        card: Arc<Card>,
        response: Response,
        tell: impl Fn(Result<Judged, NotSent>) -> Done + Send + Sync + 'static,
    ) {
        let (gateway, person) = (Arc::clone(&self.gateway), self.person.clone());
        let (trace, tell) = (self.trace.clone(), Arc::new(tell));
        let (hand_over, handed) = oneshot::channel::<Box<Later>>();
        if self.following.len() < MOST_FOLLOWED {
            let (gateway, person, card) = (Arc::clone(&gateway), person.clone(), Arc::clone(&card));
            let tell = Arc::clone(&tell);
            self.following.push(Box::pin(async move {
                let Ok(later) = handed.await else {
                    return Vec::new();
                };
                let judged = later.judged(&gateway, &person, &card);
                match tokio::time::timeout(submit::LATEST_VERDICT, judged).await {
                    // How it ended everybody hears from the log.
                    Ok(
                        Some(Judged::Reply(InboxReply::Settled { .. }) | Judged::Unjudged) | None,
                    )
                    | Err(_) => Vec::new(),
                    Ok(Some(judged)) => tell(Ok(judged)),
                }
            }));
        }
        self.begin(Box::pin(async move {
            let sent = submit::respond_and_follow(&gateway, &person, &card, response, &trace).await;
            tell(sent.map(|(judged, later)| {
                // Where too many are followed nobody takes it.
                let _ = later.map(|later| hand_over.send(Box::new(later)));
                judged
            }))
        }));
    }
}
