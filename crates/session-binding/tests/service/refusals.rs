//! Who is refused, with which code, and in which order (E5, E6).

use crate::agent::{Agent, code, question};
use crate::world::{PROFILE, Setup, TENANT, World, within};
use askbus_credential::{Issuer, Role};
use askbus_wire::client::{Bearer, Target};
use askbus_wire::error::{DOMAIN, ErrorCode, WireError};
use askbus_wire::proto::ask_request::Input;
use askbus_wire::proto::begin_turn_request::Life;
use askbus_wire::proto::{AskRequest, AskResponse, BeginTurnRequest};
use tonic::client::Grpc;
use tonic::service::interceptor::InterceptedService;
use tonic::{Code, Request, Status};

fn bad_input() -> Input {
    question("   ")
}

fn is(status: &Status, expected: ErrorCode) {
    let error = WireError::from_status(status);
    assert_eq!(error.code, expected, "{status:?}");
    assert_eq!(status.code(), expected.grpc());
    // The code rides in google.rpc.ErrorInfo, not only in the status.
    assert!(!status.details().is_empty(), "{status:?}");
    let details = String::from_utf8_lossy(status.details()).into_owned();
    assert!(
        details.contains(DOMAIN) && details.contains(expected.as_str()),
        "{details}"
    );
}

// contract: E5, E6
#[tokio::test]
async fn contexts_that_are_not_the_callers_are_one_refusal() {
    let world = World::embedded();
    let replica = world.replica().await;
    let agent = world.agent(&replica);
    let mine = agent.begin("mine").await;
    let replaced = agent.begin("again").await;
    agent.begin("again").await;
    let foreign_tenant = world
        .agent_of(&replica, "acme", PROFILE)
        .begin("mine")
        .await;
    let foreign_profile = world
        .agent_of(&replica, TENANT, "other")
        .begin("theirs")
        .await;
    let unknown = uuid::Uuid::new_v4().to_string();
    let mut messages = Vec::new();
    for context in [
        &unknown,
        &foreign_tenant,
        &foreign_profile,
        &replaced,
        "nonsense",
        "",
    ] {
        // The input is bad too: nobody can probe against a context that is not theirs.
        let request = agent.ask_request(context, "studio", bad_input());
        let asked = agent.try_ask(request).await.unwrap_err();
        is(&asked, ErrorCode::ContextExpired);
        let held = agent.hold(context).await.err().expect("not held");
        is(&held, ErrorCode::ContextExpired);
        let ended = agent.end(context, "completed").await.unwrap_err();
        is(&ended, ErrorCode::ContextExpired);
        messages.extend([asked, held, ended].map(|s| s.message().to_owned()));
    }
    messages.dedup();
    assert_eq!(messages, ["Interaction context is unknown or has expired"]);
    // A session belongs to the profile that first used it.
    let begin = BeginTurnRequest {
        session_id: "theirs".into(),
        ..BeginTurnRequest::default()
    };
    is(
        &agent.try_begin(begin).await.unwrap_err(),
        ErrorCode::ContextExpired,
    );
    agent.ask(&mine, "still fine?").await;
    replica.stop().await;
}

// contract: E6, E4
#[tokio::test]
async fn the_turn_is_checked_before_the_input_and_the_input_before_the_one_pending() {
    let world = World::embedded();
    let replica = world.replica().await;
    let agent = world.agent(&replica);
    let ended = agent.begin("ended").await;
    agent.end(&ended, "completed").await.unwrap();
    for input in [question("fine?"), bad_input()] {
        let request = agent.ask_request(&ended, "studio", input);
        is(
            &agent.try_ask(request).await.unwrap_err(),
            ErrorCode::NoActiveTurn,
        );
    }
    is(
        &agent.hold(&ended).await.err().expect("not held"),
        ErrorCode::NoActiveTurn,
    );
    // Ending it again changes nothing.
    agent.end(&ended, "failed").await.unwrap();

    let context = agent.begin("busy").await;
    let studio = |input: Option<Input>| agent.ask_request(&context, "studio", input);
    agent
        .try_ask(studio(Some(question("first?"))))
        .await
        .unwrap();
    is(
        &agent
            .try_ask(studio(Some(question("second?"))))
            .await
            .unwrap_err(),
        ErrorCode::Busy,
    );
    is(
        &agent.try_ask(studio(Some(bad_input()))).await.unwrap_err(),
        ErrorCode::InvalidQuestion,
    );
    let unreadable = Some(Input::ArgumentsJson("{".into()));
    is(
        &agent.try_ask(studio(unreadable)).await.unwrap_err(),
        ErrorCode::InvalidQuestion,
    );
    is(
        &agent.try_ask(studio(None)).await.unwrap_err(),
        ErrorCode::InvalidQuestion,
    );
    // Another dialect may ask beside it.
    agent.ask(&context, "beside?").await;
    let odd = agent.ask_request(&context, "telepathy", question("?"));
    is(
        &agent.try_ask(odd).await.unwrap_err(),
        ErrorCode::InvalidRequest,
    );
    is(
        &agent.end(&context, "expired").await.unwrap_err(),
        ErrorCode::InvalidRequest,
    );
    // A refused question was shown to nobody.
    assert_eq!(world.events("ended").await.len(), 2);
    assert_eq!(world.events("busy").await.len(), 3);
    replica.stop().await;
}

/// Begins an `Ask` whose body never comes; the answer then depends on the headers alone.
async fn ask_without_body(target: &Target, bearer: Option<&str>) -> Status {
    let channel = target.channel().unwrap();
    let path = "/askbus.v1.ClarifyService/Ask".parse().unwrap();
    let codec = tonic_prost::ProstCodec::<AskRequest, AskResponse>::default();
    let body = Request::new(futures::stream::pending::<AskRequest>());
    let call = async {
        match bearer {
            None => {
                let mut grpc = Grpc::new(channel);
                grpc.ready().await.unwrap();
                grpc.client_streaming(body, path, codec).await
            }
            Some(token) => {
                let bearer = Bearer::new(token).unwrap();
                let mut grpc = Grpc::new(InterceptedService::new(channel, bearer));
                grpc.ready().await.unwrap();
                grpc.client_streaming(body, path, codec).await
            }
        }
    };
    within("the call is refused before its body came", call)
        .await
        .unwrap_err()
}

// contract: E6
#[tokio::test]
async fn a_bad_credential_is_refused_before_the_body_is_read() {
    let world = World::embedded();
    let replica = world
        .replica_with(
            Setup {
                tenants: "all,!acme",
                ..Setup::default()
            },
            |bus| bus,
        )
        .await;
    let forger = Issuer::open_or_create(&world.dir().join("forged")).unwrap();
    let grant = askbus_credential::Grant {
        subject: askbus_domain::PersonId::new("robot").unwrap(),
        role: Role::Agent,
        tenant: crate::world::tenant(TENANT),
        profiles: vec![askbus_domain::ProfileId::new(PROFILE).unwrap()],
        groups: Vec::new(),
        life: std::time::Duration::from_mins(1),
    };
    let forged = forger.sign(&grant).unwrap().0;
    for bearer in [None, Some(forged.as_str()), Some("nonsense")] {
        let status = ask_without_body(&replica.target, bearer).await;
        is(&status, ErrorCode::Unauthenticated);
        assert_eq!(status.code(), Code::Unauthenticated);
    }
    let elsewhere = world.token(Role::Agent, "robot", "acme", &[PROFILE]);
    is(
        &ask_without_body(&replica.target, Some(&elsewhere)).await,
        ErrorCode::WrongInstance,
    );
    let agent = Agent::new(&replica.target, &elsewhere);
    let begin = BeginTurnRequest {
        session_id: "s".into(),
        ..BeginTurnRequest::default()
    };
    is(
        &agent.try_begin(begin).await.unwrap_err(),
        ErrorCode::WrongInstance,
    );
    replica.stop().await;
}

// contract: E5, E7
#[tokio::test]
async fn people_do_not_ask_and_a_credential_is_not_widened() {
    let world = World::embedded();
    let replica = world.replica().await;
    let agent = world.agent(&replica);
    let context = agent.begin("s").await;
    let id = agent.ask(&context, "who?").await;
    for role in [Role::Person, Role::Operator] {
        let token = world.token(role, "ann", TENANT, &[PROFILE]);
        let person = Agent::new(&replica.target, &token);
        let request = person.ask_request(&context, "ask", question("mine?"));
        is(
            &person.try_ask(request).await.unwrap_err(),
            ErrorCode::Forbidden,
        );
        let begin = BeginTurnRequest {
            session_id: "t".into(),
            ..BeginTurnRequest::default()
        };
        is(
            &person.try_begin(begin).await.unwrap_err(),
            ErrorCode::Forbidden,
        );
        is(
            &person.try_cancel(&id).await.unwrap_err(),
            ErrorCode::Forbidden,
        );
        is(
            &person.end(&context, "stopped").await.unwrap_err(),
            ErrorCode::Forbidden,
        );
        // Looking is theirs.
        assert_eq!(person.pending("s").await, vec![id.clone()]);
        assert_eq!(person.get(&id).await.status, "pending");
    }
    let begin = BeginTurnRequest {
        session_id: "t".into(),
        profile: "other".into(),
        ..BeginTurnRequest::default()
    };
    is(
        &agent.try_begin(begin).await.unwrap_err(),
        ErrorCode::Forbidden,
    );
    let blank = BeginTurnRequest {
        session_id: " ".into(),
        ..BeginTurnRequest::default()
    };
    is(
        &agent.try_begin(blank).await.unwrap_err(),
        ErrorCode::InvalidRequest,
    );
    // One credential, two profiles: the second is selected by name.
    let token = world.token(Role::Host, "host", TENANT, &[PROFILE, "other"]);
    let host = Agent::new(&replica.target, &token);
    let begin = BeginTurnRequest {
        session_id: "t".into(),
        profile: "other".into(),
        life: Some(Life::ForMs(60_000)),
        ..BeginTurnRequest::default()
    };
    let context = host.try_begin(begin).await.unwrap().context_id;
    let mut request = host.ask_request(&context, "ask", question("?"));
    is(
        &host.try_ask(request.clone()).await.unwrap_err(),
        ErrorCode::ContextExpired,
    );
    request.profile = "other".into();
    let theirs = host.try_ask(request).await.unwrap().clarify_id;
    let refused = agent.try_get(&theirs).await.unwrap_err();
    assert_eq!(code(&refused), ErrorCode::UnknownClarification);
    // A host sees what waits in its profiles; an agent does not see what others asked.
    assert_eq!(world.host(&replica).pending("").await, vec![id]);
    for session in ["", "s"] {
        is(
            &agent.try_pending(session).await.unwrap_err(),
            ErrorCode::Forbidden,
        );
    }
    replica.stop().await;
}
