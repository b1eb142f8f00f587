//! What people send, in tables: how it settles, what is refused, what is late.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod fixture;

use AnswerAction::{Answer as Say, AskBack, Dismiss, Skip};
use askbus_domain::{
    AnswerAction, AnswerEntry, Command, Dialect, Event, EventKind, GoesOn, InvalidAnswer,
    LateAnswer, MAX_ANSWER_CHARS, Outcome, Reason, Rejection, Response, Verdict, decide, verdict,
};
use fixture::{
    Log, answer, ask, at, begin, chosen, cid, entry, id, kinds, late_verdict, outcome, pending,
    person, question, response,
};
use serde_json::json;
use std::sync::Arc;

// contract: E10, E19, A3, D3
#[test]
fn what_a_person_sends_settles_by_what_it_says() {
    let nothing = Vec::new;
    let table = [
        (
            "an option",
            Say,
            vec![entry("q1", &["o2"], "")],
            None,
            Reason::Response,
        ),
        (
            "own text beside options",
            Say,
            vec![entry("q1", &[], "Mars")],
            None,
            Reason::Response,
        ),
        ("nothing", Say, nothing(), None, Reason::Dismissed),
        (
            "white space",
            Say,
            vec![entry("q1", &[], " \u{3000}\n\t")],
            None,
            Reason::Dismissed,
        ),
        ("dismissed", Dismiss, nothing(), None, Reason::Dismissed),
        (
            "dismissed with a choice",
            Dismiss,
            vec![entry("q1", &["o1"], "")],
            None,
            Reason::Dismissed,
        ),
        ("skipped", Skip, nothing(), None, Reason::Skipped),
        (
            "asked back",
            AskBack,
            vec![entry("q1", &["o1"], "")],
            Some("Which?"),
            Reason::AskBack,
        ),
    ];
    for (case, action, answers, text, expected) in table {
        let mut log = pending();
        let filled_in = answers.iter().any(|a| !a.option_ids.is_empty());
        let sent = Response {
            text: text.map(str::to_owned),
            ..response("a1", action, answers)
        };
        log.run(&answer(1, sent.clone(), at(7)), at(9)).unwrap();
        let outcome = outcome(&log, 1);
        assert_eq!(outcome.reason, expected, "{case}");
        assert_eq!(outcome.actor, Some(person("ann")), "{case}");
        assert_eq!(outcome.resolved_at, at(7), "{case}");
        assert_eq!(
            !outcome.answers.is_empty(),
            expected == Reason::Response,
            "{case}"
        );
        // What was filled in is kept apart from what was agreed to.
        let partial = filled_in && expected != Reason::Response;
        assert_eq!(!outcome.partial.is_empty(), partial, "{case}");
        assert_eq!(
            outcome.unanswered.is_empty(),
            expected == Reason::Response,
            "{case}"
        );
        assert_eq!(outcome.text.as_deref(), text, "{case}");
        let told = verdict(&log.find(cid(1)).unwrap(), &sent);
        assert_eq!(told, Some(Verdict::Settled(outcome)), "{case}");
    }
}

// contract: A2, D3, A5
#[test]
fn a_partial_answer_lists_what_is_missing_and_a_skip_assumes_what_was_recommended() {
    let three = json!({"questions": [
        {"question": "Which?", "options": ["x", "x"], "multi_select": true, "recommended": 1},
        {"question": "Why?"},
        {"question": "When?", "options": ["now", "later"]}]});
    let settle = |sent: Response| {
        let mut log = Log::begun();
        log.run(&Command::Ask(Box::new(ask(1, Dialect::Ask, &three))), at(0))
            .unwrap();
        log.run(&answer(1, sent, at(1)), at(1)).unwrap();
        outcome(&log, 1)
    };
    let partial = settle(response(
        "a",
        Say,
        vec![entry("q3", &["o1"], ""), entry("q1", &["o2", "o1"], "")],
    ));
    assert_eq!(partial.unanswered, [id("q2")]);
    let order: Vec<_> = partial
        .answers
        .iter()
        .map(|a| a.question_id.as_str())
        .collect();
    assert_eq!(order, ["q1", "q3"]);
    // Equal labels stay apart by their ids, in the question's order.
    let both: Vec<_> = partial.answers[0]
        .options
        .iter()
        .map(|o| o.id.as_str())
        .collect();
    assert_eq!(both, ["o1", "o2"]);
    assert!(partial.assumptions.is_empty());

    let skipped = settle(response("a", Skip, Vec::new()));
    assert!(skipped.answers.is_empty());
    assert_eq!(skipped.assumptions.len(), 1);
    let assumed = &skipped.assumptions[0];
    assert_eq!(
        (assumed.question_id.as_str(), assumed.option_id.as_str()),
        ("q1", "o2")
    );
    assert_eq!(skipped.unanswered.len(), 3);
}

// contract: A1, A2, E9
#[test]
fn an_answer_that_does_not_fit_is_refused_and_the_question_stays_open() {
    let one = question();
    let two = json!({"questions": ["One?", {"question": "Two?", "options": ["a", "b"]}]});
    let nameless = || AnswerEntry {
        question_id: None,
        ..entry("q1", &[], "yes")
    };
    let too_long = "x".repeat(MAX_ANSWER_CHARS + 1);
    let table = [
        (
            &one,
            response("a", Say, vec![entry("q1", &["o9"], "")]),
            InvalidAnswer::UnknownOption(id("o9")),
        ),
        (
            &one,
            response("a", Say, vec![entry("q2", &[], "x")]),
            InvalidAnswer::UnknownQuestion(id("q2")),
        ),
        (
            &one,
            response("a", Say, vec![entry("q1", &["o1", "o2"], "")]),
            InvalidAnswer::OneOptionOnly(id("q1")),
        ),
        (
            &one,
            response("a", Say, vec![nameless(), entry("q1", &[], "no")]),
            InvalidAnswer::Repeated(id("q1")),
        ),
        (
            &one,
            response("a", Say, vec![entry("q1", &[], &too_long)]),
            InvalidAnswer::TooLong { field: "text" },
        ),
        (
            &one,
            response("a", AskBack, Vec::new()),
            InvalidAnswer::EmptyAskBack,
        ),
        (
            &two,
            response("a", Say, vec![nameless()]),
            InvalidAnswer::SeveralQuestions { count: 2 },
        ),
    ];
    for (arguments, sent, expected) in table {
        let mut log = Log::begun();
        log.run(
            &Command::Ask(Box::new(ask(1, Dialect::Ask, arguments))),
            at(0),
        )
        .unwrap();
        let refused = log.run(&answer(1, sent, at(1)), at(1));
        assert_eq!(refused, Err(Rejection::InvalidAnswer(expected)));
        assert!(log.find(cid(1)).unwrap().is_pending());
        // A dismissal always fits.
        assert!(
            log.run(&answer(1, response("b", Dismiss, Vec::new()), at(2)), at(2))
                .is_ok()
        );
    }
    let longest = "界".repeat(MAX_ANSWER_CHARS);
    let mut log = pending();
    let sent = response("a", Say, vec![entry("q1", &[], &longest)]);
    log.run(&answer(1, sent, at(1)), at(1)).unwrap();
    assert_eq!(
        outcome(&log, 1).answers[0].text.as_deref(),
        Some(longest.as_str())
    );
}

#[test]
fn a_decision_that_could_not_be_written_is_not_taken() {
    let mut log = Log::begun();
    let five = json!({"questions": ["1?", "2?", "3?", "4?", "5?"]});
    log.run(&Command::Ask(Box::new(ask(1, Dialect::Ask, &five))), at(0))
        .unwrap();
    let wordy = "界".repeat(MAX_ANSWER_CHARS);
    let entries = ["q1", "q2", "q3", "q4", "q5"].map(|q| entry(q, &[], &wordy));
    let sent = response("a", Say, entries.to_vec());
    assert_eq!(
        log.run(&answer(1, sent, at(1)), at(1)),
        Err(Rejection::TooLarge)
    );
    assert!(log.find(cid(1)).unwrap().is_pending());
    let heavy = "界".repeat(500);
    let wide = json!({"question": "?", "options": vec![json!({"label": heavy, "description": "界".repeat(2_000)}); 20]});
    let questions = json!({"questions": vec![wide; 5]});
    let refused = log.run(
        &Command::Ask(Box::new(ask(2, Dialect::Ask, &questions))),
        at(1),
    );
    assert_eq!(refused, Err(Rejection::TooLarge));
}

// contract: E10, E12
#[test]
fn the_same_content_is_taken_again_and_other_content_is_kept_as_late() {
    let mut log = pending();
    log.run(&answer(1, chosen("a1", "o1"), at(1)), at(1))
        .unwrap();
    let stands = outcome(&log, 1);
    let by = |name: &str, sent: Response| Response {
        actor: person(name),
        ..sent
    };
    let settled: fn(Arc<Outcome>) -> Verdict = Verdict::Settled;
    let conflict: fn(Arc<Outcome>) -> Verdict = Verdict::Conflict;
    let none: &[EventKind] = &[];
    let late: &[EventKind] = &[EventKind::Late];
    let table = [
        ("the same again", chosen("a1", "o1"), none, settled),
        // Repeating an id returns the first outcome, whatever comes with it.
        ("the same id again", chosen("a1", "o2"), none, settled),
        ("the same content anew", chosen("a2", "o1"), none, settled),
        (
            "another person, same content",
            by("bob", chosen("b1", "o1")),
            none,
            settled,
        ),
        ("other content", chosen("a3", "o2"), late, conflict),
        ("other content again", chosen("a3", "o2"), none, conflict),
        (
            "a dismissal",
            response("a4", Dismiss, Vec::new()),
            late,
            conflict,
        ),
        // Ids are made by surfaces: another person's id is another answer.
        (
            "another person, same id",
            by("bob", chosen("a1", "o2")),
            late,
            conflict,
        ),
        (
            "another late one with that id",
            by("eve", chosen("a1", "o2")),
            late,
            conflict,
        ),
    ];
    for (case, sent, events, told) in table {
        let decided = log.run(&answer(1, sent.clone(), at(3)), at(4)).unwrap();
        assert_eq!(kinds(&decided), events, "{case}");
        let now = log.find(cid(1)).unwrap();
        assert_eq!(verdict(&now, &sent), Some(told(stands.clone())), "{case}");
        assert_eq!(now.outcome, Some(stands.clone()), "{case}");
        if let [
            Event::Late {
                late: LateAnswer { response, .. },
                ..
            },
        ] = &decided[..]
        {
            assert_eq!(*response, sent, "{case}");
        }
    }
}

// contract: E11, E12
#[test]
fn an_answer_to_an_earlier_turn_is_late_and_known_afterwards() {
    let mut log = pending();
    log.run(&Command::Begin(begin(2)), at(1)).unwrap();
    let sent = answer(1, chosen("a", "o1"), at(2));
    assert_eq!(
        decide(&log.state, &sent, at(2)),
        Err(Rejection::UnknownClarification)
    );
    assert_eq!(kinds(&log.run(&sent, at(2)).unwrap()), [EventKind::Late]);
    assert_eq!(log.run(&sent, at(3)), Ok(Vec::new()));
    let told = verdict(&log.find(cid(1)).unwrap(), &chosen("a", "o1"));
    assert_eq!(
        told,
        Some(late_verdict(outcome(&log, 1), Some(GoesOn::NextResult)))
    );
    assert_eq!(log.state.clarifications().count(), 0);
}

// contract: D3
#[test]
fn two_dismissals_with_other_things_filled_in_are_not_the_same() {
    let mut log = pending();
    let with = |id: &str, option: &str| response(id, Dismiss, vec![entry("q1", &[option], "")]);
    log.run(&answer(1, with("a1", "o1"), at(1)), at(1)).unwrap();
    assert_eq!(
        log.run(&answer(1, with("a2", "o1"), at(2)), at(2)),
        Ok(Vec::new())
    );
    let other = log.run(&answer(1, with("a3", "o2"), at(3)), at(3)).unwrap();
    assert_eq!(kinds(&other), [EventKind::Late]);
}
