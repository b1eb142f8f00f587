//! Words beside a choice and words to the whole: what of them is an answer, and what is kept.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

mod fixture;

use askbus_domain::text_channel::{Chat, Understood, WaitingHere};
use askbus_domain::{
    AnswerAction, AnswerEntry, Circumstances, Command, Dialect, InvalidAnswer, Outcome,
    QuestionAnswer, Reason, Rejection, Response, interaction_text, result_text, studio_result,
};
use fixture::chat::{say, settles};
use fixture::{Log, answer, ask, at, cid, entry, id, outcome, response};
use serde_json::{Value, json};

fn three() -> Value {
    json!({"questions": [
        {"question": "Where?", "options": ["staging", "prod"]},
        {"question": "Why?"},
        {"question": "When?", "options": ["now", "later"]}]})
}

fn declines(question: &str) -> AnswerEntry {
    AnswerEntry {
        dismissed: true,
        ..entry(question, &[], "")
    }
}

fn sent(arguments: &Value, response: Response) -> Result<Log, Rejection> {
    let mut log = Log::begun();
    let command = ask(1, Dialect::Ask, arguments);
    log.run(&Command::Ask(Box::new(command)), at(0))?;
    log.run(&answer(1, response, at(1)), at(1))?;
    Ok(log)
}

fn replied(action: AnswerAction, entries: Vec<AnswerEntry>) -> Result<Log, Rejection> {
    let mut response = response("a", action, entries);
    if action == AnswerAction::AskBack {
        response.text = Some("why?".into());
    }
    sent(&three(), response)
}

fn ids(list: &[askbus_domain::QuestionId]) -> Vec<&str> {
    list.iter().map(askbus_domain::QuestionId::as_str).collect()
}

fn noted(question: &str, options: &[&str], note: &str) -> AnswerEntry {
    AnswerEntry {
        note: Some(note.to_owned()),
        ..entry(question, options, "")
    }
}

fn says(text: &str, entries: Vec<AnswerEntry>, arguments: &Value) -> Result<Outcome, Rejection> {
    let response = Response {
        text: Some(text.to_owned()),
        ..response("a", AnswerAction::Answer, entries)
    };
    Ok(outcome(&sent(arguments, response)?, 1).as_ref().clone())
}

// contract: A2, A3, E10
#[test]
fn what_is_written_to_the_whole_of_one_question_is_its_answer() {
    let one = json!({"question": "Where?", "options": ["staging", "prod"]});
    let own = |text: &str, entries: Vec<AnswerEntry>| {
        let outcome = says(text, entries, &one).unwrap();
        assert_eq!((outcome.reason, &outcome.text), (Reason::Response, &None));
        assert!(outcome.unanswered.is_empty());
        let [answer] = &outcome.answers[..] else {
            panic!("{outcome:?}")
        };
        (interaction_text(&outcome), answer.clone())
    };
    assert_eq!(own("use staging", Vec::new()).0, "use staging");
    assert_eq!(
        own("use it", vec![entry("q1", &[], " \u{feff}")]).0,
        "use it"
    );
    assert_eq!(own("soon", vec![entry("q1", &["o2"], "")]).0, "prod, soon");
    let (text, answer) = own("soon", vec![noted("q1", &[], "not at night")]);
    assert_eq!(text, "soon (note: not at night)");
    assert_eq!(answer.note.as_deref(), Some("not at night"));
    // Beside an own text it is said as well, and nowhere lost.
    let both = says("and fast", vec![entry("q1", &[], "there")], &one).unwrap();
    assert_eq!(both.text.as_deref(), Some("and fast"));
    assert_eq!(studio_result(&both).response, "there\nand fast");
    // A word with a decline is no answer.
    let declined = says("not mine", vec![declines("q1")], &one).unwrap();
    assert_eq!(declined.reason, Reason::Dismissed);
    assert_eq!(declined.text.as_deref(), Some("not mine"));
    for blank in ["", " ", "\u{200b}"] {
        assert_eq!(
            says(blank, Vec::new(), &one).unwrap().reason,
            Reason::Dismissed
        );
    }
}

// contract: A2, E10
#[test]
fn a_text_that_names_none_of_several_questions_is_not_taken_for_a_refusal() {
    let several = || Err(InvalidAnswer::SeveralQuestions { count: 3 }.into());
    assert_eq!(says("yes to all", Vec::new(), &three()), several());
    assert_eq!(says("yes", vec![declines("q1")], &three()), several());
    assert_eq!(
        says("yes", vec![entry("q1", &[], " ")], &three()),
        several()
    );
    // Beside an answer it goes with the whole, and with a refusal of everything it says why.
    let beside = says("and thanks", vec![entry("q1", &["o1"], "")], &three()).unwrap();
    assert_eq!(beside.reason, Reason::Response);
    assert_eq!(beside.text.as_deref(), Some("and thanks"));
    let all = ["q1", "q2", "q3"].map(declines).to_vec();
    let refused = says("not my call", all, &three()).unwrap();
    assert_eq!(refused.reason, Reason::Dismissed);
    assert_eq!(refused.text.as_deref(), Some("not my call"));
}

// contract: A2, A3
#[test]
fn a_note_alone_answers_nothing_and_is_kept_beside_what_does() {
    let alone = |entries: Vec<AnswerEntry>| replied(AnswerAction::Answer, entries).err();
    let refused = |question: &str| Some(InvalidAnswer::NoteAlone(id(question)).into());
    assert_eq!(alone(vec![noted("q2", &[], "only a note")]), refused("q2"));
    assert_eq!(
        alone(vec![noted("q2", &[], "n"), declines("q1")]),
        refused("q2")
    );
    let invisible = AnswerEntry {
        text: Some("\u{200b}".into()),
        ..noted("q3", &[], "n")
    };
    assert_eq!(alone(vec![invisible]), refused("q3"));

    let entries = vec![noted("q2", &[], "ask bob"), noted("q1", &["o2"], "at noon")];
    let log = replied(AnswerAction::Answer, entries).unwrap();
    let outcome = outcome(&log, 1);
    assert_eq!(outcome.reason, Reason::Response);
    assert_eq!(ids(&outcome.unanswered), ["q2", "q3"]);
    let kept = |list: &[QuestionAnswer]| {
        let of = |a: &QuestionAnswer| (a.question_id.to_string(), a.note.clone().unwrap());
        list.iter().map(of).collect::<Vec<_>>()
    };
    assert_eq!(kept(&outcome.answers), [("q1".into(), "at noon".into())]);
    assert_eq!(kept(&outcome.partial), [("q2".into(), "ask bob".into())]);
    let clarification = log.find(cid(1)).unwrap();
    let circumstances = Circumstances::of(&clarification);
    let text = result_text(&clarification.questions, &outcome, &circumstances);
    assert!(
        text.ends_with(
            "Q: Where?\nA: prod\nNote: at noon\n\nQ: Why?\n(not answered)\nNote: ask bob\n\n\
         Q: When?\n(not answered)"
        ),
        "{text}"
    );
    // It does not stand for as many options as must be chosen.
    let two = json!({"question": "Which?", "options": ["a", "b", "c"], "multi_select": true, "min_select": 2});
    let short = says("", vec![noted("q1", &[], "n")], &two);
    assert_eq!(short.err(), Some(InvalidAnswer::NoteAlone(id("q1")).into()));
    // Where nobody answers, what was noted is kept as before.
    for action in [
        AnswerAction::Dismiss,
        AnswerAction::Skip,
        AnswerAction::AskBack,
    ] {
        let log = replied(action, vec![noted("q2", &[], "n")]).unwrap();
        assert_eq!(
            kept(&fixture::outcome(&log, 1).partial),
            [("q2".into(), "n".into())]
        );
    }
}

// contract: A2, N4
#[test]
fn a_note_in_the_draft_leaves_its_question_open_and_goes_with_its_answer() {
    let mut log = Log::begun();
    let arguments = json!({"questions": [{"question": "a", "options": ["x", "y"]}, "b"]});
    let command = ask(1, Dialect::Ask, &arguments);
    log.run(&Command::Ask(Box::new(command)), at(0)).unwrap();
    let clarification = log.find(cid(1)).unwrap();
    let here = |draft: &[AnswerEntry]| Chat {
        waiting: vec![WaitingHere::of(&clarification, draft)],
        ended: Vec::new(),
    };
    let goes = |so_far: Vec<AnswerEntry>, next| Understood::Goes {
        id: cid(1),
        so_far,
        next,
    };
    let chat = here(&[noted("q1", &[], "at noon")]);
    let waiting = &chat.waiting[0];
    assert_eq!((waiting.done(), waiting.next().0), (0, 0));
    let answered = noted("q1", &["o2"], "at noon");
    assert_eq!(say(&chat, "2"), goes(vec![answered.clone()], 1));
    let chat = here(std::slice::from_ref(&answered));
    assert_eq!(chat.waiting[0].done(), 1);
    let both = vec![answered, entry("q2", &[], "soon")];
    assert_eq!(say(&chat, "soon"), settles(1, both));
    // A question that is passed over is sent without what was noted to it.
    let passed = here(&[noted("q1", &[], "at noon")]);
    assert_eq!(say(&passed, "/next"), goes(vec![declines("q1")], 1));
    // A note to what comes later is no answer to go back to.
    let later = noted("q2", &[], "ask bob");
    let chat = here(&[entry("q1", &["o1"], ""), later.clone()]);
    assert_eq!(chat.waiting[0].next().0, 1);
    assert_eq!(say(&chat, "/back"), goes(vec![later], 0));
}
