//! Outcomes from the bus: a plain subscription on what has happened in the tenant. It delivers at
//! most once, so after every new connection, lost message and gap, and now and then while questions
//! are open, the service is asked for their state. Heartbeats of its own keep the process alive.

use super::heard::{Heard, Republished};
use super::resolutions::{Link, Resolutions};
use super::{Backoff, Inner};
use crate::metrics::Figures;
use askbus_domain::{AskerId, LeaseName, SCHEMA, TenantId};
use askbus_ledger::jetstream::JetStreamHandle;
use askbus_ledger::{Alive, Bus};
use askbus_wire::error::{ErrorCode, WireError};
use askbus_wire::messages::{Heartbeat, Lease};
use askbus_wire::{proto, subject};
use async_nats::{Client, Message, Subscriber, header};
use async_trait::async_trait;
use futures::stream::{self, BoxStream, StreamExt as _};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior, timeout};

/// How long one operation on the bus may take.
const BUS_LIMIT: Duration = Duration::from_secs(5);
/// Questions asked for at the same time.
const CHECKS_AT_ONCE: usize = 16;

/// How to hear outcomes on the bus.
pub struct BusOptions {
    /// The connection; may be lost and come back.
    pub client: Client,
    /// Where heartbeats go.
    pub alive: Arc<dyn Alive>,
    /// Whether there is a connection now.
    pub connected: watch::Receiver<bool>,
    /// How often messages were lost because this process read too slowly.
    pub slow_consumers: watch::Receiver<u64>,
    /// The name of this process on the bus.
    pub instance: String,
    /// How often the service is asked for the state of open questions.
    pub check_every: Duration,
    /// How often this process says that it is alive.
    pub heartbeat_every: Duration,
    /// Where the process counts what it does.
    pub figures: Arc<Figures>,
}

impl BusOptions {
    /// A check every 15 s, a heartbeat every 5 s.
    pub fn new(bus: &Bus, client: Client, handle: &JetStreamHandle, instance: String) -> Self {
        Self {
            figures: Arc::new(Figures::new(Some(handle.slow_consumers()))),
            client,
            alive: Arc::clone(&bus.alive),
            connected: handle.connected(),
            slow_consumers: handle.slow_consumers(),
            instance,
            check_every: Duration::from_secs(15),
            heartbeat_every: Duration::from_secs(5),
        }
    }
}

/// Why the listening ended.
enum End {
    Closing,
    /// To be begun anew at once.
    Again,
    Lost(WireError),
}

/// Hears outcomes on the bus.
pub(super) struct OnBus {
    options: BusOptions,
}

#[async_trait]
impl Resolutions for OnBus {
    async fn keep(&self, inner: &Inner) {
        let mut heard = Heard::new(inner.asker_id.clone());
        let mut backoff = Backoff::default();
        while self.until_connected(inner).await {
            let end = self.listen(inner, &mut heard, &mut backoff).await;
            inner.table.deaf();
            match end {
                End::Closing => return,
                End::Again => {}
                End::Lost(error) => {
                    tracing::debug!(%error, "outcomes are not heard");
                    inner.link.send_replace(Link::Failed(error));
                    tokio::select! {
                        () = inner.closing.cancelled() => return,
                        () = inner.kick.notified() => {}
                        () = tokio::time::sleep(backoff.next_pause()) => {}
                    }
                }
            }
        }
    }
}

impl OnBus {
    pub(super) fn new(options: BusOptions) -> Self {
        Self { options }
    }

    /// False once the process closes.
    async fn until_connected(&self, inner: &Inner) -> bool {
        let mut connected = self.options.connected.clone();
        while !*connected.borrow_and_update() {
            let away = lost("the bus cannot be reached");
            inner.link.send_replace(Link::Failed(away));
            tokio::select! {
                () = inner.closing.cancelled() => return false,
                // A new question is told so as well.
                () = inner.kick.notified() => {}
                Ok(()) = connected.changed() => {}
                // Whoever kept the connection is gone.
                else => {
                    inner.closing.cancelled().await;
                    return false;
                }
            }
        }
        !inner.closing.is_cancelled()
    }

    /// Listens over one connection for as long as it is sound.
    async fn listen(&self, inner: &Inner, heard: &mut Heard, backoff: &mut Backoff) -> End {
        let options = &self.options;
        let mut connected = options.connected.clone();
        if !*connected.borrow_and_update() {
            return End::Again;
        }
        let mut slow_consumers = options.slow_consumers.clone();
        slow_consumers.mark_unchanged();
        let subscribed = tokio::select! {
            () = inner.closing.cancelled() => return End::Closing,
            subscribed = self.subscribe(inner) => subscribed,
        };
        let (tenant, mut happened) = match subscribed {
            Ok(subscribed) => subscribed,
            Err(error) => return End::Lost(error),
        };
        let heartbeat = self.heartbeat(&tenant, &inner.asker_id);
        self.say_alive(&heartbeat).await;
        inner.table.listening(&[]);
        inner.link.send_replace(Link::Ready);
        *backoff = Backoff::default();

        let mut pace = tokio::time::interval(options.heartbeat_every);
        pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
        pace.reset();
        let mut said = Instant::now();
        let mut check = Check::new(options.check_every);
        loop {
            tokio::select! {
                biased;
                () = inner.closing.cancelled() => return End::Closing,
                changed = connected.changed() => {
                    return match changed {
                        Ok(()) => End::Again,
                        Err(_) => End::Lost(lost("the connection to the bus was closed")),
                    };
                }
                _ = pace.tick() => {
                    if said.elapsed() > options.heartbeat_every * 3 {
                        // This process stood still: others may have given it up.
                        return End::Again;
                    }
                    self.say_alive(&heartbeat).await;
                    said = Instant::now();
                }
                Ok(()) = slow_consumers.changed() => {
                    inner.table.missed();
                    check.soon();
                }
                message = happened.next() => {
                    let Some(message) = message else {
                        return End::Lost(lost("the subscription ended"));
                    };
                    if take(heard, inner, &message) {
                        inner.table.missed();
                        check.soon();
                    }
                }
                () = inner.table.gap() => check.soon(),
                step = check.step() => match step {
                    Step::Due => {
                        heard.prune(&inner.table);
                        check.start(inner);
                    }
                    Step::Reply(id, reply) => check.note(inner, heard, &id, *reply),
                    Step::Over => check.over(),
                }
            }
        }
    }

    async fn subscribe(&self, inner: &Inner) -> Result<(TenantId, Subscriber), WireError> {
        let tenant = inner.connection.token().tenant().await?;
        let client = &self.options.client;
        let subscribing = async {
            let happened = client.subscribe(subject::happened_in(&tenant)).await;
            let happened = happened.map_err(|e| lost(&e.to_string()))?;
            // Only now does the server know of it.
            let flushed = client.flush().await;
            flushed.map_err(|e| lost(&e.to_string()))?;
            Ok::<Subscriber, WireError>(happened)
        };
        let subscribed = timeout(BUS_LIMIT, subscribing).await;
        let happened = subscribed.map_err(|_| lost("the bus does not answer"))??;
        Ok((tenant, happened))
    }

    /// Keeps the questions of this process, and the turn that it holds.
    fn heartbeat(&self, tenant: &TenantId, asker_id: &str) -> Heartbeat {
        let asker = AskerId::new(asker_id).ok();
        let holder = LeaseName::new(asker_id).ok();
        let leases = [
            asker.map(|asker| Lease::asker(tenant, &asker)),
            holder.map(|holder| Lease::turn(tenant, &holder)),
        ];
        Heartbeat {
            service: "mcp-adapter".to_owned(),
            instance: self.options.instance.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            schema: SCHEMA,
            leases: leases.into_iter().flatten().collect(),
            ..Heartbeat::default()
        }
    }

    async fn say_alive(&self, heartbeat: &Heartbeat) {
        let sent = timeout(BUS_LIMIT, self.options.alive.publish(heartbeat)).await;
        if !matches!(sent, Ok(Ok(()))) {
            tracing::debug!("a heartbeat was not sent; the next one follows");
        }
    }
}

/// True if something was missed.
fn take(heard: &mut Heard, inner: &Inner, message: &Message) -> bool {
    let Some((event, session)) = subject::parse_happened(&message.subject) else {
        return false;
    };
    let number = |name: header::HeaderName| {
        let value = message.headers.as_ref()?.get(name)?;
        value.as_str().parse::<u64>().ok()
    };
    let sequences = number(header::NATS_SEQUENCE).zip(number(header::NATS_LAST_SEQUENCE));
    let republished = Republished {
        event,
        session_id: session.as_str(),
        sequences,
        payload: &message.payload,
    };
    heard.take(&inner.table, &republished)
}

type Reply = Result<proto::Clarification, WireError>;

/// What comes next of a check.
enum Step {
    Due,
    /// What the service says of a question.
    Reply(String, Box<Reply>),
    Over,
}

/// Asking the service for the state of the open questions.
struct Check<'a> {
    every: Duration,
    due: Instant,
    /// The replies still to come, while it runs.
    running: Option<BoxStream<'a, (String, Reply)>>,
    /// To be done again as soon as it is over.
    again: bool,
    failed: bool,
    backoff: Backoff,
}

impl<'a> Check<'a> {
    /// Due at once.
    fn new(every: Duration) -> Self {
        Self {
            every,
            due: Instant::now(),
            running: None,
            again: false,
            failed: false,
            backoff: Backoff::default(),
        }
    }

    fn soon(&mut self) {
        self.due = Instant::now();
        self.again = true;
    }

    async fn step(&mut self) -> Step {
        match &mut self.running {
            None => {
                tokio::time::sleep_until(self.due).await;
                Step::Due
            }
            Some(replies) => match replies.next().await {
                Some((id, reply)) => Step::Reply(id, Box::new(reply)),
                None => Step::Over,
            },
        }
    }

    fn start(&mut self, inner: &'a Inner) {
        self.again = false;
        self.failed = false;
        let ask = move |id: String| async move {
            let request = proto::GetClarificationRequest {
                clarify_id: id.clone(),
            };
            let get = |mut client: askbus_wire::client::Client| async move {
                client.clarify.get_clarification(request).await
            };
            (id, inner.connection.call(get).await)
        };
        let replies = stream::iter(inner.table.open_ids()).map(ask);
        self.running = Some(replies.buffer_unordered(CHECKS_AT_ONCE).boxed());
    }

    fn note(&mut self, inner: &Inner, heard: &mut Heard, id: &str, reply: Reply) {
        match reply {
            Ok(question) if question.outcome.is_some() => inner.table.settled(question),
            Ok(question) => {
                inner.table.cover(id);
                heard.waits(&inner.table, question);
            }
            Err(error) if error.code == ErrorCode::UnknownClarification => {
                inner.table.unknown(id);
            }
            Err(error) => {
                tracing::debug!(id, %error, "the state of a question is not known now");
                self.failed = true;
            }
        }
    }

    fn over(&mut self) {
        self.running = None;
        let pause = if self.again {
            Duration::ZERO
        } else if self.failed {
            self.backoff.next_pause().min(self.every)
        } else {
            self.backoff = Backoff::default();
            self.every
        };
        self.due = Instant::now() + pause;
    }
}

fn lost(message: &str) -> WireError {
    WireError::new(ErrorCode::Unavailable, message)
}
