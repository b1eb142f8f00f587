//! What those who look are told: the picture at one sequence, and everything after it.

use super::{Feed, Written};
use crate::projection::{Card, Change, PlanCard};
use askbus_domain::{ProfileId, TenantId};
use std::sync::{Arc, PoisonError};
use tokio::sync::broadcast;

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

    /// Whether there may be something that both see.
    pub(crate) fn shares_with(&self, other: &Self) -> bool {
        let share = match (&self.profiles, &other.profiles) {
            (Some(ours), Some(theirs)) => ours.iter().any(|profile| theirs.contains(profile)),
            _ => true,
        };
        self.tenant == other.tenant && share
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
    Draft(Written),
}

impl News {
    /// Where in the log it stands, if it does.
    pub(crate) fn seq(&self) -> Option<u64> {
        match self {
            News::Change(change) => Some(change.seq),
            News::Plan(card) => Some(card.seq),
            News::Asker(_) | News::Draft(_) => None,
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

impl Feed {
    /// What waits, what was settled after `after`, and the news from then on.
    pub(crate) fn snapshot(&self, viewer: &Viewer, after: u64) -> Snapshot {
        let mut picture = self.picture.write().unwrap_or_else(PoisonError::into_inner);
        let seq = picture.seq;
        let tenant = picture
            .tenants
            .entry(viewer.tenant.clone())
            .or_insert_with(|| self.new_tenant(self.known()));
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
}
