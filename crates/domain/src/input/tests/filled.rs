//! Callers that fill every field, and words that stand for no value or for nobody.

use super::*;

/// What a strict caller sends for a field that it leaves out.
fn nothings() -> [Value; 6] {
    ["", " ", "\u{feff}", "null", "None", " NULL "].map(Value::from)
}

// contract: A1
#[test]
fn a_blank_or_null_text_is_a_field_that_was_left_out() {
    let full = json!({"question": "q", "options": ["a", "b"]});
    let expected = ask(full.clone()).unwrap();
    let everywhere = [
        "header",
        "explanation",
        "multi_select",
        "min_select",
        "max_select",
        "recommended",
        "on_timeout",
        "when_absent",
        "language",
        "grace_s",
        "to",
        "anything",
    ];
    for name in everywhere {
        for nothing in nothings() {
            let mut call = full.clone();
            call[name] = nothing.clone();
            assert_eq!(ask(call), Ok(expected.clone()), "{name} {nothing}");
            let mut question = full.clone();
            question[name] = nothing.clone();
            let listed = ask(json!({"questions": [question]}));
            assert_eq!(listed, Ok(expected.clone()), "{name} {nothing}");
        }
    }
    let mut all = full;
    for name in everywhere {
        all[name] = json!("");
    }
    assert_eq!(
        ask(json!({"questions": [], "question": "q", "options": ["a", "b"]})),
        Ok(expected.clone())
    );
    assert_eq!(ask(all), Ok(expected));
    for nothing in nothings() {
        let open = ask(json!({"question": "q", "options": nothing})).unwrap();
        assert!(open.questions.first().options.is_empty());
        assert!(ask(json!({"question": nothing, "options": ["a"]})).is_err());
        assert!(ask(json!({"questions": [{"question": nothing}]})).is_err());
    }
}

// contract: A1
#[test]
fn no_recommendation_is_said_in_many_ways_and_an_option_may_be_called_none() {
    let recommended = |value: Value| {
        let input = ask(json!({"question": "q", "options": ["a", "None"], "recommended": value}))?;
        let id = input.questions.first().recommended.clone();
        Ok::<_, InvalidQuestion>(id.map(|id| id.to_string()))
    };
    for none in [
        json!(false),
        json!(""),
        json!("null"),
        json!("none"),
        json!(null),
        json!([]),
    ] {
        assert_eq!(recommended(none.clone()), Ok(None), "{none}");
    }
    assert_eq!(recommended(json!("None")), Ok(Some("o2".to_owned())));
    let labels = ask(json!({"question": "q", "options": ["null", {"label": "none"}]})).unwrap();
    let labels: Vec<_> = labels
        .questions
        .first()
        .options
        .iter()
        .map(|o| o.label.clone())
        .collect();
    assert_eq!(labels, ["null", "none"]);
}

// contract: A4
#[test]
fn a_timeout_that_is_not_said_is_the_default_and_null_is_never() {
    let timeout = |name: &str, value: Value| {
        ask(json!({"question": "q", name: value})).map(|input| input.timeout)
    };
    for name in ["timeout_s", "timeout_ms", "timeout_sec"] {
        for blank in ["", "  ", "\u{200b}"] {
            assert_eq!(
                timeout(name, json!(blank)),
                Ok(TimeoutChoice::Default),
                "{name} {blank:?}"
            );
        }
        for never in [json!(null), json!("null"), json!("None"), json!(0)] {
            assert_eq!(
                timeout(name, never.clone()),
                Ok(TimeoutChoice::Never),
                "{name} {never}"
            );
        }
    }
    assert_eq!(timeout("timeout", json!("")), Ok(TimeoutChoice::Default));
    let both = ask(json!({"question": "q", "timeout_s": null, "timeout_ms": 5_000})).unwrap();
    assert_eq!(both.timeout, TimeoutChoice::After(Millis(5_000)));
}

// contract: A6
#[test]
fn a_word_for_nobody_in_particular_addresses_everybody() {
    let to = |word: &str| ask(json!({"question": "q", "to": word})).map(|input| input.to);
    let everybody = [
        "",
        " ",
        "null",
        "None",
        "user",
        "User",
        "the user",
        "human",
        "me",
        "ME",
        " me ",
        "anyone",
        "anybody",
        "everyone",
        "Everybody",
        "all",
        "any",
        "@user",
        "@everyone",
        "@here",
        "@",
        "people",
    ];
    for word in everybody {
        assert_eq!(to(word), Ok(None), "{word:?}");
    }
    let person = |name: &str| Ok(Some(Addressee::Person(PersonId::new(name).unwrap())));
    for (word, name) in [
        ("ann", "ann"),
        ("@ann", "ann"),
        ("Ann", "Ann"),
        ("users-of-ann", "users-of-ann"),
        // Who means a person of that name says so.
        ("person:user", "user"),
        ("person:me", "me"),
    ] {
        assert_eq!(to(word), person(name), "{word}");
    }
    let named = ask(json!({"question": "q", "to": {"person": "ann", "group": ""}})).unwrap();
    assert_eq!(Ok(named.to), person("ann"));
    // Only a tool's arguments are words of a model.
    assert_eq!(
        Addressee::parse("user"),
        Ok(Addressee::Person(PersonId::new("user").unwrap()))
    );
}

// contract: E4
#[test]
fn what_draws_nothing_is_no_question_and_no_option() {
    for blank in ["\u{200b}", "\u{feff}", " \u{2060} ", "\u{3164}"] {
        assert!(ask(json!({"question": blank})).is_err(), "{blank:?}");
        assert!(ask(json!({"questions": [blank]})).is_err(), "{blank:?}");
        assert!(
            ask(json!({"question": "q", "options": ["a", blank]})).is_err(),
            "{blank:?}"
        );
        assert!(studio(json!({"question": blank})).is_err(), "{blank:?}");
        assert!(
            studio(json!({"question": "q", "choices": [blank]})).is_err(),
            "{blank:?}"
        );
    }
}

#[test]
fn a_mark_of_a_secret_is_seen_however_it_is_written() {
    let names = [
        "secret",
        "is_secret",
        "isSecret",
        "password",
        "isPassword",
        "sensitive",
        "is_sensitive",
        "masked",
        "Secret",
        "IS-SECRET",
    ];
    for name in names {
        for mark in [
            json!(true),
            json!("true"),
            json!("yes"),
            json!("on"),
            json!(1),
            json!("1"),
            json!("x"),
        ] {
            let call = json!({"question": "q", name: mark});
            assert!(ask(call.clone()).is_err(), "{call}");
            assert!(studio(call.clone()).is_err(), "{call}");
            assert!(ask(json!({"questions": [call]})).is_err(), "{name}");
        }
        for no in [
            json!(false),
            json!("false"),
            json!("no"),
            json!(0),
            json!(null),
            json!(""),
            json!("none"),
        ] {
            let call = json!({"question": "q", name: no});
            assert_eq!(ask(call.clone()), ask(json!({"question": "q"})), "{call}");
        }
    }
    for kind in ["password", "Secret", "is_secret", "masked"] {
        assert!(
            ask(json!({"question": "q", "inputType": kind})).is_err(),
            "{kind}"
        );
    }
}
