//! Drafts are told as they are saved, and remembered for a while for whoever asks now and then instead
//! of listening.

use super::{Feed, News};
use crate::projection::Card;
use askbus_domain::{Millis, PersonId, TenantId, Timestamp};
use askbus_wire::messages::Draft;
use std::collections::VecDeque;
use std::sync::{Arc, PoisonError};

/// How many of a tenant are remembered at most, and for how long: longer than who asks lets pass.
const MOST: usize = 256;
const KEPT: Millis = Millis(60_000);

/// A draft that somebody saved.
#[derive(Debug, Clone)]
pub(crate) struct Written {
    pub card: Arc<Card>,
    pub person: PersonId,
    /// The socket it came over; none when it came as a request.
    pub socket: Option<u64>,
    pub draft: Arc<Draft>,
}

/// The latest of a tenant, oldest first.
#[derive(Default)]
pub(super) struct Lately(VecDeque<(Timestamp, Written)>);

impl Lately {
    fn remember(&mut self, now: Timestamp, written: Written) {
        while self.0.len() >= MOST || self.0.front().is_some_and(|(at, _)| at.until(now) > KEPT) {
            self.0.pop_front();
        }
        self.0.push_back((now, written));
    }
}

impl Feed {
    /// Tells a draft to the sockets of its tenant.
    pub(crate) fn tell_draft(
        &self,
        tenant: &TenantId,
        now: impl FnOnce() -> Timestamp,
        written: Written,
    ) {
        let mut picture = self.picture.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(tenant) = picture.tenants.get_mut(tenant) {
            // The moment is taken under the lock: nobody who asked before it has seen this.
            tenant.written.remember(now(), written.clone());
            // An error only says that no socket is open.
            let _ = tenant.news.send(Arc::new(News::Draft(written)));
        }
    }

    /// The drafts told since a moment, oldest first, and the moment to ask from next time.
    pub(crate) fn drafts_since(
        &self,
        tenant: &TenantId,
        now: impl FnOnce() -> Timestamp,
        since: Option<Timestamp>,
    ) -> (Timestamp, Vec<Written>) {
        self.read(tenant, |_, tenant| {
            let now = now();
            let lately = tenant.into_iter().flat_map(|t| &t.written.0);
            let new = lately.filter(|(at, _)| since.is_some_and(|since| *at >= since));
            (now, new.map(|(_, written)| written.clone()).collect())
        })
    }
}
