//! What belongs to the call and not to one of its questions.

use super::*;

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
