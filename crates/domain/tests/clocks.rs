//! Deadlines, holds and caps, in tables.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod fixture;

use askbus_domain::{
    AskCommand, BeginCommand, Command, Dialect, Due, Event, EventKind, GoesOn, HARD_CAP, Holder,
    Millis, Reason, Rejection, Rights, TURN_CAP, TimeoutChoice, Turn, TurnEnd, expiry_jitter,
    verdict,
};
use fixture::{
    Log, answer, ask, at, begin, chosen, cid, ctx, end, expire, hold, id, kinds, late_verdict,
    outcome, pending, person, question,
};
use serde_json::json;

// contract: E6
#[test]
fn a_turn_past_its_moment_asks_no_more_even_before_it_is_expired() {
    let mut log = Log::default();
    let until = begin(1);
    let until = BeginCommand {
        holder: Holder::Until(at(1_000)),
        ..until
    };
    log.run(&Command::Begin(until), at(0)).unwrap();
    let command = Command::Ask(Box::new(ask(1, Dialect::Ask, &question())));
    assert!(log.decide(&command, at(999)).is_ok());
    assert_eq!(
        log.decide(&command, at(1_000)),
        Err(Rejection::NoActiveTurn)
    );
}

// contract: A4
#[test]
fn a_question_without_a_deadline_ends_with_its_turn_at_the_latest() {
    let mut log = Log::begun();
    let late = at(TURN_CAP.0 - 60_000);
    let never = json!({"question": "Go on?", "timeout_s": 0});
    log.run(&Command::Ask(Box::new(ask(1, Dialect::Ask, &never))), late)
        .unwrap();
    let cap = at(TURN_CAP.0);
    let due: Vec<_> = log.state.due().collect();
    assert_eq!(
        due,
        [(cap, Due::Clarification(cid(1))), (cap, Due::Turn(ctx(1)))]
    );
    let events = log
        .run(&Command::ExpireTurn { context_id: ctx(1) }, cap)
        .unwrap();
    assert_eq!(kinds(&events), [EventKind::Resolved, EventKind::Ended]);
    assert_eq!(outcome(&log, 1).reason, Reason::Timeout);
    assert_eq!(log.state.latest_turn().unwrap().1, Some(TurnEnd::Expired));
}

// contract: E10
#[test]
fn a_question_whose_own_time_was_up_timed_out_though_its_turn_ends_first_in_the_log() {
    let mut log = pending();
    log.run(&end(1, TurnEnd::Completed), at(90_000)).unwrap();
    assert_eq!(outcome(&log, 1).reason, Reason::Timeout);
}

// contract: E10, E13
#[test]
fn a_deadline_never_beats_an_answer_that_was_stored_before_it() {
    // (stored, judged) → how it ends, when nothing expired it in between.
    for (stored, judged) in [(0, 0), (89_999, 95_000), (90_000, 9_000_000)] {
        let mut log = pending();
        let events = log
            .run(&answer(1, chosen("a", "o1"), at(stored)), at(judged))
            .unwrap();
        assert_eq!(kinds(&events), [EventKind::Resolved]);
        assert_eq!(outcome(&log, 1).reason, Reason::Response);
    }
    let mut log = pending();
    let sent = chosen("a", "o1");
    let events = log
        .run(&answer(1, sent.clone(), at(90_001)), at(90_001))
        .unwrap();
    assert_eq!(kinds(&events), [EventKind::Resolved, EventKind::Late]);
    assert_eq!(log.commits.last().unwrap().subject_kind(), EventKind::Late);
    assert_eq!(outcome(&log, 1).reason, Reason::Timeout);
    let told = verdict(&log.find(cid(1)).unwrap(), &sent);
    assert_eq!(
        told,
        Some(late_verdict(outcome(&log, 1), Some(GoesOn::NextResult)))
    );
    // Delivered again after a crash: known.
    assert_eq!(
        log.run(&answer(1, sent, at(90_001)), at(99_000)),
        Ok(Vec::new())
    );
}

// contract: E10, A4
#[test]
fn expiry_fires_at_the_deadline_and_not_before() {
    let mut log = pending();
    assert_eq!(log.run(&expire(), at(89_999)), Ok(Vec::new()));
    assert_eq!(
        kinds(&log.run(&expire(), at(90_000)).unwrap()),
        [EventKind::Resolved]
    );
    assert_eq!(log.run(&expire(), at(90_001)), Ok(Vec::new()));
    let outcome = outcome(&log, 1);
    assert_eq!(
        (outcome.reason, outcome.resolved_at),
        (Reason::Timeout, at(90_000))
    );
}

// contract: A4
#[test]
fn hold_stops_the_countdown_once_and_for_all() {
    let mut log = pending();
    assert_eq!(
        kinds(&log.run(&hold(at(10)), at(20)).unwrap()),
        [EventKind::Held]
    );
    let bob = Command::Hold {
        clarify_id: cid(1),
        actor: person("bob"),
        rights: Rights::default(),
        stored_at: at(30),
    };
    assert_eq!(log.run(&bob, at(30)), Ok(Vec::new()));
    let held = log.find(cid(1)).unwrap();
    assert_eq!(held.held_by, Some(person("ann")));
    assert_eq!(held.expires_at(), at(HARD_CAP.0));
    assert_eq!(log.run(&expire(), at(90_000)), Ok(Vec::new()));
    log.run(&answer(1, chosen("a", "o1"), at(900_000)), at(900_000))
        .unwrap();
    assert_eq!(outcome(&log, 1).reason, Reason::Response);
    assert_eq!(log.run(&hold(at(10)), at(900_001)), Ok(Vec::new()));
    // Stored before the deadline counts, however late it is judged; stored after it does not.
    let mut log = pending();
    assert_eq!(
        kinds(&log.run(&hold(at(90_000)), at(95_000)).unwrap()),
        [EventKind::Held]
    );
    let mut log = pending();
    log.run(&hold(at(90_001)), at(95_000)).unwrap();
    assert_eq!(outcome(&log, 1).reason, Reason::Timeout);
    let unknown = Command::Hold {
        clarify_id: cid(7),
        actor: person("ann"),
        rights: Rights::default(),
        stored_at: at(0),
    };
    assert_eq!(
        log.run(&unknown, at(0)),
        Err(Rejection::UnknownClarification)
    );
}

// contract: E13, N5, A4
#[test]
fn each_dialect_starts_its_own_clock() {
    let at_ms = |ms: u64| Some(at(ms));
    let table = [
        (
            Dialect::Ask,
            json!({"question": "?"}),
            None,
            None,
            HARD_CAP.0,
        ),
        (
            Dialect::Interaction,
            json!({"question": "?"}),
            None,
            None,
            HARD_CAP.0,
        ),
        (
            Dialect::Studio,
            json!({"question": "?"}),
            None,
            at_ms(300_000),
            HARD_CAP.0,
        ),
        // Nothing a caller says takes a studio question beyond its budget.
        (
            Dialect::Studio,
            json!({"question": "?", "timeout_s": 0}),
            None,
            at_ms(300_000),
            HARD_CAP.0,
        ),
        (
            Dialect::Studio,
            json!({"question": "?", "timeout_s": 900}),
            None,
            at_ms(300_000),
            HARD_CAP.0,
        ),
        (
            Dialect::Studio,
            json!({"question": "?", "timeout_s": 5}),
            None,
            at_ms(5_000),
            HARD_CAP.0,
        ),
        // A call that cannot be resumed ends with its caller, held or not.
        (
            Dialect::Studio,
            json!({"question": "?"}),
            Some(50_000),
            at_ms(50_000),
            50_000,
        ),
        (
            Dialect::Studio,
            json!({"question": "?"}),
            Some(350_000),
            at_ms(300_000),
            350_000,
        ),
        (
            Dialect::Interaction,
            json!({"question": "?"}),
            Some(50_000),
            at_ms(50_000),
            50_000,
        ),
        (
            Dialect::Interaction,
            json!({"question": "?"}),
            Some(1),
            at_ms(1_000),
            1_000,
        ),
        (
            Dialect::Ask,
            json!({"question": "?", "timeout_s": "90"}),
            None,
            at_ms(90_000),
            HARD_CAP.0,
        ),
    ];
    for (dialect, arguments, call_limit, deadline, cap) in table {
        let mut log = Log::begun();
        let command = AskCommand {
            call_limit: call_limit.map(Millis),
            ..ask(1, dialect, &arguments)
        };
        log.run(&Command::Ask(Box::new(command)), at(0)).unwrap();
        let clock = log.find(cid(1)).unwrap().clock;
        let case = format!("{dialect:?} {arguments} {call_limit:?}");
        assert_eq!((clock.deadline, clock.cap), (deadline, at(cap)), "{case}");
        log.run(&hold(at(0)), at(0)).unwrap();
        assert_eq!(log.find(cid(1)).unwrap().expires_at(), at(cap), "{case}");
    }
    assert_eq!(TimeoutChoice::from_millis(Some(0)), TimeoutChoice::Never);
    assert_eq!(TimeoutChoice::from_millis(None), TimeoutChoice::Default);
}

#[test]
fn a_turn_until_a_moment_lives_no_longer_than_any_other() {
    let turn = |holder| {
        let begin = BeginCommand { holder, ..begin(1) };
        Turn::begun(&begin, at(0))
    };
    assert_eq!(turn(Holder::Until(at(5))).cap(), at(5));
    assert_eq!(
        turn(Holder::Until(at(TURN_CAP.0 * 2))).cap(),
        at(TURN_CAP.0)
    );
    let lease = Holder::Lease {
        name: id("host"),
        ttl: Millis(1),
    };
    assert_eq!(turn(lease).cap(), at(TURN_CAP.0));
}

#[test]
fn a_log_with_a_second_hold_or_one_after_the_end_tells_the_first_story() {
    let held = |name| Event::Held {
        clarify_id: cid(1),
        actor: person(name),
    };
    let mut twice = pending().find(cid(1)).unwrap();
    twice.evolve(&held("ann"));
    twice.evolve(&held("bob"));
    assert_eq!(twice.held_by, Some(person("ann")));
    let mut log = pending();
    log.run(&answer(1, chosen("a", "o1"), at(1)), at(1))
        .unwrap();
    let mut over = log.find(cid(1)).unwrap();
    over.evolve(&held("ann"));
    assert_eq!(over.held_by, None);
}

#[test]
fn replicas_settle_what_is_due_at_moments_of_their_own_within_half_a_second() {
    for (seed, jitter) in [(0, 0), (499, 499), (500, 0), (1_234, 234)] {
        assert_eq!(expiry_jitter(seed), Millis(jitter), "{seed}");
    }
}
