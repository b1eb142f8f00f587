//! What a model reads of how its question ended: snapshots, one for each way of ending.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod fixture;

use askbus_domain::{
    Adjusted, AnswerAction, AnswerEntry, Bound, Circumstances, Clarification, Command, Dialect,
    Language, Millis, Outcome, Presence, Reason, Response, adjusted_text, deferred_text,
    interaction_text, parse_arguments, result_text, studio_result,
};
use fixture::{Log, answer, ask, at, begin, cid, entry, id, response};
use serde_json::{Value, json};

fn one() -> Value {
    json!({"question": "Where should this be deployed?", "choices": ["staging", "prod"], "timeout_s": 90})
}

fn many() -> Value {
    json!({"timeout_s": 90, "questions": [
        {"header": "Deployment target", "question": "Where should this be deployed?",
         "explanation": "Both cost the same.",
         "options": [{"label": "staging", "description": "Nobody notices."}, "prod"], "recommended": 0},
        {"question": "Which checks may be left out?", "options": ["lint", "e2e", "none"], "multi_select": true, "max_select": 2},
        {"question": "What should the release be called?"}]})
}

fn with(arguments: &Value, more: &Value) -> Value {
    let mut arguments = arguments.clone();
    for (name, value) in more.as_object().unwrap() {
        arguments[name] = value.clone();
    }
    arguments
}

/// Asks clarification `n` of turn 1.
fn put(log: &mut Log, n: u128, arguments: &Value, presence: Presence, ms: u64) {
    let mut command = ask(n, Dialect::Ask, arguments);
    command.presence = presence;
    log.run(&Command::Ask(Box::new(command)), at(ms)).unwrap();
}

fn expire(log: &mut Log, n: u128) {
    let now = log.find(cid(n)).unwrap().expires_at();
    let command = Command::Expire { clarify_id: cid(n) };
    log.run(&command, now).unwrap();
}

fn filled(several: bool) -> Vec<AnswerEntry> {
    let mut entries = vec![AnswerEntry {
        note: Some("Not before six.".into()),
        ..entry("q1", &["o2"], "")
    }];
    if several {
        entries.push(entry("q2", &["o2", "o1"], "and whatever takes > 5 min"));
    }
    entries
}

fn reply(log: &mut Log, response: Response) {
    log.run(&answer(1, response, at(9)), at(9)).unwrap();
}

fn says(action: AnswerAction, text: &str, entries: Vec<AnswerEntry>) -> Response {
    Response {
        text: Some(text.to_owned()).filter(|t| !t.is_empty()),
        ..response("answer-1", action, entries)
    }
}

/// A clarification that ended for this reason, by what leads to it.
fn ended(reason: Reason, arguments: &Value) -> Clarification {
    let mut log = Log::begun();
    let asks = |more: Value, presence| {
        let mut log = Log::begun();
        put(&mut log, 1, &with(arguments, &more), presence, 0);
        log
    };
    let several = arguments.get("questions").is_some();
    match reason {
        Reason::Unattended => log = asks(json!({"when_absent": "unattended"}), Presence::Absent),
        Reason::Deferred => log = asks(json!({"when_absent": "deferred"}), Presence::Absent),
        Reason::Off => {
            for n in [2, 3] {
                put(&mut log, n, &one(), Presence::Unknown, 0);
                expire(&mut log, n);
            }
            put(&mut log, 1, arguments, Presence::Unknown, 200_000);
        }
        _ => log = asks(json!({}), Presence::Unknown),
    }
    match reason {
        Reason::Response => reply(&mut log, says(AnswerAction::Answer, "", filled(several))),
        Reason::AskBack => {
            let text = "Which cluster is prod?";
            reply(&mut log, says(AnswerAction::AskBack, text, filled(several)));
        }
        Reason::Dismissed => {
            let text = "Not my call.";
            reply(&mut log, says(AnswerAction::Dismiss, text, filled(several)));
        }
        Reason::Skipped => reply(&mut log, says(AnswerAction::Skip, "", Vec::new())),
        Reason::Timeout => expire(&mut log, 1),
        Reason::Cancelled => {
            let command = Command::Cancel {
                clarify_id: cid(1),
                profile: id("default"),
            };
            log.run(&command, at(9)).unwrap();
        }
        Reason::Unattended | Reason::Deferred | Reason::Off => {}
    }
    let found = log.find(cid(1)).unwrap();
    assert_eq!(found.outcome.as_ref().unwrap().reason, reason);
    found
}

fn outcome(clarification: &Clarification) -> &Outcome {
    clarification.outcome.as_deref().unwrap()
}

fn text_of(clarification: &Clarification) -> String {
    let outcome = outcome(clarification);
    result_text(
        &clarification.questions,
        outcome,
        &Circumstances::of(clarification),
    )
}

// contract: A9, E19, A7
#[test]
fn the_result_says_what_happened_and_what_to_do() {
    for reason in Reason::ALL {
        for (count, arguments) in [("one", one()), ("many", many())] {
            let ended = ended(reason, &arguments);
            let text = text_of(&ended);
            insta::assert_snapshot!(format!("result_{}_{count}", reason.as_str()), text);
            // Whatever is asked stands there word by word.
            assert!(ended.questions.iter().all(|q| text.contains(&q.question)));
        }
    }
}

// contract: E11, E19
#[test]
fn an_agent_hears_that_its_turn_is_over_and_not_that_somebody_withdrew_its_question() {
    let mut log = Log::begun();
    put(&mut log, 1, &one(), Presence::Unknown, 0);
    log.run(&Command::Begin(begin(2)), at(9)).unwrap();
    let replaced = log.find(cid(1)).unwrap();
    let (text, withdrawn) = (
        text_of(&replaced),
        text_of(&ended(Reason::Cancelled, &one())),
    );
    assert!(text.starts_with("The turn that asked this ended"), "{text}");
    assert!(text.contains("Nothing has been decided"), "{text}");
    assert!(withdrawn.contains("withdrawn"), "{withdrawn}");
}

// contract: N1, E19
#[test]
fn the_one_question_dialect_hears_the_answer_or_one_fixed_sentence() {
    for reason in Reason::ALL {
        let ended = ended(reason, &one());
        let text = interaction_text(outcome(&ended));
        insta::assert_snapshot!(format!("interaction_{}", reason.as_str()), text);
        let spoken = matches!(reason, Reason::Response | Reason::AskBack);
        assert_eq!(!text.starts_with("[no answer: "), spoken, "{reason:?}");
    }
}

// contract: E7
#[test]
fn the_studio_hears_four_words_and_the_persons_own() {
    let told = Reason::ALL.map(|reason| {
        let result = studio_result(outcome(&ended(reason, &one())));
        format!(
            "{} → {} {:?} {:?}",
            reason.as_str(),
            result.reason,
            result.response,
            result.outcome_reason
        )
    });
    insta::assert_snapshot!(told.join("\n"));
}

// contract: A9, E19
#[test]
fn only_a_response_reads_like_one() {
    let words = text_of(&ended(Reason::Response, &one()));
    assert!(words.starts_with("The person answered.") && words.contains("\nA: prod"));
    for reason in Reason::ALL.into_iter().filter(|r| *r != Reason::Response) {
        let text = text_of(&ended(reason, &many()));
        assert!(
            !text.contains("\nA: ") && !text.contains("person answered"),
            "{reason:?}: {text}"
        );
    }
}

// contract: A5
#[test]
fn what_silence_leads_to_by_policy() {
    for on_timeout in ["adopt", "defer"] {
        for (count, arguments) in [("one", one()), ("many", many())] {
            let mut log = Log::begun();
            let arguments = with(&arguments, &json!({"on_timeout": on_timeout}));
            put(&mut log, 1, &arguments, Presence::Unknown, 0);
            expire(&mut log, 1);
            let text = text_of(&log.find(cid(1)).unwrap());
            insta::assert_snapshot!(format!("silence_{on_timeout}_{count}"), text);
        }
    }
}

// contract: A4
#[test]
fn a_clock_that_is_not_the_one_asked_for_is_said() {
    let text_after = |arguments: Value, prepare: fn(&mut askbus_domain::AskCommand)| {
        let mut log = Log::begun();
        let mut command = ask(1, Dialect::Ask, &arguments);
        prepare(&mut command);
        log.run(&Command::Ask(Box::new(command)), at(0)).unwrap();
        expire(&mut log, 1);
        text_of(&log.find(cid(1)).unwrap())
    };
    let question = |timeout: Value| json!({"question": "Where?", "timeout_s": timeout});
    let texts = [
        text_after(question(json!(0.01)), |_| {}),
        text_after(question(json!(1e300)), |_| {}),
        text_after(question(json!(0)), |_| {}),
        text_after(question(json!(3600)), |ask| {
            ask.policy.max_timeout = Some(Millis(90_500));
        }),
        text_after(question(json!(0)), |ask| {
            ask.call_limit = Some(Millis(320_000));
        }),
    ];
    insta::assert_snapshot!(texts.join("\n----\n"));
    // A timeout granted as it was asked for needs no word.
    assert!(!text_after(question(json!(90)), |_| {}).contains("90 s"));
}

// contract: A4
#[test]
fn every_bound_has_its_words() {
    let all = Bound::ALL.iter().map(|by| {
        adjusted_text(&Adjusted {
            asked: Some(Millis(86_400_000 * 400)),
            granted: Some(Millis(1_500)),
            by: *by,
        })
    });
    let all: Vec<String> = all.collect();
    insta::assert_snapshot!(all.join("\n"));
}

// What people wrote too late rides in the next result of the session.
#[test]
fn late_messages_ride_in_the_next_result() {
    let mut log = Log::begun();
    put(&mut log, 2, &one(), Presence::Unknown, 0);
    expire(&mut log, 2);
    let chosen = AnswerEntry {
        note: Some("Not before six.".into()),
        ..entry("q1", &["o2"], "the small one")
    };
    let late = [
        response("late-1", AnswerAction::Answer, vec![chosen]),
        Response {
            text: Some("What does prod cost?".into()),
            ..response("late-2", AnswerAction::AskBack, Vec::new())
        },
    ];
    for (n, late) in late.into_iter().enumerate() {
        let now = at(100_000 + n as u64);
        log.run(&answer(2, late, now), now).unwrap();
    }
    put(&mut log, 1, &one(), Presence::Unknown, 200_000);
    let reply = says(AnswerAction::Answer, "", filled(false));
    log.run(&answer(1, reply, at(210_000)), at(210_000))
        .unwrap();
    let found = log.find(cid(1)).unwrap();
    assert_eq!(outcome(&found).late.len(), 2);
    insta::assert_snapshot!("late_result", text_of(&found));
    insta::assert_snapshot!("late_interaction", interaction_text(outcome(&found)));
}

// Dismissing one question leaves it unanswered and says so; the others are answered.
#[test]
fn a_question_declined_by_itself_is_named() {
    let mut log = Log::begun();
    put(&mut log, 1, &many(), Presence::Unknown, 0);
    let declined = AnswerEntry {
        dismissed: true,
        ..entry("q2", &[], "")
    };
    reply(
        &mut log,
        says(
            AnswerAction::Answer,
            "",
            vec![entry("q1", &["o1"], ""), declined],
        ),
    );
    insta::assert_snapshot!(text_of(&log.find(cid(1)).unwrap()));
}

// contract: A9
#[test]
fn deferred_questions_read_as_a_message_in_the_persons_language() {
    let open = json!({"question": "What should the release be called?"});
    let bounded = |bounds: Value| {
        let question =
            json!({"question": "Which?", "options": ["a", "b", "c"], "multi_select": true});
        json!({"questions": [with(&question, &bounds)]})
    };
    let cases = [
        ("one", one()),
        ("many", many()),
        ("open", open),
        ("at_least", bounded(json!({"min_select": 1}))),
        (
            "between",
            bounded(json!({"min_select": 1, "max_select": 2})),
        ),
        ("several", bounded(json!({}))),
    ];
    for language in Language::ALL {
        for (name, arguments) in &cases {
            let input = parse_arguments(Dialect::Ask, arguments).unwrap();
            let text = deferred_text(&input.questions, language);
            insta::assert_snapshot!(format!("deferred_{name}_{}", language.as_str()), text);
            assert!(input.questions.iter().all(|q| text.contains(&q.question)));
        }
    }
}

// contract: A9
#[test]
fn the_persons_language_is_the_calls_else_the_policys() {
    let mut log = Log::begun();
    let defer = json!({"when_absent": "deferred", "language": "zh"});
    put(&mut log, 1, &with(&one(), &defer), Presence::Absent, 0);
    insta::assert_snapshot!("deferred_result_zh", text_of(&log.find(cid(1)).unwrap()));
    let mut log = Log::default();
    let mut turn = begin(1);
    turn.policy.language = Some(Language::Zh);
    log.run(&Command::Begin(turn), at(0)).unwrap();
    put(
        &mut log,
        1,
        &with(&one(), &json!({"when_absent": "deferred"})),
        Presence::Absent,
        0,
    );
    assert!(text_of(&log.find(cid(1)).unwrap()).contains("我需要你的决定"));
}
