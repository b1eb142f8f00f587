//! Identical questions, sub-agents, turns without the tool, and the beginning of work.

#![allow(clippy::unwrap_used, clippy::panic)]

mod fixture;

use askbus_domain::{
    Addressee, AskCommand, AskInput, BeginCommand, Command, Dialect, EventKind, Parent, PersonId,
    Presence, Rejection, Scope, SessionId, TurnEnd, Waiting, WaitingLimits, WhenAbsent, Whose,
    decide,
};
use fixture::{Log, ask, at, begin, cid, ctx, end, expire, id, kinds};
use serde_json::{Value, json};

fn question() -> Value {
    json!({"question": "Where?", "choices": ["staging", "prod"], "timeout_s": 90})
}

fn twin(n: u128) -> AskCommand {
    ask(n, Dialect::Ask, &question())
}

/// Turn 1 with clarification 1 pending.
fn first() -> Log {
    let mut log = Log::begun();
    run(&mut log, twin(1));
    log
}

fn run(log: &mut Log, command: AskCommand) -> Vec<askbus_domain::Event> {
    log.run(&Command::Ask(Box::new(command)), at(5)).unwrap()
}

#[test]
fn the_same_questions_of_the_same_asker_are_one_question_while_they_wait() {
    let mut log = first();
    assert!(run(&mut log, twin(2)).is_empty());
    assert_eq!(log.state.asked(&twin(2)).unwrap().id, cid(1));
    assert_eq!(log.state.asked(&twin(1)).unwrap().id, cid(1));
    let parent = |name: &str| Some(Parent::new(id::<SessionId>(name), "scout"));
    let other_input = |change: fn(&mut AskInput)| {
        let mut command = twin(3);
        change(command.input.as_mut().unwrap());
        command
    };
    let others = [
        AskCommand {
            asker_id: id("asker-2"),
            ..twin(3)
        },
        AskCommand {
            parent: parent("main"),
            ..twin(3)
        },
        other_input(|input| input.to = Some(Addressee::parse("ann").unwrap())),
        ask(
            3,
            Dialect::Ask,
            &json!({"question": "Where?", "choices": ["staging"]}),
        ),
        ask(3, Dialect::Interaction, &question()),
    ];
    for (n, other) in others.into_iter().enumerate() {
        let mut log = log.clone();
        assert_eq!(
            kinds(&run(&mut log, other.clone())),
            [EventKind::Requested],
            "{n}"
        );
        assert_eq!(log.state.asked(&other).unwrap().id, cid(3), "{n}");
    }
    // Another clock is the same question; one that is over is not.
    assert!(
        run(
            &mut log,
            other_input(|input| input.timeout = askbus_domain::TimeoutChoice::Never)
        )
        .is_empty()
    );
    log.run(&expire(), at(90_005)).unwrap();
    assert_eq!(log.state.asked(&twin(2)), None);
    assert_eq!(kinds(&run(&mut log, twin(2))), [EventKind::Requested]);
}

#[test]
fn other_dialects_ask_twice() {
    let plain = json!({"question": "Go on?"});
    let mut log = Log::begun();
    for n in 1..3 {
        let events = run(&mut log, ask(n, Dialect::Interaction, &plain));
        assert_eq!(kinds(&events), [EventKind::Requested]);
    }
    let mut log = Log::begun();
    run(&mut log, ask(1, Dialect::Studio, &plain));
    let second = Command::Ask(Box::new(ask(2, Dialect::Studio, &plain)));
    assert_eq!(log.decide(&second, at(5)), Err(Rejection::Busy));
}

// contract: D15
#[test]
fn a_sub_agents_question_knows_its_parent() {
    let above = |name: &str| Parent::new(id::<SessionId>(name), &format!("  {} ", "x".repeat(200)));
    let mut log = Log::default();
    let declared = BeginCommand {
        parent: Some(above("declared")),
        ..begin(1)
    };
    log.run(&Command::Begin(declared), at(0)).unwrap();
    run(&mut log, ask(1, Dialect::Ask, &json!({"question": "One?"})));
    let named = AskCommand {
        parent: Some(above("named")),
        ..ask(2, Dialect::Ask, &json!({"question": "Two?"}))
    };
    run(&mut log, named);
    let parent = |n| log.find(cid(n)).unwrap().parent.unwrap();
    assert_eq!(parent(1).session_id, id("declared"));
    assert_eq!(parent(2).session_id, id("named"));
    assert_eq!(parent(1).name, "x".repeat(100));
    // Asked again it is the same one, the turn's parent considered.
    let again = ask(3, Dialect::Ask, &json!({"question": "One?"}));
    assert_eq!(log.state.asked(&again).unwrap().id, cid(1));
}

// contract: E15, E6
#[test]
fn a_turn_without_the_tool_answers_studio_as_if_its_context_did_not_exist() {
    let mut log = Log::default();
    let plan_only = BeginCommand {
        scope: Some(Scope {
            plan: true,
            clarify: false,
        }),
        ..begin(1)
    };
    log.run(&Command::Begin(plan_only), at(0)).unwrap();
    let asks = |dialect, question: &Value| {
        decide(
            &log.state,
            &Command::Ask(Box::new(ask(1, dialect, question))),
            at(1),
        )
    };
    let plain = json!({"question": "Go on?"});
    assert_eq!(
        asks(Dialect::Studio, &plain),
        Err(Rejection::ContextExpired)
    );
    assert_eq!(
        asks(Dialect::Studio, &json!({"question": ""})),
        Err(Rejection::ContextExpired)
    );
    assert!(asks(Dialect::Ask, &plain).is_ok());
    log.run(&end(1, TurnEnd::Completed), at(2)).unwrap();
    let over = decide(
        &log.state,
        &Command::Ask(Box::new(ask(1, Dialect::Studio, &plain))),
        at(3),
    );
    assert_eq!(over, Err(Rejection::NoActiveTurn));
}

// contract: D8
#[test]
fn work_begins_once_with_the_first_tool_that_changes_something() {
    let tool = |name: &str, context| Command::ToolUse {
        context_id: ctx(context),
        profile: id("default"),
        tool: name.to_owned(),
    };
    let mut log = Log::begun();
    assert_eq!(log.run(&tool("Read", 1), at(1)), Ok(Vec::new()));
    assert!(!log.state.work_begun());
    assert_eq!(
        log.run(&tool("Edit", 7), at(1)),
        Err(Rejection::ContextExpired)
    );
    let long = format!("mcp__{}__edit", "x".repeat(500));
    assert_eq!(
        kinds(&log.run(&tool(&long, 1), at(1)).unwrap()),
        [EventKind::Worked]
    );
    let written = serde_json::to_value(&log.commits.last().unwrap().events[0]).unwrap();
    assert_eq!(written["tool"].as_str().unwrap().len(), 200);
    assert_eq!(log.run(&tool("Write", 1), at(2)), Ok(Vec::new()));
    // It is the session's, not the turn's.
    log.run(&Command::Begin(begin(2)), at(3)).unwrap();
    assert!(log.state.work_begun());
    assert_eq!(log.run(&tool("Write", 2), at(4)), Ok(Vec::new()));
    let mut over = Log::begun();
    over.run(&end(1, TurnEnd::Completed), at(1)).unwrap();
    assert_eq!(over.run(&tool("Write", 1), at(2)), Ok(Vec::new()));
    assert!(!over.state.work_begun());
    assert_eq!(PersonId::new("ann").unwrap(), id("ann"));
}

// contract: E6
#[test]
fn so_many_may_wait_of_a_credential_and_of_a_tenant() {
    let limits = WaitingLimits::default();
    let mut log = Log::begun();
    let asked = log.decide(&Command::Ask(Box::new(twin(1))), at(5)).unwrap();
    let mut at_once = twin(1);
    at_once.presence = Presence::Absent;
    at_once.input.as_mut().unwrap().when_absent = Some(WhenAbsent::Unattended);
    let at_once = run(&mut log, at_once);
    assert_eq!(kinds(&at_once), [EventKind::Requested, EventKind::Resolved]);
    let refused = |limit, whose| Err(Rejection::TooManyWaiting { limit, whose });
    for (of_credential, of_tenant, expected) in [
        (0, 0, Ok(())),
        (149_999, 199_999, Ok(())),
        (150_000, 150_000, refused(150_000, Whose::Credential)),
        (0, 200_000, refused(200_000, Whose::Tenant)),
        (160_000, 300_000, refused(150_000, Whose::Credential)),
    ] {
        let waiting = Waiting {
            of_credential,
            of_tenant,
        };
        assert_eq!(limits.check(&asked, waiting), expected, "{waiting:?}");
        // What nobody has to answer takes no place.
        assert_eq!(limits.check(&at_once, waiting), Ok(()));
        assert_eq!(limits.check(&[], waiting), Ok(()));
    }
}
