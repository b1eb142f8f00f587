//! Within which bounds a caller gets its wishes, and that it is told when it does not.

#![allow(clippy::unwrap_used, clippy::panic)]

mod fixture;

use askbus_domain::{
    Adjusted, AskCommand, BeginCommand, Bound, Clarification, Command, Dialect, Event, Millis,
    PolicyLayer, Rejection, TimeoutChoice, Wish, parse_arguments,
};
use fixture::{Log, ask, at, begin, cid};
use serde_json::{Value, json};

fn asking(dialect: Dialect, arguments: &Value, policy: PolicyLayer) -> AskCommand {
    AskCommand {
        policy,
        ..ask(1, dialect, arguments)
    }
}

fn run(command: AskCommand) -> (Log, Vec<Event>) {
    let mut log = Log::begun();
    let events = log.run(&Command::Ask(Box::new(command)), at(0)).unwrap();
    (log, events)
}

// contract: A4, A6
#[test]
fn no_layer_widens_the_bounds_above_it() {
    let bounds = |min, max, pending| PolicyLayer {
        min_timeout: Some(Millis(min)),
        max_timeout: Some(Millis(max)),
        max_pending: Some(pending),
        ..PolicyLayer::default()
    };
    let above = bounds(10_000, 60_000, 8);
    let held = |narrower: &PolicyLayer| {
        let under = above.under(narrower);
        (
            under.min_timeout.unwrap().0,
            under.max_timeout.unwrap().0,
            under.max_pending.unwrap(),
        )
    };
    assert_eq!(held(&PolicyLayer::default()), (10_000, 60_000, 8));
    assert_eq!(held(&bounds(1_000, 90_000, 9)), (10_000, 60_000, 8));
    assert_eq!(held(&bounds(20_000, 30_000, 2)), (20_000, 30_000, 2));
    let only_below = PolicyLayer::default().under(&bounds(1, 2, 3));
    assert_eq!(only_below, bounds(1, 2, 3));
}

/// The clock of a call under these bounds, 100 s before the turn's end.
fn clock(
    dialect: Dialect,
    arguments: &Value,
    policy: PolicyLayer,
    call_limit: Option<u64>,
) -> Clarification {
    let mut log = Log::default();
    let short = BeginCommand {
        holder: askbus_domain::Holder::Until(at(100_000)),
        ..begin(1)
    };
    log.run(&Command::Begin(short), at(0)).unwrap();
    let command = AskCommand {
        call_limit: call_limit.map(Millis),
        ..asking(dialect, arguments, policy)
    };
    log.run(&Command::Ask(Box::new(command)), at(0)).unwrap();
    log.find(cid(1)).unwrap()
}

/// Name, dialect, arguments, policy, how long the call lasts; deadline and what changed it.
type Case = (
    &'static str,
    Dialect,
    Value,
    PolicyLayer,
    Option<u64>,
    Option<u64>,
    Option<Bound>,
);

// contract: A4, E13
#[test]
fn a_timeout_that_is_not_the_one_asked_for_is_said_with_the_bound_that_changed_it() {
    let none = PolicyLayer::default;
    let min = || PolicyLayer {
        min_timeout: Some(Millis(20_000)),
        ..none()
    };
    let max = || PolicyLayer {
        max_timeout: Some(Millis(40_000)),
        ..none()
    };
    let default = |n| PolicyLayer {
        timeout: Some(Wish::After(Millis(n))),
        ..none()
    };
    let timeout = |s: f64| json!({"question": "?", "timeout_s": s});
    let silent = || json!({"question": "?"});
    let ask = Dialect::Ask;
    let table: [Case; 17] = [
        (
            "as asked",
            ask,
            timeout(30.0),
            none(),
            None,
            Some(30_000),
            None,
        ),
        (
            "too short for anybody",
            ask,
            timeout(0.2),
            none(),
            None,
            Some(1_000),
            Some(Bound::Minimum),
        ),
        (
            "too short here",
            ask,
            timeout(19.0),
            min(),
            None,
            Some(20_000),
            Some(Bound::Minimum),
        ),
        (
            "just long enough",
            ask,
            timeout(20.0),
            min(),
            None,
            Some(20_000),
            None,
        ),
        (
            "too long here",
            ask,
            timeout(41.0),
            max(),
            None,
            Some(40_000),
            Some(Bound::Maximum),
        ),
        (
            "just short enough",
            ask,
            timeout(40.0),
            max(),
            None,
            Some(40_000),
            None,
        ),
        (
            "never, where everything ends",
            ask,
            timeout(0.0),
            max(),
            None,
            Some(40_000),
            Some(Bound::Maximum),
        ),
        (
            "nothing said, where everything ends",
            ask,
            silent(),
            max(),
            None,
            Some(40_000),
            None,
        ),
        ("never", ask, timeout(0.0), none(), None, None, None),
        (
            "longer than the turn",
            ask,
            timeout(101.0),
            none(),
            None,
            Some(100_000),
            Some(Bound::TurnEnd),
        ),
        (
            "absurd",
            ask,
            timeout(1e12),
            none(),
            None,
            Some(100_000),
            Some(Bound::TurnEnd),
        ),
        (
            "longer than the call",
            ask,
            timeout(60.0),
            none(),
            Some(50_000),
            Some(50_000),
            Some(Bound::CallLimit),
        ),
        (
            "never in a call that ends",
            ask,
            timeout(0.0),
            none(),
            Some(50_000),
            Some(50_000),
            Some(Bound::CallLimit),
        ),
        (
            "the turn ends before the call",
            ask,
            timeout(200.0),
            none(),
            Some(150_000),
            Some(100_000),
            Some(Bound::TurnEnd),
        ),
        (
            "a tenant's default is nobody's wish",
            ask,
            silent(),
            default(200_000),
            None,
            Some(100_000),
            None,
        ),
        (
            "the dialect's own default",
            Dialect::Studio,
            silent(),
            none(),
            Some(50_000),
            Some(50_000),
            None,
        ),
        (
            "a dialect without a default",
            Dialect::Interaction,
            silent(),
            none(),
            Some(50_000),
            Some(50_000),
            None,
        ),
    ];
    for (case, dialect, arguments, policy, call_limit, deadline, by) in table {
        let c = clock(dialect, &arguments, policy, call_limit);
        assert_eq!(c.clock.deadline, deadline.map(at), "{case}");
        let asked = parse_arguments(dialect, &arguments).unwrap().timeout;
        let expected = by.map(|by| Adjusted {
            asked: match asked {
                TimeoutChoice::After(wait) => Some(wait),
                TimeoutChoice::Default | TimeoutChoice::Never => None,
            },
            granted: deadline.map(Millis),
            by,
        });
        assert_eq!(c.adjusted, expected, "{case}");
    }
}

// contract: A4, E13
#[test]
fn fourteen_days_and_the_dialects_longest_are_bounds_too() {
    let begun = |dialect, arguments: Value| {
        let (log, _) = run(ask(1, dialect, &arguments));
        let c = log.find(cid(1)).unwrap();
        (c.clock.deadline, c.adjusted.map(|a| a.by))
    };
    let days = |n: u64| n * 86_400_000;
    let long = json!({"question": "?", "timeout_s": 20 * 86_400});
    assert_eq!(
        begun(Dialect::Ask, long.clone()),
        (Some(at(days(14))), Some(Bound::Maximum))
    );
    assert_eq!(
        begun(Dialect::Studio, long),
        (Some(at(300_000)), Some(Bound::Dialect))
    );
    let never = json!({"question": "?", "timeout_s": null});
    assert_eq!(
        begun(Dialect::Studio, never.clone()),
        (Some(at(300_000)), Some(Bound::Dialect))
    );
    assert_eq!(begun(Dialect::Ask, never), (None, None));
}

// contract: A4
#[test]
fn a_grace_is_a_policy_and_hides_only() {
    let policy = PolicyLayer {
        grace: Some(Millis(3_000)),
        ..PolicyLayer::default()
    };
    let (log, _) = run(asking(
        Dialect::Ask,
        &json!({"question": "?", "timeout_s": 90}),
        policy,
    ));
    let c = log.find(cid(1)).unwrap();
    assert_eq!(c.clock.grace, Millis(3_000));
    assert_eq!(c.clock.deadline, Some(at(90_000)));
}

#[test]
fn how_many_may_wait_is_a_policy_except_where_it_is_one() {
    let policy = |n| PolicyLayer {
        max_pending: Some(n),
        ..PolicyLayer::default()
    };
    for (dialect, set, limit) in [
        (Dialect::Ask, Some(2), 2),
        (Dialect::Interaction, Some(2), 2),
        (Dialect::Ask, Some(40), 40),
        (Dialect::Ask, Some(0), 1),
        (Dialect::Ask, None, 32),
        (Dialect::Studio, Some(5), 1),
    ] {
        let mut log = Log::begun();
        let ask = |n: u128| {
            let question = json!({"question": format!("Question {n}?")});
            Command::Ask(Box::new(AskCommand {
                policy: set.map(policy).unwrap_or_default(),
                ..ask(n, dialect, &question)
            }))
        };
        for n in 0..limit {
            let taken = log.run(&ask(n as u128), at(0));
            assert!(taken.is_ok(), "{dialect:?} {set:?} {n}");
        }
        let full = match dialect {
            Dialect::Studio => Rejection::Busy,
            Dialect::Ask | Dialect::Interaction => Rejection::TooManyPending { limit },
        };
        assert_eq!(
            log.decide(&ask(99), at(0)),
            Err(full),
            "{dialect:?} {set:?}"
        );
    }
}
