//! What a role may do with turns: hosts begin and end them, an asking process has its own alone.

use crate::agent::{Agent, code, outcome};
use crate::world::{PROFILE, TENANT, World, within};
use askbus_credential::Role;
use askbus_domain::Event;
use askbus_wire::error::ErrorCode;
use askbus_wire::proto::begin_turn_request::Life;
use askbus_wire::proto::clarify_service_client::ClarifyServiceClient;
use askbus_wire::proto::{
    BeginTurnRequest, GetClarificationRequest, KeepTurnRequest, KeepTurnResponse, Parent,
    ReportToolUseRequest, ReportToolUseResponse, TurnPolicy,
};
use tonic::{Request, Status};

async fn keep(agent: &Agent, context: &str) -> Result<KeepTurnResponse, Status> {
    let request = KeepTurnRequest {
        context_id: context.to_owned(),
        profile: String::new(),
    };
    let mut turns = agent.client.turns.clone();
    let kept = within("a turn is kept", turns.keep_turn(request)).await;
    kept.map(tonic::Response::into_inner)
}

async fn report(agent: &Agent, context: &str) -> Result<ReportToolUseResponse, Status> {
    let request = ReportToolUseRequest {
        context_id: context.to_owned(),
        profile: String::new(),
        tool: "Write".to_owned(),
    };
    let mut turns = agent.client.turns.clone();
    let reported = within("a tool is told of", turns.report_tool_use(request)).await;
    reported.map(tonic::Response::into_inner)
}

/// An agent without a host.
fn alone(world: &World, replica: &crate::world::Replica) -> Agent {
    let token = world.token(Role::Agent, "robot", TENANT, &[PROFILE]);
    Agent::new(&replica.target, &token)
}

// contract: E5 E11 E20
#[tokio::test]
async fn an_agent_begins_its_own_turn_and_says_nothing_of_it_that_a_host_says() {
    let world = World::embedded();
    let replica = world.replica().await;
    let agent = alone(&world, &replica);
    let own = || BeginTurnRequest {
        session_id: "s".into(),
        life: Some(Life::AskerId(agent.asker.clone())),
        ..BeginTurnRequest::default()
    };
    let lives = [None, Some(Life::LeaseMs(60_000)), Some(Life::ForMs(60_000))];
    let hosted = lives.map(|life| BeginTurnRequest { life, ..own() });
    let said = [
        BeginTurnRequest {
            policy: Some(TurnPolicy {
                when_absent: "unattended".into(),
                ..TurnPolicy::default()
            }),
            ..own()
        },
        BeginTurnRequest {
            source: "workflow".into(),
            ..own()
        },
        BeginTurnRequest {
            parent: Some(Parent {
                session_id: "above".into(),
                name: String::new(),
            }),
            ..own()
        },
        BeginTurnRequest {
            room_id: "r".into(),
            ..own()
        },
    ];
    for request in hosted.into_iter().chain(said) {
        // As the agent itself, whatever the request says.
        let mut turns = agent.client.turns.clone();
        let told = within("it is refused", turns.begin_turn(request.clone())).await;
        let refused = told.expect_err(&format!("{request:?}"));
        assert_eq!(code(&refused), ErrorCode::Forbidden, "{request:?}");
    }
    assert!(world.events("s").await.is_empty());
    let context = agent.try_begin(own()).await.unwrap().context_id;
    assert_eq!(keep(&agent, &context).await.unwrap().ended, "");
    assert!(report(&agent, &context).await.unwrap().work_begun);
    let mut held = agent.hold(&context).await.unwrap();
    held.confirmed().await;
    agent.end(&context, "completed").await.unwrap();
    assert_eq!(held.ended().await.as_deref(), Some("completed"));
    replica.stop().await;
}

// contract: E5 E11 E20
#[tokio::test]
async fn an_agent_asks_in_a_hosts_turn_and_does_nothing_else_with_it() {
    let world = World::embedded();
    let replica = world.replica().await;
    let (agent, host) = (alone(&world, &replica), world.host(&replica));
    let context = host.begin("s").await;
    let _attached = agent.attach(&[]).await;
    let id = agent.ask(&context, "mine?").await;
    let refused = [
        agent.end(&context, "stopped").await.map(drop),
        agent.hold(&context).await.map(drop),
        keep(&agent, &context).await.map(drop),
        report(&agent, &context).await.map(drop),
    ];
    for refused in refused {
        assert_eq!(code(&refused.unwrap_err()), ErrorCode::Forbidden);
    }
    // Nor does it take the session from its host, under whatever name.
    let own = BeginTurnRequest {
        session_id: "s".into(),
        life: Some(Life::AskerId(agent.asker.clone())),
        ..BeginTurnRequest::default()
    };
    let refused = agent.try_begin(own.clone()).await.unwrap_err();
    assert_eq!(code(&refused), ErrorCode::SessionTaken);
    assert_eq!(agent.get(&id).await.status, "pending");
    let ended = |e: &Event| matches!(e, Event::Ended { .. });
    assert!(!world.events("s").await.iter().any(ended));
    // Once the host's turn is over, the name is free.
    host.end(&context, "completed").await.unwrap();
    let settled = agent.try_wait(&id).await.unwrap();
    assert_eq!(outcome(&settled).cause, "turn_ended");
    agent.try_begin(own).await.unwrap();
    replica.stop().await;
}

// contract: E6
#[tokio::test]
async fn the_word_before_a_credential_counts_in_any_case() {
    let world = World::embedded();
    let replica = world.replica().await;
    let token = world.token(Role::Agent, "robot", TENANT, &[PROFILE]);
    let channel = replica.target.channel().unwrap();
    for (shown, wanted) in [
        (format!("Bearer {token}"), ErrorCode::UnknownClarification),
        (format!("bearer {token}"), ErrorCode::UnknownClarification),
        (format!("BEARER {token}"), ErrorCode::UnknownClarification),
        (format!("Basic {token}"), ErrorCode::Unauthenticated),
        (token.clone(), ErrorCode::Unauthenticated),
    ] {
        let mut client = ClarifyServiceClient::new(channel.clone());
        let mut request = Request::new(GetClarificationRequest::default());
        let value = shown.parse().unwrap();
        request.metadata_mut().insert("authorization", value);
        let told = within("it is told", client.get_clarification(request)).await;
        assert_eq!(code(&told.unwrap_err()), wanted);
    }
    replica.stop().await;
}
