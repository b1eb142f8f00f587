//! Separate services over NATS.

use crate::support::{BINARY, asked, choose, id, one_question};
use anyhow::Result;
use askbus_testkit::{Balancer, McpPython, McpStdio, NatsServer, Team, within};
use futures::StreamExt as _;
use serde_json::{Value, json};
use std::collections::BTreeSet;

// contract: E9 E11 E12
#[tokio::test]
async fn the_replica_that_took_the_question_dies_and_the_call_is_answered() -> Result<()> {
    let (nats, team) = (NatsServer::start().await?, Team::prepare(BINARY).await?);
    let mut first = team.session_binding(&nats).await?;
    let second = team.session_binding(&nats).await?;
    let balancer = Balancer::start(&[&first.address, &second.address]).await?;
    let gateway = team.gateway(&nats, &balancer.url()).await?;
    let watcher = nats.client().await?;
    let mut happened = watcher.subscribe("clarify.*.*.*").await?;
    let mut sent = watcher.subscribe("clarify.respond.>").await?;
    watcher.flush().await?;

    let agent = team.credential("agent", "acme", "default", "agent").await?;
    let askbus = team.client(&gateway.address, &agent)?;
    let mut client = McpPython::connect(&askbus, &["mcp"], "legacy").await?;
    let call = client
        .call(
            "ask_user",
            one_question("Who is alive?", &["first", "second"]),
        )
        .await?;
    let alice = team
        .person(&gateway.address, "acme", "default", "alice")
        .await?;
    let shown = asked(&alice, "Who is alive?").await?;
    first.process.kill9().await?;

    let mut socket = alice.socket().await?;
    socket.find(|m| m["event"] == "ready").await?;
    socket
        .send(
            &json!({"event": "clarify.respond", "clarify_id": id(&shown), "answer_id": "a1",
        "action": "answer", "answers": choose("o2")["answers"]}),
        )
        .await?;
    let resolved = socket
        .find(|m| m["event"] == "clarify.resolved" && m["resolved"] == true)
        .await?;
    assert_eq!(
        resolved["actor"],
        json!({"person": "alice", "surface": "web"})
    );
    let outcome = &client.outcome(call).await?["structuredContent"];
    assert_eq!(outcome["reason"], "response", "{outcome}");
    assert_eq!(outcome["answers"][0]["options"][0]["label"], "second");

    // Somebody who loses: it shows as late, never as a second resolution.
    let bob = team
        .person(&gateway.address, "acme", "default", "bob")
        .await?;
    assert_eq!(bob.answer(id(&shown), &choose("o1")).await?.status, 409);

    let mut events = Vec::new();
    let late = async {
        while let Some(message) = happened.next().await {
            let commit: Value = serde_json::from_slice(&message.payload)?;
            assert_eq!(message.subject.split('.').count(), 4, "{}", message.subject);
            let all = commit["events"].as_array().cloned().unwrap_or_default();
            events.extend(
                all.iter()
                    .map(|e| e["event"].as_str().unwrap_or_default().to_owned()),
            );
            if events.last().is_some_and(|e| e == "late") {
                break;
            }
        }
        anyhow::Ok(())
    };
    within("the late answer on the bus", late).await??;
    assert_eq!(events, ["begun", "requested", "resolved", "late"]);
    for who in ["alice", "bob"] {
        let message = within("what people sent", sent.next()).await?;
        let message = message.ok_or_else(|| anyhow::anyhow!("the subscription ended"))?;
        assert_eq!(message.subject.split('.').count(), 5, "{}", message.subject);
        let body: Value = serde_json::from_slice(&message.payload)?;
        assert_eq!(body["actor"]["person"], who, "{body}");
    }
    Ok(())
}

// contract: D10
#[tokio::test]
async fn services_are_known_to_the_bus() -> Result<()> {
    let (nats, team) = (NatsServer::start().await?, Team::prepare(BINARY).await?);
    let first = team.session_binding(&nats).await?;
    let _second = team.session_binding(&nats).await?;
    let _gateway = team.gateway(&nats, &first.address).await?;
    let agent = team.credential("agent", "acme", "default", "agent").await?;
    let url = nats.url();
    let askbus = team.client(&first.address, &agent)?;
    let adapter = [
        "mcp-adapter",
        "--nats",
        &url,
        "--session-binding",
        &first.address,
    ];
    let _adapter = McpStdio::connect(&askbus, &adapter).await?;

    let client = nats.client().await?;
    let wanted = [
        "askbus-gateway",
        "askbus-mcp-adapter",
        "askbus-session-binding",
    ];
    let mut instances: BTreeSet<(String, String)> = BTreeSet::new();
    // Registration follows readiness, so the first request may come too early for somebody.
    let gathered = async {
        loop {
            let inbox = client.new_inbox();
            let mut replies = client.subscribe(inbox.clone()).await?;
            client
                .publish_with_reply("$SRV.INFO", inbox, "".into())
                .await?;
            client.flush().await?;
            let one = std::time::Duration::from_millis(300);
            while let Ok(Some(reply)) = tokio::time::timeout(one, replies.next()).await {
                let info: Value = serde_json::from_slice(&reply.payload)?;
                assert_eq!(info["version"], env!("CARGO_PKG_VERSION"), "{info}");
                assert!(info["metadata"]["tenants"].is_string(), "{info}");
                let word = |v: &Value| v.as_str().unwrap_or_default().to_owned();
                instances.insert((word(&info["name"]), word(&info["metadata"]["instance"])));
            }
            let names: BTreeSet<&str> = instances.iter().map(|(n, _)| n.as_str()).collect();
            if wanted.iter().all(|w| names.contains(w)) && instances.len() >= 4 {
                return anyhow::Ok(());
            }
        }
    };
    within("all services to register", gathered).await??;
    let bindings = instances
        .iter()
        .filter(|(name, _)| name == "askbus-session-binding")
        .count();
    assert_eq!(bindings, 2, "{instances:?}");
    Ok(())
}

// contract: E12
#[tokio::test]
async fn a_killed_gateway_comes_back_with_everything_that_waits() -> Result<()> {
    let (nats, team) = (NatsServer::start().await?, Team::prepare(BINARY).await?);
    let binding = team.session_binding(&nats).await?;
    let mut gateway = team.gateway(&nats, &binding.address).await?;
    let agent = team.credential("agent", "acme", "default", "agent").await?;
    let askbus = team.client(&binding.address, &agent)?;
    let mut client = McpStdio::connect(&askbus, &["mcp"]).await?;
    client
        .call(1, "ask_user", one_question("Back again?", &["yes"]))
        .await?;
    let alice = team
        .person(&gateway.address, "acme", "default", "alice")
        .await?;
    let shown = asked(&alice, "Back again?").await?;
    gateway.process.kill9().await?;
    let gateway = team.gateway(&nats, &binding.address).await?;
    let alice = team
        .person(&gateway.address, "acme", "default", "alice")
        .await?;
    let again = asked(&alice, "Back again?").await?;
    assert_eq!(id(&again), id(&shown));
    assert_eq!(alice.answer(id(&again), &choose("o1")).await?.status, 200);
    let outcome = &client.reply(1).await?["result"]["structuredContent"];
    assert_eq!(outcome["reason"], "response", "{outcome}");
    Ok(())
}
