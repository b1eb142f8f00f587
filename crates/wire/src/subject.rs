//! The subject grammar, in one place. The guard of an append is only safe when every writer uses
//! the same filter string, so nobody else builds one.

use askbus_domain::{ClarifyId, EventKind, PersonId, SessionId, TenantId};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// Everything the log takes in.
pub const LOG_WILDCARD: &str = "askbus.log.*.*.*";
/// Where stored commits are republished, for people and services to watch.
pub const REPUBLISH_DESTINATION: &str = "clarify.{{wildcard(1)}}.{{wildcard(2)}}.{{wildcard(3)}}";
/// Everything the inbox takes in.
pub const INBOX_WILDCARD: &str = "clarify.respond.*.*.*";
/// All drafts.
pub const DRAFT_WILDCARD: &str = "askbus.draft.*.*.*.*.*";
/// All positions.
pub const POSITION_WILDCARD: &str = "askbus.position.*.*";
/// All heartbeats.
pub const ALIVE_WILDCARD: &str = "askbus.alive.*.*";

const KEPT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_');

/// A text as one subject token: everything but `A-Z a-z 0-9 - _` percent-encoded.
pub fn token(text: &str) -> String {
    utf8_percent_encode(text, KEPT).to_string()
}

/// The text behind a token; none when it is not UTF-8.
pub fn untoken(token: &str) -> Option<String> {
    percent_decode_str(token)
        .decode_utf8()
        .ok()
        .map(std::borrow::Cow::into_owned)
}

/// Where a commit is stored.
pub fn log(kind: EventKind, tenant: &TenantId, session: &SessionId) -> String {
    format!(
        "askbus.log.{}.{}.{}",
        kind.as_str(),
        token(tenant.as_str()),
        token(session.as_str())
    )
}

/// The filter of a session's last sequence: the one string that guards every append to it, and the
/// filter to read the session by.
pub fn log_session(tenant: &TenantId, session: &SessionId) -> String {
    format!(
        "askbus.log.*.{}.{}",
        token(tenant.as_str()),
        token(session.as_str())
    )
}

/// The filter of a tenant's commits that ask.
pub fn log_requested(tenant: &TenantId) -> String {
    format!("askbus.log.requested.{}.*", token(tenant.as_str()))
}

/// Tenant and session of a log subject.
pub fn parse_log(subject: &str) -> Option<(TenantId, SessionId)> {
    let mut tokens = subject.strip_prefix("askbus.log.")?.split('.').skip(1);
    let (tenant, session) = (tokens.next()?, tokens.next()?);
    let done = tokens.next().is_none();
    let ids = (
        TenantId::new(untoken(tenant)?).ok()?,
        SessionId::new(untoken(session)?).ok()?,
    );
    done.then_some(ids)
}

/// The filter of what has happened in a tenant, as the log republishes it.
pub fn happened_in(tenant: &TenantId) -> String {
    format!("clarify.*.{}.*", token(tenant.as_str()))
}

/// The event a republished commit is named after, as it stands there, and its session.
pub fn parse_happened(subject: &str) -> Option<(&str, SessionId)> {
    let mut tokens = subject.strip_prefix("clarify.")?.split('.');
    let (event, _tenant, session) = (tokens.next()?, tokens.next()?, tokens.next()?);
    let done = tokens.next().is_none();
    let session = SessionId::new(untoken(session)?).ok()?;
    done.then_some((event, session))
}

/// Where an answer to a clarification goes.
pub fn inbox(tenant: &TenantId, session: &SessionId, id: ClarifyId) -> String {
    format!(
        "clarify.respond.{}.{}.{id}",
        token(tenant.as_str()),
        token(session.as_str())
    )
}

/// The filter of a tenant's answers.
pub fn inbox_tenant(tenant: &TenantId) -> String {
    format!("clarify.respond.{}.*.*", token(tenant.as_str()))
}

/// The durable consumer of a tenant's answers.
pub fn inbox_consumer(tenant: &TenantId) -> String {
    format!("inbox-{}", token(tenant.as_str()).replace('%', "="))
}

/// Tenant, session and the raw clarification token of an inbox subject.
pub fn parse_inbox(subject: &str) -> Option<(TenantId, SessionId, String)> {
    let mut tokens = subject.strip_prefix("clarify.respond.")?.split('.');
    let (tenant, session, id) = (tokens.next()?, tokens.next()?, tokens.next()?);
    let done = tokens.next().is_none();
    let ids = (
        TenantId::new(untoken(tenant)?).ok()?,
        SessionId::new(untoken(session)?).ok()?,
    );
    done.then_some((ids.0, ids.1, id.to_owned()))
}

/// Where a position of a tenant is kept.
pub fn position(tenant: &TenantId, name: &str) -> String {
    format!("askbus.position.{}.{}", token(tenant.as_str()), token(name))
}

/// Where the draft of one of a person's tabs is kept: a second tab must not overwrite the first. A
/// client without a name for its tab writes to `-`.
pub fn draft(
    tenant: &TenantId,
    session: &SessionId,
    id: ClarifyId,
    person: &PersonId,
    tab: &str,
) -> String {
    let (tenant, session) = (token(tenant.as_str()), token(session.as_str()));
    let tab = if tab.is_empty() { "-" } else { tab };
    format!(
        "askbus.draft.{tenant}.{session}.{id}.{}.{}",
        token(person.as_str()),
        token(tab)
    )
}

/// The person of a draft's subject.
pub fn parse_draft(subject: &str) -> Option<PersonId> {
    let mut tokens = subject.strip_prefix("askbus.draft.")?.split('.').skip(3);
    let (person, _tab) = (tokens.next()?, tokens.next()?);
    let done = tokens.next().is_none();
    let person = PersonId::new(untoken(person)?).ok()?;
    done.then_some(person)
}

/// The filter of all drafts of a clarification.
pub fn draft_clarification(tenant: &TenantId, session: &SessionId, id: ClarifyId) -> String {
    format!(
        "askbus.draft.{}.{}.{id}.*.*",
        token(tenant.as_str()),
        token(session.as_str())
    )
}

/// Where a service instance says that it is alive.
pub fn alive(service: &str, instance: &str) -> String {
    format!("askbus.alive.{}.{}", token(service), token(instance))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_survive_the_subject_whatever_they_contain() {
        let tenant = TenantId::new("acme.*").unwrap();
        for name in ["s1", "a.b", "a b", "会话", "x>y*", "100%", "%2E"] {
            let session = SessionId::new(name).unwrap();
            let subject = log(EventKind::Requested, &tenant, &session);
            assert_eq!(subject.split('.').count(), 5, "{subject}");
            assert_eq!(parse_log(&subject), Some((tenant.clone(), session.clone())));
        }
    }

    #[test]
    fn distinct_ids_have_distinct_guards() {
        let tenant = TenantId::new("t").unwrap();
        let guard = |s: &str| log_session(&tenant, &SessionId::new(s).unwrap());
        assert_eq!(guard("a"), "askbus.log.*.t.a");
        assert_ne!(guard("a.b"), guard("a%2Eb"));
    }

    #[test]
    fn what_happened_is_told_from_what_was_sent() {
        let session = SessionId::new("a.b").unwrap();
        assert_eq!(
            happened_in(&TenantId::new("t.1").unwrap()),
            "clarify.*.t%2E1.*"
        );
        let happened = parse_happened("clarify.resolved.t.a%2Eb");
        assert_eq!(happened, Some(("resolved", session.clone())));
        let tenant = TenantId::new("t").unwrap();
        let sent = inbox(
            &tenant,
            &session,
            ClarifyId::parse("0197e0a0-0000-7000-8000-000000000000").unwrap(),
        );
        assert_eq!(parse_happened(&sent), None);
    }

    #[test]
    fn every_tab_of_a_person_has_a_draft_of_its_own() {
        let (tenant, session) = (TenantId::new("t").unwrap(), SessionId::new("s").unwrap());
        let id = ClarifyId::parse("0197e0a0-0000-7000-8000-000000000000").unwrap();
        let ana = PersonId::new("ana.b").unwrap();
        let of = |tab: &str| draft(&tenant, &session, id, &ana, tab);
        assert_eq!(of("1"), format!("askbus.draft.t.s.{id}.ana%2Eb.1"));
        assert_ne!(of("1"), of("2"));
        for tab in ["", "a.b", "*", "标签"] {
            assert_eq!(of(tab).split('.').count(), 7, "{tab}");
            assert_eq!(parse_draft(&of(tab)), Some(ana.clone()));
        }
        assert_eq!(parse_draft(&format!("askbus.draft.t.s.{id}.ana")), None);
    }

    #[test]
    fn foreign_subjects_are_not_parsed() {
        assert_eq!(parse_log("askbus.log.begun.t"), None);
        assert_eq!(parse_log("askbus.log.begun.t.s.x"), None);
        assert_eq!(parse_log("clarify.begun.t.s"), None);
        assert_eq!(parse_inbox("clarify.respond.t.s"), None);
    }
}
