//! Sessions that were over long before this process started: of a long log they are read last, for the
//! history, when everything that waits is already shown.

use super::{Feed, News, RETRY, Tenant};
use crate::projection::Projection;
use askbus_domain::TenantId;
use askbus_ledger::{Ledger, LedgerError};
use askbus_wire::codec::Decoded;
use std::collections::HashMap;
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

/// What reading them came to.
enum Read {
    All(HashMap<TenantId, Projection>),
    Nothing,
    Torn,
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
                Ok(Read::All(tenants)) => return self.join(tenants),
                Ok(Read::Nothing) => return self.join(HashMap::new()),
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
        let mut tenants: HashMap<TenantId, Projection> = HashMap::new();
        while let Some(message) = left_out.messages.recv().await {
            let Some(stored) = message else {
                return Ok(Read::All(tenants));
            };
            if let Decoded::Commit(commit) = &stored.decoded
                && serves(&stored.tenant)
            {
                let projection = tenants.entry(stored.tenant.clone()).or_default();
                projection.apply(stored.seq, commit, stored.trace.as_deref());
                projection.apply_plans(stored.seq, commit);
            }
        }
        Ok(Read::Torn)
    }

    /// Joins them to the picture.
    fn join(&self, mut older: HashMap<TenantId, Projection>) {
        let mut picture = self.picture.write().unwrap_or_else(PoisonError::into_inner);
        for tenant in older.keys() {
            if !picture.tenants.contains_key(tenant) {
                let new = Tenant::new(Known::Whole);
                picture.tenants.insert(tenant.clone(), new);
            }
        }
        for (name, tenant) in &mut picture.tenants {
            let others = older.remove(name).unwrap_or_default();
            for change in tenant.projection.join(others) {
                // An error only says that no socket is open.
                let _ = tenant.news.send(Arc::new(News::Change(change)));
            }
        }
        // Under the same lock: a tenant that comes now waits for nothing.
        self.known.send_replace(Known::Whole);
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
