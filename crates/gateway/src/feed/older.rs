//! Sessions that were over long before this process started: of a long log they are read last, for the
//! history, when everything that waits is already shown.

use super::{BACKLOG, Feed, News, RETRY};
use crate::projection::{Change, Meanwhile, Projection};
use askbus_domain::{Event, TenantId};
use askbus_ledger::{Ledger, LedgerError, Stored};
use askbus_wire::codec::Decoded;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, PoisonError};
use tokio_util::sync::CancellationToken;

/// How much of what is over the picture shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Known {
    /// All that the log holds.
    Whole,
    /// All that was settled after this sequence.
    After(u64),
}

/// What a tenant's sessions came to that were left out, and what of that is to be told.
#[derive(Default)]
struct Older {
    projection: Projection,
    /// No more than whoever hears them all has to take the whole picture anew for.
    changes: VecDeque<Change>,
}

/// What was said meanwhile of those that are not in the picture yet, up to a sequence.
struct Since {
    to: u64,
    said: HashMap<TenantId, Meanwhile>,
}

/// What reading them came to.
enum Read {
    All(HashMap<TenantId, Older>),
    Nothing,
    Torn,
}

impl Older {
    fn take(&mut self, place: impl FnOnce(&mut Projection) -> Option<Change>) {
        self.changes.extend(place(&mut self.projection));
        // One more than whoever follows may lag behind.
        while self.changes.len() > BACKLOG + 1 {
            self.changes.pop_front();
        }
    }
}

impl Feed {
    /// Reads what was left out when the log was folded, until all of it is in the picture. To be called
    /// when the log has been folded up to its end.
    pub(crate) async fn read_older(
        self: Arc<Self>,
        ledger: Arc<dyn Ledger>,
        serves: impl Fn(&TenantId) -> bool + Send,
        shutdown: CancellationToken,
    ) {
        loop {
            let read = tokio::select! {
                biased;
                () = shutdown.cancelled() => return,
                read = self.left_out(&*ledger, &serves) => read,
            };
            match read {
                Ok(Read::All(tenants)) => return self.take_in(tenants, &*ledger, &shutdown).await,
                Ok(Read::Nothing) => {
                    return self.take_in(HashMap::new(), &*ledger, &shutdown).await;
                }
                Ok(Read::Torn) => tracing::warn!("old messages came to a halt; trying again"),
                Err(error) => {
                    tracing::warn!(%error, "old messages cannot be read; trying again");
                }
            }
            tokio::select! {
                biased;
                () = shutdown.cancelled() => return,
                () = tokio::time::sleep(RETRY) => {}
            }
        }
    }

    async fn left_out(
        &self,
        ledger: &dyn Ledger,
        serves: &(impl Fn(&TenantId) -> bool + Send),
    ) -> Result<Read, LedgerError> {
        let Some(mut left_out) = ledger.left_out().await? else {
            return Ok(Read::Nothing);
        };
        self.known.send_replace(Known::After(left_out.until));
        let mut tenants: HashMap<TenantId, Older> = HashMap::new();
        while let Some(message) = left_out.messages.recv().await {
            let Some(stored) = message else {
                return Ok(Read::All(tenants));
            };
            if let Decoded::Commit(commit) = &stored.decoded
                && serves(&stored.tenant)
            {
                let older = tenants.entry(stored.tenant.clone()).or_default();
                let projection = &mut older.projection;
                projection.apply(stored.seq, commit, stored.trace.as_deref());
                projection.apply_plans(stored.seq, commit);
            }
        }
        Ok(Read::Torn)
    }

    /// Joins them to the picture, with everything that the log said of them since.
    async fn take_in(
        &self,
        mut older: HashMap<TenantId, Older>,
        ledger: &dyn Ledger,
        shutdown: &CancellationToken,
    ) {
        while let Some(since) = self.join(&mut older) {
            tokio::select! {
                biased;
                () = shutdown.cancelled() => return,
                () = self.catch_up(&mut older, since, ledger) => {}
            }
        }
    }

    /// Joins them to the picture if all is kept that was said of them since; else returns what is, and
    /// says from where on the log has to be read.
    fn join(&self, older: &mut HashMap<TenantId, Older>) -> Option<Since> {
        let mut picture = self.picture.write().unwrap_or_else(PoisonError::into_inner);
        let to = picture.seq;
        if picture
            .tenants
            .values()
            .any(|t| t.projection.has_not_kept())
        {
            let tenants = picture.tenants.iter_mut();
            let said = tenants.map(|(name, t)| (name.clone(), t.projection.take_meanwhile()));
            let said = said.collect();
            return Some(Since { to, said });
        }
        for tenant in older.keys() {
            if !picture.tenants.contains_key(tenant) {
                let new = self.new_tenant(Known::Whole);
                picture.tenants.insert(tenant.clone(), new);
            }
        }
        for (name, tenant) in &mut picture.tenants {
            let others = older.remove(name).unwrap_or_default();
            let since = tenant.projection.join(others.projection);
            for change in others.changes.into_iter().chain(since) {
                // An error only says that no socket is open.
                let _ = tenant.news.send(Arc::new(News::Change(change)));
            }
        }
        // Under the same lock: a tenant that comes now waits for nothing.
        self.known.send_replace(Known::Whole);
        None
    }

    /// Takes in what was said of them, from the log where it was not kept.
    async fn catch_up(
        &self,
        older: &mut HashMap<TenantId, Older>,
        Since { to, said }: Since,
        ledger: &dyn Ledger,
    ) {
        let mut from: HashMap<TenantId, u64> = HashMap::new();
        for (tenant, meanwhile) in said {
            let of = older.entry(tenant.clone()).or_default();
            for said in &meanwhile.kept {
                of.take(|projection| projection.place(said));
            }
            from.extend(meanwhile.not_kept_from.map(|seq| (tenant, seq)));
        }
        let Some(mut next) = from.values().min().copied() else {
            return;
        };
        tracing::info!(
            from = next,
            to,
            "what came while old messages were read is read again"
        );
        while next <= to {
            match ledger.tail(next).await {
                Ok(mut tail) => {
                    while next <= to
                        && let Some(stored) = tail.recv().await
                    {
                        next = stored.seq + 1;
                        let from = from.get(&stored.tenant);
                        if from.is_some_and(|from| (*from..=to).contains(&stored.seq)) {
                            let of = older.entry(stored.tenant.clone()).or_default();
                            self.take_again(&stored, of);
                        }
                    }
                }
                Err(error) => tracing::warn!(%error, "the log cannot be read; trying again"),
            }
            if next <= to {
                tokio::time::sleep(RETRY).await;
            }
        }
    }

    /// Takes in what a message says of questions that the picture does not have.
    fn take_again(&self, stored: &Stored, older: &mut Older) {
        let Decoded::Commit(commit) = &stored.decoded else {
            return;
        };
        for event in &commit.events {
            let of_old = match event {
                Event::Held { clarify_id, .. }
                | Event::Resolved { clarify_id, .. }
                | Event::Late { clarify_id, .. }
                | Event::PassedOn { clarify_id, .. } => {
                    self.card(&stored.tenant, *clarify_id).is_none()
                }
                _ => false,
            };
            if of_old {
                let said = (stored.seq, commit.session_id.clone(), event.clone());
                older.take(|projection| projection.place(&said));
            }
        }
    }

    /// From where on everything that is over is in the picture.
    pub(crate) fn known(&self) -> Known {
        *self.known.borrow()
    }

    /// Waits until everything is.
    pub(crate) async fn known_whole(&self) {
        let mut known = self.known.subscribe();
        // The sender lives as long as this borrow: the wait cannot fail.
        let _ = known.wait_for(|known| *known == Known::Whole).await;
    }
}

#[cfg(test)]
mod tests;
