//! What people read on the bus, what the log keeps for ever, and why questions are refused.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod fixture;

use askbus_domain::{
    AnswerAction, CancelCause, Command, Commit, Dialect, Event, EventKind, Reason, Response,
    Rights, Session, TurnEnd, parse_arguments,
};
use fixture::{Log, answer, ask, at, begin, cid, ctx, entry, id, person, response};
use serde_json::{Value, json};
use std::collections::BTreeSet;

fn one() -> Value {
    json!({"question": "Where should this be deployed?", "choices": ["staging", "prod"]})
}

fn many() -> Value {
    json!({"questions": [
        {"header": "Target", "question": "Where should this be deployed?",
         "options": [{"label": "staging", "description": "Nobody notices."}, "prod"], "recommended": 0},
        {"question": "Which checks may be left out?", "options": ["lint", "e2e", "none"], "multi_select": true},
        {"question": "What should the release be called?"}]})
}

/// A session in which everything happens that can happen now.
fn everything() -> Log {
    let mut log = Log::begun();
    let asks = |n, dialect, arguments: &Value| Command::Ask(Box::new(ask(n, dialect, arguments)));
    let hold = Command::Hold {
        clarify_id: cid(1),
        actor: person("ann"),
        rights: Rights::default(),
        stored_at: at(20_000),
    };
    let late = |answer_id, ms| {
        answer(
            2,
            response(
                answer_id,
                AnswerAction::Answer,
                vec![entry("q1", &[], "prod")],
            ),
            at(ms),
        )
    };
    let settle = response(
        "answer-1",
        AnswerAction::Answer,
        vec![
            entry("q1", &["o2"], ""),
            entry("q2", &["o1", "o2"], "slow ones"),
        ],
    );
    let ask_back = Response {
        text: Some("Which cluster is prod?".into()),
        ..response(
            "answer-4",
            AnswerAction::AskBack,
            vec![entry("q1", &["o2"], "")],
        )
    };
    let mut until = begin(2);
    until.holder = askbus_domain::Holder::Until(at(7_200_000));
    let story = [
        (asks(1, Dialect::Ask, &many()), 1_000),
        (hold, 20_010),
        (answer(1, settle, at(45_000)), 45_012),
        (asks(2, Dialect::Studio, &one()), 60_000),
        (late("answer-2", 360_001), 360_020),
        (late("answer-3", 360_500), 360_510),
        (
            answer(
                1,
                response("answer-5", AnswerAction::Dismiss, Vec::new()),
                at(361_000),
            ),
            361_001,
        ),
        (asks(3, Dialect::Interaction, &one()), 400_000),
        (answer(3, ask_back, at(405_000)), 405_004),
        (asks(4, Dialect::Ask, &many()), 410_000),
        (
            answer(
                4,
                response("answer-6", AnswerAction::Skip, Vec::new()),
                at(411_000),
            ),
            411_003,
        ),
        (asks(5, Dialect::Ask, &one()), 500_000),
        (Command::Begin(until), 600_000),
        (
            Command::End {
                context_id: ctx(2),
                profile: id("default"),
                end: TurnEnd::Completed,
            },
            700_000,
        ),
    ];
    for (n, (command, ms)) in story.into_iter().enumerate() {
        let events = log.run(&command, at(ms)).unwrap();
        assert!(!events.is_empty(), "step {n} of the story decides nothing");
    }
    let refused = Event::Refused {
        clarify_id: "not-a-uuid".into(),
        problem: "expected value at line 1 column 1".into(),
        sent: "go ahead, but not tonight".into(),
        stored_at: at(710_000),
    };
    let commit = log.commit(vec![refused], at(710_005));
    log.state.apply(&commit);
    log.commits.push(commit);
    log
}

// This is what `nats sub` shows, and what other programs read.
#[test]
fn a_commit_reads_by_itself() {
    let log = everything();
    let mut seen = BTreeSet::new();
    for (n, commit) in log.commits.iter().enumerate() {
        let kind = commit.subject_kind();
        seen.extend(commit.events.iter().map(Event::kind));
        insta::assert_json_snapshot!(format!("commit_{:02}_{}", n + 1, kind.as_str()), commit);
    }
    let all = [
        EventKind::Begun,
        EventKind::Ended,
        EventKind::Requested,
        EventKind::Held,
        EventKind::Resolved,
        EventKind::Late,
        EventKind::Refused,
    ];
    assert_eq!(seen, BTreeSet::from(all));
}

// Look-ups go by these names, whatever the order of the events.
#[test]
fn the_subject_names_begun_else_requested_else_ended_else_the_last_event() {
    use EventKind::{Begun, Ended, Held, Late, Requested, Resolved};
    let log = everything();
    let one = |kind| log.events().find(|e| e.kind() == kind).unwrap().clone();
    let table: [(&[EventKind], EventKind); 6] = [
        (&[Requested, Ended, Begun], Begun),
        (&[Ended, Requested, Resolved], Requested),
        (&[Resolved, Ended, Held], Ended),
        (&[Resolved, Late], Late),
        (&[Late, Resolved], Resolved),
        (&[Held], Held),
    ];
    for (kinds, expected) in table {
        let commit = log.commit(kinds.iter().map(|k| one(*k)).collect(), at(0));
        assert_eq!(commit.subject_kind(), expected, "{kinds:?}");
    }
}

// contract: E10
#[test]
fn a_log_with_two_resolutions_keeps_the_first() {
    let mut log = Log::begun();
    log.run(&Command::Ask(Box::new(ask(1, Dialect::Ask, &one()))), at(0))
        .unwrap();
    let withdraw = Command::Cancel {
        clarify_id: cid(1),
        profile: id("default"),
    };
    let say = response("a", AnswerAction::Answer, vec![entry("q1", &["o1"], "")]);
    let rival = log.decide(&answer(1, say, at(1)), at(1)).unwrap();
    log.run(&withdraw, at(1)).unwrap();
    log.state.evolve(&rival[0]);
    let outcome = log
        .state
        .clarification(cid(1))
        .unwrap()
        .outcome
        .clone()
        .unwrap();
    assert_eq!(outcome.reason, Reason::Cancelled);
}

/// The log that schema 1 is. Lines may be added to it; none may ever be changed.
const SCHEMA_1: &str = include_str!("corpus/schema-1.jsonl");

#[test]
fn the_corpus_is_read_folded_and_written_for_ever() {
    let mut session = Session::default();
    let mut events = Vec::new();
    for line in SCHEMA_1.lines() {
        let commit: Commit = serde_json::from_str(line).unwrap();
        assert_eq!(serde_json::to_string(&commit).unwrap(), line);
        session.apply(&commit);
        events.extend(commit.events);
    }
    // What it folds to stays, whatever this version would decide today.
    insta::assert_debug_snapshot!("corpus_1_folded", session);
    let reason = |n| {
        let found = askbus_domain::Clarification::from_history(cid(n), events.iter());
        found.unwrap().outcome.map(|o| (o.reason, o.cause))
    };
    assert_eq!(reason(1), Some((Reason::Response, None)));
    assert_eq!(reason(2), Some((Reason::Timeout, None)));
    assert_eq!(reason(3), Some((Reason::AskBack, None)));
    assert_eq!(reason(4), Some((Reason::Skipped, None)));
    assert_eq!(
        reason(5),
        Some((Reason::Cancelled, Some(CancelCause::TurnEnded)))
    );
    assert_eq!(session.latest_turn().unwrap().1, Some(TurnEnd::Completed));
}

#[test]
fn what_this_build_does_not_know_is_not_read_as_something_else() {
    let known: Value = serde_json::from_str(SCHEMA_1.lines().next().unwrap()).unwrap();
    assert!(serde_json::from_value::<Commit>(known.clone()).is_ok());
    let spoilt = |pointer: &str, value: Value| {
        let mut commit = known.clone();
        *commit.pointer_mut(pointer).unwrap() = value;
        serde_json::from_value::<Commit>(commit)
    };
    assert!(spoilt("/events/0/event", json!("escalated")).is_err());
    assert!(spoilt("/events/0/holder", json!({"quorum": 3})).is_err());
    assert!(spoilt("/events/0/context_id", json!("c1")).is_err());
    assert!(spoilt("/tenant", json!(" ")).is_err());
    assert!(spoilt("/at", json!("yesterday")).is_err());
    assert!(spoilt("/schema", json!(null)).is_err());
    // A newer schema that still reads is not acted upon.
    let newer = spoilt("/schema", json!(askbus_domain::SCHEMA + 1)).unwrap();
    let mut session = Session::default();
    session.apply(&newer);
    assert!(session.is_unreadable() && session.latest_turn().is_none());
    // Fields are only ever added: one more is no obstacle.
    let mut more = known.clone();
    more["events"][0]["mood"] = json!("good");
    assert!(serde_json::from_value::<Commit>(more).is_ok());
}

// contract: E4, A1
#[test]
fn a_refused_question_names_the_field_and_the_remedy() {
    let table = [
        (Dialect::Studio, json!([])),
        (Dialect::Studio, json!({})),
        (Dialect::Studio, json!({"question": "  "})),
        (
            Dialect::Studio,
            json!({"question": "q", "choices": ["a", " "]}),
        ),
        (
            Dialect::Interaction,
            json!({"question": "q", "choices": ["a", "b", "c", "d", "e"]}),
        ),
        (Dialect::Ask, json!({"questions": vec!["q"; 6]})),
        (
            Dialect::Ask,
            json!({"questions": [{"question": "q", "options": ["a"], "recommended": 1}]}),
        ),
        (Dialect::Ask, json!({"question": "q", "timeout_s": "soon"})),
        (Dialect::Ask, json!({"question": "q", "timeout": 90})),
        (Dialect::Ask, json!({"questions": 7})),
        (Dialect::Ask, json!({"questions": [7]})),
        (Dialect::Ask, json!({"questions": "[]"})),
        (Dialect::Ask, json!({"question": "q", "options": {"a": 1}})),
        (
            Dialect::Ask,
            json!({"question": "q", "multi_select": "maybe"}),
        ),
        (
            Dialect::Ask,
            json!({"question": "q", "options": ["a", "b"], "multi_select": true, "max_select": 3}),
        ),
        (Dialect::Ask, json!({"question": "q", "secret": true})),
        (Dialect::Ask, json!({"question": "q", "to": ["ann"]})),
        (Dialect::Ask, json!({"question": "q", "to": "group:"})),
        (
            Dialect::Ask,
            json!({"question": "q", "when_absent": "go on"}),
        ),
    ];
    let problems = table.map(|(dialect, arguments)| {
        format!(
            "{} {arguments}\n  {}",
            dialect.as_str(),
            parse_arguments(dialect, &arguments).unwrap_err()
        )
    });
    insta::assert_snapshot!(problems.join("\n"));
}
