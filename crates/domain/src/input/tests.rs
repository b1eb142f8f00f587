#![allow(clippy::needless_pass_by_value)]

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

// contract: A4
#[test]
fn timeouts_are_seconds_as_number_or_text() {
    let timeout = |v: Value| ask(json!({"question": "q", "timeout_s": v})).map(|i| i.timeout);
    assert_eq!(timeout(json!(90)), Ok(TimeoutChoice::After(Millis(90_000))));
    assert_eq!(
        timeout(json!("1.5")),
        Ok(TimeoutChoice::After(Millis(1_500)))
    );
    // Wishes stay as they are: the clock bounds them and says so.
    assert_eq!(timeout(json!(0.01)), Ok(TimeoutChoice::After(Millis(10))));
    assert_eq!(timeout(json!(1e-300)), Ok(TimeoutChoice::After(Millis(1))));
    let longest = TimeoutChoice::After(Millis(9_007_199_254_740_991));
    assert_eq!(timeout(json!(1e300)), Ok(longest));
    assert_eq!(timeout(json!(u64::MAX)), Ok(longest));
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
    for (name, value, expected) in [
        ("timeout_seconds", json!(2), 2_000),
        ("timeoutSeconds", json!("2"), 2_000),
        ("timeout_ms", json!(2_500), 2_500),
        ("timeoutMs", json!("2500"), 2_500),
    ] {
        let call = ask(json!({"question": "q", name: value})).unwrap();
        assert_eq!(
            call.timeout,
            TimeoutChoice::After(Millis(expected)),
            "{name}"
        );
    }
    // Seconds or milliseconds: nobody knows.
    let unclear = ask(json!({"question": "q", "timeout": 90})).unwrap_err();
    assert!(unclear.to_string().contains("timeout_s"));
}

// contract: A5, A6
#[test]
fn a_call_says_whom_it_is_for_and_what_silence_means() {
    let call = |more: Value| {
        let mut arguments = more;
        arguments["question"] = json!("q");
        ask(arguments)
    };
    let to = |value: Value| call(json!({"to": value})).map(|i| i.to);
    let ann = Ok(Some(Addressee::Person(PersonId::new("ann").unwrap())));
    let ops = Ok(Some(Addressee::Group(GroupId::new("ops").unwrap())));
    for same in [
        json!("ann"),
        json!(" person:ann "),
        json!({"person": "ann"}),
    ] {
        assert_eq!(to(same.clone()), ann, "{same}");
    }
    for same in [json!("group:ops"), json!({"group": "ops"})] {
        assert_eq!(to(same.clone()), ops, "{same}");
    }
    for nobody in [json!(null), json!("")] {
        assert_eq!(to(nobody.clone()), Ok(None), "{nobody}");
    }
    for bad in [
        json!(7),
        json!("group:"),
        json!({}),
        json!({"person": "a", "group": "b"}),
        json!(["ann"]),
    ] {
        assert!(to(bad.clone()).is_err(), "{bad}");
    }
    let said = call(json!({"on_timeout": "Adopt", "when_absent": "unattended", "language": "zh-CN", "grace_s": "1.5"})).unwrap();
    assert_eq!(said.on_timeout, Some(OnTimeout::Adopt));
    assert_eq!(said.when_absent, Some(WhenAbsent::Unattended));
    assert_eq!(said.language, Some(Language::Zh));
    assert_eq!(said.grace, Some(Millis(1_500)));
    assert_eq!(call(json!({"grace_s": 0})).unwrap().grace, Some(Millis(0)));
    let silent = call(json!({"on_timeout": null})).unwrap();
    assert_eq!(
        silent,
        AskInput::new(silent.questions.clone(), TimeoutChoice::Default)
    );
    for bad in [
        json!({"on_timeout": "approve"}),
        json!({"when_absent": true}),
        json!({"language": "tlh"}),
        json!({"grace_s": -1}),
    ] {
        assert!(call(bad.clone()).is_err(), "{bad}");
    }
    let remedy = call(json!({"on_timeout": "approve"})).unwrap_err();
    assert_eq!(
        remedy.to_string(),
        "on_timeout must be one of return, adopt, defer"
    );
}
