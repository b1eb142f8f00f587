//! The shapes and spellings in which models send questions.

use super::*;

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
        json!({"question": canonical[0]}),
        json!({"question": canonical}),
        json!({"questions": [canonical[0].to_string()]}),
        json!({"questions": [{"prompt": "Deploy where?", "multi_select": 1, "recommended": [0],
            "options": json!(["staging", "prod"]).to_string()}]}),
        json!({"questions": {"question": {"text": "Deploy where?", "multiple": true},
            "options": [{"text": "staging", "recommended": true}, {"name": "prod", "recommended": false}]}}),
        json!({"question": "Deploy where?", "options": ["staging", "prod"], "multiple": true, "recommended": 0.0}),
    ];
    for value in same {
        assert_eq!(ask(value.clone()).unwrap(), expected, "{value}");
    }
}

// contract: A1
#[test]
fn plain_words_stand_for_a_question_and_for_an_option() {
    let bare = ask(json!({"questions": "Deploy now?"})).unwrap();
    assert_eq!(bare, ask(json!({"question": "Deploy now?"})).unwrap());
    // What looks like a number or a flag is a label all the same.
    let labels = |options: Value| {
        let input = ask(json!({"question": "q", "options": options})).unwrap();
        let question = input.questions.first().clone();
        let labels: Vec<String> = question.options.into_iter().map(|o| o.label).collect();
        labels
    };
    assert_eq!(
        labels(json!([1, 2.5, true, "null", {"label": 8080}])),
        ["1", "2.5", "true", "null", "8080"]
    );
    assert_eq!(labels(json!("42")), ["42"]);
    assert_eq!(labels(json!("[1, 2]")), ["1", "2"]);
    for empty in [
        json!([]),
        json!(null),
        json!(""),
        json!(" "),
        json!("[]"),
        json!("null"),
        json!("\"\""),
    ] {
        assert!(labels(empty.clone()).is_empty(), "{empty}");
    }
}
