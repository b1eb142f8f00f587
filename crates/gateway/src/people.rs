//! The people with an open surface, and those who looked a moment ago (D9): what a gateway tells
//! the others, so that they know who could answer.

use askbus_domain::{PersonId, TenantId};
use askbus_wire::messages::{Lease, PersonPresent};
use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;

/// Somebody counts as present this long after they were there (D9).
const COUNTS_FOR: Duration = Duration::from_secs(15);
/// A look so soon after the one before is told with the next heartbeat.
const LATELY: Duration = Duration::from_secs(1);

/// Everybody who is or was there.
#[derive(Default)]
pub(crate) struct People {
    stays: Mutex<HashMap<(TenantId, PersonId), Vec<Stay>>>,
    changed: Notify,
}

/// A person by one credential, and the one session they look at.
struct Stay {
    who: PersonPresent,
    open: usize,
    last: Instant,
    /// Whether the others are to be told before the next heartbeat.
    news: bool,
}

impl Stay {
    /// What the others are told.
    fn tell(&mut self, now: Instant) -> PersonPresent {
        self.news = false;
        let ago = match self.open {
            0 => now.saturating_duration_since(self.last),
            _ => Duration::ZERO,
        };
        PersonPresent {
            ago_ms: u64::try_from(ago.as_millis()).unwrap_or(u64::MAX),
            ..self.who.clone()
        }
    }
}

impl People {
    /// A surface of theirs was opened.
    pub(crate) fn enter(&self, who: &PersonPresent, now: Instant) {
        self.note(who, now, |stay| {
            stay.open += 1;
            stay.news |= stay.open == 1;
        });
    }

    /// A surface of theirs was closed.
    pub(crate) fn leave(&self, who: &PersonPresent, now: Instant) {
        self.note(who, now, |stay| {
            stay.open = stay.open.saturating_sub(1);
            stay.news |= stay.open == 0;
        });
    }

    /// They looked once.
    pub(crate) fn look(&self, who: &PersonPresent, now: Instant) {
        self.note(who, now, |stay| {
            stay.news |= stay.open == 0 && now.saturating_duration_since(stay.last) >= LATELY;
        });
    }

    fn note(&self, who: &PersonPresent, now: Instant, change: impl FnOnce(&mut Stay)) {
        let mut stays = self.stays.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (who.tenant.clone(), who.person.clone());
        let of_person = stays.entry(key).or_default();
        let at = of_person.iter().position(|stay| stay.who == *who);
        let at = at.unwrap_or_else(|| {
            of_person.push(Stay {
                who: who.clone(),
                open: 0,
                last: now,
                news: true,
            });
            of_person.len() - 1
        });
        let Some(stay) = of_person.get_mut(at) else {
            return;
        };
        change(stay);
        stay.last = now;
        if stay.news {
            self.changed.notify_one();
        }
    }

    /// How many surfaces are open, by tenant.
    pub(crate) fn open(&self) -> HashMap<TenantId, usize> {
        let stays = self.stays.lock().unwrap_or_else(PoisonError::into_inner);
        let mut open = HashMap::new();
        for ((tenant, _), of_person) in stays.iter() {
            let of_person: usize = of_person.iter().map(|stay| stay.open).sum();
            if of_person > 0 {
                *open.entry(tenant.clone()).or_default() += of_person;
            }
        }
        open
    }

    /// Waits until somebody came or left.
    pub(crate) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Who came or left since it was told last.
    pub(crate) fn news(&self, now: Instant) -> Vec<PersonPresent> {
        let mut stays = self.stays.lock().unwrap_or_else(PoisonError::into_inner);
        let changed = stays.values_mut().flatten().filter(|stay| stay.news);
        changed.map(|stay| stay.tell(now)).collect()
    }

    /// Everybody who counts; the others are forgotten.
    pub(crate) fn all(&self, now: Instant) -> Vec<PersonPresent> {
        let mut stays = self.stays.lock().unwrap_or_else(PoisonError::into_inner);
        stays.retain(|_, of_person| {
            of_person.retain(|stay| {
                stay.open > 0 || now.saturating_duration_since(stay.last) <= COUNTS_FOR
            });
            !of_person.is_empty()
        });
        let all = stays.values_mut().flatten();
        all.map(|stay| stay.tell(now)).collect()
    }

    /// The tenants of which somebody has a surface open.
    pub(crate) fn tenants(&self) -> Vec<Lease> {
        let stays = self.stays.lock().unwrap_or_else(PoisonError::into_inner);
        let open = stays.values().flatten().filter(|stay| stay.open > 0);
        let tenants: BTreeSet<&TenantId> = open.map(|stay| &stay.who.tenant).collect();
        let lease = |tenant: &TenantId| Lease {
            tenant: tenant.to_string(),
            name: "*".to_owned(),
        };
        tenants.into_iter().map(lease).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use askbus_domain::{ProfileId, Rights};

    fn ann(profile: &str) -> PersonPresent {
        PersonPresent {
            tenant: TenantId::new("acme").unwrap(),
            person: PersonId::new("ann").unwrap(),
            profiles: vec![ProfileId::new(profile).unwrap()],
            rights: Rights::default(),
            session: None,
            ago_ms: 0,
        }
    }

    fn agos(people: Vec<PersonPresent>) -> Vec<u64> {
        people.into_iter().map(|p| p.ago_ms).collect()
    }

    // contract: D9
    #[test]
    fn who_comes_and_goes_is_news_and_who_looks_counts_for_a_while() {
        let (people, start) = (People::default(), Instant::now());
        let at = |ms| start + Duration::from_millis(ms);
        assert!(people.news(start).is_empty() && people.all(start).is_empty());
        people.enter(&ann("ops"), start);
        people.enter(&ann("ops"), start);
        assert_eq!(agos(people.news(start)), [0]);
        assert!(people.news(start).is_empty(), "told once");
        assert_eq!(agos(people.all(at(60_000))), [0], "as long as it is open");
        people.leave(&ann("ops"), at(60_000));
        assert!(people.news(at(60_000)).is_empty(), "another one is open");
        people.leave(&ann("ops"), at(61_000));
        assert_eq!(agos(people.news(at(61_002))), [2]);
        assert_eq!(agos(people.all(at(76_000))), [15_000]);
        assert!(people.all(at(76_001)).is_empty());
        // Looks: the first is told at once, one soon after it with the next heartbeat.
        people.look(&ann("ops"), at(80_000));
        assert_eq!(agos(people.news(at(80_000))), [0]);
        people.look(&ann("ops"), at(80_900));
        assert!(people.news(at(80_900)).is_empty());
        assert_eq!(agos(people.all(at(81_000))), [100]);
        people.look(&ann("ops"), at(85_000));
        assert_eq!(agos(people.news(at(85_000))), [0]);
        assert!(people.tenants().is_empty());
        // Another credential of the same person is told apart.
        people.enter(&ann("dev"), at(85_000));
        assert_eq!(people.all(at(85_000)).len(), 2);
        assert_eq!(people.tenants().len(), 1);
    }
}
