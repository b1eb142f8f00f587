//! What operators and tools rely on: health, reflection, the socket.

use crate::world::{Setup, World, within};
use askbus_domain::PolicyTable;
use askbus_session_binding::{Clock, Listen, Options, StartError, start};
use askbus_wire::tenants::Tenants;
use std::os::unix::fs::PermissionsExt as _;
use tokio_util::sync::CancellationToken;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;
use tonic_reflection::pb::v1::ServerReflectionRequest;
use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;
use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
use tonic_reflection::pb::v1::server_reflection_response::MessageResponse;

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
    let mut reflection = ServerReflectionClient::new(channel);
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
    };
    let refused = within("it gives up", start(second, CancellationToken::new())).await;
    assert!(matches!(refused, Err(StartError::Listen { .. })));
    agent.ask(&context, "still the first?").await;
    replica.stop().await;
    assert!(!path.exists());
}
