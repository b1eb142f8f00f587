//! The bus as one process has it: it can be cut off from it, it can die in the middle of anything,
//! and its clock is off.

use crate::random::Random;
use askbus_domain::{ClarifyId, Commit, PersonId, SessionId, TenantId, Timestamp};
use askbus_ledger::{
    Ack, Alive, AppendError, Bus, Delivery, Drafts, Inbox, Ledger, LedgerError, ReplySink, Stored,
    StoredDraft, Submission, Submitted,
};
use askbus_wire::messages::{Draft, Heartbeat, InboxReply};
use async_trait::async_trait;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, mpsc};
use tokio_util::sync::CancellationToken;

/// How long an operation on a bus that is cut off hangs at most before it fails.
const PATIENCE: Duration = Duration::from_secs(5);
/// Messages between the bus and the process.
const CAPACITY: usize = 64;

/// Something that is on or off, for those who wait for a change.
#[derive(Default)]
pub(crate) struct Switch {
    on: AtomicBool,
    changed: Notify,
}

impl Switch {
    pub(crate) fn set(&self, on: bool) {
        self.on.store(on, Ordering::Relaxed);
        self.changed.notify_waiters();
    }

    fn is_on(&self) -> bool {
        self.on.load(Ordering::Relaxed)
    }

    async fn reach(&self, on: bool) {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if self.is_on() == on {
                return;
            }
            changed.await;
        }
    }
}

/// What stands between a process and the bus.
pub(crate) struct Line {
    /// Cancelled when the process is dead: it changes nothing any more.
    pub dead: CancellationToken,
    /// Whether the bus is out of reach.
    pub cut: Switch,
    /// Whether the log alone does not say what became of a write; the inbox does.
    pub silent: Switch,
    /// How far the process's clock is ahead of the bus's.
    pub skew_ms: i64,
    /// In how many of a hundred writes the process dies right after the write.
    pub deadly_percent: u32,
    /// In how many of a thousand operations it dies before or after any of them.
    pub deadly_permille: u32,
    /// In how many of a thousand messages a stream of the bus ends instead.
    pub fragile_permille: u32,
    /// How wrong its knowledge of the bus's clock is.
    pub error_ms: i64,
    /// How late a message of the tail may be.
    pub slow_tail: Duration,
    pub random: Mutex<Random>,
    /// Whether the process has learnt how far its clock is off.
    pub told: AtomicBool,
}

fn gone() -> LedgerError {
    LedgerError::Unavailable("the bus is out of reach".into())
}

impl Line {
    fn random<T>(&self, choose: impl FnOnce(&mut Random) -> T) -> T {
        choose(&mut self.random.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Waits until the bus is out of reach or the process dead.
    async fn lost(&self) {
        tokio::select! {
            biased;
            () = self.dead.cancelled() => {}
            () = self.cut.reach(true) => {}
        }
    }

    /// Waits until the bus can be reached; false once the process is dead.
    async fn reached(&self) -> bool {
        tokio::select! {
            biased;
            () = self.dead.cancelled() => false,
            () = self.cut.reach(false) => true,
        }
    }

    /// The beginning of an operation: it fails at once or after a while when the bus is away.
    async fn begin(&self) -> Result<(), LedgerError> {
        let hangs = self.cut.is_on() && self.random(|r| r.percent(50));
        let patience = if hangs {
            PATIENCE
        } else {
            Duration::from_millis(5)
        };
        match tokio::time::timeout(patience, self.reached()).await {
            Ok(true) => self.survive(),
            Ok(false) | Err(_) => Err(gone()),
        }
    }

    /// The middle and the end: broken off when the bus is lost meanwhile.
    async fn finish<T>(&self, operation: impl Future<Output = T>) -> Result<T, LedgerError> {
        tokio::select! {
            biased;
            () = self.lost() => Err(gone()),
            done = operation => Ok(done),
        }
    }

    async fn whole<T>(
        &self,
        operation: impl Future<Output = Result<T, LedgerError>>,
    ) -> Result<T, LedgerError> {
        self.begin().await?;
        let done = self.finish(operation).await?;
        self.survive()?;
        done
    }

    /// Dies, or not.
    fn survive(&self) -> Result<(), LedgerError> {
        if self.random(|r| r.permille(self.deadly_permille)) {
            self.dead.cancel();
            return Err(gone());
        }
        Ok(())
    }
}

/// The bus as seen through `line`.
pub(crate) fn through(line: &Arc<Line>, bus: &Bus) -> Bus {
    Bus {
        ledger: Arc::new(Faulty(Arc::clone(line), Arc::clone(&bus.ledger))),
        inbox: Arc::new(Faulty(Arc::clone(line), Arc::clone(&bus.inbox))),
        drafts: Arc::new(Faulty(Arc::clone(line), Arc::clone(&bus.drafts))),
        // No channel runs here.
        positions: Arc::clone(&bus.positions),
        alive: Arc::new(Faulty(Arc::clone(line), Arc::clone(&bus.alive))),
    }
}

struct Faulty<T: ?Sized>(Arc<Line>, Arc<T>);

/// Passes messages on while the bus is in reach, as late as `delay` says.
fn relay<T: Send + 'static>(
    line: &Arc<Line>,
    mut from: mpsc::Receiver<T>,
    delay: impl Fn(&Line) -> Duration + Send + 'static,
    mut change: impl FnMut(T) -> T + Send + 'static,
) -> mpsc::Receiver<T> {
    let (to, receiver) = mpsc::channel(CAPACITY);
    let line = Arc::clone(line);
    tokio::spawn(async move {
        loop {
            let message = tokio::select! {
                biased;
                () = line.dead.cancelled() => return,
                () = to.closed() => return,
                message = from.recv() => message,
            };
            let Some(message) = message else { return };
            // Whoever reads it opens another one, and misses nothing by that.
            if line.random(|r| r.permille(line.fragile_permille)) {
                return;
            }
            let delay = delay(&line);
            if !delay.is_zero() {
                tokio::time::sleep(delay).await;
            }
            if !line.reached().await || to.send(change(message)).await.is_err() {
                return;
            }
        }
    });
    receiver
}

#[async_trait]
impl Ledger for Faulty<dyn Ledger> {
    async fn append_once(
        &self,
        commit: &Commit,
        expected: u64,
        trace: Option<&str>,
    ) -> Result<u64, AppendError> {
        let line = &self.0;
        line.begin().await?;
        if line.silent.is_on() {
            let (pause, written) = line.random(|r| (r.millis(5, 500), r.percent(20)));
            if written {
                drop(
                    line.finish(self.1.append_once(commit, expected, trace))
                        .await,
                );
            }
            tokio::time::sleep(pause).await;
            return Err(AppendError::Uncertain("the log says nothing".into()));
        }
        let appended = line
            .finish(self.1.append_once(commit, expected, trace))
            .await
            .map_err(|e| AppendError::Uncertain(e.to_string()))?;
        if appended.is_ok() && line.random(|r| r.percent(line.deadly_percent)) {
            line.dead.cancel();
            return Err(AppendError::Uncertain("dead".into()));
        }
        appended
    }

    async fn tail(&self, from: u64) -> Result<mpsc::Receiver<Arc<Stored>>, LedgerError> {
        let tail = self.0.whole(self.1.tail(from)).await?;
        let late = |line: &Line| {
            let most = u64::try_from(line.slow_tail.as_millis()).unwrap_or(0);
            line.random(|r| {
                if r.percent(20) {
                    r.millis(0, most)
                } else {
                    Duration::ZERO
                }
            })
        };
        Ok(relay(&self.0, tail, late, |stored| stored))
    }

    async fn last_seq(&self) -> Result<u64, LedgerError> {
        self.0.whole(self.1.last_seq()).await
    }

    async fn read_session(
        &self,
        tenant: &TenantId,
        session: &SessionId,
        from: u64,
    ) -> Result<Vec<Arc<Stored>>, LedgerError> {
        let read = self.1.read_session(tenant, session, from);
        self.0.whole(read).await
    }

    async fn read_at(&self, seq: u64) -> Result<Option<Arc<Stored>>, LedgerError> {
        self.0.whole(self.1.read_at(seq)).await
    }

    async fn find_requested(
        &self,
        tenant: &TenantId,
        id: ClarifyId,
    ) -> Result<Option<Arc<Stored>>, LedgerError> {
        self.0.whole(self.1.find_requested(tenant, id)).await
    }

    /// As on a real bus: nothing is known before the bus was asked, and asking is what makes it known.
    fn clock_offset_ms(&self) -> i64 {
        if self.0.told.swap(true, Ordering::Relaxed) {
            self.0.error_ms - self.0.skew_ms
        } else {
            0
        }
    }

    async fn learn_clock(&self) -> Result<(), LedgerError> {
        let pause = self.0.random(|r| r.millis(0, 20));
        let asked = async {
            tokio::time::sleep(pause).await;
            Ok(())
        };
        self.0.whole(asked).await?;
        self.0.told.store(true, Ordering::Relaxed);
        Ok(())
    }
}

#[async_trait]
impl Inbox for Faulty<dyn Inbox> {
    async fn submit(&self, submission: Submission) -> Result<Submitted, LedgerError> {
        self.0.whole(self.1.submit(submission)).await
    }

    async fn take(&self, tenant: &TenantId) -> Result<mpsc::Receiver<Delivery>, LedgerError> {
        let deliveries = self.0.whole(self.1.take(tenant)).await?;
        let line = Arc::clone(&self.0);
        let change = move |delivery: Delivery| Delivery {
            acker: Box::new(Settle(Arc::clone(&line), delivery.acker)),
            reply: Box::new(Reply(Arc::clone(&line), delivery.reply)),
            ..delivery
        };
        Ok(relay(&self.0, deliveries, |_| Duration::ZERO, change))
    }

    async fn oldest(
        &self,
        tenant: &TenantId,
        session: &SessionId,
        id: ClarifyId,
    ) -> Result<Option<Timestamp>, LedgerError> {
        self.0.whole(self.1.oldest(tenant, session, id)).await
    }
}

struct Settle(Arc<Line>, Box<dyn Ack>);

#[async_trait]
impl Ack for Settle {
    async fn ack(&self) -> Result<(), LedgerError> {
        self.0.whole(self.1.ack()).await
    }

    async fn term(&self) -> Result<(), LedgerError> {
        self.0.whole(self.1.term()).await
    }

    async fn retry(&self, pause: Duration) -> Result<(), LedgerError> {
        self.0.whole(self.1.retry(pause)).await
    }
}

struct Reply(Arc<Line>, Box<dyn ReplySink>);

#[async_trait]
impl ReplySink for Reply {
    async fn send(&self, reply: &InboxReply) {
        if self.0.begin().await.is_ok() {
            self.1.send(reply).await;
        }
    }
}

#[async_trait]
impl Drafts for Faulty<dyn Drafts> {
    async fn put(
        &self,
        tenant: &TenantId,
        session: &SessionId,
        id: ClarifyId,
        person: &PersonId,
        draft: &Draft,
    ) -> Result<(), LedgerError> {
        let put = self.1.put(tenant, session, id, person, draft);
        self.0.whole(put).await
    }

    async fn put_if(
        &self,
        tenant: &TenantId,
        session: &SessionId,
        id: ClarifyId,
        person: &PersonId,
        draft: &Draft,
        expected: u64,
    ) -> Result<Option<u64>, LedgerError> {
        let put = self.1.put_if(tenant, session, id, person, draft, expected);
        // Once begun, nobody knows.
        let put = self.0.whole(put).await;
        put.map_err(|error| match error {
            LedgerError::Unavailable(why) => LedgerError::InDoubt(why),
            other => other,
        })
    }

    async fn list(
        &self,
        tenant: &TenantId,
        session: &SessionId,
        id: ClarifyId,
    ) -> Result<Vec<StoredDraft>, LedgerError> {
        self.0.whole(self.1.list(tenant, session, id)).await
    }
}

#[async_trait]
impl Alive for Faulty<dyn Alive> {
    async fn publish(&self, heartbeat: &Heartbeat) -> Result<(), LedgerError> {
        self.0.whole(self.1.publish(heartbeat)).await
    }

    async fn watch(&self) -> Result<mpsc::Receiver<Heartbeat>, LedgerError> {
        let mut heard = self.0.whole(self.1.watch()).await?;
        let (to, receiver) = mpsc::channel(CAPACITY);
        let line = Arc::clone(&self.0);
        tokio::spawn(async move {
            loop {
                let heartbeat = tokio::select! {
                    biased;
                    () = line.dead.cancelled() => return,
                    () = to.closed() => return,
                    heartbeat = heard.recv() => heartbeat,
                };
                let Some(heartbeat) = heartbeat else { return };
                // Not stored: what nobody could hear is lost.
                if !line.cut.is_on() {
                    drop(to.try_send(heartbeat));
                }
            }
        });
        Ok(receiver)
    }
}
