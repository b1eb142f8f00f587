//! Who is there to answer (D9). Gateways name the people with an open surface in their heartbeats,
//! and how long ago the others left; every replica remembers it for as long as it counts.

use crate::projection::Key;
use crate::service::Core;
use askbus_domain::{
    Addressee, AskInput, Dialect, InvalidQuestion, PersonId, Policy, PolicyLayer, Presence,
    ProfileId, SessionId, TenantId, WhenAbsent,
};
use askbus_wire::messages::{Heartbeat, PersonPresent};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;

/// For how long somebody counts as present after they were there (D9).
const COUNTS_FOR: Duration = Duration::from_secs(15);
/// Every gateway says within this time who is there: they do it every five seconds.
const ALL_SPOKE: Duration = Duration::from_secs(6);
/// How long a question waits at most until it is known who is there.
const PATIENCE: Duration = Duration::from_secs(7);
/// People remembered of one tenant at most; beyond that newcomers wait for a place.
const MAX_PEOPLE: usize = 100_000;

/// The people who were heard of.
pub(crate) struct People {
    there: Mutex<HashMap<TenantId, HashMap<PersonId, Vec<Seen>>>>,
    heard: Notify,
}

/// A person with the rights of one of their credentials.
struct Seen {
    person: PersonPresent,
    last: Instant,
}

/// What a question is asked for: only who may answer it counts.
struct Place<'a> {
    tenant: &'a TenantId,
    session: &'a SessionId,
    profile: &'a ProfileId,
    to: Option<&'a Addressee>,
}

impl Seen {
    fn may_answer(&self, place: &Place<'_>) -> bool {
        let PersonPresent {
            person,
            profiles,
            rights,
            session,
            ..
        } = &self.person;
        profiles.contains(place.profile)
            && session.as_ref().is_none_or(|s| s == place.session)
            && place.to.is_none_or(|to| to.allows(rights, person))
    }

    fn counts(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.last) <= COUNTS_FOR
    }
}

impl People {
    pub(crate) fn new() -> Self {
        Self {
            there: Mutex::default(),
            heard: Notify::new(),
        }
    }

    /// Takes in whom a gateway names.
    pub(crate) fn hear(&self, heartbeat: &Heartbeat, now: Instant) {
        if heartbeat.people.is_empty() {
            return;
        }
        let mut there = self.there.lock().unwrap_or_else(PoisonError::into_inner);
        for named in &heartbeat.people {
            let ago = Duration::from_millis(named.ago_ms);
            // A moment before this machine started is long ago.
            let Some(last) = now.checked_sub(ago).filter(|_| ago <= COUNTS_FOR) else {
                continue;
            };
            let of_tenant = there.entry(named.tenant.clone()).or_default();
            if of_tenant.len() >= MAX_PEOPLE && !of_tenant.contains_key(&named.person) {
                continue;
            }
            let person = PersonPresent {
                ago_ms: 0,
                ..named.clone()
            };
            let credentials = of_tenant.entry(named.person.clone()).or_default();
            match credentials.iter_mut().find(|seen| seen.person == person) {
                Some(seen) => seen.last = seen.last.max(last),
                None => credentials.push(Seen { person, last }),
            }
        }
        drop(there);
        self.heard.notify_waiters();
    }

    /// Forgets who does not count any more.
    pub(crate) fn sweep(&self, now: Instant) {
        let mut there = self.there.lock().unwrap_or_else(PoisonError::into_inner);
        there.retain(|_, of_tenant| {
            of_tenant.retain(|_, credentials| {
                credentials.retain(|seen| seen.counts(now));
                !credentials.is_empty()
            });
            !of_tenant.is_empty()
        });
    }

    fn anybody(&self, place: &Place<'_>, now: Instant) -> bool {
        let there = self.there.lock().unwrap_or_else(PoisonError::into_inner);
        there.get(place.tenant).is_some_and(|of_tenant| {
            let mut all = of_tenant.values().flatten();
            all.any(|seen| seen.counts(now) && seen.may_answer(place))
        })
    }
}

impl Core {
    /// Under which policy a question is asked, and whether somebody is there who may answer it.
    /// Where an absence would end the question, this waits, for a bounded time, until it is known:
    /// a replica that has just started has not heard of everybody yet.
    pub(crate) async fn circumstances(
        &self,
        key: &Key,
        profile: &ProfileId,
        dialect: Dialect,
        input: &Result<AskInput, InvalidQuestion>,
    ) -> (PolicyLayer, Presence) {
        let layer = self.policy.of(&key.0, profile, dialect);
        let Ok(input) = input else {
            return (layer, Presence::Unknown);
        };
        let (session, _) = self.projection.session(key);
        let turn = session.latest_turn().map(|(turn, _)| turn);
        let own = turn.map(|turn| turn.policy.clone()).unwrap_or_default();
        let terms = Policy::in_force(dialect, &layer, &own, input).terms;
        let to = turn.map_or(input.to.as_ref(), |turn| turn.addressee(input));
        let place = Place {
            tenant: &key.0,
            session: &key.1,
            profile,
            to,
        };
        let matters = terms.when_absent != WhenAbsent::Wait;
        let presence = self.presence_for(&place, matters).await;
        (layer, presence)
    }

    /// Whether somebody is there. Unknown while not every gateway has been heard; with `patience`
    /// this is waited for.
    async fn presence_for(&self, place: &Place<'_>, patience: bool) -> Presence {
        let give_up = Instant::now() + PATIENCE;
        loop {
            let heard = self.presence.heard.notified();
            tokio::pin!(heard);
            // What is heard from here on is not missed.
            heard.as_mut().enable();
            let now = Instant::now();
            if self.presence.anybody(place, now) {
                return Presence::Present;
            }
            let hearing = self.leases.hearing(now, self.silence());
            let known_at = hearing.map_or(give_up, |(since, _)| since + ALL_SPOKE);
            if hearing.is_some() && now >= known_at {
                return Presence::Absent;
            }
            if !patience || now >= give_up {
                return Presence::Unknown;
            }
            tokio::select! {
                biased;
                () = self.shutdown.cancelled() => return Presence::Unknown,
                () = heard => {}
                () = tokio::time::sleep_until(known_at.min(give_up)) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use askbus_domain::{GroupId, Rights};

    const TENANT: &str = "acme";

    fn named(person: &str, profile: &str, ago_ms: u64) -> PersonPresent {
        PersonPresent {
            tenant: TenantId::new(TENANT).unwrap(),
            person: PersonId::new(person).unwrap(),
            profiles: vec![ProfileId::new(profile).unwrap()],
            rights: Rights {
                groups: vec![GroupId::new(format!("friends-of-{person}")).unwrap()],
                operator: false,
            },
            session: None,
            ago_ms,
        }
    }

    fn hear(people: &People, named: Vec<PersonPresent>, now: Instant) {
        let heartbeat = Heartbeat {
            people: named,
            ..Heartbeat::default()
        };
        people.hear(&heartbeat, now);
    }

    fn anybody(people: &People, profile: &str, to: Option<&str>, now: Instant) -> bool {
        let to = to.map(|to| Addressee::parse(to).unwrap());
        let place = Place {
            tenant: &TenantId::new(TENANT).unwrap(),
            session: &SessionId::new("s").unwrap(),
            profile: &ProfileId::new(profile).unwrap(),
            to: to.as_ref(),
        };
        people.anybody(&place, now)
    }

    // contract: D9
    #[test]
    fn somebody_counts_for_fifteen_seconds_after_they_were_there() {
        let (people, start) = (People::new(), Instant::now());
        let at = |ms| start + Duration::from_millis(ms);
        assert!(!anybody(&people, "ops", None, start));
        hear(&people, vec![named("ann", "ops", 0)], start);
        assert!(anybody(&people, "ops", None, at(15_000)));
        assert!(!anybody(&people, "ops", None, at(15_001)));
        // What is said later of an earlier moment takes nothing back.
        hear(&people, vec![named("ann", "ops", 9_000)], at(5_000));
        assert!(anybody(&people, "ops", None, at(15_000)));
        // Nor does it count from the moment it is said.
        hear(&people, vec![named("ann", "ops", 9_000)], at(14_000));
        assert!(anybody(&people, "ops", None, at(20_000)));
        assert!(!anybody(&people, "ops", None, at(20_001)));
        hear(&people, vec![named("ann", "ops", 15_001)], at(21_000));
        assert!(!anybody(&people, "ops", None, at(21_000)));
        people.sweep(at(40_000));
        assert!(people.there.lock().unwrap().is_empty());
    }

    // contract: D9
    #[test]
    fn only_who_may_answer_counts() {
        let (people, now) = (People::new(), Instant::now());
        let elsewhere = PersonPresent {
            session: Some(SessionId::new("other").unwrap()),
            ..named("bob", "ops", 0)
        };
        hear(&people, vec![named("ann", "dev", 0), elsewhere], now);
        assert!(!anybody(&people, "ops", None, now));
        assert!(anybody(&people, "dev", None, now));
        assert!(anybody(&people, "dev", Some("person:ann"), now));
        assert!(!anybody(&people, "dev", Some("person:bob"), now));
        assert!(anybody(&people, "dev", Some("group:friends-of-ann"), now));
        assert!(!anybody(&people, "dev", Some("group:friends-of-bob"), now));
        // The same person with another credential.
        hear(&people, vec![named("ann", "ops", 0)], now);
        assert!(anybody(&people, "dev", None, now) && anybody(&people, "ops", None, now));
        // Operators answer in anybody's place.
        let operator = PersonPresent {
            rights: Rights {
                groups: Vec::new(),
                operator: true,
            },
            ..named("root", "ops", 0)
        };
        hear(&people, vec![operator], now);
        assert!(anybody(&people, "ops", Some("person:nobody"), now));
        assert!(!anybody(&people, "dev", Some("person:nobody"), now));
    }
}
