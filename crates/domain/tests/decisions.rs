//! Who may ask when, and how each way of ending settles, in tables.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod fixture;

use askbus_domain::{
    AskCommand, CancelCause, Command, DecidedBy, Dialect, Event, EventKind, Holder, Millis,
    Questions, Reason, Rejection, SCHEMA, Session, TURN_CAP, TurnEnd, parse_arguments,
};
use fixture::{
    Log, answer, ask, at, begin, chosen, cid, ctx, end, expire, hold, id, kinds, outcome, pending,
    question,
};
use serde_json::json;

// contract: E6
#[test]
fn the_first_fault_in_the_order_of_checks_is_the_one_reported() {
    let studio = |arguments| ask(2, Dialect::Studio, &arguments);
    let good = || studio(json!({"question": "Go on?"}));
    let bad = || studio(json!({"question": " "}));
    let foreign = |ask: AskCommand| AskCommand {
        profile: id("other"),
        ..ask
    };
    let unknown = |ask: AskCommand| AskCommand {
        context_id: ctx(7),
        ..ask
    };
    let begun = Log::begun;
    let over = || {
        let mut log = pending();
        log.run(&end(1, TurnEnd::Completed), at(1)).unwrap();
        log
    };
    let replaced = || {
        let mut log = pending();
        log.run(&Command::Begin(begin(2)), at(1)).unwrap();
        log
    };
    let bad_input = Rejection::InvalidQuestion(bad().input.unwrap_err());
    let table = [
        (
            "no turn ever",
            Log::default(),
            bad(),
            Err(Rejection::ContextExpired),
        ),
        (
            "unknown context, bad input, busy",
            pending(),
            unknown(bad()),
            Err(Rejection::ContextExpired),
        ),
        (
            "other profile, bad input, busy",
            pending(),
            foreign(bad()),
            Err(Rejection::ContextExpired),
        ),
        (
            "other profile, turn over",
            over(),
            foreign(good()),
            Err(Rejection::ContextExpired),
        ),
        (
            "replaced context, bad input",
            replaced(),
            bad(),
            Err(Rejection::ContextExpired),
        ),
        (
            "turn over, bad input",
            over(),
            bad(),
            Err(Rejection::NoActiveTurn),
        ),
        ("turn over", over(), good(), Err(Rejection::NoActiveTurn)),
        ("bad input, busy", pending(), bad(), Err(bad_input.clone())),
        ("bad input", begun(), bad(), Err(bad_input)),
        ("busy", pending(), good(), Err(Rejection::Busy)),
        (
            "nothing wrong",
            begun(),
            good(),
            Ok(vec![EventKind::Requested]),
        ),
    ];
    for (case, log, ask, expected) in table {
        let result = log.decide(&Command::Ask(Box::new(ask)), at(2));
        assert_eq!(result.map(|events| kinds(&events)), expected, "{case}");
    }
}

// contract: E6
#[test]
fn unknown_expired_and_foreign_contexts_cannot_be_told_apart() {
    let log = pending();
    let mut foreign_begin = begin(2);
    foreign_begin.profile = id("other");
    let strangers = [
        Command::End {
            context_id: ctx(1),
            profile: id("other"),
            end: TurnEnd::Stopped,
        },
        end(7, TurnEnd::Stopped),
        Command::Begin(foreign_begin),
    ];
    for command in strangers {
        assert_eq!(
            log.decide(&command, at(1)),
            Err(Rejection::ContextExpired),
            "{command:?}"
        );
    }
    let foreign = Command::Cancel {
        clarify_id: cid(1),
        profile: id("other"),
    };
    let unknown = Command::Cancel {
        clarify_id: cid(7),
        profile: id("default"),
    };
    assert_eq!(log.decide(&foreign, at(1)), log.decide(&unknown, at(1)));
    assert_eq!(
        log.decide(&foreign, at(1)),
        Err(Rejection::UnknownClarification)
    );
}

// contract: E6
#[test]
fn only_the_studio_dialect_takes_one_question_a_session() {
    for (dialect, limit) in [
        (Dialect::Ask, 32),
        (Dialect::Interaction, 32),
        (Dialect::Studio, 1),
    ] {
        let mut log = Log::begun();
        let ask = |n: usize| {
            Command::Ask(Box::new(ask(
                n as u128,
                dialect,
                &json!({"question": format!("Go on with {n}?")}),
            )))
        };
        for n in 0..limit {
            log.run(&ask(n), at(0)).unwrap();
        }
        let full = match dialect {
            Dialect::Studio => Rejection::Busy,
            Dialect::Ask | Dialect::Interaction => Rejection::TooManyPending { limit },
        };
        assert_eq!(log.decide(&ask(limit), at(1)), Err(full), "{dialect:?}");
        let withdraw = Command::Cancel {
            clarify_id: cid(0),
            profile: id("default"),
        };
        log.run(&withdraw, at(1)).unwrap();
        assert!(log.decide(&ask(limit), at(1)).is_ok(), "{dialect:?}");
    }
}

// contract: E11, E20, E10
#[test]
fn every_way_a_turn_or_an_asker_ends_settles_what_waits() {
    let by_turn = (Reason::Cancelled, Some(CancelCause::TurnEnded));
    let table = [
        (
            end(1, TurnEnd::Completed),
            Some(TurnEnd::Completed),
            by_turn,
        ),
        (end(1, TurnEnd::Failed), Some(TurnEnd::Failed), by_turn),
        (end(1, TurnEnd::Stopped), Some(TurnEnd::Stopped), by_turn),
        (end(1, TurnEnd::Disposed), Some(TurnEnd::Disposed), by_turn),
        (Command::Begin(begin(2)), Some(TurnEnd::Replaced), by_turn),
        (
            Command::HolderLost { name: id("host") },
            Some(TurnEnd::Interrupted),
            by_turn,
        ),
        (
            Command::AskerLost {
                asker_id: id("asker-1"),
            },
            None,
            (Reason::Cancelled, Some(CancelCause::AskerGone)),
        ),
        (
            Command::Cancel {
                clarify_id: cid(1),
                profile: id("default"),
            },
            None,
            (Reason::Cancelled, Some(CancelCause::Withdrawn)),
        ),
    ];
    for (command, ended, (reason, cause)) in table {
        let mut log = pending();
        let second = ask(2, Dialect::Ask, &question());
        let second = AskCommand {
            asker_id: id("asker-2"),
            ..second
        };
        log.run(&Command::Ask(Box::new(second)), at(0)).unwrap();
        let events = log.run(&command, at(5)).unwrap();
        let settled = outcome(&log, 1);
        assert_eq!(
            (settled.reason, settled.cause),
            (reason, cause),
            "{command:?}"
        );
        assert_eq!(
            (settled.resolved_at, &settled.actor),
            (at(5), &None),
            "{command:?}"
        );
        assert_eq!(settled.unanswered, [id("q1")]);
        // Another asker's question ends with the turn only.
        assert_eq!(
            log.find(cid(2)).unwrap().is_pending(),
            ended.is_none(),
            "{command:?}"
        );
        let told = events.iter().find_map(|e| match e {
            Event::Ended { end, .. } => Some(*end),
            _ => None,
        });
        assert_eq!(told, ended, "{command:?}");
        // What waited is settled before the turn ends, in one commit.
        if ended.is_some() {
            let order = [EventKind::Resolved, EventKind::Resolved, EventKind::Ended];
            assert_eq!(kinds(&events)[..3], order, "{command:?}");
        }
    }
}

// contract: E11, E20
#[test]
fn what_does_not_concern_a_turn_does_not_end_it() {
    let log = pending();
    let strangers = [
        Command::HolderLost { name: id("nobody") },
        Command::AskerLost {
            asker_id: id("asker-9"),
        },
        Command::ExpireTurn { context_id: ctx(1) },
        Command::ExpireTurn { context_id: ctx(7) },
        Command::Expire { clarify_id: cid(1) },
        Command::Expire { clarify_id: cid(7) },
    ];
    for command in strangers {
        assert_eq!(
            log.decide(&command, at(89_999)),
            Ok(Vec::new()),
            "{command:?}"
        );
    }
}

#[test]
fn doing_a_thing_twice_does_it_once() {
    let mut log = pending();
    let before = log.clone();
    let mut again = begin(1);
    again.context_id = ctx(5);
    assert_eq!(log.run(&Command::Begin(again), at(5)), Ok(Vec::new()));
    let mut repeat = ask(1, Dialect::Ask, &json!({"question": "Other words?"}));
    repeat.clarify_id = cid(5);
    assert_eq!(
        log.run(&Command::Ask(Box::new(repeat.clone())), at(5)),
        Ok(Vec::new())
    );
    assert_eq!(log.state, before.state);
    log.run(&end(1, TurnEnd::Completed), at(6)).unwrap();
    let ended = log.state.clone();
    // Over is over: no second end, no question anew, the same turn not begun again.
    assert_eq!(log.run(&end(1, TurnEnd::Failed), at(7)), Ok(Vec::new()));
    assert_eq!(log.run(&Command::Begin(begin(1)), at(7)), Ok(Vec::new()));
    assert_eq!(
        log.run(&Command::Ask(Box::new(repeat)), at(7)),
        Ok(Vec::new())
    );
    assert_eq!(log.state, ended);
}

/// An asker that holds its own turn may learn that it was only out of sight, and ask again.
// contract: E11 E20
#[test]
fn a_lost_asker_is_the_cause_also_when_its_own_turn_goes_first() {
    let held_by = |name: &str| {
        let mut log = Log::default();
        let mut start = begin(1);
        start.holder = Holder::Lease {
            name: id(name),
            ttl: Millis(15_000),
        };
        log.run(&Command::Begin(start), at(0)).unwrap();
        let question = ask(1, Dialect::Ask, &question());
        let asker = question.asker_id.clone();
        log.run(&Command::Ask(Box::new(question)), at(1)).unwrap();
        log.run(&Command::HolderLost { name: id(name) }, at(20_000))
            .unwrap();
        (asker, outcome(&log, 1).cause)
    };
    let (asker, _) = held_by("somebody");
    assert_eq!(held_by("somebody").1, Some(CancelCause::TurnEnded));
    assert_eq!(held_by(asker.as_str()).1, Some(CancelCause::AskerGone));
}

/// A host that retries a begin it thinks lost must not end the turn that followed it.
// contract: E5 E11
#[test]
fn a_begin_that_is_retried_too_late_replaces_nothing() {
    let mut log = Log::default();
    for n in 1..=3 {
        log.run(&Command::Begin(begin(n)), at(u64::try_from(n).unwrap()))
            .unwrap();
    }
    for n in 1..=2 {
        let again = log.run(&Command::Begin(begin(n)), at(10));
        assert_eq!(again, Err(Rejection::ContextExpired), "begin {n}");
    }
    assert_eq!(log.run(&Command::Begin(begin(3)), at(11)), Ok(Vec::new()));
    // What is remembered is bounded, and outlives a replay from the last begun.
    for n in 4..=40 {
        log.run(&Command::Begin(begin(n)), at(20)).unwrap();
    }
    let Some(Event::Begun { turn }) = log.events().last() else {
        panic!("no turn")
    };
    assert_eq!(turn.earlier_begins.len(), 8);
}

#[test]
fn an_id_in_use_never_stands_for_another_question() {
    let mut log = pending();
    log.run(&answer(1, chosen("a", "o1"), at(1)), at(1))
        .unwrap();
    let mut thief = ask(2, Dialect::Ask, &question());
    thief.clarify_id = cid(1);
    assert_eq!(
        log.run(&Command::Ask(Box::new(thief)), at(2)),
        Err(Rejection::Busy)
    );
}

#[test]
fn a_session_that_a_newer_version_wrote_to_is_left_alone() {
    let commands = || {
        [
            Command::Begin(begin(2)),
            end(1, TurnEnd::Completed),
            Command::Ask(Box::new(ask(2, Dialect::Ask, &question()))),
            answer(1, chosen("a", "o1"), at(1)),
            hold(at(1)),
            Command::Cancel {
                clarify_id: cid(1),
                profile: id("default"),
            },
            expire(),
            Command::ExpireTurn { context_id: ctx(1) },
            Command::AskerLost {
                asker_id: id("asker-1"),
            },
            Command::HolderLost { name: id("host") },
        ]
    };
    let mut newer = pending();
    let mut commit = newer.commit(vec![], at(1));
    commit.schema = SCHEMA + 1;
    newer.state.apply(&commit);
    let mut garbled = pending();
    garbled.state.mark_unreadable();
    for log in [&newer, &garbled] {
        assert!(log.state.is_unreadable());
        for command in commands() {
            let refused = log.decide(&command, at(TURN_CAP.0));
            assert_eq!(refused, Err(Rejection::UpgradeNeeded), "{command:?}");
        }
    }
    // An earlier turn's question too.
    let mut log = pending();
    log.run(&Command::Begin(begin(2)), at(1)).unwrap();
    log.state.mark_unreadable();
    let refused = log.decide(&answer(1, chosen("a", "o1"), at(2)), at(2));
    assert_eq!(refused, Err(Rejection::UpgradeNeeded));
    // What follows the gap may make no sense; folding it must not end the process.
    let mut half = Session::default();
    half.mark_unreadable();
    half.apply(&pending().commits[1]);
}

// contract: E7, E10, E19, A3
#[test]
fn one_vocabulary_for_all_dialects() {
    use DecidedBy::{Person, Policy, System};
    let table = [
        (Reason::Response, Person, "response"),
        (Reason::AskBack, Person, "response"),
        (Reason::Dismissed, Person, "dismissed"),
        (Reason::Skipped, Person, "dismissed"),
        (Reason::Timeout, Policy, "timeout"),
        (Reason::Cancelled, System, "cancelled"),
        (Reason::Unattended, Policy, "timeout"),
        (Reason::Deferred, Policy, "timeout"),
        // Not a word of the studio's: nobody was asked, so nobody agreed.
        (Reason::Off, Policy, "cancelled"),
    ];
    assert_eq!(table.len(), Reason::ALL.len());
    for (reason, decided_by, studio) in table {
        assert_eq!(
            (reason.decided_by(), reason.studio_reason()),
            (decided_by, studio),
            "{reason:?}"
        );
    }
}

// contract: A1
#[test]
fn questions_have_ids_of_their_own() {
    let one = parse_arguments(Dialect::Ask, &json!({"question": "?"})).unwrap();
    let twins = vec![one.questions.first().clone(), one.questions.first().clone()];
    assert!(Questions::new(twins).is_err());
}
