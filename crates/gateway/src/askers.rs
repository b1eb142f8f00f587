//! Which asking processes are there, as heartbeats tell it: whoever keeps a connection of an asker
//! names it, and an asker that is not named any more by those who named it is gone.

use askbus_domain::{AskerId, Clarification, Millis, TenantId, Timestamp};
use askbus_wire::messages::{Heartbeat, Kept};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// An instance that said nothing for this long names nobody any more; two heartbeats may be lost.
const MISSING_AFTER: Duration = Duration::from_secs(12);
/// Askers remembered at most; those that are gone are forgotten first.
const MAX_ASKERS: usize = 200_000;

/// An asker within its tenant.
pub(crate) type Key = (TenantId, AskerId);

/// What a surface is told about the asker of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Asker {
    /// Whether it is gone; none while that cannot be told.
    pub disconnected: Option<bool>,
    /// When its questions are withdrawn at the latest unless it comes back.
    pub kept_until: Option<Timestamp>,
}

impl Asker {
    const UNKNOWN: Self = Self {
        disconnected: None,
        kept_until: None,
    };
}

/// One asker that was ever named.
#[derive(Default)]
struct Heard {
    /// Those that name it, and when they last did.
    by: HashMap<Arc<str>, Instant>,
    /// Since when nobody names it.
    gone: Option<Instant>,
}

/// What one instance says.
#[derive(Default)]
struct Instance {
    named: HashSet<Key>,
    /// The parts that came so far of what it says now.
    coming: HashSet<Key>,
    next_part: u32,
}

/// All that is known of askers.
#[derive(Default)]
pub(crate) struct Askers {
    heard: HashMap<Key, Heard>,
    instances: HashMap<Arc<str>, Instance>,
    /// Since when heartbeats are heard without a break.
    listening: Option<Instant>,
}

impl Askers {
    /// Heartbeats are heard. After a break everybody is believed to be where they were.
    pub fn listen(&mut self, now: Instant) {
        if self.listening.is_some() {
            return;
        }
        self.listening = Some(now);
        for at in self.heard.values_mut().flat_map(|h| h.by.values_mut()) {
            *at = now;
        }
    }

    /// Heartbeats are not heard: nothing can be told.
    pub fn deaf(&mut self) {
        self.listening = None;
    }

    /// Takes a heartbeat in, and returns the askers that are gone or back now.
    pub fn hear(&mut self, heartbeat: &Heartbeat, now: Instant) -> HashSet<Key> {
        let name: Arc<str> = format!("{} {}", heartbeat.service, heartbeat.instance).into();
        let leases = heartbeat.leases.iter();
        let names = leases.filter_map(|lease| match lease.kept()? {
            Kept::Asker(tenant, asker) => Some((tenant, asker)),
            Kept::Turn(..) => None,
        });
        let names: HashSet<Key> = names.collect();
        let mut changed = HashSet::new();
        for key in &names {
            let heard = self.heard.entry(key.clone()).or_default();
            heard.by.insert(Arc::clone(&name), now);
            if heard.gone.take().is_some() {
                changed.insert(key.clone());
            }
        }
        let known = self.instances.contains_key(&name);
        if names.is_empty() && !known {
            return changed;
        }
        let instance = self.instances.entry(Arc::clone(&name)).or_default();
        instance.named.extend(names.iter().cloned());
        if heartbeat.part == 0 {
            instance.coming = names;
            instance.next_part = 1;
        } else if heartbeat.part == instance.next_part {
            instance.coming.extend(names);
            instance.next_part += 1;
        } else {
            // A part was lost: who is missing cannot be told from this.
            instance.next_part = u32::MAX;
        }
        if instance.next_part != heartbeat.parts.max(1) {
            return changed;
        }
        let named = std::mem::take(&mut instance.coming);
        let dropped: Vec<Key> = instance.named.difference(&named).cloned().collect();
        if named.is_empty() {
            self.instances.remove(&name);
        } else {
            instance.named = named;
        }
        for key in dropped {
            let Some(heard) = self.heard.get_mut(&key) else {
                continue;
            };
            heard.by.remove(&name);
            if heard.by.is_empty() && heard.gone.is_none() {
                heard.gone = Some(now);
                changed.insert(key);
            }
        }
        changed
    }

    /// Notices who fell silent, and returns the askers that are gone by that.
    pub fn sweep(&mut self, now: Instant) -> HashSet<Key> {
        let mut changed = HashSet::new();
        if self.listening.is_none() {
            return changed;
        }
        for (key, heard) in &mut self.heard {
            heard
                .by
                .retain(|_, at| now.saturating_duration_since(*at) < MISSING_AFTER);
            if heard.by.is_empty() && heard.gone.is_none() {
                heard.gone = Some(now);
                changed.insert(key.clone());
            }
        }
        let heard = &self.heard;
        let names_anybody = |name: &Arc<str>, instance: &Instance| {
            let mut named = instance.named.iter();
            named.any(|key| heard.get(key).is_some_and(|h| h.by.contains_key(name)))
        };
        self.instances
            .retain(|name, instance| names_anybody(name, instance));
        if self.heard.len() > MAX_ASKERS {
            self.heard.retain(|_, heard| heard.gone.is_none());
        }
        changed
    }

    /// What is known of the asker of a question. `now` is the log's time, `at` the same moment here.
    pub fn of(&self, tenant: &TenantId, of: &Clarification, now: Timestamp, at: Instant) -> Asker {
        let Some(listening) = self.listening else {
            return Asker::UNKNOWN;
        };
        let lease = of.asker_ttl;
        match self.heard.get(&(tenant.clone(), of.asker_id.clone())) {
            Some(Heard { gone: None, .. }) => Asker {
                disconnected: Some(false),
                kept_until: None,
            },
            Some(Heard {
                gone: Some(since), ..
            }) => {
                let ago = at.saturating_duration_since(*since).as_millis();
                let ago = i64::try_from(ago).unwrap_or(i64::MAX);
                let since = Timestamp::from_unix_millis(now.unix_millis().saturating_sub(ago));
                Asker {
                    disconnected: Some(true),
                    kept_until: Some(since.plus(lease)),
                }
            }
            // One that was never heard of may be about to say something.
            None => {
                let listened = at.saturating_duration_since(listening).as_millis();
                let listened = Millis(u64::try_from(listened).unwrap_or(u64::MAX));
                let overdue = listened >= lease && of.requested_at.until(now) >= lease;
                Asker {
                    disconnected: overdue.then_some(true),
                    kept_until: None,
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use askbus_wire::messages::Lease;

    fn key(name: &str) -> Key {
        (TenantId::new("t").unwrap(), AskerId::new(name).unwrap())
    }

    fn beat(instance: &str, names: &[&str], part: u32, parts: u32) -> Heartbeat {
        let lease = |name: &&str| {
            let (tenant, asker) = key(name);
            Lease::asker(&tenant, &asker)
        };
        Heartbeat {
            service: "session-binding".into(),
            instance: instance.into(),
            leases: names.iter().map(lease).collect(),
            part,
            parts,
            ..Heartbeat::default()
        }
    }

    fn is_gone(askers: &Askers, name: &str) -> bool {
        askers.heard[&key(name)].gone.is_some()
    }

    #[test]
    fn whoever_named_an_asker_takes_it_back_and_nobody_else() {
        let (mut askers, now) = (Askers::default(), Instant::now());
        askers.listen(now);
        assert!(askers.hear(&beat("one", &["a", "b"], 0, 1), now).is_empty());
        assert!(askers.hear(&beat("two", &[], 0, 1), now).is_empty());
        assert!(!is_gone(&askers, "a"));
        let gone = askers.hear(&beat("one", &["b"], 0, 0), now);
        assert_eq!(gone, HashSet::from([key("a")]));
        assert_eq!(askers.hear(&beat("one", &["b"], 0, 1), now), HashSet::new());
        // It moved to another instance, which names it before the first one drops it.
        let back = askers.hear(&beat("two", &["a", "b"], 0, 1), now);
        assert_eq!(back, HashSet::from([key("a")]));
        assert!(askers.hear(&beat("one", &[], 0, 1), now).is_empty());
        assert!(!is_gone(&askers, "b"));
    }

    #[test]
    fn many_names_come_in_parts() {
        let (mut askers, now) = (Askers::default(), Instant::now());
        askers.listen(now);
        for (names, part) in [(["a"], 0), (["b"], 1), (["c"], 2)] {
            assert!(askers.hear(&beat("one", &names, part, 3), now).is_empty());
        }
        for (names, part) in [(["b"], 0), (["c"], 1)] {
            assert!(askers.hear(&beat("one", &names, part, 3), now).is_empty());
        }
        let gone = askers.hear(&beat("one", &["d"], 2, 3), now);
        assert_eq!(gone, HashSet::from([key("a")]));
        // A part is lost.
        assert!(askers.hear(&beat("one", &["d"], 0, 3), now).is_empty());
        assert!(askers.hear(&beat("one", &["e"], 2, 3), now).is_empty());
        assert!(!is_gone(&askers, "b") && !is_gone(&askers, "c"));
    }

    #[test]
    fn silence_of_an_instance_tells_and_silence_of_the_bus_does_not() {
        let (mut askers, start) = (Askers::default(), Instant::now());
        let later = |seconds| start + Duration::from_secs(seconds);
        askers.listen(start);
        askers.hear(&beat("one", &["a"], 0, 1), start);
        assert!(askers.sweep(later(10)).is_empty());
        askers.deaf();
        assert!(askers.sweep(later(100)).is_empty());
        askers.listen(later(100));
        assert!(askers.sweep(later(110)).is_empty());
        assert_eq!(askers.sweep(later(113)), HashSet::from([key("a")]));
        assert!(askers.sweep(later(120)).is_empty(), "once");
        let back = askers.hear(&beat("one", &["a"], 0, 1), later(121));
        assert_eq!(back, HashSet::from([key("a")]));
    }
}
