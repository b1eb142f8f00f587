//! Which leases keep which sessions alive.

use super::{Entry, Key, LeaseKey, State};
use askbus_domain::{AskerId, Holder, LeaseName, Millis, Session, TenantId};
use std::collections::{BTreeMap, BTreeSet};

/// Every lease, how long it may be missing, and for which sessions.
#[derive(Default)]
pub(super) struct Leases(BTreeMap<LeaseKey, (Millis, BTreeSet<Key>)>);

impl Leases {
    pub(super) fn iter(&self) -> impl Iterator<Item = (&LeaseKey, Millis, &BTreeSet<Key>)> {
        self.0
            .iter()
            .map(|(lease, (ttl, keys))| (lease, *ttl, keys))
    }

    fn keep(&mut self, lease: &LeaseKey, ttl: Millis, key: &Key) {
        if let Some((known, keys)) = self.0.get_mut(lease) {
            *known = ttl;
            if !keys.contains(key) {
                keys.insert(key.clone());
            }
        } else {
            let keys = BTreeSet::from([key.clone()]);
            self.0.insert(lease.clone(), (ttl, keys));
        }
    }

    fn leave(&mut self, lease: &LeaseKey, key: &Key) {
        if let Some((_, keys)) = self.0.get_mut(lease) {
            keys.remove(key);
            if keys.is_empty() {
                self.0.remove(lease);
            }
        }
    }

    /// The session is not kept here any more.
    pub(super) fn leave_all(&mut self, key: &Key, entry: &Entry) {
        for lease in &entry.leases {
            self.leave(lease, key);
        }
    }
}

/// What keeps something of a session alive, not yet copied.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keeper<'a> {
    Asker(&'a AskerId),
    Holder(&'a LeaseName),
}

impl Keeper<'_> {
    fn is(self, lease: &LeaseKey) -> bool {
        match (self, lease) {
            (Keeper::Asker(asker), LeaseKey::Asker(_, known)) => asker == known,
            (Keeper::Holder(name), LeaseKey::Holder(_, known)) => name == known,
            _ => false,
        }
    }

    fn of(self, tenant: &TenantId) -> LeaseKey {
        match self {
            Keeper::Asker(asker) => LeaseKey::Asker(tenant.clone(), asker.clone()),
            Keeper::Holder(name) => LeaseKey::Holder(tenant.clone(), name.clone()),
        }
    }
}

/// What keeps the session's questions and its turn alive. Of questions that one asker has open the
/// last one says how long it may be missing.
fn keepers(session: &Session) -> Vec<(Keeper<'_>, Millis)> {
    let mut found: Vec<(Keeper<'_>, Millis)> = Vec::new();
    for asked in session.pending() {
        let keeper = Keeper::Asker(&asked.asker_id);
        match found.iter_mut().find(|(known, _)| *known == keeper) {
            Some((_, ttl)) => *ttl = asked.asker_ttl,
            None => found.push((keeper, asked.asker_ttl)),
        }
    }
    if let Some(Holder::Lease { name, ttl }) = session.turn_lease() {
        found.push((Keeper::Holder(name), *ttl));
    }
    found
}

impl State {
    /// Notes what keeps the session alive after a commit.
    pub(super) fn index_leases(&mut self, key: &Key, after: &Session) {
        let Some(entry) = self.sessions.get_mut(key) else {
            return;
        };
        let keepers = keepers(after);
        let leases = &mut self.leases;
        entry.leases.retain(|lease| {
            let stays = keepers.iter().any(|(keeper, _)| keeper.is(lease));
            if !stays {
                leases.leave(lease, key);
            }
            stays
        });
        for (keeper, ttl) in keepers {
            if let Some(lease) = entry.leases.iter().find(|lease| keeper.is(lease)) {
                leases.keep(lease, ttl, key);
            } else {
                let lease = keeper.of(&key.0);
                leases.keep(&lease, ttl, key);
                entry.leases.push(lease);
            }
        }
    }
}
