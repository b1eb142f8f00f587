#![allow(clippy::needless_pass_by_value)]

use super::*;

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
fn every_shape_models_send_becomes_the_same_question() {
    let canonical = json!([{"question": "Deploy where?", "multi_select": true,
        "options": [{"label": "staging"}, {"label": "prod"}], "recommended": 0}]);
    let expected = ask(json!({"questions": canonical})).unwrap();
    let once = canonical.to_string();
    let twice = Value::String(once.clone()).to_string();
    let same = [
        json!({"questions": once}),
        json!({"questions": twice}),
        json!({"questions": canonical[0]}),
        json!({"question": "Deploy where?", "options": ["staging", "prod"], "multiSelect": true, "recommended": "staging"}),
        json!({"questions": [{"text": "Deploy where?", "choices": ["staging", {"value": "prod"}], "multiple": "true", "recommended": "0"}]}),
    ];
    for value in same {
        assert_eq!(ask(value.clone()).unwrap(), expected, "{value}");
    }
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
    let header = ask(json!({"questions": [{"question": "q", "header": "Deployment target"}]}));
    assert_eq!(header.unwrap().questions.first().header, "Deployment t");
}

// contract: A4
#[test]
fn timeouts_are_seconds_as_number_or_text() {
    let timeout = |v: Value| ask(json!({"question": "q", "timeout_s": v})).map(|i| i.timeout);
    assert_eq!(timeout(json!(90)), Ok(TimeoutChoice::After(Millis(90_000))));
    assert_eq!(
        timeout(json!("1.5")),
        Ok(TimeoutChoice::After(Millis(1_500)))
    );
    assert_eq!(timeout(json!(0.01)), Ok(TimeoutChoice::After(MIN_TIMEOUT)));
    assert_eq!(timeout(json!(1e300)), Ok(TimeoutChoice::After(MAX_TIMEOUT)));
    for never in [json!(0), json!(-5), json!(null), json!("0")] {
        assert_eq!(timeout(never), Ok(TimeoutChoice::Never));
    }
    for bad in [json!("soon"), json!(true), json!("NaN"), json!([1])] {
        assert!(timeout(bad).is_err());
    }
    assert_eq!(
        ask(json!({"question": "q"})).unwrap().timeout,
        TimeoutChoice::Default
    );
}
