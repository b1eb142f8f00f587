//! What happens when time is up or nobody is there, and within which bounds.

#![allow(clippy::unwrap_used, clippy::panic)]

mod fixture;

use askbus_domain::{
    AskCommand, AskInput, BeginCommand, Bound, Command, Dialect, Event, EventKind, Language,
    Millis, OnTimeout, Outcome, Policy, PolicyLayer, PolicyTable, Presence, Reason, TenantPolicy,
    Terms, TimeoutChoice, WhenAbsent, Wish, parse_arguments,
};
use fixture::{Log, answer, ask, at, begin, chosen, cid, expire, id, kinds, outcome};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Three questions; the first and the last have a recommendation.
fn three() -> Value {
    json!({"questions": [
        {"question": "Where?", "options": ["staging", "prod"], "recommended": 0},
        {"question": "Why?"},
        {"question": "When?", "options": ["now", "later"], "recommended": 1}],
        "timeout_s": 90})
}

fn plain() -> Value {
    json!({"question": "Where?", "choices": ["staging", "prod"]})
}

fn asking(dialect: Dialect, arguments: &Value, policy: PolicyLayer) -> AskCommand {
    AskCommand {
        policy,
        ..ask(1, dialect, arguments)
    }
}

fn run(command: AskCommand, now: u64) -> (Log, Vec<Event>) {
    let mut log = Log::begun();
    let events = log.run(&Command::Ask(Box::new(command)), at(now)).unwrap();
    (log, events)
}

fn assumed(outcome: &Outcome) -> Vec<(&str, &str)> {
    let assumptions = outcome.assumptions.iter();
    assumptions
        .map(|a| (a.question_id.as_str(), a.label.as_str()))
        .collect()
}

const RECOMMENDED: [(&str, &str); 2] = [("q1", "staging"), ("q3", "later")];

// contract: A5
#[test]
fn what_a_deadline_makes_of_a_question() {
    let table = [
        (OnTimeout::Return, Reason::Timeout, false, false),
        (OnTimeout::Adopt, Reason::Timeout, true, false),
        (OnTimeout::Defer, Reason::Deferred, false, true),
    ];
    for (on_timeout, reason, adopts, timed_out) in table {
        let policy = PolicyLayer {
            on_timeout: Some(on_timeout),
            ..PolicyLayer::default()
        };
        let (mut log, events) = run(asking(Dialect::Ask, &three(), policy), 0);
        assert_eq!(kinds(&events), [EventKind::Requested], "{on_timeout:?}");
        assert_eq!(log.run(&expire(), at(89_999)), Ok(Vec::new()));
        log.run(&expire(), at(90_000)).unwrap();
        let settled = outcome(&log, 1);
        assert_eq!(settled.reason, reason, "{on_timeout:?}");
        assert!(settled.is_by_clock(), "{on_timeout:?}");
        assert_eq!(settled.timed_out, timed_out, "{on_timeout:?}");
        assert_eq!(settled.actor, None);
        assert!(settled.answers.is_empty());
        assert_eq!(settled.unanswered.len(), 3, "{on_timeout:?}");
        let expected = if adopts { &RECOMMENDED[..] } else { &[] };
        assert_eq!(assumed(&settled), expected, "{on_timeout:?}");
    }
}

// contract: A5, E10
#[test]
fn an_answer_in_time_beats_every_policy_and_one_after_it_is_late() {
    for on_timeout in OnTimeout::ALL {
        let policy = PolicyLayer {
            on_timeout: Some(*on_timeout),
            ..PolicyLayer::default()
        };
        let (log, _) = run(asking(Dialect::Ask, &three(), policy), 0);
        let mut in_time = log.clone();
        in_time
            .run(&answer(1, chosen("a", "o2"), at(90_000)), at(95_000))
            .unwrap();
        assert_eq!(outcome(&in_time, 1).reason, Reason::Response);
        let mut too_late = log.clone();
        let events = too_late
            .run(&answer(1, chosen("a", "o2"), at(90_001)), at(95_000))
            .unwrap();
        assert_eq!(kinds(&events), [EventKind::Resolved, EventKind::Late]);
        assert!(outcome(&too_late, 1).is_by_clock(), "{on_timeout:?}");
    }
}

// contract: A6, D9
#[test]
fn what_an_absence_makes_of_a_question() {
    use Presence::{Absent, Present, Unknown};
    for dialect in [Dialect::Ask, Dialect::Studio, Dialect::Interaction] {
        for (presence, when_absent, settles) in [
            (Absent, WhenAbsent::Wait, None),
            (Absent, WhenAbsent::Deferred, Some(Reason::Deferred)),
            (Absent, WhenAbsent::Unattended, Some(Reason::Unattended)),
            (Present, WhenAbsent::Deferred, None),
            (Present, WhenAbsent::Unattended, None),
            // Nobody is called absent before it is known.
            (Unknown, WhenAbsent::Deferred, None),
            (Unknown, WhenAbsent::Unattended, None),
        ] {
            let case = format!("{dialect:?} {presence:?} {when_absent:?}");
            let policy = PolicyLayer {
                when_absent: Some(when_absent),
                ..PolicyLayer::default()
            };
            let command = AskCommand {
                presence,
                ..asking(dialect, &plain(), policy)
            };
            let (log, events) = run(command.clone(), 5);
            let Some(reason) = settles else {
                assert_eq!(kinds(&events), [EventKind::Requested], "{case}");
                continue;
            };
            assert_eq!(
                kinds(&events),
                [EventKind::Requested, EventKind::Resolved],
                "{case}"
            );
            let settled = outcome(&log, 1);
            assert_eq!(settled.reason, reason, "{case}");
            assert!(!settled.is_by_clock(), "{case}");
            assert_eq!(settled.resolved_at, at(5), "{case}");
            assert_eq!(
                log.commits.last().unwrap().subject_kind(),
                EventKind::Requested
            );
            // The same ask again is the same question.
            let again = log.decide(&Command::Ask(Box::new(command)), at(6));
            assert_eq!(again, Ok(Vec::new()), "{case}");
        }
    }
}

// contract: A5, A6
#[test]
fn unattended_always_adopts_and_deferred_never_does() {
    for (when_absent, expected) in [
        (WhenAbsent::Unattended, &RECOMMENDED[..]),
        (WhenAbsent::Deferred, &[]),
    ] {
        for on_timeout in OnTimeout::ALL {
            let policy = PolicyLayer {
                when_absent: Some(when_absent),
                on_timeout: Some(*on_timeout),
                ..PolicyLayer::default()
            };
            let command = AskCommand {
                presence: Presence::Absent,
                ..asking(Dialect::Ask, &three(), policy)
            };
            let (log, _) = run(command, 0);
            assert_eq!(assumed(&outcome(&log, 1)), expected, "{on_timeout:?}");
            assert!(outcome(&log, 1).answers.is_empty());
        }
    }
}

fn layer(n: u64) -> PolicyLayer {
    PolicyLayer {
        timeout: Some(Wish::After(Millis(n))),
        grace: Some(Millis(n)),
        on_timeout: Some(OnTimeout::Adopt),
        when_absent: Some(WhenAbsent::Deferred),
        unanswered_limit: Some(u32::try_from(n).unwrap()),
        language: Some(Language::Zh),
        ..PolicyLayer::default()
    }
}

// contract: A6
#[test]
fn the_narrower_layer_wins() {
    let input = |value| parse_arguments(Dialect::Ask, &value).unwrap();
    let silent = || input(json!({"question": "?"}));
    let none = PolicyLayer::default();
    let of = |table: &PolicyLayer, turn: &PolicyLayer, call: &AskInput| {
        Policy::in_force(Dialect::Ask, table, turn, call)
    };
    let defaults = of(&none, &none, &silent());
    assert_eq!(defaults.terms, Terms::default());
    assert_eq!(defaults.clock.timeout, None);
    assert!(!defaults.clock.chosen);
    assert_eq!(defaults.clock.grace, Millis(60_000));
    assert_eq!((defaults.max_pending, defaults.unanswered_limit), (32, 2));
    // The tenant's.
    let tenant = of(&layer(5_000), &none, &silent());
    assert_eq!(tenant.clock.timeout, Some(Millis(5_000)));
    // A default is nobody's choice.
    assert!(!tenant.clock.chosen);
    assert_eq!(tenant.clock.grace, Millis(5_000));
    assert_eq!(tenant.unanswered_limit, 5_000);
    let expected = Terms {
        on_timeout: OnTimeout::Adopt,
        when_absent: WhenAbsent::Deferred,
        language: Language::Zh,
    };
    assert_eq!(tenant.terms, expected);
    // The turn's over it.
    let turn = PolicyLayer {
        on_timeout: Some(OnTimeout::Defer),
        when_absent: Some(WhenAbsent::Unattended),
        language: Some(Language::En),
        ..layer(6_000)
    };
    let over = of(&layer(5_000), &turn, &silent());
    assert_eq!(over.clock.timeout, Some(Millis(6_000)));
    assert!(over.clock.chosen);
    assert_eq!(
        (over.clock.grace, over.unanswered_limit),
        (Millis(6_000), 6_000)
    );
    let expected = Terms {
        on_timeout: OnTimeout::Defer,
        when_absent: WhenAbsent::Unattended,
        language: Language::En,
    };
    assert_eq!(over.terms, expected);
    // The call's over all.
    let call = AskInput {
        on_timeout: Some(OnTimeout::Return),
        when_absent: Some(WhenAbsent::Wait),
        grace: Some(Millis(7_000)),
        language: Some(Language::Zh),
        ..input(json!({"question": "?", "timeout_s": 7}))
    };
    let narrowest = of(&layer(5_000), &turn, &call);
    assert_eq!(narrowest.clock.timeout, Some(Millis(7_000)));
    assert_eq!(narrowest.clock.grace, Millis(7_000));
    let expected = Terms {
        on_timeout: OnTimeout::Return,
        when_absent: WhenAbsent::Wait,
        language: Language::Zh,
    };
    assert_eq!(narrowest.terms, expected);
    // Saying "never" is saying something.
    let never = AskInput {
        timeout: TimeoutChoice::Never,
        ..silent()
    };
    let clock = of(&layer(5_000), &turn, &never).clock;
    assert_eq!((clock.timeout, clock.chosen), (None, true));
}

// contract: A6
#[test]
fn the_table_lies_in_layers_of_tenant_dialect_and_profile() {
    let timeout = |n: u64| PolicyLayer {
        timeout: Some(Wish::After(Millis(n))),
        ..PolicyLayer::default()
    };
    let max = |n: u64| PolicyLayer {
        max_timeout: Some(Millis(n)),
        min_timeout: Some(Millis(n / 2)),
        max_pending: Some(u32::try_from(n).unwrap()),
        ..PolicyLayer::default()
    };
    let acme = TenantPolicy {
        layer: PolicyLayer {
            timeout: Some(Wish::After(Millis(2))),
            min_timeout: Some(Millis(5)),
            ..max(90)
        },
        dialects: BTreeMap::from([(Dialect::Interaction, timeout(3))]),
        profiles: BTreeMap::from([
            (id("ops"), timeout(4)),
            (id("wide"), max(1_000)),
            (id("tight"), max(10)),
        ]),
    };
    let table = PolicyTable {
        all: PolicyLayer {
            grace: Some(Millis(9)),
            ..PolicyLayer {
                timeout: Some(Wish::After(Millis(1))),
                ..max(50)
            }
        },
        tenants: BTreeMap::from([(id("acme"), acme)]),
    };
    let of = |tenant: &str, profile: &str, dialect| table.of(&id(tenant), &id(profile), dialect);
    let wish = |n| Some(Wish::After(Millis(n)));
    assert_eq!(of("other", "ops", Dialect::Interaction), table.all);
    assert_eq!(of("acme", "dev", Dialect::Ask).timeout, wish(2));
    assert_eq!(of("acme", "dev", Dialect::Interaction).timeout, wish(3));
    assert_eq!(of("acme", "ops", Dialect::Interaction).timeout, wish(4));
    assert_eq!(of("acme", "ops", Dialect::Ask).grace, Some(Millis(9)));
    // The operator sets a tenant's bounds; a profile's may only be tighter.
    let bounds = |profile| {
        let layer = of("acme", profile, Dialect::Ask);
        (
            layer.min_timeout.unwrap().0,
            layer.max_timeout.unwrap().0,
            layer.max_pending.unwrap(),
        )
    };
    assert_eq!(bounds("dev"), (5, 90, 90));
    assert_eq!(bounds("wide"), (500, 90, 90));
    assert_eq!(bounds("tight"), (5, 10, 10));
}

// A change of the configuration never changes what was asked.
#[test]
fn a_question_keeps_the_policy_it_was_asked_under() {
    let policy = PolicyLayer {
        on_timeout: Some(OnTimeout::Defer),
        ..PolicyLayer::default()
    };
    let turn = BeginCommand {
        policy: PolicyLayer {
            when_absent: Some(WhenAbsent::Unattended),
            ..PolicyLayer::default()
        },
        ..begin(1)
    };
    let mut log = Log::default();
    log.run(&Command::Begin(turn), at(0)).unwrap();
    let command = asking(Dialect::Ask, &three(), policy);
    log.run(&Command::Ask(Box::new(command)), at(0)).unwrap();
    let json = serde_json::to_string(&log.commits).unwrap();
    let read: Vec<askbus_domain::Commit> = serde_json::from_str(&json).unwrap();
    let mut again = Log::default();
    for commit in &read {
        again.state.apply(commit);
        again.commits.push(commit.clone());
    }
    assert_eq!(again.state, log.state);
    let terms = again.find(cid(1)).unwrap().terms;
    assert_eq!(
        terms,
        Terms {
            on_timeout: OnTimeout::Defer,
            when_absent: WhenAbsent::Unattended,
            language: Language::En,
        }
    );
    again.run(&expire(), at(90_000)).unwrap();
    assert_eq!(outcome(&again, 1).reason, Reason::Deferred);
}

#[test]
fn words_are_the_serialized_form() {
    for word in OnTimeout::ALL {
        assert_eq!(serde_json::to_value(word).unwrap(), word.as_str());
        assert_eq!(OnTimeout::parse(word.as_str()), Some(*word));
    }
    for word in WhenAbsent::ALL {
        assert_eq!(serde_json::to_value(word).unwrap(), word.as_str());
        assert_eq!(WhenAbsent::parse(word.as_str()), Some(*word));
    }
    for word in Bound::ALL {
        assert_eq!(serde_json::to_value(word).unwrap(), word.as_str());
        assert_eq!(Bound::parse(word.as_str()), Some(*word));
    }
    assert_eq!(OnTimeout::parse("maybe"), None);
    assert!(PolicyLayer::default().is_empty());
    assert!(!layer(1).is_empty());
}
