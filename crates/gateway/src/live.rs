//! Connections that stay open while a person looks: sockets and long polls. So many may be open in all,
//! and so many of one person, that nobody takes the places of others.

use crate::reply::Refusal;
use askbus_domain::{PersonId, TenantId};
use askbus_wire::error::ErrorCode;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Open at once, of everybody.
const OF_ALL: usize = 2_048;
/// Open at once, of one person of a tenant, whichever credentials they use.
const OF_ONE: usize = 512;

type Who = (TenantId, PersonId);

/// What is open.
#[derive(Debug, Default)]
pub(crate) struct Live(Mutex<HashMap<Who, usize>>);

/// The place of one open connection; it is free again once this is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    live: Arc<Live>,
    who: Who,
}

impl Live {
    /// A place for one more connection of this person.
    pub(crate) fn open(
        self: &Arc<Self>,
        tenant: &TenantId,
        person: &PersonId,
    ) -> Result<Place, Refusal> {
        self.within((OF_ALL, OF_ONE), (tenant.clone(), person.clone()))
    }

    fn within(self: &Arc<Self>, (all, one): (usize, usize), who: Who) -> Result<Place, Refusal> {
        let refused = |whose: &str| {
            let message = format!(
                "too many live connections{whose}; nothing was lost; try again in a moment"
            );
            Err(Refusal::new(ErrorCode::RateLimited, message))
        };
        let mut open = self.lock();
        if open.values().sum::<usize>() >= all {
            return refused("");
        }
        let own = open.entry(who.clone()).or_default();
        if *own >= one {
            return refused(" of yours");
        }
        *own += 1;
        drop(open);
        let live = Arc::clone(self);
        Ok(Place { live, who })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Who, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut open = self.live.lock();
        if let Some(own) = open.get_mut(&self.who) {
            *own -= 1;
            if *own == 0 {
                open.remove(&self.who);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn who(tenant: &str, person: &str) -> Who {
        let tenant = TenantId::new(tenant).unwrap();
        (tenant, PersonId::new(person).unwrap())
    }

    // contract: N5
    #[test]
    fn nobody_takes_the_places_of_others() {
        let live = Arc::new(Live::default());
        let limits = (3, 2);
        let open = |tenant, person| live.within(limits, who(tenant, person));
        let first = open("acme", "eve").unwrap();
        let _second = open("acme", "eve").unwrap();
        let refused = open("acme", "eve").unwrap_err();
        assert_eq!(refused.0.code, ErrorCode::RateLimited);
        assert!(refused.0.message.contains("of yours"), "{refused:?}");
        // Of the same name, and somebody else.
        let other = open("globex", "eve").unwrap();
        let refused = open("acme", "ann").unwrap_err();
        assert!(!refused.0.message.contains("of yours"), "{refused:?}");
        drop(first);
        let again = open("acme", "eve").unwrap();
        drop((again, other));
        assert_eq!(live.lock().len(), 1);
    }
}
