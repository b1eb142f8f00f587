//! The gateway's picture of the log: folded by one task, read by every request, and told on to
//! every open socket in the same order.

use crate::projection::{Card, Change, ChangeKind, Past, PlanCard, Projection};
use crate::{askers, metrics};
use askbus_domain::{ClarifyId, PersonId, ProfileId, TenantId, Timestamp};
use askbus_ledger::{Ledger, Stored};
use askbus_telemetry::Kind;
use askbus_wire::codec::Decoded;
use askbus_wire::messages::Draft;
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
/// Settled questions replayed to a socket at most.
const MAX_REPLAY: usize = 1_000;
/// Plans that ended replayed to a socket at most.
const MAX_ENDED_PLANS: usize = 100;

/// Who looks.
#[derive(Debug, Clone)]
pub(crate) struct Viewer {
    pub tenant: TenantId,
    /// Profiles in sight; none means all of the tenant.
    pub profiles: Option<Vec<ProfileId>>,
}

impl Viewer {
    /// Whether the card is for these eyes.
    pub(crate) fn sees(&self, card: &Card) -> bool {
        self.profiles
            .as_ref()
            .is_none_or(|allowed| allowed.contains(&card.profile))
    }

    /// Whether the plan is.
    pub(crate) fn sees_plan(&self, card: &PlanCard) -> bool {
        self.profiles
            .as_ref()
            .is_none_or(|allowed| allowed.contains(&card.profile))
    }
}

/// What sockets of a tenant are told.
#[derive(Debug, Clone)]
pub(crate) enum News {
    /// A question moved in the log.
    Change(Change),
    /// A plan did.
    Plan(Arc<PlanCard>),
    /// The asker of a waiting question is gone or back.
    Asker(Arc<Card>),
    /// Somebody saved a draft.
    Draft {
        card: Arc<Card>,
        person: PersonId,
        socket: u64,
        draft: Arc<Draft>,
    },
}

impl News {
    /// Where in the log it stands, if it does.
    pub(crate) fn seq(&self) -> Option<u64> {
        match self {
            News::Change(change) => Some(change.seq),
            News::Plan(card) => Some(card.seq),
            News::Asker(_) | News::Draft { .. } => None,
        }
    }
}

/// A picture at one sequence, and everything after it.
pub(crate) struct Snapshot {
    pub seq: u64,
    pub pending: Vec<Arc<Card>>,
    /// Settled after the sequence that was named, oldest first.
    pub resolved: Vec<(u64, Arc<Card>)>,
    /// The plans that run, and the latest of those that ended.
    pub plans: Vec<Arc<PlanCard>>,
    pub news: broadcast::Receiver<Arc<News>>,
}

impl Snapshot {
    /// Lets go of the cards once they were told; the news go on.
    pub(crate) fn forget(&mut self) {
        self.pending = Vec::new();
        self.resolved = Vec::new();
        self.plans = Vec::new();
    }
}

struct Tenant {
    projection: Projection,
    news: broadcast::Sender<Arc<News>>,
}

impl Default for Tenant {
    fn default() -> Self {
        Self {
            projection: Projection::default(),
            news: broadcast::Sender::new(BACKLOG),
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
}

impl Feed {
    pub(crate) fn new() -> Self {
        Self {
            picture: RwLock::default(),
            reached: watch::Sender::new(0),
            live: AtomicBool::new(false),
        }
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
                let tenant = picture.tenants.entry(stored.tenant.clone()).or_default();
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

    /// The card with this id, whoever may see it.
    pub(crate) fn card(&self, tenant: &TenantId, id: ClarifyId) -> Option<Arc<Card>> {
        self.read(tenant, |_, t| t?.projection.card(id).cloned())
    }

    /// Up to `limit` waiting cards in sight, oldest first, with the sequence of the picture.
    pub(crate) fn pending(
        &self,
        viewer: &Viewer,
        wanted: impl Fn(&Card) -> bool,
        limit: usize,
    ) -> (u64, Vec<Arc<Card>>) {
        self.read(&viewer.tenant, |seq, tenant| {
            let all = tenant.into_iter().flat_map(|t| t.projection.pending());
            (
                seq,
                all.filter(|c| viewer.sees(c) && wanted(c))
                    .take(limit)
                    .cloned()
                    .collect(),
            )
        })
    }

    /// Up to `limit` settled cards in sight, latest first, with the sequence of the picture.
    pub(crate) fn settled(
        &self,
        viewer: &Viewer,
        wanted: impl Fn(&Card) -> bool,
        limit: usize,
    ) -> (u64, Vec<Arc<Card>>) {
        self.read(&viewer.tenant, |seq, tenant| {
            let all = tenant
                .into_iter()
                .flat_map(|t| t.projection.settled())
                .map(|(_, c)| c);
            (
                seq,
                all.filter(|c| viewer.sees(c) && wanted(c))
                    .take(limit)
                    .cloned()
                    .collect(),
            )
        })
    }

    /// Up to `most` of what was settled before `seq`, latest first, and a few more where one commit
    /// settled several. An empty list is the end of the history.
    pub(crate) fn past(&self, tenant: &TenantId, seq: u64, most: usize) -> Vec<Past> {
        self.read(tenant, |_, tenant| {
            let mut all = tenant
                .into_iter()
                .flat_map(|t| t.projection.past(seq))
                .peekable();
            let mut found: Vec<Past> = all.by_ref().take(most.max(1)).collect();
            let last = found.last().map(Past::seq);
            while let Some(same) = all.next_if(|past| Some(past.seq()) == last) {
                found.push(same);
            }
            found
        })
    }

    /// Up to `limit` plans in sight, those that run first, with the sequence of the picture.
    pub(crate) fn plans(
        &self,
        viewer: &Viewer,
        wanted: impl Fn(&PlanCard) -> bool,
        limit: usize,
    ) -> (u64, Vec<Arc<PlanCard>>) {
        self.read(&viewer.tenant, |seq, tenant| {
            let all = tenant.into_iter().flat_map(|t| t.projection.plans());
            let seen = all.filter(|c| viewer.sees_plan(c) && wanted(c));
            (seq, seen.take(limit).cloned().collect())
        })
    }

    /// How many wait in all tenants.
    pub(crate) fn pending_len(&self) -> usize {
        let picture = self.picture.read().unwrap_or_else(PoisonError::into_inner);
        picture
            .tenants
            .values()
            .map(|t| t.projection.pending_len())
            .sum()
    }

    /// Every tenant that has asked or looked.
    pub(crate) fn tenants(&self) -> Vec<TenantId> {
        let picture = self.picture.read().unwrap_or_else(PoisonError::into_inner);
        picture.tenants.keys().cloned().collect()
    }

    /// How many wait in each tenant, and since when the oldest does.
    pub(crate) fn waiting(&self) -> Vec<(TenantId, usize, Timestamp)> {
        let picture = self.picture.read().unwrap_or_else(PoisonError::into_inner);
        let of = |(name, tenant): (&TenantId, &Tenant)| {
            let oldest = tenant.projection.pending().next()?;
            let since = oldest.clarification.requested_at;
            Some((name.clone(), tenant.projection.pending_len(), since))
        };
        picture.tenants.iter().filter_map(of).collect()
    }

    /// What waits, what was settled after `after`, and the news from then on.
    pub(crate) fn snapshot(&self, viewer: &Viewer, after: u64) -> Snapshot {
        let mut picture = self.picture.write().unwrap_or_else(PoisonError::into_inner);
        let seq = picture.seq;
        let tenant = picture.tenants.entry(viewer.tenant.clone()).or_default();
        let pending = tenant
            .projection
            .pending()
            .filter(|c| viewer.sees(c))
            .cloned()
            .collect();
        let recent = tenant
            .projection
            .settled()
            .take_while(|(seq, _)| *seq > after);
        let mut resolved: Vec<_> = recent
            .filter(|(_, card)| viewer.sees(card))
            .take(MAX_REPLAY)
            .map(|(seq, card)| (seq, Arc::clone(card)))
            .collect();
        resolved.reverse();
        let plans = tenant.projection.plans();
        let plans = plans.filter(|c| viewer.sees_plan(c));
        let (running, ended): (Vec<_>, Vec<_>) = plans.cloned().partition(|c| c.plan.is_running());
        // Who was here before has those that ended before.
        let new = |c: &Arc<PlanCard>| after == u64::MAX || c.seq > after;
        let ended = ended.into_iter().filter(new).take(MAX_ENDED_PLANS);
        let plans = running.into_iter().chain(ended).collect();
        Snapshot {
            seq,
            pending,
            resolved,
            plans,
            news: tenant.news.subscribe(),
        }
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

    /// Tells the sockets of a tenant.
    pub(crate) fn tell(&self, tenant: &TenantId, news: News) {
        self.read(tenant, |_, tenant| {
            if let Some(tenant) = tenant {
                // An error only says that no socket is open.
                let _ = tenant.news.send(Arc::new(news));
            }
        });
    }
}
