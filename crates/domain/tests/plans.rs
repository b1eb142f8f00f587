//! The plan card: its limits and rules, its revisions, and how it ends with its turn.

// Plans are given away where they are sent, and numbers are small.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::needless_pass_by_value,
    clippy::cast_possible_truncation
)]

mod fixture;

use askbus_domain::{
    Addressee, AskerInfo, BeginCommand, Command, ContextId, Dialect, Event, EventKind,
    ExecutionState, Holder, InvalidPlan, MAX_PLAN_EXPLANATION_CHARS, MAX_PLAN_STEPS,
    MAX_STEP_CHARS, MAX_STEP_ID_CHARS, Plan, PlanCommand, PlanId, Rejection, Scope, Session,
    StepStatus, TurnEnd, check_history, parse_plan, parse_plan_alone,
};
use fixture::{Log, ask, at, begin, ctx, end, id, kinds, question};
use serde_json::{Value, json};
use uuid::Uuid;

fn steps(count: usize) -> Value {
    let step = |n| json!({"id": format!("s{n}"), "step": format!("step {n}"), "status": "pending"});
    (0..count).map(step).collect()
}

fn step(id: &str, text: &str, status: &str) -> Value {
    json!({"id": id, "step": text, "status": status})
}

fn of(steps: Vec<Value>) -> Value {
    json!({"plan": steps})
}

/// Update `n` of a turn.
fn update_in(context: ContextId, n: u128, arguments: &Value) -> Command {
    Command::UpdatePlan(Box::new(PlanCommand {
        update_id: id(&format!("update-{n}")),
        plan_id: PlanId::from_uuid(Uuid::from_u128(0xb000_0000 + n)),
        context_id: context,
        profile: id("default"),
        asker: AskerInfo::default(),
        input: parse_plan(arguments),
    }))
}

fn update(n: u128, arguments: &Value) -> Command {
    update_in(ctx(1), n, arguments)
}

fn planned(log: &mut Log, n: u128, arguments: &Value) -> Plan {
    let events = log.run(&update(n, arguments), at(n as u64)).unwrap();
    assert_eq!(kinds(&events), [EventKind::Plan]);
    log.state.plan().unwrap().as_ref().clone()
}

fn refusal(arguments: &Value) -> InvalidPlan {
    match parse_plan(arguments) {
        Err(refusal) => refusal,
        Ok(plan) => panic!("{arguments} was taken: {plan:?}"),
    }
}

// contract: E16
#[test]
fn every_limit_is_kept_to_the_last_character_and_named_beyond_it() {
    let wide = |count: usize| "计".repeat(count);
    let taken = [
        of(vec![step("a", "b", "pending")]),
        json!({"plan": steps(MAX_PLAN_STEPS)}),
        of(vec![step(
            &wide(MAX_STEP_ID_CHARS),
            &wide(MAX_STEP_CHARS),
            "completed",
        )]),
        json!({"plan": steps(1), "explanation": wide(MAX_PLAN_EXPLANATION_CHARS)}),
        json!({"plan": steps(1), "explanation": null}),
        json!({"plan": steps(1), "explanation": "", "context_id": "c", "update_id": "u"}),
        of(vec![
            step("a", "x", "in_progress"),
            step("b", "y", "completed"),
        ]),
        // Ids are names: case matters.
        of(vec![step("a", "x", "pending"), step("A", "x", "pending")]),
    ];
    for arguments in taken {
        let plan = parse_plan(&arguments).unwrap();
        assert_eq!(
            plan.steps().len(),
            arguments["plan"].as_array().unwrap().len()
        );
    }
    // A tool takes the plan and nothing beside it.
    let named = json!({"plan": steps(1), "context_id": "c", "update_id": "u"});
    for (field, other) in [("context_id", "update_id"), ("update_id", "context_id")] {
        let mut extra = named.clone();
        extra.as_object_mut().unwrap().remove(other);
        let refusal = parse_plan_alone(&extra).unwrap_err();
        assert_eq!(refusal, InvalidPlan::UnknownField(field.to_owned()));
    }
    assert!(parse_plan_alone(&json!({"plan": steps(1), "explanation": "x"})).is_ok());
    let refused = [
        (json!([1]), "the arguments must be a JSON object"),
        (json!(null), "the arguments must be a JSON object"),
        (json!({}), "plan must be a list"),
        (json!({"plan": null}), "plan must be a list"),
        (json!({"plan": "[]"}), "plan must be a list"),
        (json!({"plan": {"id": "a"}}), "plan must be a list"),
        (json!({"plan": []}), "plan is empty"),
        (
            json!({"plan": steps(MAX_PLAN_STEPS + 1)}),
            "plan has 31 steps, at most 30",
        ),
        (json!({"plan": ["do it"]}), "plan[0] must be an object"),
        (json!({"plan": [[]]}), "plan[0] must be an object"),
        (
            json!({"plan": [{"step": "x", "status": "pending"}]}),
            "plan[0].id is required",
        ),
        (
            json!({"plan": [{"id": 1, "step": "x", "status": "pending"}]}),
            "plan[0].id is required",
        ),
        (
            of(vec![step("", "x", "pending")]),
            "plan[0].id must not be blank",
        ),
        (
            of(vec![step(" \t", "x", "pending")]),
            "plan[0].id must not be blank",
        ),
        (
            of(vec![step(&wide(MAX_STEP_ID_CHARS + 1), "x", "pending")]),
            "plan[0].id is 101 characters long, at most 100",
        ),
        (
            json!({"plan": [{"id": "a", "status": "pending"}]}),
            "plan[0].step is required",
        ),
        (
            of(vec![step("a", "\n", "pending")]),
            "plan[0].step must not be blank",
        ),
        (
            of(vec![
                step("a", "b", "pending"),
                step("c", &wide(MAX_STEP_CHARS + 1), "pending"),
            ]),
            "plan[1].step is 201 characters long, at most 200",
        ),
        (
            json!({"plan": [{"id": "a", "step": "x"}]}),
            "plan[0].status must be pending",
        ),
        (
            of(vec![step("a", "x", "done")]),
            "plan[0].status must be pending",
        ),
        (
            of(vec![step("a", "x", "Completed")]),
            "plan[0].status must be pending",
        ),
        (
            of(vec![step("a", "x", "pending"), step(" a ", "y", "pending")]),
            "plan[1].id repeats the id of plan[0]",
        ),
        (
            of(vec![
                step("a", "x", "in_progress"),
                step("b", "y", "completed"),
                step("c", "z", "in_progress"),
            ]),
            "plan[2] is in_progress and so is plan[0]",
        ),
        (
            json!({"plan": [{"id": "a", "step": "x", "status": "pending", "note": "y"}]}),
            "plan[0] has a field \"note\"",
        ),
        (
            json!({"plan": steps(1), "revision": 9}),
            "there is no field \"revision\"",
        ),
        (
            json!({"plan": steps(1), "execution_state": "ended"}),
            "there is no field",
        ),
        (
            json!({"plan": steps(1), "explanation": 1}),
            "explanation must be a string",
        ),
        (
            json!({"plan": steps(1), "explanation": wide(MAX_PLAN_EXPLANATION_CHARS + 1)}),
            "explanation is 1001 characters long, at most 1000",
        ),
    ];
    for (arguments, problem) in refused {
        let refusal = Rejection::from(refusal(&arguments));
        assert_eq!(refusal.code(), "INVALID_PLAN");
        assert!(
            refusal.to_string().starts_with(problem),
            "{arguments}: {refusal}"
        );
    }
}

// contract: E16
#[test]
fn texts_are_trimmed_and_what_is_blank_is_not_said() {
    let arguments = json!({"plan": [step(" a ", "\tlook ", "pending")], "explanation": " \n"});
    let plan = parse_plan(&arguments).unwrap();
    assert_eq!(
        (plan.steps()[0].id.as_str(), plan.steps()[0].step.as_str()),
        ("a", "look")
    );
    assert_eq!(plan.explanation(), None);
}

// contract: E16
#[test]
fn the_service_counts_revisions_and_keeps_the_name_and_the_birthday_of_the_plan() {
    let mut log = Log::begun();
    let first = planned(
        &mut log,
        1,
        &json!({"plan": steps(2), "explanation": "why"}),
    );
    assert_eq!(
        (first.revision, first.execution_state),
        (1, ExecutionState::Running)
    );
    assert_eq!((first.created_at, first.updated_at), (at(1), at(1)));
    assert_eq!(
        (first.run_id.as_str(), first.explanation.as_deref()),
        ("run-1", Some("why"))
    );
    let second = planned(&mut log, 2, &of(vec![step("s0", "step 0", "completed")]));
    assert_eq!((second.plan_id, second.created_at), (first.plan_id, at(1)));
    assert_eq!((second.revision, second.updated_at), (2, at(2)));
    // The plan is sent whole each time.
    assert_eq!((second.steps.len(), second.explanation), (1, None));
    // A clock that is behind does not turn time back.
    log.run(&update(3, &json!({"plan": steps(1)})), at(0))
        .unwrap();
    assert_eq!(log.state.plan().unwrap().updated_at, at(2));
}

// contract: E16
#[test]
fn a_repeated_update_changes_nothing_whatever_came_between() {
    let mut log = Log::begun();
    let first = planned(&mut log, 1, &json!({"plan": steps(1)}));
    let update_id = id("update-1");
    assert_eq!(log.state.plan_after(&update_id).unwrap().as_ref(), &first);
    planned(&mut log, 2, &json!({"plan": steps(2)}));
    // Another content under the same id is the same update.
    for arguments in [
        json!({"plan": steps(1)}),
        json!({"plan": steps(9)}),
        json!({}),
    ] {
        assert_eq!(log.run(&update(1, &arguments), at(3)), Ok(Vec::new()));
    }
    assert_eq!(log.state.plan().unwrap().revision, 2);
    // As it was then it stands in the log only.
    assert_eq!(log.state.plan_after(&update_id), None);
    log.run(&end(1, TurnEnd::Completed), at(4)).unwrap();
    assert_eq!(
        log.run(&update(2, &json!({"plan": steps(2)})), at(5)),
        Ok(Vec::new())
    );
    assert_eq!(log.state.plan_after(&id("update-2")), None);
}

// contract: E16, E20
#[test]
fn the_plan_ends_with_its_turn_and_the_service_completes_nothing() {
    let ways = [
        (TurnEnd::Completed, ExecutionState::Ended),
        (TurnEnd::Failed, ExecutionState::Failed),
        (TurnEnd::Stopped, ExecutionState::Interrupted),
        (TurnEnd::Disposed, ExecutionState::Interrupted),
        (TurnEnd::Interrupted, ExecutionState::Interrupted),
        (TurnEnd::Replaced, ExecutionState::Interrupted),
        (TurnEnd::Expired, ExecutionState::Interrupted),
    ];
    for (way, state) in ways {
        let mut log = Log::default();
        let holder = Holder::Until(at(1_000));
        let lived = BeginCommand { holder, ..begin(1) };
        let held = begin(1);
        let first = if way == TurnEnd::Expired { lived } else { held };
        log.run(&Command::Begin(first), at(0)).unwrap();
        let of = of(vec![
            step("a", "x", "completed"),
            step("b", "y", "in_progress"),
            step("c", "z", "pending"),
        ]);
        let before = planned(&mut log, 1, &of);
        let command = match way {
            TurnEnd::Interrupted => Command::HolderLost { name: id("host") },
            TurnEnd::Replaced => Command::Begin(begin(2)),
            TurnEnd::Expired => Command::ExpireTurn { context_id: ctx(1) },
            way => end(1, way),
        };
        let events = log.run(&command, at(2_000)).unwrap();
        let ended = events.iter().find_map(|event| match event {
            Event::Ended { plan, .. } => plan.clone(),
            _ => None,
        });
        let ended = ended.unwrap();
        assert_eq!(
            (ended.revision, ended.execution_state, ended.at),
            (2, state, at(2_000))
        );
        let after = before.ended(&ended);
        assert_eq!((after.revision, after.execution_state), (2, state));
        let statuses: Vec<StepStatus> = after.steps.iter().map(|s| s.status).collect();
        assert_eq!(
            statuses,
            [
                StepStatus::Completed,
                StepStatus::Pending,
                StepStatus::Pending
            ]
        );
        assert_eq!((after.created_at, after.updated_at), (at(1), at(2_000)));
        // An end that is told again, and that of another plan, change nothing.
        assert_eq!(after.ended(&ended), after);
        let foreign = askbus_domain::PlanEnd {
            plan_id: PlanId::from_uuid(Uuid::from_u128(9)),
            revision: 99,
            ..ended
        };
        assert_eq!(after.ended(&foreign), after);
        if way == TurnEnd::Replaced {
            assert_eq!(log.state.plan(), None, "the new turn has none yet");
        } else {
            assert_eq!(log.state.plan().unwrap().as_ref(), &after);
        }
        let dated = log
            .commits
            .iter()
            .flat_map(|c| c.events.iter().map(|e| (c.at, e)));
        assert_eq!(check_history(dated), Ok(()));
    }
}

// contract: E16
#[test]
fn revisions_of_a_session_grow_across_its_turns_also_when_it_is_read_from_the_last_one() {
    let mut log = Log::begun();
    let first = planned(&mut log, 1, &json!({"plan": steps(1)}));
    log.run(&Command::Begin(begin(2)), at(10)).unwrap();
    assert_eq!(log.state.plan_revision(), 2);
    log.run(&update_in(ctx(2), 1, &json!({"plan": steps(1)})), at(11))
        .unwrap();
    let second = log.state.plan().unwrap();
    assert_eq!(
        second.revision, 3,
        "an update of another turn is another one"
    );
    assert_eq!(second.created_at, at(11));
    assert_eq!(first.revision, 1);
    // A turn without a plan hands the revision on.
    log.run(&Command::Begin(begin(3)), at(20)).unwrap();
    log.run(&Command::Begin(begin(4)), at(30)).unwrap();
    assert_eq!(log.state.plan_revision(), 4);
    let mut read = Session::default();
    read.apply(log.commits.last().unwrap());
    assert_eq!(read, log.state);
}

// contract: E6, E15
#[test]
fn whose_turn_and_whether_it_is_on_comes_before_what_is_planned() {
    let nonsense = json!({"plan": "?"});
    let mut log = Log::begun();
    let foreign = |context, profile: &str| {
        let Command::UpdatePlan(update) = update_in(context, 1, &nonsense) else {
            unreachable!()
        };
        let profile = id(profile);
        Command::UpdatePlan(Box::new(PlanCommand { profile, ..*update }))
    };
    for command in [foreign(ctx(9), "default"), foreign(ctx(1), "other")] {
        assert_eq!(log.run(&command, at(1)), Err(Rejection::ContextExpired));
    }
    let bad = log.run(&update(1, &nonsense), at(1)).unwrap_err();
    assert_eq!(bad, Rejection::InvalidPlan(InvalidPlan::NoList));
    // What was refused has not happened: the same id may be used for what is right.
    planned(&mut log, 1, &json!({"plan": steps(1)}));
    log.run(&end(1, TurnEnd::Stopped), at(2)).unwrap();
    assert_eq!(
        log.run(&update(2, &nonsense), at(3)),
        Err(Rejection::NoActiveTurn)
    );
    for (n, scope, refused) in [
        (2, Scope::NONE, true),
        (
            3,
            Scope {
                plan: true,
                clarify: false,
            },
            false,
        ),
        (
            4,
            Scope {
                plan: false,
                clarify: true,
            },
            true,
        ),
    ] {
        let scope = Some(scope);
        log.run(&Command::Begin(BeginCommand { scope, ..begin(n) }), at(4))
            .unwrap();
        let run = log.run(&update_in(ctx(n), n, &json!({"plan": steps(1)})), at(5));
        assert_eq!(run.is_err(), refused, "{n}: {run:?}");
        if refused {
            assert_eq!(run, Err(Rejection::ContextExpired));
        }
    }
}

// contract: E15
#[test]
fn a_plan_and_the_questions_of_a_turn_leave_each_other_alone() {
    let mut log = Log::begun();
    let asking = |n| Command::Ask(Box::new(ask(n, Dialect::Studio, &question())));
    log.run(&asking(1), at(1)).unwrap();
    let waiting = log.state.clarification(fixture::cid(1)).cloned();
    planned(&mut log, 1, &json!({"plan": steps(1)}));
    assert_eq!(log.state.clarification(fixture::cid(1)).cloned(), waiting);
    // One question a session, whatever is planned; and a plan, whatever waits.
    assert_eq!(log.run(&asking(2), at(2)), Err(Rejection::Busy));
    planned(&mut log, 2, &json!({"plan": steps(2)}));
    assert_eq!(log.state.account().figures().asked, 1);
    let events = log.run(&end(1, TurnEnd::Completed), at(9)).unwrap();
    assert_eq!(kinds(&events), [EventKind::Resolved, EventKind::Ended]);
}

#[test]
fn a_session_that_is_over_keeps_no_more_than_its_revision() {
    let mut log = Log::begun();
    planned(&mut log, 1, &json!({"plan": steps(1)}));
    log.state.forget_clarifications();
    assert!(log.state.plan().is_some(), "not while the turn is on");
    log.run(&end(1, TurnEnd::Completed), at(9)).unwrap();
    log.state.forget_clarifications();
    assert_eq!((log.state.plan(), log.state.plan_revision()), (None, 2));
    log.run(&Command::Begin(begin(2)), at(10)).unwrap();
    assert_eq!(log.state.plan_revision(), 2);
}

// contract: E18
#[test]
fn a_room_is_asked_unless_a_question_names_somebody() {
    let room = Addressee::managers_of("42").unwrap();
    assert_eq!(
        (room.to_string().as_str(), room.room()),
        ("group:room:42", Some("42"))
    );
    assert_eq!(Addressee::parse("group:ops").unwrap().room(), None);
    assert!(Addressee::managers_of(&"x".repeat(122)).is_err());
    let mut log = Log::default();
    let to = Some(room.clone());
    log.run(&Command::Begin(BeginCommand { to, ..begin(1) }), at(0))
        .unwrap();
    let mut asked = |n, arguments: Value| {
        let command = ask(n, Dialect::Ask, &arguments);
        log.run(&Command::Ask(Box::new(command.clone())), at(1))
            .unwrap();
        log.state.asked(&command).cloned().unwrap()
    };
    assert_eq!(asked(1, json!({"question": "?"})).to, Some(room));
    // The same words again find the question that waits.
    assert_eq!(asked(2, json!({"question": "?"})).id, fixture::cid(1));
    let named = asked(3, json!({"question": "?", "to": "ann"}));
    assert_eq!(named.to, Addressee::parse("ann").ok());
}
