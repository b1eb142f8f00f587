//! What the server does not let this user do. A refused publish gets no reply, only a remark on the
//! connection; whoever waits for the reply learns it from here instead of waiting in vain.

use crate::LedgerError;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::broadcast::{self, error::RecvError};

/// Refusals between the connection and those who wait.
const CAPACITY: usize = 256;
/// How often the same refusal is mentioned.
const MENTION_EVERY: Duration = Duration::from_secs(30);
/// Subjects whose last mention is remembered.
const REMEMBERED: usize = 64;
/// Where permissions are written.
const PLACE: &str = "the permissions of this user in the configuration of the NATS server \
                     (deploy/nats/permissions.conf)";

pub(super) struct Refusals {
    user: String,
    told: broadcast::Sender<Arc<str>>,
    mentioned: Mutex<Vec<(String, Instant)>>,
}

impl Refusals {
    /// `user`: as the server knows this process.
    pub fn new(user: Option<&str>) -> Self {
        Self {
            user: user.unwrap_or("(none)").to_owned(),
            told: broadcast::Sender::new(CAPACITY),
            mentioned: Mutex::default(),
        }
    }

    /// Takes note of an error that the server sent; false when it is about something else.
    pub fn note(&self, name: &str, error: &str) -> bool {
        let Some((what, subject)) = parse(error) else {
            return false;
        };
        if what == PUBLISH {
            // Nobody waits: that is no error.
            drop(self.told.send(subject.into()));
        }
        if self.is_news(error) {
            tracing::error!(
                name,
                user = self.user,
                subject,
                "the bus forbids a {what} this service needs; mend {PLACE}"
            );
        }
        true
    }

    fn is_news(&self, error: &str) -> bool {
        let mut mentioned = self
            .mentioned
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        mentioned.retain(|(_, at)| at.elapsed() < MENTION_EVERY);
        if mentioned.iter().any(|(e, _)| e == error) {
            return false;
        }
        if mentioned.len() < REMEMBERED {
            mentioned.push((error.to_owned(), Instant::now()));
        }
        true
    }

    /// Resolves when a publish to `subject` is refused after this call; else never.
    pub fn of(&self, subject: &str) -> impl Future<Output = LedgerError> + use<> {
        let (subject, user) = (subject.to_owned(), self.user.clone());
        let mut told = self.told.subscribe();
        async move {
            loop {
                match told.recv().await {
                    Ok(refused) if *refused == *subject => {
                        return LedgerError::Misconfigured(format!(
                            "user {user} may not publish to {subject}; mend {PLACE}"
                        ));
                    }
                    Ok(_) | Err(RecvError::Lagged(_)) => {}
                    Err(RecvError::Closed) => std::future::pending().await,
                }
            }
        }
    }
}

const PUBLISH: &str = "publish";

/// What was refused, and on which subject.
fn parse(error: &str) -> Option<(&'static str, &str)> {
    let rest = error.strip_prefix("Permissions Violation for ")?;
    let (what, rest) = if let Some(rest) = rest.strip_prefix("Publish to \"") {
        (PUBLISH, rest)
    } else {
        ("subscription", rest.strip_prefix("Subscription to \"")?)
    };
    Some((what, rest.split('"').next()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_names_what_it_refused() {
        assert_eq!(
            parse("Permissions Violation for Publish to \"askbus.log.begun.t.s\""),
            Some(("publish", "askbus.log.begun.t.s"))
        );
        assert_eq!(
            parse("Permissions Violation for Subscription to \"clarify.>\" using queue \"q\""),
            Some(("subscription", "clarify.>"))
        );
        assert_eq!(parse("Stale Connection"), None);
    }

    #[test]
    fn the_same_refusal_is_mentioned_once_in_a_while() {
        let refusals = Refusals::new(Some("gateway"));
        assert!(refusals.is_news("a"));
        assert!(refusals.is_news("b"));
        assert!(!refusals.is_news("a"));
    }
}
