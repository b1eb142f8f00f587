#![allow(clippy::needless_pass_by_value)]

mod call;
mod filled;
mod shapes;
mod strange;

use super::*;
use crate::{Bounds, GroupId, PersonId};

fn ask(value: Value) -> Parsed<AskInput> {
    parse_arguments(Dialect::Ask, &value)
}

fn studio(value: Value) -> Parsed<AskInput> {
    parse_arguments(Dialect::Studio, &value)
}

// contract: E3, E4
#[test]
fn the_studio_question_is_checked_before_anybody_sees_it() {
    let long = "x".repeat(4_001);
    let bad = [
        json!({}),
        json!({"question": 7}),
        json!({"question": " \n "}),
        json!({"question": long}),
        json!({"question": "q", "choices": "a"}),
        json!({"question": "q", "choices": {"a": 1}}),
        json!({"question": "q", "choices": ["a", 7]}),
        json!({"question": "q", "choices": ["a", "  "]}),
        json!({"question": "q", "choices": ["y".repeat(501)]}),
        json!({"question": "q", "choices": vec!["c"; 21]}),
    ];
    for value in bad {
        assert!(studio(value.clone()).is_err(), "{value}");
    }
    // Characters, not bytes; the raw length counts, then the text is trimmed.
    assert!(studio(json!({"question": "问".repeat(4_000)})).is_ok());
    assert!(studio(json!({"question": format!("{}  ", "x".repeat(3_999))})).is_err());
}

// contract: E4
#[test]
fn studio_choices_are_trimmed_and_deduplicated_in_order() {
    let input = studio(json!({"question": " where? ", "choices": [" b ", "a", "b"]})).unwrap();
    let question = input.questions.first();
    assert_eq!(question.question, "where?");
    let labels: Vec<_> = question.options.iter().map(|o| o.label.as_str()).collect();
    assert_eq!(labels, ["b", "a"]);
    assert!(
        studio(json!({"question": "q", "choices": []}))
            .unwrap()
            .questions
            .first()
            .options
            .is_empty()
    );
}

// contract: N1
#[test]
fn the_interaction_dialect_takes_four_choices() {
    let call = |n: usize| {
        let choices: Vec<_> = (0..n).map(|i| format!("c{i}")).collect();
        parse_arguments(
            Dialect::Interaction,
            &json!({"question": "q", "choices": choices}),
        )
    };
    assert!(call(4).is_ok());
    assert!(call(5).is_err());
}

// contract: A1
#[test]
fn what_a_question_is_about_goes_with_it() {
    let explained = |value: Value| {
        let input = ask(value).unwrap();
        input.questions.first().explanation.clone()
    };
    for name in ["explanation", "context", "details", "description"] {
        let text =
            explained(json!({"questions": [{"question": "q", name: " Both cost the same. "}]}));
        assert_eq!(text.as_deref(), Some("Both cost the same."), "{name}");
    }
    assert_eq!(
        explained(json!({"question": "q", "explanation": "  "})),
        None
    );
    // Said of the whole call, it stands with the first question and replaces nothing.
    let whole =
        json!({"context": "Release day.", "questions": [{"question": "a"}, {"question": "b"}]});
    assert_eq!(explained(whole).as_deref(), Some("Release day."));
    let own =
        json!({"context": "Release day.", "questions": [{"question": "a", "details": "own"}]});
    assert_eq!(explained(own).as_deref(), Some("own"));
    let long = json!({"question": "q", "explanation": "x".repeat(2_001)});
    assert!(ask(long).is_err());
}

#[test]
fn bounds_of_a_selection() {
    let select = |more: Value| {
        let mut question = json!({"question": "q", "options": ["a", "b", "c"]});
        for (name, value) in more.as_object().unwrap() {
            question[name] = value.clone();
        }
        ask(json!({"questions": [question]})).map(|input| {
            let question = input.questions.first();
            (question.multi_select, question.select)
        })
    };
    let bounds = |min, max| Some(Bounds { min, max });
    let table = [
        (json!({"multi_select": true}), (true, None)),
        (
            json!({"multi_select": true, "min_select": 1}),
            (true, bounds(Some(1), None)),
        ),
        (
            json!({"multiple": true, "maxSelections": "2"}),
            (true, bounds(None, Some(2))),
        ),
        (
            json!({"multi_select": true, "min_select": 2, "max_select": 2}),
            (true, bounds(Some(2), Some(2))),
        ),
        (
            json!({"multi_select": true, "min_select": 0, "max_select": null}),
            (true, None),
        ),
        // More than one can only mean several.
        (json!({"max_select": 3}), (true, bounds(None, Some(3)))),
        // One of several is what a plain question takes anyhow.
        (json!({"min_select": 1, "max_select": 1}), (false, None)),
        (
            json!({"multi_select": false, "max_select": 1}),
            (false, None),
        ),
    ];
    for (more, expected) in table {
        assert_eq!(select(more.clone()), Ok(expected), "{more}");
    }
    // Without options there is nothing to bound.
    let open = json!({"options": [], "multi_select": true, "max_select": 0});
    assert_eq!(select(open), Ok((true, None)));
    let refused = [
        json!({"multi_select": true, "min_select": 4}),
        json!({"multi_select": true, "max_select": 4}),
        json!({"multi_select": true, "max_select": 0}),
        json!({"multi_select": true, "min_select": 3, "max_select": 2}),
        json!({"multi_select": true, "min_select": -1}),
        json!({"multi_select": true, "min_select": 1.5}),
        json!({"multi_select": true, "min_select": "some"}),
        json!({"multi_select": false, "max_select": 2}),
    ];
    for more in refused {
        assert!(select(more.clone()).is_err(), "{more}");
    }
}

// contract: A1
#[test]
fn a_recommendation_names_one_option() {
    let recommended = |question: Value| {
        ask(json!({"questions": [question]})).map(|input| {
            input
                .questions
                .first()
                .recommended
                .as_ref()
                .map(ToString::to_string)
        })
    };
    let with = |value: Value| {
        recommended(json!({"question": "q", "options": ["a", "7"], "recommended": value}))
    };
    let o = |n: &str| Ok(Some(n.to_owned()));
    assert_eq!(with(json!(1)), o("o2"));
    assert_eq!(with(json!("a")), o("o1"));
    // A label is believed before an index.
    assert_eq!(with(json!("7")), o("o2"));
    for none in [json!(null), json!(-1), json!("-1"), json!([])] {
        assert_eq!(with(none.clone()), Ok(None), "{none}");
    }
    for bad in [
        json!(2),
        json!(-2),
        json!("c"),
        json!([0, 1]),
        json!({}),
        json!(true),
    ] {
        assert!(with(bad.clone()).is_err(), "{bad}");
    }
    let two = json!([{"label": "a", "recommended": true}, {"label": "b", "recommended": "true"}]);
    assert!(recommended(json!({"question": "q", "options": two})).is_err());
}

#[test]
fn secrets_are_refused_with_a_pointer() {
    let marks = [
        json!({"question": "q", "secret": true}),
        json!({"question": "q", "password": "true"}),
        json!({"questions": [{"question": "q", "sensitive": 1}]}),
        json!({"questions": ["a", {"question": "q", "type": "Password"}]}),
        json!({"questions": [{"question": "q", "options": [{"label": "a", "secret": true}]}]}),
        json!({"questions": ["q"], "secret": true}),
    ];
    for value in marks {
        let refused = ask(value.clone()).unwrap_err().to_string();
        assert!(refused.contains("URL elicitation"), "{value}: {refused}");
    }
    assert!(studio(json!({"context_id": "c", "question": "q", "secret": true})).is_err());
    // Speaking of secrets is not asking for one.
    assert!(
        ask(json!({"question": "Which password policy?", "secret": false, "type": "text"})).is_ok()
    );
}

// The same rules whichever way a question comes in.
#[test]
fn a_typed_question_is_read_like_an_argument() {
    let typed = QuestionInput {
        header: "Target".into(),
        question: " Deploy where? ".into(),
        explanation: "Both cost the same.".into(),
        multi_select: true,
        min_select: Some(1),
        max_select: Some(2),
        options: ["staging", "prod"]
            .map(|label| ChoiceInput {
                label: label.into(),
                ..ChoiceInput::default()
            })
            .into(),
        recommended: Some(1),
    };
    let same = json!({"header": "Target", "question": "Deploy where?", "explanation": "Both cost the same.",
        "multi_select": true, "min_select": 1, "max_select": 2, "options": ["staging", "prod"], "recommended": 1});
    assert_eq!(
        parse_structured(Dialect::Ask, vec![typed.clone()], None),
        ask(json!({"questions": [same]}))
    );
    let call = |timeout| {
        parse_structured(Dialect::Ask, vec![typed.clone()], timeout)
            .unwrap()
            .timeout
    };
    assert_eq!(call(Some(0)), TimeoutChoice::Never);
    assert_eq!(call(Some(7)), TimeoutChoice::After(Millis(7)));
    let twice = vec![typed.clone(), typed.clone()];
    assert!(parse_structured(Dialect::Studio, twice.clone(), None).is_err());
    assert!(parse_structured(Dialect::Ask, twice, None).is_ok());
    let wide = QuestionInput {
        options: vec![typed.options[0].clone(); 5],
        ..typed
    };
    assert!(parse_structured(Dialect::Interaction, vec![wide], None).is_err());
}

// contract: A1, A2
#[test]
fn limits_of_structured_questions() {
    let q = json!({"question": "q"});
    assert!(ask(json!({"questions": vec![q.clone(); 5]})).is_ok());
    assert!(ask(json!({"questions": vec![q; 6]})).is_err());
    assert!(ask(json!({"questions": []})).is_err());
    assert!(ask(json!({"questions": [{"question": "q", "options": vec!["o"; 20]}]})).is_ok());
    assert!(ask(json!({"questions": [{"question": "q", "options": vec!["o"; 21]}]})).is_err());
    assert!(ask(json!({"questions": [{"question": "q", "recommended": -1}]})).is_ok());
    assert!(ask(json!({"questions": [{"question": "q", "recommended": 0}]})).is_err());
    // Duplicate labels stay distinct by their ids.
    let twins = ask(json!({"questions": [{"question": "q", "options": ["a", "a"]}]})).unwrap();
    assert_eq!(twins.questions.first().options.len(), 2);
    // Answers refer to ids; a header is kept and cut only where it is shown.
    let header = ask(json!({"questions": [{"question": "q", "header": "Deployment target"}]}));
    let kept = header.unwrap();
    assert_eq!(kept.questions.first().header, "Deployment target");
    assert_eq!(kept.questions.first().shown_header(), "Deployment t");
    let endless = ask(json!({"question": "q", "title": "界".repeat(1_000)})).unwrap();
    assert_eq!(endless.questions.first().header, "界".repeat(100));
    assert_eq!(endless.questions.first().shown_header(), "界".repeat(12));
}

// contract: A1
#[test]
fn ten_questions_are_refused_whole_with_the_remedy() {
    let refused = ask(json!({"questions": vec!["Where?"; 10]})).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "questions holds 10 questions, at most 5 fit one call; split it into several calls"
    );
}
