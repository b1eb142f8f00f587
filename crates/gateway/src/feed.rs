//! The gateway's picture of the log: folded by one task, read by every request, and told on to
//! every open socket in the same order.

mod drafts;
mod looks;
mod news;
mod older;

use crate::projection::{Change, ChangeKind, Projection};
use crate::{askers, metrics};
use askbus_domain::TenantId;
use askbus_ledger::{Ledger, Stored};
use askbus_telemetry::Kind;
use askbus_wire::codec::Decoded;
use drafts::Lately;
pub(crate) use drafts::Written;
pub(crate) use looks::Behind;
pub(crate) use news::{News, Snapshot, Viewer};
pub(crate) use older::Known;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;
use tokio::sync::{broadcast, watch};
use tokio_util::sync::CancellationToken;

/// News a socket may lag behind before it takes a fresh snapshot instead.
const BACKLOG: usize = 1024;
/// How long until a lost tail is opened again.
const RETRY: Duration = Duration::from_millis(500);
/// Messages after which whoever waits for the log's end is woken although more are to be read.
const WAKE_EVERY: u64 = 4_096;
/// Messages of the log taken at once.
const AT_ONCE: usize = 128;
/// Events kept of a tenant until the sessions that they are about were read.
const MOST_UNPLACED: usize = 10_000;

struct Tenant {
    projection: Projection,
    news: broadcast::Sender<Arc<News>>,
    written: Lately,
}

impl Tenant {
    fn new(known: Known, most_unplaced: usize) -> Self {
        Self {
            projection: match known {
                Known::Whole => Projection::default(),
                Known::After(_) => Projection::incomplete(most_unplaced),
            },
            news: broadcast::Sender::new(BACKLOG),
            written: Lately::default(),
        }
    }
}

#[derive(Default)]
struct Picture {
    seq: u64,
    tenants: HashMap<TenantId, Tenant>,
}

/// The picture and its followers.
pub(crate) struct Feed {
    picture: RwLock<Picture>,
    reached: watch::Sender<u64>,
    /// What was in the log before this process started is not new to anybody.
    live: AtomicBool,
    /// From where on everything that is over is in the picture.
    known: watch::Sender<Known>,
    /// What is kept until then of what is said of the rest, of each tenant.
    most_unplaced: usize,
}

impl Feed {
    pub(crate) fn new() -> Self {
        Self::keeping(MOST_UNPLACED)
    }

    /// One that keeps no more than this of what is said of questions that it has not read yet.
    fn keeping(most_unplaced: usize) -> Self {
        Self {
            most_unplaced,
            picture: RwLock::default(),
            reached: watch::Sender::new(0),
            live: AtomicBool::new(false),
            known: watch::Sender::new(Known::After(u64::MAX)),
        }
    }

    fn new_tenant(&self, known: Known) -> Tenant {
        Tenant::new(known, self.most_unplaced)
    }

    /// From now on what comes is new: traces show when it is.
    pub(crate) fn live(&self) {
        self.live.store(true, Ordering::Relaxed);
    }

    /// Notes in the trace of a question that it is shown, to so many sockets.
    fn trace(&self, change: &Change, sockets: usize) {
        if change.kind == ChangeKind::Requested && self.live.load(Ordering::Relaxed) {
            let card = &change.card;
            let mut shown = metrics::span("show", Kind::Consumer, card, card.trace.as_deref());
            shown.note("askbus.sockets", || {
                i64::try_from(sockets).unwrap_or(i64::MAX)
            });
        }
    }

    /// Folds one message. Readers see picture and news in step: both change under one lock. Whoever
    /// waits is woken when no `more` is there to be read: a long log would wake them for each message.
    fn apply(&self, stored: &Stored, serves: bool, more: bool) {
        let mut picture = self.picture.write().unwrap_or_else(PoisonError::into_inner);
        if stored.seq <= picture.seq {
            return;
        }
        picture.seq = stored.seq;
        match &stored.decoded {
            Decoded::Commit(commit) if serves => {
                let tenant = picture.tenants.entry(stored.tenant.clone());
                let tenant = tenant.or_insert_with(|| self.new_tenant(*self.known.borrow()));
                for change in tenant
                    .projection
                    .apply(stored.seq, commit, stored.trace.as_deref())
                {
                    self.trace(&change, tenant.news.receiver_count());
                    // An error only says that no socket is open.
                    let _ = tenant.news.send(Arc::new(News::Change(change)));
                }
                for card in tenant.projection.apply_plans(stored.seq, commit) {
                    let _ = tenant.news.send(Arc::new(News::Plan(card)));
                }
            }
            Decoded::Commit(_) => {}
            Decoded::Unreadable { problem } => {
                tracing::warn!(seq = stored.seq, tenant = %stored.tenant, session = %stored.session,
                    problem, "a message of the log cannot be read by this version; it is skipped");
            }
        }
        drop(picture);
        self.reached.send_if_modified(|reached| {
            *reached = stored.seq;
            !more || stored.seq.is_multiple_of(WAKE_EVERY)
        });
    }

    /// Follows the log until `shutdown`, across losses of the tail.
    pub(crate) async fn follow(
        self: Arc<Self>,
        ledger: Arc<dyn Ledger>,
        serves: impl Fn(&TenantId) -> bool + Send,
        shutdown: CancellationToken,
    ) {
        loop {
            let from = self.seq() + 1;
            let tail = match from {
                1 => ledger.tail_current().await,
                _ => ledger.tail(from).await,
            };
            match tail {
                Ok(mut tail) => {
                    let mut read = Vec::with_capacity(AT_ONCE);
                    loop {
                        let count = tokio::select! {
                            biased;
                            () = shutdown.cancelled() => return,
                            count = tail.recv_many(&mut read, AT_ONCE) => count,
                        };
                        if count == 0 {
                            break;
                        }
                        let last = read.last().map_or(0, |stored| stored.seq);
                        for stored in read.drain(..) {
                            let more = stored.seq < last || !tail.is_empty();
                            self.apply(&stored, serves(&stored.tenant), more);
                        }
                    }
                }
                Err(error) => tracing::warn!(%error, "the log cannot be followed; trying again"),
            }
            tokio::select! {
                biased;
                () = shutdown.cancelled() => return,
                () = tokio::time::sleep(RETRY) => {}
            }
        }
    }

    /// Waits until the picture shows the log up to `seq`.
    pub(crate) async fn reach(&self, seq: u64) {
        // The sender lives as long as this borrow: the wait cannot fail.
        let _ = self
            .reached
            .subscribe()
            .wait_for(|reached| *reached >= seq)
            .await;
    }

    /// The sequence the picture shows.
    pub(crate) fn seq(&self) -> u64 {
        *self.reached.borrow()
    }

    /// The sequence up to which everything was told to whoever follows the news.
    pub(crate) fn folded(&self) -> u64 {
        // A message is folded and told under one lock.
        self.picture
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .seq
    }

    fn read<T>(&self, tenant: &TenantId, look: impl FnOnce(u64, Option<&Tenant>) -> T) -> T {
        let picture = self.picture.read().unwrap_or_else(PoisonError::into_inner);
        look(picture.seq, picture.tenants.get(tenant))
    }

    /// Tells the sockets of those who see the waiting questions of these askers.
    pub(crate) fn askers_changed(&self, changed: &HashSet<askers::Key>) {
        if changed.is_empty() {
            return;
        }
        let picture = self.picture.read().unwrap_or_else(PoisonError::into_inner);
        let tenants: HashSet<&TenantId> = changed.iter().map(|(tenant, _)| tenant).collect();
        for (name, tenant) in tenants
            .into_iter()
            .filter_map(|t| picture.tenants.get_key_value(t))
        {
            for card in tenant.projection.pending() {
                let asker = (name.clone(), card.clarification.asker_id.clone());
                if changed.contains(&asker) {
                    // An error only says that no socket is open.
                    let _ = tenant.news.send(Arc::new(News::Asker(Arc::clone(card))));
                }
            }
        }
    }
}
