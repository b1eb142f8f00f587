//! The laws of a whole history notice when one of them is broken.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod fixture;

use askbus_domain::{Command, Dialect, Event, Millis, Outcome, Timestamp, check_history};
use fixture::{Log, answer, ask, at, chosen, expire, question};
use std::sync::Arc;

/// A turn in which one question is settled by `command` at `now`, 90 s being its time.
fn history(command: &Command, now: Timestamp) -> Vec<Event> {
    let mut log = Log::begun();
    let asking = Command::Ask(Box::new(ask(1, Dialect::Ask, &question())));
    log.run(&asking, at(0)).unwrap();
    log.run(command, now).unwrap();
    log.events().cloned().collect()
}

fn check(events: &[Event]) -> Result<(), String> {
    let told = check_history(events.iter().map(|e| (at(0), e)));
    told.map_err(|broken| broken.to_string())
}

/// The same events, with another outcome.
fn with_outcome(events: &[Event], change: impl Fn(&mut Outcome)) -> Vec<Event> {
    let mut events = events.to_vec();
    for event in &mut events {
        if let Event::Resolved { outcome, .. } = event {
            change(Arc::make_mut(outcome));
        }
    }
    events
}

// contract: A4
#[test]
fn nothing_times_out_early_and_nobody_answers_after_the_time_is_up() {
    let timed_out = history(&expire(), at(90_000));
    assert_eq!(check(&timed_out), Ok(()));
    let early = with_outcome(&timed_out, |o| o.resolved_at = at(89_999));
    assert!(check(&early).unwrap_err().contains("timeout"));
    let answered = history(&answer(1, chosen("a1", "o1"), at(90_000)), at(91_000));
    assert_eq!(check(&answered), Ok(()));
    let late = with_outcome(&answered, |o| {
        o.resolved_at = o.resolved_at.plus(Millis(1));
    });
    assert!(check(&late).unwrap_err().contains("response"));
}

// contract: E11
#[test]
fn what_is_asked_begun_or_settled_twice_is_noticed() {
    let events = history(&expire(), at(90_000));
    let twice = |kind: &str| {
        let mut events = events.clone();
        let place = events
            .iter()
            .position(|e| e.kind().as_str() == kind)
            .unwrap();
        events.insert(place, events[place].clone());
        check(&events).unwrap_err()
    };
    assert!(twice("begun").contains("was begun before"));
    assert!(twice("requested").contains("was asked before"));
    assert!(twice("resolved").contains("settled twice"));
    assert!(
        check(&events[1..])
            .unwrap_err()
            .contains("outside of a turn")
    );
}
