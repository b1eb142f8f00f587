//! What operators and tools rely on: health, reflection, the socket.

use crate::world::{Setup, World, within};
use askbus_domain::{PolicyTable, WaitingLimits};
use askbus_session_binding::{Clock, Listen, Options, StartError, start};
use askbus_wire::tenants::Tenants;
use std::os::unix::fs::PermissionsExt as _;
use tokio_util::sync::CancellationToken;
use tonic::Streaming;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;
use tonic_health::pb::{HealthCheckRequest, HealthCheckResponse};
use tonic_reflection::pb::v1::ServerReflectionRequest;
use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;
use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
use tonic_reflection::pb::v1::server_reflection_response::MessageResponse;
use tonic_reflection::pb::v1alpha;

const SERVICES: [&str; 2] = ["askbus.v1.TurnService", "askbus.v1.ClarifyService"];

#[tokio::test]
async fn health_and_reflection_need_no_credential() {
    let world = World::embedded();
    let replica = world.replica().await;
    let channel = replica.target.channel().unwrap();
    let mut health = HealthClient::new(channel.clone());
    for service in ["", SERVICES[0], SERVICES[1]] {
        let request = HealthCheckRequest {
            service: service.into(),
        };
        let reply = within("health is told", health.check(request))
            .await
            .unwrap();
        assert_eq!(
            reply.into_inner().status(),
            ServingStatus::Serving,
            "{service}"
        );
    }
    let mut reflection = ServerReflectionClient::new(channel.clone());
    let request = ServerReflectionRequest {
        host: String::new(),
        message_request: Some(MessageRequest::ListServices(String::new())),
    };
    let request = futures::stream::iter([request]);
    let call = reflection.server_reflection_info(request);
    let mut replies = within("services are listed", call)
        .await
        .unwrap()
        .into_inner();
    let reply = within("services are listed", replies.message())
        .await
        .unwrap()
        .unwrap();
    let Some(MessageResponse::ListServicesResponse(list)) = reply.message_response else {
        panic!("{reply:?}")
    };
    let names: Vec<_> = list.service.into_iter().map(|s| s.name).collect();
    for service in SERVICES.into_iter().chain(["grpc.health.v1.Health"]) {
        assert!(names.iter().any(|n| n == service), "{service} in {names:?}");
    }
    // Tools that are older ask in their own words.
    let mut older = v1alpha::server_reflection_client::ServerReflectionClient::new(channel);
    let wanted = v1alpha::server_reflection_request::MessageRequest::ListServices(String::new());
    let request = v1alpha::ServerReflectionRequest {
        host: String::new(),
        message_request: Some(wanted),
    };
    let call = older.server_reflection_info(futures::stream::iter([request]));
    let mut replies = within("older tools are told", call)
        .await
        .unwrap()
        .into_inner();
    let reply = within("older tools are told", replies.message()).await;
    assert!(reply.unwrap().is_some());
    replica.stop().await;
}

/// Reads what is said of a service until it is `wanted`.
async fn until(told: &mut Streaming<HealthCheckResponse>, wanted: ServingStatus) {
    let reached = async { while told.message().await.unwrap().unwrap().status() != wanted {} };
    within(wanted.as_str_name(), reached).await;
}

// contract: E11
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_cannot_reach_the_log_is_not_well_and_says_when_it_is_again() {
    let mut world = World::jetstream().await;
    let replica = world.replica().await;
    let mut health = HealthClient::new(replica.target.channel().unwrap());
    let request = |service: &str| HealthCheckRequest {
        service: service.into(),
    };
    let mut told = Vec::new();
    for service in SERVICES {
        let watched = within("health is told", health.watch(request(service))).await;
        told.push(watched.unwrap().into_inner());
    }
    for told in &mut told {
        until(told, ServingStatus::Serving).await;
    }
    world.nats().kill9().await.unwrap();
    for told in &mut told {
        until(told, ServingStatus::NotServing).await;
    }
    // The process itself is alive, and need not be started anew.
    let alive = within("it is alive", health.check(request(""))).await;
    assert_eq!(alive.unwrap().into_inner().status(), ServingStatus::Serving);
    world.nats().restart().await.unwrap();
    for told in &mut told {
        until(told, ServingStatus::Serving).await;
    }
    replica.stop().await;
}

#[tokio::test]
async fn a_socket_is_private_and_has_one_owner() {
    let world = World::embedded();
    let path = world.dir().join("askbus.sock");
    // Left behind by a process that is gone.
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    let setup = Setup {
        listen: Listen::Socket(path.clone()),
        ..Setup::default()
    };
    let replica = world.replica_with(setup, |bus| bus).await;
    assert_eq!(replica.handle.address(), None);
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let agent = world.agent(&replica);
    let context = agent.begin("s").await;
    agent.ask(&context, "through the socket?").await;
    let second = Options {
        bus: world.bus.clone(),
        clock: Clock::system(),
        verifier: world.verifier(),
        listen: Listen::Socket(path.clone()),
        tenants: Tenants::default(),
        instance: "second".into(),
        lease: Options::LOCAL_LEASE,
        heartbeat: Options::heartbeat_for(Options::LOCAL_LEASE),
        policy: PolicyTable::default(),
        people: None,
        waiting: WaitingLimits::default(),
    };
    let refused = within("it gives up", start(second, CancellationToken::new())).await;
    assert!(matches!(refused, Err(StartError::Listen { .. })));
    agent.ask(&context, "still the first?").await;
    replica.stop().await;
    assert!(!path.exists());
}
