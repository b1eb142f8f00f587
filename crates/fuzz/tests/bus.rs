//! What comes over the bus and out of the log.

#![allow(clippy::unwrap_used, clippy::panic)]

use askbus_domain::{
    ClarifyId, Commit, EventKind, PersonId, Session, SessionId, TenantId, Timestamp,
};
use askbus_fuzz::{Material, fuzz_bytes};
use askbus_wire::codec::{Decoded, decode_commit, encode_commit};
use askbus_wire::messages::{Draft, Heartbeat, InboxMessage, InboxReply};
use askbus_wire::subject;
use askbus_wire::trace::Trace;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::Debug;

/// What is read is written and read again as the same.
fn round<T: DeserializeOwned + Serialize + PartialEq + Debug>(bytes: &[u8]) {
    if let Ok(read) = serde_json::from_slice::<T>(bytes) {
        let written = serde_json::to_vec(&read).unwrap();
        assert_eq!(serde_json::from_slice::<T>(&written).unwrap(), read);
    }
}

#[test]
fn fuzz_commits() {
    let log = include_str!("../../domain/tests/corpus/schema-1.jsonl");
    let lines: Vec<&str> = log.lines().collect();
    let words = [
        "\"schema\":3",
        "\"event\":\"requested\"",
        "\"event\":\"resolved\"",
        "\"event\":\"late\"",
        "\"holder\":{\"until\":\"2027-01-15T08:00:00Z\"}",
        "9999-12-31T23:59:59.999Z",
        "1969-12-31T23:59:59Z",
        "\"q1\"",
        "\"o1\"",
        "\"timeout\"",
        "\"cause\":\"withdrawn\"",
    ];
    fuzz_bytes!(Material::of(&lines, &words), |bytes: &[u8]| {
        let Decoded::Commit(commit) = decode_commit(bytes) else {
            return;
        };
        if let Ok(written) = encode_commit(&commit) {
            let Decoded::Commit(again) = decode_commit(&written) else {
                panic!("what was written cannot be read: {commit:?}");
            };
            assert_eq!(*again, *commit);
        }
        fold(&commit);
    });
}

/// Folding takes whatever the log holds.
fn fold(commit: &Commit) {
    let mut session = Session::default();
    for event in &commit.events {
        session.evolve(event);
    }
    assert!(session.pending().count() <= commit.events.len());
    let _ = (commit.subject_kind(), session.due().count());
}

#[test]
fn fuzz_messages_to_the_inbox() {
    let actor = r#""actor":{"person":"ann","surface":"web"}"#;
    let seeds = [
        format!(
            r#"{{"schema":1,"requested_seq":7,"type":"respond","answer_id":"a1",{actor},"action":"answer","answers":[{{"question_id":"q1","option_ids":["o1"],"text":"t","note":"n"}}],"text":"x"}}"#
        ),
        format!(r#"{{"schema":1,"requested_seq":7,"type":"hold",{actor}}}"#),
        format!(
            r#"{{"schema":2,"requested_seq":7,"rights":{{"groups":["ops"],"operator":true}},"type":"pass_on",{actor},"answer_id":"a1","pass_id":"p1"}}"#
        ),
        r#"{"verdict":"late","outcome":{"reason":"timeout","answers":[],"resolved_at":"2027-01-15T08:00:00Z"},"goes_on":"next_result"}"#.to_owned(),
    ];
    let seeds: Vec<&str> = seeds.iter().map(String::as_str).collect();
    let words = [
        "\"respond\"",
        "\"hold\"",
        "\"pass_on\"",
        "\"dismissed\":true",
        "\"rights\":{}",
    ];
    fuzz_bytes!(Material::of(&seeds, &words), |bytes: &[u8]| {
        round::<InboxMessage>(bytes);
        round::<InboxReply>(bytes);
        let schema = InboxMessage::schema_of(bytes);
        if let Ok(message) = serde_json::from_slice::<InboxMessage>(bytes) {
            assert!(schema.is_ok(), "{message:?}");
            assert!(!message.actor().person.as_str().is_empty());
            let _ = message.message_id();
        }
    });
}

#[test]
fn fuzz_heartbeats_and_drafts() {
    let seeds = [
        r#"{"service":"gateway","instance":"g1","version":"0.1.0","schema":2,"leases":[{"tenant":"acme","name":"mcp-1"}],"present":[{"tenant":"acme","name":"*"}],"people":[{"tenant":"acme","person":"ann","profiles":["default"],"groups":["ops"],"operator":true,"session":"s"}],"part":0,"parts":1}"#,
        r#"{"tab":"t1","answers":[{"question_id":"q1","option_ids":["o1"],"text":"half a sen","note":null,"dismissed":true}],"text":"why"}"#,
    ];
    fuzz_bytes!(
        Material::of(&seeds, &["\"people\":", "\"parts\":"]),
        |bytes: &[u8]| {
            round::<Heartbeat>(bytes);
            round::<Draft>(bytes);
        }
    );
}

#[test]
fn fuzz_subjects() {
    let seeds = [
        "askbus.log.requested.acme.session%2E1",
        "clarify.resolved.acme.s",
        "clarify.respond.acme.s.01a22db2-b5ef-72d9-8d4d-32ea513796ea",
        "askbus.draft.acme.s.01a22db2-b5ef-72d9-8d4d-32ea513796ea.ann.tab",
        "%E7%95%8C",
    ];
    fuzz_bytes!(
        Material::of(&seeds, &["askbus.log.", "%2", "%", "*", ">"]),
        |bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes);
            let token = subject::token(&text);
            assert!(!token.contains(['.', '*', '>', ' ']));
            assert_eq!(subject::untoken(&token).as_deref(), Some(text.as_ref()));
            subject::untoken(&text);
            subject::parse_happened(&text);
            subject::parse_inbox(&text);
            subject::parse_draft(&text);
            if let Some((tenant, session)) = subject::parse_log(&text) {
                let again = subject::log(EventKind::Held, &tenant, &session);
                assert_eq!(subject::parse_log(&again), Some((tenant, session)));
            }
            if let (Ok(tenant), Ok(session)) = (TenantId::new(&text), SessionId::new(&text)) {
                let made = subject::log(EventKind::Begun, &tenant, &session);
                assert_eq!(
                    subject::parse_log(&made),
                    Some((tenant.clone(), session.clone()))
                );
                let id = ClarifyId::parse("01a22db2-b5ef-72d9-8d4d-32ea513796ea").unwrap();
                let inbox = subject::inbox(&tenant, &session, id);
                assert_eq!(
                    subject::parse_inbox(&inbox).map(|(t, s, _)| (t, s)),
                    Some((tenant, session))
                );
            }
            let _ = PersonId::new(&text);
            let _ = ClarifyId::parse(&text);
        }
    );
}

#[test]
fn fuzz_traces() {
    let seeds = ["00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"];
    fuzz_bytes!(
        Material::of(
            &seeds,
            &["00-", "ff-", "-", "00000000000000000000000000000000"]
        ),
        |bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes);
            for trace in [
                Trace::continuing(Some(&text)).as_str().to_owned(),
                Trace::begin().of_answer(Some(&text)).to_owned(),
            ] {
                let hex = |part: &str, digits: usize| {
                    part.len() == digits
                        && part.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
                };
                let parts: Vec<&str> = trace.split('-').collect();
                assert!(
                    matches!(parts.as_slice(), ["00", id, span, flags]
                    if hex(id, 32) && hex(span, 16) && hex(flags, 2)
                        && id.bytes().any(|b| b != b'0') && span.bytes().any(|b| b != b'0')),
                    "{trace}"
                );
            }
        }
    );
}

#[test]
fn fuzz_moments() {
    let seeds = [
        "2027-01-15T08:00:00.007Z",
        "9999-12-31T23:59:59.999999999Z",
        "0000-01-01T00:00:00+23:59",
        "1969-12-31T23:59:59.999-00:01",
        "2024-02-29T23:59:60Z",
    ];
    fuzz_bytes!(
        Material::of(&seeds, &["T", "Z", "+00:00", ".9999999999"]),
        |bytes: &[u8]| {
            let text = serde_json::Value::String(String::from_utf8_lossy(bytes).into_owned());
            if let Ok(moment) = serde_json::from_value::<Timestamp>(text) {
                let written = serde_json::to_string(&moment).unwrap();
                assert_eq!(serde_json::from_str::<Timestamp>(&written).unwrap(), moment);
                assert!(moment.unix_millis() >= 0);
            }
        }
    );
}
