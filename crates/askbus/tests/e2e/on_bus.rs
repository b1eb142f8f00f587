//! `askbus mcp-adapter`: a service on the bus that hears outcomes there.

use crate::support::{BINARY, asked, choose, id, one_question};
use anyhow::{Context as _, Result};
use askbus_testkit::{McpStdio, NatsServer, Team, within};
use async_nats::{Client, Subscriber};
use futures::StreamExt as _;
use serde_json::{Value, json};

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";

/// Waits until a micro service of this name says that it is there.
async fn known_as(client: &Client, name: &str) -> Result<Value> {
    let request = format!("$SRV.INFO.{name}");
    let info = async {
        loop {
            // Refused at once as long as nobody listens there.
            if let Ok(reply) = client.request(request.clone(), "".into()).await {
                return anyhow::Ok(serde_json::from_slice::<Value>(&reply.payload)?);
            }
            tokio::task::yield_now().await;
        }
    };
    within(name, info).await?
}

/// The trace of the next commit that is named after `event`.
async fn traced(happened: &mut Subscriber, event: &str) -> Result<String> {
    let found = async {
        while let Some(message) = happened.next().await {
            if message.subject.starts_with(&format!("clarify.{event}.")) {
                let headers = message.headers.context("no headers")?;
                let trace = headers.get("traceparent").context("no trace")?;
                return Ok(trace.as_str().to_owned());
            }
        }
        anyhow::bail!("the subscription ended")
    };
    within(event, found).await?
}

// contract: D10 E11 E12
#[tokio::test]
async fn the_only_session_binding_dies_and_the_adapter_hears_the_outcome_on_the_bus() -> Result<()>
{
    let (nats, team) = (NatsServer::start().await?, Team::prepare(BINARY).await?);
    let mut first = team.session_binding(&nats).await?;
    let gateway = team.gateway(&nats, &first.address).await?;
    let watcher = nats.client().await?;
    let mut happened = watcher.subscribe("clarify.*.*.*").await?;
    watcher.flush().await?;

    let agent = team.credential("agent", "acme", "default", "agent").await?;
    let askbus = team.client(&first.address, &agent)?;
    let url = nats.url();
    let args = [
        "mcp-adapter",
        "--nats",
        &url,
        "--session-binding",
        &first.address,
    ];
    let mut adapter = McpStdio::connect(&askbus, &args).await?;
    let info = known_as(&watcher, "askbus-mcp-adapter").await?;
    assert_eq!(info["version"], env!("CARGO_PKG_VERSION"), "{info}");

    let params = json!({
        "name": "ask_user",
        "arguments": one_question("Who will tell?", &["the stream", "the bus"]),
        "_meta": {"traceparent": format!("00-{TRACE}-b7ad6b7169203331-01")},
    });
    adapter.request(1, "tools/call", params).await?;
    let alice = team
        .person(&gateway.address, "acme", "default", "alice")
        .await?;
    let shown = asked(&alice, "Who will tell?").await?;
    let requested = traced(&mut happened, "requested").await?;
    assert!(
        requested.starts_with(&format!("00-{TRACE}-")),
        "{requested}"
    );

    // Another one comes, at an address the adapter does not know.
    first.process.kill9().await?;
    let _second = team.session_binding(&nats).await?;
    let answered = alice.answer(id(&shown), &choose("o2")).await?;
    assert_eq!(answered.status, 200, "{answered:?}");
    let reply = adapter.reply(1).await?;
    let outcome = &reply["result"]["structuredContent"];
    assert_eq!(outcome["reason"], "response", "{reply}");
    assert_eq!(outcome["answers"][0]["options"][0]["label"], "the bus");
    let resolved = traced(&mut happened, "resolved").await?;
    assert!(resolved.starts_with(&format!("00-{TRACE}-")), "{resolved}");
    assert_eq!(adapter.stray_output(), Vec::<String>::new());
    Ok(())
}
