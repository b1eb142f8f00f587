//! Who can answer on a single machine: its person, whoever was given a credential, and the people of its
//! chats.

use crate::home::{self, Home};
use askbus_credential::{Issued, Issuer, Role};
use askbus_domain::{GroupId, PersonId, Rights, Roster};
use askbus_gateway::{ChannelOptions, ChannelPerson};
use askbus_session_binding::KnownPeople;
use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// Reads it anew each time: credentials are made and revoked while the service runs.
pub(crate) fn known(home: &Home, channels: Vec<ChannelOptions>) -> KnownPeople {
    let keys = home.keys();
    let here = |channel: &ChannelOptions| channel.tenant.as_str() == home::TENANT;
    let chats = channels.into_iter().filter(here);
    let chatting: Vec<ChannelPerson> = chats.flat_map(|channel| channel.people).collect();
    Arc::new(move || {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_secs();
        read(&keys, &chatting, now)
    })
}

fn read(keys: &Path, chatting: &[ChannelPerson], now: u64) -> Option<Roster> {
    let issued = Issuer::open(keys).and_then(|issuer| issuer.list());
    let issued = issued
        .inspect_err(|error| tracing::warn!(%error, "who can answer cannot be read"))
        .ok()?;
    let mut roster = Roster::default();
    let me = PersonId::new(home::PERSON).ok()?;
    roster.people.push((me, Rights::default()));
    let answers = |c: &&Issued| matches!(c.role, Role::Person | Role::Operator);
    let valid = |c: &&Issued| !c.revoked && c.expires_at > now && c.tenant.as_str() == home::TENANT;
    for credential in issued.iter().filter(answers).filter(valid) {
        roster.more_groups |= credential.groups.is_none();
        let rights = Rights {
            groups: groups(credential.groups.as_deref().unwrap_or_default()),
            operator: credential.role == Role::Operator,
        };
        roster.people.push((credential.subject.clone(), rights));
    }
    for person in chatting {
        let rights = Rights {
            groups: groups(&person.groups),
            operator: false,
        };
        roster.people.push((person.subject.clone(), rights));
    }
    Some(roster)
}

fn groups(names: &[String]) -> Vec<GroupId> {
    names
        .iter()
        .filter_map(|name| GroupId::new(name).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use askbus_credential::Grant;
    use askbus_domain::{Addressee, ProfileId, TenantId};
    use std::time::Duration;

    fn grant(subject: &str, role: Role, tenant: &str, groups: &[&str]) -> Grant {
        Grant {
            subject: PersonId::new(subject).unwrap(),
            role,
            tenant: TenantId::new(tenant).unwrap(),
            profiles: vec![ProfileId::new(home::PROFILE).unwrap()],
            groups: groups.iter().map(ToString::to_string).collect(),
            life: Duration::from_mins(1),
        }
    }

    // contract: A6
    #[test]
    fn whoever_has_a_credential_or_a_chat_is_known_and_nobody_else() {
        let folder = tempfile::tempdir().unwrap();
        let issuer = Issuer::open_or_create(folder.path()).unwrap();
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap()
            .as_secs();
        let chatting = [ChannelPerson {
            from: None,
            subject: PersonId::new("eve").unwrap(),
            groups: vec!["night".into()],
        }];
        let may = |to: &str, now| {
            let roster = read(folder.path(), &chatting, now).unwrap();
            roster.check(&Addressee::parse(to).unwrap()).is_ok()
        };
        assert!(may("me", now) && may("eve", now) && may("group:night", now));
        for unknown in ["bob", "host", "group:ops", "group:me"] {
            assert!(!may(unknown, now), "{unknown}");
        }
        let issue = |subject, role, tenant, groups: &[&str]| {
            issuer
                .issue(&grant(subject, role, tenant, groups))
                .unwrap()
                .1
        };
        let bob = issue("bob", Role::Person, home::TENANT, &["ops"]);
        issue("host", Role::Host, home::TENANT, &["hosts"]);
        issue("ann", Role::Person, "acme", &["dev"]);
        assert!(may("bob", now) && may("Bob", now) && may("group:ops", now));
        for unknown in ["host", "group:hosts", "ann", "group:dev"] {
            assert!(!may(unknown, now), "{unknown}");
        }
        assert!(!may("bob", now + 3_600), "its credential is over");
        issuer.revoke(&bob.id).unwrap();
        assert!(!may("bob", now) && !may("group:ops", now));
        // An operator answers in anybody's place.
        issue("root", Role::Operator, home::TENANT, &[]);
        assert!(may("bob", now) && may("group:anything", now));
    }

    #[test]
    fn a_record_that_does_not_say_its_groups_may_be_in_any() {
        let folder = tempfile::tempdir().unwrap();
        let issuer = Issuer::open_or_create(folder.path()).unwrap();
        issuer
            .issue(&grant("bob", Role::Person, home::TENANT, &["ops"]))
            .unwrap();
        let list = folder.path().join("issued.jsonl");
        let told = std::fs::read_to_string(&list).unwrap();
        let untold = told.replace(r#""groups":["ops"],"#, "");
        assert_ne!(told, untold);
        std::fs::write(&list, untold).unwrap();
        let roster = read(folder.path(), &[], 0).unwrap();
        assert!(
            roster
                .check(&Addressee::parse("group:any").unwrap())
                .is_ok()
        );
        assert!(roster.check(&Addressee::parse("ann").unwrap()).is_err());
    }
}
