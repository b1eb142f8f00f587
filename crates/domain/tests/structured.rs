//! Questions of typed interfaces: the bounds of each dialect, and what stands in a question.

#![allow(clippy::unwrap_used, clippy::panic)]

mod fixture;

use askbus_domain::{
    AnswerAction, AskInput, ChoiceInput, Dialect, InvalidQuestion, QuestionInput, parse_arguments,
    parse_structured,
};
use fixture::{entry, response};
use serde_json::{Value, json};

fn typed(dialect: Dialect, questions: usize, options: usize) -> Result<AskInput, InvalidQuestion> {
    let option = |n| ChoiceInput {
        label: format!("option {n}"),
        ..ChoiceInput::default()
    };
    let question = |n| QuestionInput {
        question: format!("Question {n}?"),
        options: (0..options).map(option).collect(),
        ..QuestionInput::default()
    };
    parse_structured(dialect, (0..questions).map(question).collect(), None)
}

// contract: A1, E3, N1
#[test]
fn as_many_questions_and_options_as_the_dialect_has_and_no_more() {
    for (dialect, questions, options, fits) in [
        (Dialect::Interaction, 1, 4, true),
        (Dialect::Interaction, 1, 5, false),
        (Dialect::Interaction, 2, 4, false),
        (Dialect::Studio, 1, 20, true),
        (Dialect::Studio, 1, 21, false),
        (Dialect::Studio, 2, 1, false),
        (Dialect::Ask, 5, 20, true),
        (Dialect::Ask, 1, 21, false),
        (Dialect::Ask, 6, 1, false),
    ] {
        let parsed = typed(dialect, questions, options);
        let case = (dialect, questions, options);
        assert_eq!(parsed.is_ok(), fits, "{case:?}: {parsed:?}");
    }
}

fn asked(arguments: &Value) -> AskInput {
    parse_arguments(Dialect::Ask, arguments).unwrap()
}

#[test]
fn the_preferred_option_is_the_recommended_one() {
    let one = |recommended: i64| {
        let arguments =
            json!({"question": "Where?", "choices": ["a", "b"], "recommended": recommended});
        let questions = asked(&arguments).questions;
        questions.first().preferred().map(|o| o.label.clone())
    };
    assert_eq!(one(0).as_deref(), Some("a"));
    assert_eq!(one(1).as_deref(), Some("b"));
    assert_eq!(one(-1), None);
}

#[test]
fn an_answer_fits_what_it_names() {
    let questions = asked(&json!({"question": "Where?", "choices": ["a", "b"]})).questions;
    let of = |entry| response("a1", AnswerAction::Answer, vec![entry]);
    assert!(of(entry("q1", &["o2"], "")).fits(&questions));
    assert!(!of(entry("q1", &["o3"], "")).fits(&questions));
    assert!(!of(entry("q2", &["o1"], "")).fits(&questions));
}

// Options beside one question belong to it; beside a list they could belong to any of it.
#[test]
fn options_beside_one_question_are_its_own() {
    for question in [json!("Where?"), json!({"question": "Where?"})] {
        let alone = asked(&json!({"question": question})).questions;
        let beside = asked(&json!({"question": question, "options": ["a", "b"]})).questions;
        let all = [alone.first(), beside.first()];
        assert_eq!(all.map(|q| q.question.as_str()), ["Where?"; 2]);
        assert_eq!(all.map(|q| q.options.len()), [0, 2], "{question}");
    }
    let list = json!({"question": [{"question": "Where?"}], "options": ["a", "b"]});
    let refused = parse_arguments(Dialect::Ask, &list).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "questions[0].question must be a string"
    );
}

#[test]
fn a_flag_is_read_in_every_form_that_means_one_thing() {
    for (flag, means) in [
        (json!(true), Some(true)),
        (json!(" True "), Some(true)),
        (json!(1), Some(true)),
        (json!("1"), Some(true)),
        (json!(1.0), Some(true)),
        (json!(false), Some(false)),
        (json!("FALSE"), Some(false)),
        (json!(0), Some(false)),
        (json!("0"), Some(false)),
        (json!(null), Some(false)),
        (json!(2), None),
        (json!(-1), None),
        (json!(0.5), None),
        (json!("maybe"), None),
        (json!([true]), None),
    ] {
        let arguments = json!({"question": "Which?", "options": ["a", "b"], "multi_select": flag});
        let parsed = parse_arguments(Dialect::Ask, &arguments);
        let read = parsed
            .ok()
            .map(|input| input.questions.first().multi_select);
        assert_eq!(read, means, "{flag}");
    }
}

// A number in the form of a float names one whole number up to a point.
#[test]
fn how_many_may_be_chosen_is_a_whole_number() {
    for (max, problem) in [
        (json!(2.0), None),
        (
            json!(8_999_999_999_999_999.0),
            Some("may be at most 2, the number of options"),
        ),
        (json!(9e15), Some("must be a whole number, not negative")),
        (json!(1.5), Some("must be a whole number, not negative")),
    ] {
        let arguments = json!({"question": "Which?", "options": ["a", "b"], "multi_select": true,
            "max_select": max});
        let refused = parse_arguments(Dialect::Ask, &arguments).err();
        let told = problem.map(|problem| format!("questions[0].max_select {problem}"));
        assert_eq!(refused.map(|e| e.to_string()), told, "{max}");
    }
}
