//! What a session keeps, forgets, and never folds.

#![allow(clippy::unwrap_used, clippy::panic)]

mod fixture;

use askbus_domain::{
    BeginCommand, CancelCause, Command, Dialect, Event, GoesOn, Holder, LateAnswer, Millis,
    Rejection, Session, TurnEnd,
};
use fixture::{Log, ask, at, begin, chosen, cid, ctx, end, id, outcome, pending, question};
use serde_json::json;

fn asks(n: u128) -> Command {
    Command::Ask(Box::new(ask(n, Dialect::Ask, &question())))
}

#[test]
#[should_panic(expected = "waits although no turn is active")]
fn a_question_outside_of_a_turn_is_not_folded() {
    let requested = Log::begun().decide(&asks(1), at(0)).unwrap();
    let commit = Log::default().commit(requested, at(0));
    Session::default().apply(&commit);
}

#[test]
#[should_panic(expected = "is settled twice")]
fn a_second_resolution_is_not_folded() {
    let mut log = pending();
    let expired = log.decide(&fixture::expire(), at(90_000)).unwrap();
    let commit = log.commit(expired, at(90_000));
    log.state.apply(&commit);
    log.state.apply(&commit);
}

// contract: A4
#[test]
#[should_panic(expected = "its time is up at")]
fn a_timeout_before_its_time_is_not_folded() {
    let mut log = pending();
    let mut later = pending();
    later.run(&fixture::expire(), at(90_000)).unwrap();
    let mut early = (*outcome(&later, 1)).clone();
    early.resolved_at = at(89_999);
    let event = Event::Resolved {
        clarify_id: cid(1),
        outcome: early.into(),
    };
    let commit = log.commit(vec![event], at(89_999));
    log.state.apply(&commit);
}

#[test]
fn only_what_is_over_is_forgotten() {
    let mut log = pending();
    log.state.forget_clarifications();
    assert_eq!(log.state.clarifications().count(), 1);
    log.run(&end(1, TurnEnd::Completed), at(1)).unwrap();
    assert_eq!(
        outcome(&log, 1).cause,
        Some(CancelCause::TurnEnded),
        "it ended with its turn"
    );
    log.state.forget_clarifications();
    assert_eq!(log.state.clarifications().count(), 0);
    let (turn, ended) = log.state.latest_turn().unwrap();
    assert_eq!((turn.context_id, ended), (ctx(1), Some(TurnEnd::Completed)));
}

// contract: E20
#[test]
fn only_an_active_turn_that_somebody_holds_has_a_lease() {
    let mut log = Log::begun();
    let held = Holder::Lease {
        name: id("host"),
        ttl: Millis(15_000),
    };
    assert_eq!(log.state.turn_lease(), Some(&held));
    log.run(&end(1, TurnEnd::Failed), at(1)).unwrap();
    assert_eq!(log.state.turn_lease(), None);
    let mut alone = begin(2);
    alone.holder = Holder::Until(at(60_000));
    log.run(&Command::Begin(alone), at(2)).unwrap();
    assert_eq!(log.state.turn_lease(), None);
}

// However many places its calls come in at: none of them ends what another one asked.
// contract: E11
#[test]
fn an_asking_process_has_one_turn_of_its_own() {
    let own = |n| BeginCommand {
        own: true,
        ..begin(n)
    };
    let mut log = Log::default();
    log.run(&Command::Begin(own(1)), at(0)).unwrap();
    log.run(&asks(1), at(1)).unwrap();
    assert_eq!(log.decide(&Command::Begin(own(2)), at(2)), Ok(Vec::new()));
    let turn = log.state.latest_turn().unwrap().0.clone();
    assert!(turn.is_begun_by(&own(2)));
    // Another process makes room: it has no more right to the session's name than this one.
    let mut stranger = own(3);
    stranger.holder = Holder::Lease {
        name: id("stranger"),
        ttl: Millis(15_000),
    };
    let mut alone = own(4);
    alone.holder = Holder::Until(at(60_000));
    for other in [stranger.clone(), alone] {
        assert!(!turn.is_begun_by(&other));
        let refused = log.decide(&Command::Begin(other), at(2));
        assert_eq!(refused, Err(Rejection::SessionTaken));
    }
    // A host says what becomes of its session.
    let replaced = |events: &[Event]| {
        let ended = |e: &Event| matches!(e, Event::Ended { end, .. } if *end == TurnEnd::Replaced);
        events.iter().any(ended)
    };
    assert!(!turn.is_begun_by(&begin(5)));
    let events = log.decide(&Command::Begin(begin(5)), at(2)).unwrap();
    assert!(replaced(&events), "{events:?}");
    // And keeps it from every process without a host, until its turn is over.
    let mut hosted = Log::default();
    hosted.run(&Command::Begin(begin(1)), at(0)).unwrap();
    hosted.run(&asks(1), at(1)).unwrap();
    let refused = hosted.decide(&Command::Begin(stranger.clone()), at(2));
    assert_eq!(refused, Err(Rejection::SessionTaken));
    let over = hosted.state.latest_turn().unwrap().0.cap();
    let taken = hosted.decide(&Command::Begin(stranger), over).unwrap();
    assert!(
        taken.iter().any(|e| matches!(e, Event::Begun { .. })),
        "{taken:?}"
    );
    let mut foreign = own(6);
    foreign.profile = id("other");
    let refused = log.decide(&Command::Begin(foreign), at(2));
    assert_eq!(refused, Err(Rejection::ContextExpired));
    // A turn that may not be asked in any more is not gone on with.
    let over = turn.cap();
    let next = log.decide(&Command::Begin(own(7)), over).unwrap();
    assert!(
        next.iter().any(|e| matches!(e, Event::Begun { .. })),
        "{next:?}"
    );
    log.run(&end(1, TurnEnd::Completed), at(3)).unwrap();
    let next = log.run(&Command::Begin(own(8)), at(4)).unwrap();
    assert!(matches!(&next[..], [Event::Begun { .. }]), "{next:?}");
    // A begin that was repeated late joins the turn that followed it.
    assert_eq!(log.decide(&Command::Begin(own(1)), at(5)), Ok(Vec::new()));
}

// A host may say what it decides, and nothing that only the system does.
#[test]
fn a_host_ends_a_turn_in_four_words() {
    for (word, end) in [
        ("completed", Some(TurnEnd::Completed)),
        ("failed", Some(TurnEnd::Failed)),
        ("stopped", Some(TurnEnd::Stopped)),
        ("disposed", Some(TurnEnd::Disposed)),
        ("replaced", None),
        ("interrupted", None),
        ("expired", None),
        ("", None),
    ] {
        assert_eq!(TurnEnd::parse_host(word), end, "{word}");
    }
    for end in [
        TurnEnd::Completed,
        TurnEnd::Failed,
        TurnEnd::Stopped,
        TurnEnd::Replaced,
        TurnEnd::Disposed,
        TurnEnd::Interrupted,
        TurnEnd::Expired,
    ] {
        assert_eq!(json!(end), json!(end.as_str()));
    }
}

// What goes nowhere waits for nothing, whatever else its event says.
#[test]
fn a_late_answer_waits_only_where_it_is_on_its_way() {
    for (goes_on, waits) in [
        (None, 0),
        (Some(GoesOn::Nowhere), 0),
        (Some(GoesOn::QueueFull), 0),
        (Some(GoesOn::NextResult), 1),
        (Some(GoesOn::NextTurn), 1),
    ] {
        let mut log = pending();
        log.run(&fixture::expire(), at(90_000)).unwrap();
        let late = LateAnswer {
            response: chosen("late", "o1"),
            answers: chosen_answers(),
            stored_at: at(90_001),
        };
        let event = Event::Late {
            clarify_id: cid(1),
            late,
            asked: "Where?".to_owned(),
            goes_on,
        };
        let commit = log.commit(vec![event], at(90_001));
        log.state.apply(&commit);
        assert_eq!(log.state.late().len(), waits, "{goes_on:?}");
        // The same when its author sends it on.
        let Some(goes_on) = goes_on else { continue };
        let mut log = sent_late();
        let note = log.find(cid(1)).unwrap().late.remove(0);
        let event = Event::PassedOn {
            clarify_id: cid(1),
            goes_on,
            message: (*note.message.unwrap()).clone(),
        };
        let before = log.state.late().len();
        let commit = log.commit(vec![event], at(90_002));
        log.state.apply(&commit);
        assert_eq!(log.state.late().len() - before, waits, "{goes_on:?}");
    }
}

/// With a late answer that waits for its author to send it on.
fn sent_late() -> Log {
    let mut log = pending();
    let first = fixture::answer(1, chosen("first", "o2"), at(1));
    log.run(&first, at(1)).unwrap();
    let late = fixture::answer(1, chosen("late", "o1"), at(2));
    log.run(&late, at(2)).unwrap();
    log
}

fn chosen_answers() -> Vec<askbus_domain::QuestionAnswer> {
    let mut log = pending();
    let answer = fixture::answer(1, chosen("a", "o1"), at(1));
    log.run(&answer, at(1)).unwrap();
    outcome(&log, 1).answers.clone()
}
