//! A log of schema 2, as it was written when the schema was new: read, folded and written for ever.

#![allow(clippy::unwrap_used)]

mod fixture;

use askbus_domain::{
    Bound, Clarification, Commit, Event, EventKind, GoesOn, Millis, Reason, Session, check_history,
};
use fixture::cid;
use std::collections::BTreeSet;

const SCHEMA_2: &str = include_str!("corpus/schema-2.jsonl");

fn commits() -> Vec<Commit> {
    let read = |line| serde_json::from_str(line).unwrap();
    SCHEMA_2.lines().map(read).collect()
}

#[test]
fn it_is_read_folded_and_written_for_ever() {
    let mut session = Session::default();
    for (line, commit) in SCHEMA_2.lines().zip(commits()) {
        assert_eq!(commit.schema, 2);
        assert_eq!(serde_json::to_string(&commit).unwrap(), line);
        session.apply(&commit);
    }
    insta::assert_debug_snapshot!("corpus_2_folded", session);
    let commits = commits();
    let events = || commits.iter().flat_map(|c| c.events.iter());
    let dated = commits
        .iter()
        .flat_map(|c| c.events.iter().map(|e| (c.at, e)));
    assert_eq!(check_history(dated), Ok(()));
    let found = |n| Clarification::from_history(cid(n), events()).unwrap();
    let outcome = |n| found(n).outcome.unwrap();
    assert_eq!(outcome(1).reason, Reason::Response);
    assert_eq!(outcome(1).declined.len(), 1);
    assert_eq!(found(1).late[0].passed_on, Some(GoesOn::NextResult));
    let adjusted = found(1).adjusted.unwrap();
    assert_eq!(
        (adjusted.granted, adjusted.by),
        (Some(Millis(3_600_000)), Bound::Maximum)
    );
    assert_eq!(outcome(2).reason, Reason::Unattended);
    assert_eq!(outcome(2).late.len(), 1);
    assert!(outcome(3).reason == Reason::Deferred && outcome(3).timed_out);
    assert!(outcome(4).reason == Reason::Off && outcome(4).blocked);
    assert_eq!(outcome(5).reason, Reason::Timeout);
    assert_eq!(
        (session.plan_revision(), session.plan().unwrap().revision),
        (5, 5)
    );
    let whose = events().filter_map(|event| match event {
        Event::Plan { asker, .. } => Some(asker.client.as_str()),
        _ => None,
    });
    assert_eq!(whose.collect::<Vec<_>>(), ["", "", "", "claude-code 2.1"]);
}

// A field that nothing here holds could change its form unnoticed.
#[test]
fn it_holds_every_kind_of_event_and_every_field_that_schema_2_added() {
    let seen: BTreeSet<EventKind> = commits()
        .iter()
        .flat_map(|c| c.events.iter().map(Event::kind))
        .collect();
    for kind in [
        EventKind::Worked,
        EventKind::PassedOn,
        EventKind::Late,
        EventKind::Plan,
    ] {
        assert!(seen.contains(&kind), "{kind:?}");
    }
    for field in [
        "own",
        "policy",
        "language",
        "scope",
        "parent",
        "work_begun",
        "late",
        "undelivered",
        "timeout",
        "min_timeout",
        "max_timeout",
        "grace",
        "on_timeout",
        "when_absent",
        "max_pending",
        "unanswered_limit",
        "account",
        "tool",
        "to",
        "adjusted",
        "asked",
        "granted",
        "by",
        "client_turn",
        "counted_anew",
        "nobody_present",
        "goes_on",
        "message",
        "declined",
        "timed_out",
        "blocked",
        "explanation",
        "select",
        "dismissed",
        "update_id",
        "plan_id",
        "revision",
        "execution_state",
        "plan",
        "created_at",
        "updated_at",
        "plan_revision",
    ] {
        assert!(SCHEMA_2.contains(&format!("\"{field}\":")), "{field}");
    }
}
