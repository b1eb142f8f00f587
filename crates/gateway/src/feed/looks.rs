//! What a request reads of the picture.

use super::{Feed, Known, Tenant, Viewer};
use crate::projection::{Card, Past, PlanCard};
use askbus_domain::{ClarifyId, TenantId, Timestamp};
use askbus_ledger::Ledger;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

/// How long somebody waits who knows more of the log than this picture shows.
const CATCHES_UP_WITHIN: Duration = Duration::from_secs(5);

/// The log cannot be shown as far as somebody knows it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Behind;

impl Feed {
    /// Waits until the picture shows what somebody knows already, from another instance, and says up to
    /// where they know this log: what they know of another one is nothing here.
    ///
    /// # Errors
    /// It does not come to that: what waits there would look as if it were over.
    pub(crate) async fn catches_up(
        &self,
        ledger: &dyn Ledger,
        known: Option<u64>,
    ) -> Result<Option<u64>, Behind> {
        let Some(ahead) = known.filter(|known| *known > self.folded()) else {
            return Ok(known);
        };
        let reached = async {
            match ledger.last_seq().await {
                Ok(last) if ahead > last => None,
                _ => {
                    self.reach(ahead).await;
                    known
                }
            }
        };
        let reached = tokio::time::timeout(CATCHES_UP_WITHIN, reached);
        reached.await.map_err(|_| Behind)
    }

    /// The card with this id, whoever may see it.
    pub(crate) fn card(&self, tenant: &TenantId, id: ClarifyId) -> Option<Arc<Card>> {
        self.read(tenant, |_, t| t?.projection.card(id).cloned())
    }

    /// The ids of all that waits or is kept whole, in sight.
    pub(crate) fn ids(&self, viewer: &Viewer) -> Vec<ClarifyId> {
        self.read(&viewer.tenant, |_, tenant| {
            let each = tenant.into_iter().flat_map(|tenant| {
                let settled = tenant.projection.settled().map(|(_, card)| card);
                tenant.projection.pending().chain(settled)
            });
            let seen = each.filter(|card| viewer.sees(card));
            seen.map(|card| card.id()).collect()
        })
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
    /// settled several. An empty list is the end of what is known.
    pub(crate) fn past(&self, tenant: &TenantId, seq: u64, most: usize) -> Vec<Past> {
        // What is known grows only, so that it is looked at first.
        let known = self.known();
        self.read(tenant, |_, tenant| {
            let mut all = tenant
                .into_iter()
                .flat_map(|t| t.projection.past(seq))
                .take_while(|past| match known {
                    Known::Whole => true,
                    Known::After(after) => past.seq() > after,
                })
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
}
