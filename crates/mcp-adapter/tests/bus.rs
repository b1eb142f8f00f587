//! Outcomes heard on the bus, and what is done about those that were not heard.

#![allow(clippy::indexing_slicing, reason = "tests")]

mod fixture;

use askbus_domain::{AskerId, LeaseName, TenantId};
use askbus_mcp_adapter::{Outcomes, Token};
use askbus_testkit::NatsServer;
use askbus_wire::messages::Lease;
use askbus_wire::proto;
use fixture::bus::{Log, NEVER, connected, next_heartbeat, on_bus, with};
use fixture::client::Client;
use fixture::service::{Service, answer, outcome};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::sync::watch;

fn words(result: &Value) -> &Value {
    &result["structuredContent"]["answers"][0]["text"]
}

// contract: E11 E20
#[tokio::test]
async fn an_outcome_is_heard_on_the_bus_and_heartbeats_keep_the_asker() {
    let (service, server) = (Service::up(), NatsServer::start().await.unwrap());
    let mut log = Log::on(&server).await;
    let mut heartbeats = log.heartbeats().await;
    let (asker, mut bus, _handle) = on_bus(&service, &server, NEVER).await;
    bus.heartbeat_every = Duration::from_millis(50);
    let mut client = Client::ask_toolset(with(asker, bus)).await;
    client.ask(1, "on the bus?").await;
    log.asked(&service, 0).await;
    log.settled(&service.question(0).await, &answer("heard"))
        .await;
    let result = client.result(1).await;
    assert_eq!(words(&result), "heard");
    assert_eq!(result["structuredContent"]["actor"]["person"], "ann");

    client.ask(2, "and again?").await;
    log.asked(&service, 1).await;
    log.settled(&service.question(1).await, &answer("heard too"))
        .await;
    assert_eq!(words(&client.result(2).await), "heard too");

    // The service was not told of any outcome, and nobody attached.
    let asker = service.state(|s| {
        assert!(s.attaches.is_empty());
        assert!(s.clarifications.iter().all(|c| c.outcome.is_none()));
        AskerId::new(&s.asks[0].asker_id).unwrap()
    });
    let tenant = TenantId::new("acme").unwrap();
    let holder = LeaseName::new(asker.as_str()).unwrap();
    let kept = [Lease::asker(&tenant, &asker), Lease::turn(&tenant, &holder)];
    for _ in 0..3 {
        let heartbeat = next_heartbeat(&mut heartbeats).await;
        assert_eq!(heartbeat.leases, kept);
        assert_eq!(
            (heartbeat.service.as_str(), heartbeat.instance.as_str()),
            ("mcp-adapter", "test")
        );
    }
}

#[tokio::test]
async fn an_outcome_that_was_not_heard_is_asked_for() {
    let (service, server) = (Service::up(), NatsServer::start().await.unwrap());
    let (asker, bus, _handle) = on_bus(&service, &server, Duration::from_millis(100)).await;
    let mut client = Client::ask_toolset(with(asker, bus)).await;
    client.ask(1, "q").await;
    let id = service.question(0).await;
    // Told that it waits, the adapter asks again later.
    let asked_for = |s: &mut fixture::service::State| (s.checks.len() >= 2).then_some(());
    service.until("two checks", asked_for).await;
    service.settle(&id, answer("nobody said so"));
    assert_eq!(words(&client.result(1).await), "nobody said so");
}

#[tokio::test]
async fn a_question_known_by_a_check_alone_is_settled_by_the_bus() {
    let (service, server) = (Service::up(), NatsServer::start().await.unwrap());
    let mut log = Log::on(&server).await;
    let (asker, mut bus, _handle) = on_bus(&service, &server, NEVER).await;
    let slow = watch::Sender::new(0);
    bus.slow_consumers = slow.subscribe();
    let mut client = Client::ask_toolset(with(asker, bus)).await;
    client.ask(1, "q").await;
    let id = service.question(0).await;
    // That it was asked was lost on the way.
    slow.send_modify(|count| *count += 1);
    let checked = |s: &mut fixture::service::State| s.checks.first().cloned();
    assert_eq!(service.until("a check", checked).await, id);
    client.ping(2).await;
    service.state(|s| s.checks.clear());
    log.settled(&id, &answer("heard")).await;
    // The bus has the words; the service, if it is asked once more, does not.
    service.settle(&id, answer("asked for"));
    let result = client.result(1).await;
    assert!(["heard", "asked for"].contains(&words(&result).as_str().unwrap()));
}

#[tokio::test]
async fn lost_messages_are_made_up_for_at_once() {
    let (service, server) = (Service::up(), NatsServer::start().await.unwrap());
    let (asker, mut bus, _handle) = on_bus(&service, &server, NEVER).await;
    let slow = watch::Sender::new(7);
    bus.slow_consumers = slow.subscribe();
    let mut client = Client::ask_toolset(with(asker, bus)).await;
    client.ask(1, "q").await;
    service.settle(&service.question(0).await, answer("made up for"));
    client.ping(2).await;
    slow.send_modify(|count| *count += 1);
    assert_eq!(words(&client.result(1).await), "made up for");
}

#[tokio::test]
async fn a_gap_in_the_sequences_is_noticed_and_a_step_is_none() {
    let (service, server) = (Service::up(), NatsServer::start().await.unwrap());
    let mut log = Log::on(&server).await;
    let (asker, bus, _handle) = on_bus(&service, &server, NEVER).await;
    let mut client = Client::ask_toolset(with(asker, bus)).await;
    client.ask(1, "first").await;
    log.asked(&service, 0).await;
    client.ask(2, "second").await;
    log.asked(&service, 1).await;
    let (first, second) = (service.question(0).await, service.question(1).await);
    service.state(|s| s.checks.clear());
    // Without a gap: a stranger's question in the same session, the first that ever settled there.
    log.republish(10, 0).await;
    log.republish(11, 10).await;
    log.settled(&first, &answer("in order")).await;
    assert_eq!(words(&client.result(1).await), "in order");
    service.state(|s| assert!(s.checks.is_empty(), "{:?}", s.checks));
    // The one that settled this question was never heard.
    service.settle(&second, answer("missed"));
    log.republish(41, 40).await;
    assert_eq!(words(&client.result(2).await), "missed");
    service.state(|s| assert_eq!(s.checks, [second]));
}

#[tokio::test]
async fn a_question_outlives_a_restart_of_the_bus() {
    let (service, mut server) = (Service::up(), NatsServer::start().await.unwrap());
    let mut log = Log::on(&server).await;
    let (asker, mut bus, handle) = on_bus(&service, &server, NEVER).await;
    bus.heartbeat_every = Duration::from_millis(50);
    let mut client = Client::ask_toolset(with(asker, bus)).await;
    client.ask(1, "q").await;
    client.ask(2, "r").await;
    log.asked(&service, 0).await;
    log.asked(&service, 1).await;
    let (first, second) = (service.question(0).await, service.question(1).await);
    let mut up = handle.connected();
    server.kill9().await.unwrap();
    fixture::soon("the outage", up.wait_for(|up| !up))
        .await
        .unwrap();
    service.settle(&first, answer("while the bus was away"));
    client.ping(3).await;
    server.restart().await.unwrap();
    let one = client.next().await;
    assert_eq!(words(&one["result"]), "while the bus was away", "{one}");
    let mut heartbeats = log.heartbeats().await;
    drop(next_heartbeat(&mut heartbeats).await);
    log.settled(&second, &answer("after it came back")).await;
    let two = client.next().await;
    assert_eq!(words(&two["result"]), "after it came back", "{two}");
}

#[tokio::test]
async fn without_a_bus_a_call_waits_for_it() {
    let (service, mut server) = (Service::up(), NatsServer::absent().unwrap());
    let (asker, bus, handle) = on_bus(&service, &server, NEVER).await;
    let mut client = Client::ask_toolset(with(asker, bus)).await;
    client.ask(1, "q").await;
    client.ping(2).await;
    service.state(|s| assert!(s.asks.is_empty(), "it would not be heard"));
    server.restart().await.unwrap();
    connected(&handle).await;
    let mut log = Log::on(&server).await;
    log.asked(&service, 0).await;
    log.settled(&service.question(0).await, &answer("yes"))
        .await;
    assert_eq!(words(&client.result(1).await), "yes");
}

// contract: E11
#[tokio::test]
async fn without_a_bus_the_end_of_input_still_ends_it_within_a_second() {
    let (service, server) = (Service::up(), NatsServer::absent().unwrap());
    let (asker, bus, _handle) = on_bus(&service, &server, NEVER).await;
    let mut client = Client::ask_toolset(with(asker, bus)).await;
    client.ask(1, "q").await;
    client.ping(2).await;
    let (_, took) = client.end().await;
    assert!(took < Duration::from_secs(1), "{took:?}");
}

#[tokio::test]
async fn a_question_the_service_has_lost_is_said_to_be_lost() {
    let (service, server) = (Service::up(), NatsServer::start().await.unwrap());
    let (asker, bus, _handle) = on_bus(&service, &server, Duration::from_millis(50)).await;
    let mut client = Client::ask_toolset(with(asker, bus)).await;
    client.ask(1, "q").await;
    service.question(0).await;
    service.state(|s| s.clarifications.clear());
    let result = client.result(1).await;
    assert_eq!(
        result["structuredContent"]["reason"],
        "UNKNOWN_CLARIFICATION"
    );
}

#[tokio::test]
async fn a_credential_without_a_tenant_is_refused_before_anybody_is_asked() {
    let (service, server) = (Service::up(), NatsServer::start().await.unwrap());
    let (mut asker, bus, _handle) = on_bus(&service, &server, NEVER).await;
    asker.token = Token::Value("no credential".to_owned());
    asker.outcomes = Outcomes::OnBus(Box::new(bus));
    let mut client = Client::ask_toolset(asker).await;
    client.ask(1, "q").await;
    let result = client.result(1).await;
    assert_eq!(result["structuredContent"]["reason"], "UNAUTHENTICATED");
    service.state(|s| assert!(s.asks.is_empty()));
}

// contract: A4
#[tokio::test]
async fn a_hold_is_heard_on_the_bus() {
    let (service, server) = (Service::up(), NatsServer::start().await.unwrap());
    let mut log = Log::on(&server).await;
    let (asker, bus, _handle) = on_bus(&service, &server, NEVER).await;
    let mut client = Client::ask_toolset(with(asker, bus)).await;
    client.ask_with_meta(1, json!({"progressToken": "t"})).await;
    client.progress("Waiting for a person").await;
    log.asked(&service, 0).await;
    let id = service.question(0).await;
    log.held(&id, "ann").await;
    client.progress("the deadline no longer counts").await;
    log.settled(&id, &answer("yes")).await;
    assert_eq!(words(&client.result(1).await), "yes");
}

// contract: A9
#[tokio::test]
async fn what_a_person_is_to_read_comes_from_the_service() {
    let (service, server) = (Service::up(), NatsServer::start().await.unwrap());
    let mut log = Log::on(&server).await;
    let (asker, bus, _handle) = on_bus(&service, &server, NEVER).await;
    let mut client = Client::ask_toolset(with(asker, bus)).await;
    client.ask(1, "q").await;
    log.asked(&service, 0).await;
    let id = service.question(0).await;
    let deferred = proto::Outcome {
        deferred_text: "请回复。".to_owned(),
        ..outcome("deferred")
    };
    service.settle(&id, deferred.clone());
    // The log has how it ended, and not the text.
    log.settled(&id, &deferred).await;
    let result = client.result(1).await;
    assert_eq!(result["structuredContent"]["deferred_text"], "请回复。");
}
