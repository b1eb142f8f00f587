//! The connection: made in the background, watched, and explained to the operator.

use super::refusals::Refusals;
use super::servers::Servers;
use super::{JetStreamOptions, unavailable};
use crate::LedgerError;
use async_nats::{Client, ConnectOptions, Event, ServerAddr, ServerError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// How often the server must answer; two misses count as a lost connection.
const PING: Duration = Duration::from_secs(2);
/// How long a server may take to accept a connection.
const ACCEPT: Duration = Duration::from_secs(2);
/// How often a connection that does not come up is mentioned.
const COMPLAIN_EVERY: Duration = Duration::from_secs(5);
/// Longest wait between two attempts to connect.
const LONGEST_DELAY: Duration = Duration::from_secs(1);

/// What is known of the connection.
pub(super) struct Link {
    connected: watch::Sender<bool>,
    /// Counts connections. What was in flight on an earlier one may be lost.
    generation: watch::Sender<u64>,
    /// Counts lost connections. What was asked on one of them gets no reply any more.
    losses: watch::Sender<u64>,
    slow_consumers: watch::Sender<u64>,
    complained: Mutex<Option<Instant>>,
    refusals: Refusals,
}

impl Link {
    /// A connection of this user that is not made yet.
    pub fn new(user: Option<&str>) -> Self {
        Self {
            refusals: Refusals::new(user),
            connected: watch::Sender::new(false),
            generation: watch::Sender::new(0),
            losses: watch::Sender::new(0),
            slow_consumers: watch::Sender::new(0),
            complained: Mutex::new(None),
        }
    }

    /// Resolves when the server refuses a publish to `subject` after this call; else never.
    pub fn refused(&self, subject: &str) -> impl Future<Output = LedgerError> + use<> {
        self.refusals.of(subject)
    }

    pub fn is_connected(&self) -> bool {
        *self.connected.borrow()
    }

    pub fn connected(&self) -> watch::Receiver<bool> {
        self.connected.subscribe()
    }

    pub fn generation(&self) -> watch::Receiver<u64> {
        self.generation.subscribe()
    }

    pub fn slow_consumers(&self) -> watch::Receiver<u64> {
        self.slow_consumers.subscribe()
    }

    /// Resolves when a connection is lost after this call; else never.
    pub fn lost(&self) -> impl Future<Output = ()> + use<> {
        let mut losses = self.losses.subscribe();
        async move {
            if losses.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// Waits until there is a connection.
    pub async fn up(&self) {
        // The sender lives as long as this does, so waiting cannot fail.
        drop(self.connected.subscribe().wait_for(|up| *up).await);
    }

    fn may_complain(&self) -> bool {
        let mut complained = self
            .complained
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let due = complained.is_none_or(|at| at.elapsed() >= COMPLAIN_EVERY);
        if due {
            *complained = Some(Instant::now());
        }
        due
    }

    fn note(&self, name: &str, event: &Event) {
        match event {
            Event::Connected => {
                self.connected.send_replace(true);
                self.generation.send_modify(|g| *g += 1);
                tracing::info!(name, "connected to the bus; tails and takers resume");
            }
            Event::Disconnected | Event::Closed => {
                self.connected.send_replace(false);
                self.losses.send_modify(|losses| *losses += 1);
                tracing::warn!(
                    name,
                    "the connection to the bus is lost: questions and answers are refused as \
                     unavailable, tails stand still; trying again"
                );
            }
            Event::LameDuckMode => tracing::warn!(
                name,
                "the server is about to stop; the client moves to another one if there is one"
            ),
            Event::Draining => tracing::info!(name, "the connection to the bus is drained"),
            Event::SlowConsumer(subscription) => {
                self.slow_consumers.send_modify(|count| *count += 1);
                tracing::warn!(
                    name,
                    subscription,
                    "a subscription was read too slowly and lost messages; tails repair this, \
                     plain subscribers must ask for the state again"
                );
            }
            Event::ServerError(ServerError::Other(error)) if self.refusals.note(name, error) => {}
            Event::ServerError(error) => {
                tracing::warn!(name, %error, "the bus reports an error");
            }
            Event::ClientError(error) => {
                if !self.may_complain() {
                    return;
                }
                let text = error.to_string();
                if text.contains("authorization violation") {
                    tracing::error!(
                        name,
                        "the bus does not take this user or its pass phrase (settings nats_user \
                         and nats_pass_file); trying again"
                    );
                } else {
                    tracing::warn!(name, error = text, "the bus is not reachable; trying again");
                }
            }
        }
    }
}

/// Starts connecting; the result is in `link`.
pub(super) async fn connect(
    options: &JetStreamOptions,
    link: Arc<Link>,
    known: Arc<Servers>,
) -> Result<Client, LedgerError> {
    let wrong = |what: String| LedgerError::Misconfigured(what);
    let servers: Vec<ServerAddr> = options
        .url
        .split(',')
        .map(|url| url.trim().parse())
        .collect::<Result<_, _>>()
        .map_err(|e| wrong(format!("the address of the bus: {e}")))?;
    let name = options.name.clone();
    let mut connecting = ConnectOptions::new()
        .name(&name)
        .ping_interval(PING)
        .connection_timeout(ACCEPT)
        .retry_on_initial_connect()
        .max_reconnects(None)
        .reconnect_delay_callback(delay)
        .reconnect_to_server_callback(move |pool, _| std::future::ready(known.next(&pool)))
        .event_callback(move |event| {
            link.note(&name, &event);
            std::future::ready(())
        });
    if let Some(path) = &options.credentials {
        let text = tokio::fs::read_to_string(path)
            .await
            .map_err(|e| wrong(format!("{}: {e}", path.display())))?;
        connecting = connecting
            .credentials(&text)
            .map_err(|e| wrong(format!("{}: {e}", path.display())))?;
    } else if let Some(user) = &options.user {
        let password = options.password.clone().unwrap_or_default();
        connecting = connecting.user_and_password(user.clone(), password);
        // Replies below a prefix of the user's own, so that its permissions keep others out.
        if user
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
        {
            connecting = connecting.custom_inbox_prefix(format!("_INBOX.{user}"));
        }
    }
    if let Some(path) = &options.root_certificates {
        connecting = connecting.add_root_certificates(path.clone());
    }
    // With background connecting this fails only for addresses that can never work.
    connecting
        .connect(servers)
        .await
        .map_err(|e| match unavailable(e) {
            LedgerError::Unavailable(what) => wrong(what),
            other => other,
        })
}

fn delay(attempts: usize) -> Duration {
    let doubled = u32::try_from(attempts.min(10)).map_or(u32::MAX, |n| 2_u32.saturating_pow(n));
    (Duration::from_millis(5) * doubled).min(LONGEST_DELAY)
}
