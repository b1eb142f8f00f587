//! Input that is broken, wrapped, or under names that nobody knows.

use super::*;

// contract: A1
#[test]
fn json_that_was_cut_off_is_refused_and_words_in_brackets_are_words() {
    let whole = json!([{"question": "Deploy?", "options": ["yes", "no"]}]).to_string();
    let starts = whole.char_indices().map(|(i, _)| i).filter(|i| *i > 1);
    for end in starts {
        let cut = &whole[..end];
        for call in [json!({"questions": cut}), json!({"questions": [cut]})] {
            // A single item that is not yet a field's name is no question either.
            if call["questions"].is_array() && end < 13 {
                continue;
            }
            let refused = ask(call.clone()).unwrap_err();
            assert!(
                refused.problem.starts_with("is not valid JSON: "),
                "{call}: {refused}"
            );
        }
    }
    for broken in [
        json!({"questions": "[{'question': 'A?'}]"}),
        json!({"questions": "[{\\\"question\\\": \\\"A?\\\"}]"}),
        json!({"question": "[{\"question\": \"A?\", \"opt"}),
        json!({"question": "{\"question\": \"A?"}),
        json!({"questions": [{"question": "{\"question\": \"A?"}]}),
        json!({"question": "q", "options": "[\"a\", \"b"}),
        json!({"question": "q", "options": ["a", "{\"label\": \"b"]}),
    ] {
        let refused = ask(broken.clone()).unwrap_err();
        assert!(
            refused.problem.starts_with("is not valid JSON: "),
            "{broken}: {refused}"
        );
    }
    for words in [
        "[WIP] Merge this?",
        "{name} or {id}?",
        "[urgent]",
        "{\"replicas\": 3} or 4?",
    ] {
        let text = ask(json!({"question": words}))
            .unwrap()
            .questions
            .first()
            .question
            .clone();
        assert_eq!(text, words);
    }
    assert_eq!(
        ask(json!({"questions": "[WIP] Merge?"})),
        ask(json!({"question": "[WIP] Merge?"}))
    );
}

// contract: A1
#[test]
fn json_as_text_is_read_wherever_a_question_or_an_option_stands() {
    let expected = ask(json!({"questions": [{"question": "A?", "options": ["x", "y"]}]}));
    for same in [
        json!({"question": json!([{"question": "A?", "options": ["x", "y"]}]).to_string()}),
        json!({"question": json!({"question": "A?", "options": ["x", "y"]}).to_string()}),
        json!({"questions": [{"question": json!({"question": "A?", "options": ["x", "y"]}).to_string()}]}),
        json!({"question": "A?", "options": [json!({"label": "x"}).to_string(), "y"]}),
        json!({"question": "A?", "options": json!([json!({"label": "x"}).to_string(), "y"]).to_string()}),
    ] {
        assert_eq!(ask(same.clone()), expected, "{same}");
    }
    assert_eq!(
        ask(json!({"question": "[\"A?\"]"})),
        ask(json!({"question": "A?"}))
    );
    let two = ask(json!({"question": "[\"A?\", \"B?\"]"})).unwrap();
    assert_eq!(two.questions.len(), 2);
    // Of an option that is JSON itself, the person chooses that.
    let json = ask(json!({"question": "Which?", "options": ["{\"replicas\": 3}"]})).unwrap();
    assert_eq!(json.questions.first().options[0].label, "{\"replicas\": 3}");
}

// contract: A1
#[test]
fn a_call_within_a_call_is_unwrapped() {
    let expected =
        ask(json!({"questions": [{"question": "A?", "options": ["x"]}], "timeout_s": 5}));
    let call = json!({"questions": [{"question": "A?", "options": ["x"]}], "timeout_s": 5});
    for wrapped in [
        json!({"input": call}),
        json!({"arguments": call}),
        json!({"args": call.to_string()}),
        json!({"params": call, "to": ""}),
        json!({"questions": call}),
        json!({"questions": call.to_string()}),
        json!({"input": {"questions": call["questions"]}, "timeout_s": 5}),
        json!({"input": {"questions": call}}),
        json!({"Questions": call["questions"], "timeoutS": 5}),
        json!({"questions": "A?", "options": ["x"], "timeout_s": 5}),
        json!({"text": "A?", "choices": ["x"], "timeout_s": 5}),
    ] {
        assert_eq!(ask(wrapped.clone()), expected, "{wrapped}");
    }
    assert!(ask(json!({"input": {"input": call}})).is_err());
    assert!(ask(json!({"input": "A?"})).is_err());
}

// contract: A1, A4
#[test]
fn every_spelling_of_a_name_is_that_name() {
    let expected = ask(
        json!({"question": "q", "options": ["a", "b", "c"], "multi_select": true,
        "min_select": 1, "max_select": 2, "timeout_s": 5, "on_timeout": "defer", "when_absent": "wait"}),
    );
    for (multi, min, max, timeout, silence, absent) in [
        (
            "multiSelect",
            "minSelect",
            "maxSelect",
            "timeoutS",
            "onTimeout",
            "whenAbsent",
        ),
        (
            "multi",
            "min_selections",
            "max_selections",
            "timeout_sec",
            "on-timeout",
            "When_Absent",
        ),
        (
            "allow_multiple",
            "minSelections",
            "maxSelections",
            "timeoutSec",
            "OnTimeout",
            "WHEN_ABSENT",
        ),
        (
            "allowMultiple",
            "MinSelect",
            "MaxSelect",
            "timeout_secs",
            "on_timeout",
            "when-absent",
        ),
        (
            "multiple",
            "min_select",
            "max_select",
            "timeout_seconds",
            "on_timeout",
            "whenabsent",
        ),
    ] {
        let call = json!({"question": "q", "options": ["a", "b", "c"], multi: "yes", min: 1, max: "2",
            timeout: "5", silence: "defer", absent: "wait"});
        assert_eq!(ask(call.clone()), expected, "{call}");
    }
}

// contract: A1
#[test]
fn what_may_be_the_options_or_the_time_is_refused_where_it_is_not_known() {
    for (call, field) in [
        (json!({"question": "q", "answers": ["a", "b"]}), "answers"),
        (
            json!({"question": "q", "suggestions": "[\"a\", \"b\"]"}),
            "suggestions",
        ),
        (json!({"question": "q", "option": ["a"]}), "option"),
        (
            json!({"questions": [{"question": "q", "answerOptions": ["a"]}]}),
            "questions[0].answerOptions",
        ),
        (
            json!({"questions": ["q", "r"], "answers": ["a"]}),
            "answers",
        ),
        (
            json!({"question": "q", "timeout_minutes": 5}),
            "timeout_minutes",
        ),
        (
            json!({"questions": [{"question": "q", "timeout_s": 5}]}),
            "questions[0].timeout_s",
        ),
    ] {
        let refused = ask(call.clone()).unwrap_err();
        assert_eq!(refused.field, field, "{call}");
        assert!(refused.problem.starts_with("is not known"), "{refused}");
        let remedy = if field.contains("timeout") {
            "timeout_s"
        } else {
            "options"
        };
        assert!(refused.problem.contains(remedy), "{refused}");
    }
}

// contract: A1
#[test]
fn what_is_ignored_is_named() {
    let ignored = |call: Value| ask(call).unwrap().ignored;
    let none: [&str; 0] = [];
    assert_eq!(
        ignored(json!({"question": "q", "type": "radio", "secret": false})),
        none
    );
    assert_eq!(
        ignored(json!({"question": "q", "defaultOption": 0, "x": null, "y": ""})),
        ["defaultOption"]
    );
    assert_eq!(
        ignored(
            json!({"questions": [{"question": "q", "options": ["a"], "tags": ["t"], "id": 7}], "priority": 1})
        ),
        ["priority", "questions[0].id", "questions[0].tags"]
    );
    // Of two spellings of one field the first counts.
    assert_eq!(ignored(json!({"question": "q", "text": "r"})), ["text"]);
    // Said once of all options.
    let options = json!([{"label": "a", "icon": "x"}, {"label": "b", "icon": "y"}]);
    assert_eq!(
        ignored(json!({"question": "q", "options": options})),
        ["questions[0].options.icon"]
    );
    let mut many = json!({"question": "q"});
    for n in 0..50 {
        many[format!("{}{n}", "x".repeat(100))] = json!(1);
    }
    let ignored = ignored(many);
    assert!(ignored.len() <= 20 && ignored.iter().all(|name| name.chars().count() <= 60));
}
