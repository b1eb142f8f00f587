//! Policies that are recorded with what they are for, and what a turn's questions came to.

use crate::agent::{Agent, outcome};
use crate::world::{Setup, World, says, within};
use askbus_domain::Millis;
use askbus_domain::{OnTimeout, PolicyLayer, PolicyTable, Wish};
use askbus_wire::error::{ErrorCode, WireError};
use askbus_wire::messages::InboxReply;
use askbus_wire::proto::ask_request::Input;
use askbus_wire::proto::begin_turn_request::Life;
use askbus_wire::proto::{BeginTurnRequest, EndTurnRequest, EndTurnResponse, TurnPolicy};
use serde_json::json;

on_both!(
    what_was_asked_keeps_its_policy_when_the_configuration_changes,
    two_unanswered_in_a_row_block_the_turn_and_a_restart_does_not_lift_it,
    a_turn_says_what_it_came_to,
    the_scope_of_a_turn_decides_what_its_host_is_told,
    a_policy_under_which_nothing_could_be_asked_is_refused,
);

fn table(layer: PolicyLayer) -> PolicyTable {
    PolicyTable {
        all: layer,
        ..PolicyTable::default()
    }
}

fn choice(text: &str, seconds: f64) -> Input {
    let arguments = json!({"question": text, "options": ["yes", "no"], "recommended": 1,
        "timeout_s": seconds});
    Input::ArgumentsJson(arguments.to_string())
}

async fn end(agent: &Agent, context: &str) -> EndTurnResponse {
    let request = EndTurnRequest {
        context_id: context.to_owned(),
        end: "completed".into(),
        profile: String::new(),
    };
    let mut turns = agent.host.turns.clone();
    let ended = within("the turn ends", turns.end_turn(request)).await;
    ended.unwrap().into_inner()
}

// contract: A4, A5
async fn what_was_asked_keeps_its_policy_when_the_configuration_changes(world: World) {
    let adopt = Setup {
        policy: table(PolicyLayer {
            on_timeout: Some(OnTimeout::Adopt),
            max_timeout: Some(Millis(2_000)),
            timeout: Some(Wish::Never),
            ..PolicyLayer::default()
        }),
        ..Setup::default()
    };
    let before = world.replica_with(adopt, |bus| bus).await;
    let agent = world.agent(&before);
    let context = agent.begin("s").await;
    // Longer than the tenant allows, and never: both are held within the bound, and it is said.
    let mut ids = Vec::new();
    for (seconds, wish) in [(60.0, Some(60_000)), (0.0, None)] {
        let request = agent.ask_request(
            &context,
            "ask",
            choice(&format!("Go on after {seconds}?"), seconds),
        );
        let asked = agent.try_ask(request).await.unwrap();
        let adjusted = asked.adjusted.as_ref().expect("it is said");
        assert_eq!(
            (adjusted.asked_ms, adjusted.granted_ms),
            (wish, Some(2_000))
        );
        assert_eq!(adjusted.by, "maximum");
        ids.push(asked.clarify_id);
    }
    before.stop().await;
    let after = world.replica().await;
    let agent = agent.moved(&world.agent(&after));
    let _attached = agent.attach(&[]).await;
    for id in ids {
        let settled = agent.try_wait(&id).await.unwrap();
        assert_eq!(settled.on_timeout, "adopt");
        let outcome = outcome(&settled);
        assert_eq!(
            (outcome.reason.as_str(), outcome.decided_by.as_str()),
            ("timeout", "policy")
        );
        assert!(outcome.answers.is_empty(), "nobody chose anything");
        assert_eq!(outcome.assumptions[0].label, "no");
    }
    // What is asked now has the policy of now.
    let asked = agent.ask_for(&context, "And this?", 1.0).await;
    assert_eq!(agent.get(&asked.clarify_id).await.on_timeout, "return");
    after.stop().await;
}

// contract: A7, A8
async fn two_unanswered_in_a_row_block_the_turn_and_a_restart_does_not_lift_it(world: World) {
    let replica = world.replica().await;
    let agent = world.agent(&replica);
    let context = agent.begin("s").await;
    let attached = agent.attach(&[]).await;
    for question in ["one?", "two?"] {
        let asked = agent.ask_for(&context, question, 1.0).await;
        assert_eq!(
            outcome(&agent.try_wait(&asked.clarify_id).await.unwrap()).reason,
            "timeout"
        );
    }
    let off = |asked: &askbus_wire::proto::AskResponse| {
        let settled = asked.settled.clone().expect("settled at once");
        assert_eq!(settled.clarify_id, asked.clarify_id);
        let outcome = settled.outcome.unwrap();
        assert_eq!((outcome.reason.as_str(), outcome.blocked), ("off", true));
        assert_eq!(outcome.decided_by, "policy");
    };
    off(&agent.ask_for(&context, "three?", 60.0).await);
    replica.stop().await;
    drop(attached);
    let replica = world.replica().await;
    let agent = agent.moved(&world.agent(&replica));
    off(&agent.ask_for(&context, "four?", 60.0).await);
    let account = end(&agent, &context).await;
    assert_eq!((account.asked, account.auto), (2, 2));
    // Another turn of the session starts from nothing.
    let context = agent.begin("s").await;
    let asked = agent.ask_for(&context, "five?", 60.0).await;
    assert_eq!(asked.settled, None);
    replica.stop().await;
}

// contract: A8, A9
async fn a_turn_says_what_it_came_to(world: World) {
    let replica = world.replica().await;
    let agent = world.agent(&replica);
    let _attached = agent.attach(&[]).await;
    let begin = BeginTurnRequest {
        session_id: "s".into(),
        life: Some(Life::ForMs(600_000)),
        language: "zh-CN".into(),
        policy: Some(TurnPolicy {
            on_timeout: "defer".into(),
            ..TurnPolicy::default()
        }),
        ..BeginTurnRequest::default()
    };
    let begun = agent.try_begin(begin.clone()).await.unwrap();
    assert!(begun.instruction.contains("不等于同意"), "{begun:?}");
    let context = begun.context_id;
    let answered = agent.ask(&context, "one?").await;
    let reply = world.answer("s", &answered, says("ann", "yes")).await;
    assert!(matches!(reply, InboxReply::Settled { .. }), "{reply:?}");
    let asked = agent.ask_for(&context, "two?", 1.0).await;
    let settled = agent.try_wait(&asked.clarify_id).await.unwrap();
    assert_eq!(outcome(&settled).reason, "deferred");
    let waits = agent.ask(&context, "three?").await;
    for _ in 0..2 {
        let account = end(&agent, &context).await;
        assert_eq!((account.asked, account.auto), (3, 0));
        let [deferred] = &account.deferred[..] else {
            panic!("{account:?}");
        };
        assert_eq!(deferred.clarify_id, asked.clarify_id);
        assert!(deferred.text.contains("two?") && deferred.text.contains("我需要你的决定"));
    }
    assert_eq!(outcome(&agent.get(&waits).await).reason, "cancelled");
    replica.stop().await;
}

// contract: E14, E15
async fn the_scope_of_a_turn_decides_what_its_host_is_told(world: World) {
    let replica = world.replica().await;
    let agent = world.agent(&replica);
    let begin = |session: &str| BeginTurnRequest {
        session_id: session.into(),
        ..BeginTurnRequest::default()
    };
    let asks = [
        begin("plain"),
        BeginTurnRequest {
            group_chat: true,
            source: "chat".into(),
            agent_kind: "coding".into(),
            ..begin("group")
        },
    ];
    for request in asks {
        let begun = agent.try_begin(request).await.unwrap();
        assert_eq!(begun.capabilities, ["clarify", "plan"]);
        let says = format!("context_id: {}", begun.context_id);
        assert!(begun.instruction.contains(&says), "{begun:?}");
        assert!(begun.instruction.contains("ekko_studio_clarify"));
        agent.ask(&begun.context_id, "May I?").await;
    }
    let other_tools = BeginTurnRequest {
        toolset: "ask".into(),
        ..begin("tools")
    };
    let begun = agent.try_begin(other_tools).await.unwrap();
    assert!(begun.instruction.contains("ask_user"), "{begun:?}");

    let command = BeginTurnRequest {
        input_kind: "command".into(),
        ..begin("s")
    };
    let workflow = BeginTurnRequest {
        session_source: "workflow".into(),
        ..begin("s")
    };
    let hermes = BeginTurnRequest {
        agent_kind: "hermes".into(),
        ..begin("s")
    };
    let capable = BeginTurnRequest {
        natively_capable: true,
        ..begin("s")
    };
    let disabled = BeginTurnRequest {
        interaction_disabled: true,
        ..begin("s")
    };
    let silent = [
        (command, false),
        (workflow, true),
        (hermes, true),
        (capable, false),
        (disabled, false),
    ];
    for (request, plans) in silent {
        let begun = agent.try_begin(request).await.unwrap();
        let may: &[&str] = if plans { &["plan"] } else { &[] };
        assert_eq!(begun.capabilities, may);
        let told = begun.instruction.as_str();
        assert_eq!(told.contains("ekko_studio_update_plan"), plans, "{told}");
        assert!(!told.contains("ekko_studio_clarify"), "{told}");
        assert_eq!(told.is_empty(), !plans, "{told}");
        let ask = agent.ask_request(&begun.context_id, "studio", choice("May I?", 1.0));
        let refused = agent.try_ask(ask).await.unwrap_err();
        let code = WireError::from_status(&refused).code;
        assert_eq!(code, ErrorCode::ContextExpired);
    }
    // A turn that its asker began for itself needs no instruction.
    let own = BeginTurnRequest {
        life: Some(Life::AskerId(agent.asker.clone())),
        ..begin("own")
    };
    let begun = agent.try_begin(own).await.unwrap();
    assert_eq!(begun.instruction, "");
    // Without a session of the host nothing is begun.
    let nothing = agent.try_begin(BeginTurnRequest::default()).await.unwrap();
    assert_eq!(nothing, askbus_wire::proto::BeginTurnResponse::default());
    replica.stop().await;
}

// contract: A5
async fn a_policy_under_which_nothing_could_be_asked_is_refused(world: World) {
    let replica = world.replica().await;
    let agent = world.agent(&replica);
    let begin = |policy| BeginTurnRequest {
        session_id: "s".into(),
        policy: Some(policy),
        ..BeginTurnRequest::default()
    };
    let none = TurnPolicy {
        max_pending: Some(0),
        ..TurnPolicy::default()
    };
    let crossed = TurnPolicy {
        min_timeout_ms: Some(2_000),
        max_timeout_ms: Some(1_000),
        ..TurnPolicy::default()
    };
    let at_once = TurnPolicy {
        max_timeout_ms: Some(0),
        ..TurnPolicy::default()
    };
    for (policy, named) in [
        (none, "policy.max_pending"),
        (crossed, "policy.min_timeout"),
        (at_once, "policy.max_timeout"),
    ] {
        let refused = agent.try_begin(begin(policy)).await.unwrap_err();
        let error = WireError::from_status(&refused);
        assert_eq!(error.code, ErrorCode::InvalidRequest, "{refused:?}");
        assert!(refused.message().contains(named), "{refused:?}");
    }
    let narrow = TurnPolicy {
        min_timeout_ms: Some(1_000),
        max_timeout_ms: Some(1_000),
        max_pending: Some(1),
        ..TurnPolicy::default()
    };
    agent.try_begin(begin(narrow)).await.unwrap();
    replica.stop().await;
}
