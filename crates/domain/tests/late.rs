//! Late messages: they reach the agent once, and their author is told how.

// Answers are given away where they are sent.
#![allow(clippy::unwrap_used, clippy::panic, clippy::needless_pass_by_value)]

mod fixture;

use askbus_domain::{
    Actor, AnswerAction, AskCommand, BeginCommand, Command, Dialect, Event, EventKind, GoesOn,
    InvalidAnswer, LateMessage, MAX_ANSWER_CHARS, MAX_LATE, MAX_LATE_CHARS, PolicyLayer, Presence,
    Reason, Rejection, Response, Scope, Turn, TurnEnd, Verdict, WhenAbsent, pass_on_verdict,
    verdict,
};
use fixture::{
    Log, answer, ask, at, begin, chosen, cid, ctx, end, entry, expire, id, kinds, outcome, pending,
    person, response,
};
use serde_json::json;

fn own() -> BeginCommand {
    BeginCommand {
        own: true,
        ..begin(1)
    }
}

/// Turn 1 with clarification 1 timed out.
fn timed_out(begin: BeginCommand) -> Log {
    let mut log = Log::default();
    log.run(&Command::Begin(begin), at(0)).unwrap();
    ask_at(&mut log, 1, 0);
    log.run(&expire(), at(90_000)).unwrap();
    log
}

fn ask_nth(log: &mut Log, n: u128) {
    ask_at(log, n, 90_001);
}

fn ask_at(log: &mut Log, n: u128, now: u64) {
    let turn = log.state.active_turn().unwrap().context_id;
    let question =
        json!({"question": format!("Question {n}?"), "choices": ["a", "b"], "timeout_s": 90});
    let command = AskCommand {
        context_id: turn,
        ..ask(n, Dialect::Ask, &question)
    };
    log.run(&Command::Ask(Box::new(command)), at(now)).unwrap();
}

fn says(answer_id: &str, text: &str) -> Response {
    response(
        answer_id,
        AnswerAction::Answer,
        vec![entry("q1", &[], text)],
    )
}

/// Sends a late answer to clarification 1; what its author is told.
fn late(log: &mut Log, sent: Response) -> Verdict {
    log.run(&answer(1, sent.clone(), at(100_000)), at(100_000))
        .unwrap();
    verdict(&log.find(cid(1)).unwrap(), &sent).unwrap()
}

fn goes_on(verdict: &Verdict) -> Option<GoesOn> {
    match verdict {
        Verdict::Late { goes_on, .. } => *goes_on,
        Verdict::PassedOn(way) => Some(*way),
        other => panic!("{other:?}"),
    }
}

fn first_text(message: &LateMessage) -> &str {
    let first = message.answers.first();
    first.and_then(|a| a.text.as_deref()).unwrap_or_default()
}

fn texts(late: &[LateMessage]) -> Vec<&str> {
    late.iter().map(first_text).collect()
}

fn pass_on(log: &mut Log, answer_id: &str, name: &str) -> Result<Verdict, String> {
    let command = Command::PassOn {
        clarify_id: cid(1),
        answer_id: id(answer_id),
        person: id(name),
    };
    log.run(&command, at(100_001)).map_err(|r| r.to_string())?;
    let question = log.find(cid(1)).unwrap();
    Ok(pass_on_verdict(
        &log.state,
        &question,
        &id(answer_id),
        &id(name),
    ))
}

fn latest(log: &Log) -> &Turn {
    log.state.latest_turn().unwrap().0
}

// contract: E10
#[test]
fn it_rides_with_the_next_result_and_only_with_that() {
    let mut log = timed_out(begin(1));
    let told = late(&mut log, says("a1", "prod, please"));
    assert_eq!(goes_on(&told), Some(GoesOn::NextResult));
    assert_eq!(texts(log.state.late()), ["prod, please"]);
    let message = &log.state.late()[0];
    assert_eq!(message.asked, "Question 1?");
    assert_eq!(
        (message.clarify_id, &message.actor),
        (cid(1), &person("ann"))
    );
    assert_eq!(message.stored_at, at(100_000));
    ask_nth(&mut log, 2);
    // What is withdrawn is read by nobody.
    let cancel = Command::Cancel {
        clarify_id: cid(2),
        profile: id("default"),
    };
    log.run(&cancel, at(100_001)).unwrap();
    assert!(outcome(&log, 2).late.is_empty());
    ask_nth(&mut log, 3);
    log.run(&answer(3, chosen("a3", "o1"), at(100_002)), at(100_002))
        .unwrap();
    assert_eq!(texts(&outcome(&log, 3).late), ["prod, please"]);
    assert!(log.state.late().is_empty());
    ask_nth(&mut log, 4);
    log.run(&answer(4, chosen("a4", "o1"), at(100_003)), at(100_003))
        .unwrap();
    assert!(outcome(&log, 4).late.is_empty());
    log.run(&Command::Begin(begin(2)), at(100_004)).unwrap();
    assert!(latest(&log).late.is_empty() && latest(&log).undelivered.is_empty());
}

// contract: E10, A6
#[test]
fn it_rides_with_whatever_result_comes_next() {
    let waiting = || {
        let mut log = timed_out(begin(1));
        late(&mut log, says("a1", "wait"));
        log
    };
    // A deadline.
    let mut log = waiting();
    ask_nth(&mut log, 2);
    log.run(&Command::Expire { clarify_id: cid(2) }, at(180_001))
        .unwrap();
    assert_eq!(outcome(&log, 2).reason, Reason::Timeout);
    assert_eq!(texts(&outcome(&log, 2).late), ["wait"]);
    // A deadline that a late hold or a late answer notices.
    for by_answer in [false, true] {
        let mut log = waiting();
        ask_nth(&mut log, 2);
        let hold = Command::Hold {
            clarify_id: cid(2),
            actor: person("ann"),
            rights: askbus_domain::Rights::default(),
            stored_at: at(180_002),
        };
        let command = if by_answer {
            answer(2, says("a2", "and this"), at(180_002))
        } else {
            hold
        };
        log.run(&command, at(180_003)).unwrap();
        assert_eq!(texts(&outcome(&log, 2).late), ["wait"]);
        let left = if by_answer { &["and this"][..] } else { &[] };
        assert_eq!(texts(log.state.late()), left);
    }
    // A result at once, but not the notice of a block, which nobody was asked for.
    let mut log = waiting();
    let absent = AskCommand {
        presence: Presence::Absent,
        policy: PolicyLayer {
            when_absent: Some(WhenAbsent::Deferred),
            ..PolicyLayer::default()
        },
        ..ask(2, Dialect::Ask, &json!({"question": "?"}))
    };
    log.run(&Command::Ask(Box::new(absent)), at(100_001))
        .unwrap();
    assert_eq!(texts(&outcome(&log, 2).late), ["wait"]);
    late(&mut log, says("a9", "again"));
    ask_nth(&mut log, 3);
    assert_eq!(outcome(&log, 3).reason, Reason::Off);
    assert!(outcome(&log, 3).late.is_empty());
    assert_eq!(texts(log.state.late()), ["again"]);
}

// contract: E14
#[test]
fn the_next_turn_of_a_host_takes_it_along_and_a_turn_without_an_instruction_keeps_it() {
    let without_tool = BeginCommand {
        scope: Some(Scope {
            plan: true,
            clarify: false,
        }),
        ..begin(2)
    };
    let own_again = BeginCommand {
        own: true,
        ..begin(2)
    };
    for (next, delivered) in [(begin(2), true), (without_tool, false), (own_again, false)] {
        let mut log = timed_out(begin(1));
        late(&mut log, says("a1", "prod"));
        log.run(&end(1, TurnEnd::Completed), at(100_001)).unwrap();
        // After the end it is told that it waits for the next turn.
        let told = late(&mut log, says("a2", "or staging"));
        assert_eq!(goes_on(&told), Some(GoesOn::NextTurn));
        log.run(&Command::Begin(next), at(100_002)).unwrap();
        let both = ["prod", "or staging"];
        let (rides, waits) = if delivered {
            (&both[..], &[][..])
        } else {
            (&[][..], &both[..])
        };
        assert_eq!(texts(&latest(&log).late), rides);
        assert_eq!(texts(&latest(&log).undelivered), waits);
        assert_eq!(texts(log.state.late()), waits);
        // To a question of the turn before it too.
        let told = late(&mut log, says("a3", "hello?"));
        assert_eq!(goes_on(&told), Some(GoesOn::NextResult));
        assert_eq!(log.state.late().len(), waits.len() + 1);
    }
}

// contract: E11
#[test]
fn who_is_gone_for_good_hears_nothing_and_the_author_is_told() {
    for (turn, how, way) in [
        (begin(1), TurnEnd::Completed, GoesOn::NextTurn),
        (begin(1), TurnEnd::Interrupted, GoesOn::NextTurn),
        (begin(1), TurnEnd::Disposed, GoesOn::Nowhere),
        (own(), TurnEnd::Completed, GoesOn::Nowhere),
    ] {
        let mut log = timed_out(turn);
        let command = if how == TurnEnd::Interrupted {
            Command::HolderLost { name: id("host") }
        } else {
            end(1, how)
        };
        log.run(&command, at(95_000)).unwrap();
        let told = late(&mut log, says("a1", "prod"));
        assert_eq!(goes_on(&told), Some(way), "{how:?}");
        assert_eq!(log.state.late().is_empty(), way == GoesOn::Nowhere);
        // The story stays the same, whatever comes after.
        log.run(&Command::Begin(begin(2)), at(100_001)).unwrap();
        let again = verdict(&log.find(cid(1)).unwrap(), &says("a1", "prod")).unwrap();
        assert_eq!(goes_on(&again), Some(way));
    }
}

// contract: E10
#[test]
fn what_says_nothing_or_lost_to_a_person_stays_in_the_history() {
    let mut log = timed_out(begin(1));
    for (n, sent) in [
        response(
            "d",
            AnswerAction::Dismiss,
            vec![entry("q1", &[], "half a thought")],
        ),
        response("s", AnswerAction::Skip, Vec::new()),
        response("e", AnswerAction::Answer, Vec::new()),
        response("b", AnswerAction::AskBack, Vec::new()),
    ]
    .into_iter()
    .enumerate()
    {
        let told = late(&mut log, sent);
        assert_eq!(goes_on(&told), None, "{n}");
    }
    let ask_back = Response {
        text: Some("which cluster?".into()),
        ..response("b2", AnswerAction::AskBack, Vec::new())
    };
    assert_eq!(goes_on(&late(&mut log, ask_back)), Some(GoesOn::NextResult));
    assert_eq!(log.state.late()[0].text.as_deref(), Some("which cluster?"));
    assert_eq!(log.state.late().len(), 1);
    let mut log = pending();
    log.run(&answer(1, chosen("a1", "o1"), at(1)), at(1))
        .unwrap();
    let told = late(&mut log, says("a2", "no, prod"));
    assert!(matches!(told, Verdict::Conflict(_)));
    assert!(log.state.late().is_empty());
}

// contract: E10
#[test]
fn the_author_of_an_answer_that_lost_may_send_it_on_once() {
    let mut log = pending();
    log.run(&answer(1, chosen("a1", "o1"), at(1)), at(1))
        .unwrap();
    late(&mut log, says("a2", "no, prod"));
    for (answer_id, name) in [("a2", "bob"), ("a1", "ann"), ("a9", "ann")] {
        let refused = pass_on(&mut log, answer_id, name).unwrap_err();
        assert!(
            refused.contains("no late answer"),
            "{answer_id} {name}: {refused}"
        );
    }
    let told = pass_on(&mut log, "a2", "ann").unwrap();
    assert_eq!(told, Verdict::PassedOn(GoesOn::NextResult));
    assert_eq!(texts(log.state.late()), ["no, prod"]);
    assert!(matches!(
        verdict(&log.find(cid(1)).unwrap(), &says("a2", "no, prod")),
        Some(Verdict::Conflict(_))
    ));
    let length = log.commits.len();
    assert_eq!(pass_on(&mut log, "a2", "ann"), Ok(told.clone()));
    log.run(&Command::Begin(begin(2)), at(100_002)).unwrap();
    assert_eq!(texts(&latest(&log).late), ["no, prod"]);
    // From the history too.
    assert_eq!(pass_on(&mut log, "a2", "ann"), Ok(told));
    assert_eq!(log.commits.len(), length + 1);
    assert!(log.state.late().is_empty());
}

// Ids are made by surfaces: one author's id says nothing of another's answer.
#[test]
fn nothing_but_the_one_that_was_sent_on_counts_as_sent_on() {
    let mut log = pending();
    log.run(&answer(1, chosen("a1", "o1"), at(1)), at(1))
        .unwrap();
    let by_bob = Response {
        actor: person("bob"),
        ..says("x", "bob's")
    };
    for sent in [says("x", "ann's"), says("y", "ann's other"), by_bob] {
        late(&mut log, sent);
    }
    pass_on(&mut log, "y", "ann").unwrap();
    pass_on(&mut log, "x", "bob").unwrap();
    let question = log.find(cid(1)).unwrap();
    let ways = question.late.iter().map(|n| n.passed_on.is_some());
    assert_eq!(ways.collect::<Vec<_>>(), [false, true, true]);
    assert_eq!(texts(log.state.late()), ["ann's other", "bob's"]);
}

#[test]
fn one_of_an_earlier_turn_can_be_sent_on_to_the_present_one() {
    let mut log = pending();
    log.run(&answer(1, chosen("a1", "o1"), at(1)), at(1))
        .unwrap();
    late(&mut log, says("a2", "no, prod"));
    log.run(&end(1, TurnEnd::Disposed), at(2)).unwrap();
    assert_eq!(
        pass_on(&mut log, "a2", "ann"),
        Ok(Verdict::PassedOn(GoesOn::Nowhere))
    );
    log.run(&Command::Begin(begin(2)), at(3)).unwrap();
    assert!(latest(&log).late.is_empty());
    assert_eq!(
        pass_on(&mut log, "a2", "ann"),
        Ok(Verdict::PassedOn(GoesOn::NextResult))
    );
    assert_eq!(log.state.clarification(cid(1)), None);
    assert_eq!(texts(log.state.late()), ["no, prod"]);
    let kind = log.commits.last().unwrap().subject_kind();
    assert_eq!(kind, EventKind::PassedOn);
}

#[test]
fn a_full_queue_refuses_no_answer_and_nothing_is_pushed_out() {
    let mut log = timed_out(begin(1));
    for n in 0..MAX_LATE {
        let told = late(&mut log, says(&format!("a{n}"), &format!("message {n}")));
        assert_eq!(goes_on(&told), Some(GoesOn::NextResult), "{n}");
    }
    let told = late(&mut log, says("one more", "me too"));
    assert_eq!(goes_on(&told), Some(GoesOn::QueueFull));
    assert_eq!(log.state.late().len(), MAX_LATE);
    assert_eq!(
        pass_on(&mut log, "one more", "ann"),
        Ok(Verdict::PassedOn(GoesOn::QueueFull))
    );
    ask_nth(&mut log, 2);
    log.run(&answer(2, chosen("x", "o1"), at(100_002)), at(100_002))
        .unwrap();
    assert_eq!(outcome(&log, 2).late.len(), MAX_LATE);
    let told = pass_on(&mut log, "one more", "ann").unwrap();
    assert_eq!(told, Verdict::PassedOn(GoesOn::NextResult));
    assert_eq!(texts(log.state.late()), ["me too"]);
    // The word about the answer itself is the one it was.
    let again = verdict(&log.find(cid(1)).unwrap(), &says("one more", "me too"));
    assert_eq!(goes_on(&again.unwrap()), Some(GoesOn::QueueFull));
}

#[test]
fn long_messages_are_cut_where_they_ride_and_block_neither_turns_nor_answers() {
    let mut log = timed_out(begin(1));
    // Each character of this takes six bytes in JSON.
    let long = format!("x{}", "\u{1}".repeat(19_999));
    for n in 0..MAX_LATE {
        late(&mut log, says(&format!("a{n}"), &long));
    }
    for message in log.state.late() {
        let text = message.answers[0].text.as_deref().unwrap();
        assert!(
            text.ends_with("(cut; the history has all of it)"),
            "{text:?}"
        );
        assert_eq!(text.matches('\u{1}').count(), MAX_LATE_CHARS - 1);
    }
    let mut begun = log.clone();
    begun.run(&Command::Begin(begin(2)), at(100_002)).unwrap();
    assert_eq!(latest(&begun).late.len(), MAX_LATE);
    // They ride with an answer that leaves room for them …
    ask_nth(&mut log, 2);
    let mut roomy = log.clone();
    roomy
        .run(&answer(2, chosen("x", "o1"), at(100_002)), at(100_002))
        .unwrap();
    assert_eq!(outcome(&roomy, 2).late.len(), MAX_LATE);
    // … and wait on where they do not fit.
    let large = says("x", &long);
    let events = log
        .run(&answer(2, large, at(100_002)), at(100_002))
        .unwrap();
    assert_eq!(kinds(&events), [EventKind::Resolved]);
    let rode = outcome(&log, 2).late.len();
    assert!(rode == 0 || rode == MAX_LATE, "{rode}");
    assert_eq!(log.state.late().len(), MAX_LATE - rode);
}

#[test]
fn what_exactly_fits_is_not_cut() {
    let mut log = timed_out(begin(1));
    let whole = "x".repeat(MAX_LATE_CHARS);
    late(&mut log, says("a1", &whole));
    assert_eq!(texts(log.state.late()), [whole.as_str()]);
    let labels = Response {
        text: Some("y".repeat(10)),
        ..response(
            "a2",
            AnswerAction::Answer,
            vec![entry("q1", &["o1"], &"x".repeat(MAX_LATE_CHARS - 6))],
        )
    };
    late(&mut log, labels);
    let second = &log.state.late()[1];
    assert_eq!(second.answers[0].options[0].label, "a");
    assert_eq!(
        second.text.as_deref(),
        Some("yyyyy… (cut; the history has all of it)")
    );
}

#[test]
fn words_are_the_serialized_form() {
    for way in GoesOn::ALL {
        assert_eq!(serde_json::to_value(way).unwrap(), way.as_str());
    }
    let log = timed_out(begin(1));
    assert!(log.events().all(|e| !matches!(e, Event::PassedOn { .. })));
    assert_eq!(ctx(1), latest(&log).context_id);
}

/// What is said of an answer that is refused, and that nothing of it is in the log.
fn refused(log: &mut Log, sent: Response) -> Rejection {
    let before = log.commits.len();
    let refused = log.run(&answer(1, sent.clone(), at(100_000)), at(100_000));
    assert_eq!(log.commits.len(), before);
    let told = verdict(&log.find(cid(1)).unwrap(), &sent);
    assert_eq!(told, None, "of nothing that was decided");
    refused.unwrap_err()
}

// contract: E6 A2
#[test]
fn a_late_answer_that_cannot_be_kept_whole_is_refused() {
    let wide = "x".repeat(MAX_ANSWER_CHARS + 1);
    let both = vec![entry("q1", &["o1"], "a"), entry("q1", &["o2"], "b")];
    let unfit = [
        (
            says("long", &wide),
            InvalidAnswer::TooLong { field: "text" },
        ),
        (
            response(
                "u",
                AnswerAction::Answer,
                vec![entry("q1", &["o9"], "words")],
            ),
            InvalidAnswer::UnknownOption(id("o9")),
        ),
        (
            response("q", AnswerAction::Answer, vec![entry("q9", &[], "words")]),
            InvalidAnswer::UnknownQuestion(id("q9")),
        ),
        (
            response("two", AnswerAction::Answer, both),
            InvalidAnswer::Repeated(id("q1")),
        ),
        (
            response(
                "s",
                AnswerAction::Answer,
                vec![entry("q1", &["o1", "o2"], "words")],
            ),
            InvalidAnswer::OneOptionOnly(id("q1")),
        ),
    ];
    let mut log = timed_out(begin(1));
    for (sent, why) in unfit {
        assert_eq!(refused(&mut log, sent), Rejection::InvalidAnswer(why));
    }
}

// contract: E6 A2
#[test]
fn late_answers_are_kept_up_to_a_limit_of_which_each_is_told() {
    let mut log = timed_out(begin(1));
    let of = |who: &str, n: usize| {
        let said = says(&format!("a{n}"), &format!("message {n}"));
        let actor = Actor {
            person: id(who),
            ..said.actor.clone()
        };
        Response { actor, ..said }
    };
    for n in 0..20 {
        late(&mut log, of("ann", n));
    }
    let full = |limit, whose| Rejection::InvalidAnswer(InvalidAnswer::TooManyLate { limit, whose });
    assert_eq!(refused(&mut log, of("ann", 20)), full(20, "of yours"));
    // Nobody takes the place of another.
    for n in 0..180 {
        late(&mut log, of(&format!("p{}", n / 20), n));
    }
    assert_eq!(refused(&mut log, of("eve", 0)), full(200, "to it"));
    assert_eq!(log.find(cid(1)).unwrap().late.len(), 200);
}
