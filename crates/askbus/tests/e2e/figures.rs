//! What operators see: figures.

use crate::support::{BINARY, ask, asked, choose, credential, id, one_question, words};
use anyhow::{Context as _, Result, ensure};
use askbus_testkit::{AskbusUp, Era, McpHttp, McpStdio, NatsServer, Service, Team, within};
use futures::StreamExt as _;
use serde_json::{Value, json};
use std::collections::BTreeSet;

const DOCS: &str = include_str!("../../../../docs/observability.md");
const ADAPTER: &str = "askbus-mcp-adapter";
const BINDING: &str = "askbus-session-binding";
const GATEWAY: &str = "askbus-gateway";

/// A page of figures.
async fn page(url: &str, token: &str) -> Result<(u16, String)> {
    let client = reqwest::Client::builder().no_proxy().build()?;
    let response = client.get(url).bearer_auth(token).send().await?;
    Ok((response.status().as_u16(), response.text().await?))
}

fn has(page: &str, lines: &[&str]) -> Result<()> {
    for line in lines {
        ensure!(page.lines().any(|l| l == *line), "{line} is not in\n{page}");
    }
    Ok(())
}

#[tokio::test]
async fn services_show_operators_what_they_did() -> Result<()> {
    let (nats, team) = (NatsServer::start().await?, Team::prepare(BINARY).await?);
    let metrics = ["--metrics", "127.0.0.1:0"];
    let process = team.spawn_session_binding(&nats, &metrics)?;
    let said = process
        .stdout
        .clone()
        .next()
        .await?
        .context("nothing said")?;
    let said: Value = serde_json::from_str(&said)?;
    let metrics = said["metrics_url"]
        .as_str()
        .context("no metrics_url")?
        .to_owned();
    let binding = Service {
        address: format!("http://{}", said["address"].as_str().unwrap_or_default()),
        process,
    };
    let gateway = team.gateway(&nats, &binding.address).await?;
    let agent = team.credential("agent", "acme", "default", "bot").await?;
    let ops = team
        .credential("operator", "acme", "default", "ops")
        .await?;
    let ann = team
        .person(&gateway.address, "acme", "default", "ann")
        .await?;
    let bob = team
        .person(&gateway.address, "acme", "default", "bob")
        .await?;
    let askbus = team.client(&binding.address, &agent)?;

    let (first, answered) = ask(&askbus, &ann, "Answered?", &[]).await?;
    ensure!(ann.answer(&answered, &words("yes")).await?.status == 200);
    ensure!(bob.answer(&answered, &words("no")).await?.status == 409);
    ensure!(first.finish().await?.code == 0);
    let (second, dismissed) = ask(&askbus, &ann, "Dismissed?", &[]).await?;
    let dismissal = json!({"action": "dismiss"});
    ensure!(ann.answer(&dismissed, &dismissal).await?.status == 200);
    ensure!(second.finish().await?.code == 10);
    let (_third, _) = ask(&askbus, &ann, "Waits?", &[]).await?;

    for (url, token, status) in [
        (&metrics, &"nonsense".to_owned(), 401),
        (&metrics, &agent, 403),
        (&metrics.replace("/metrics", "/"), &ops, 404),
    ] {
        assert_eq!(page(url, token).await?.0, status, "{url}");
    }
    let (status, text) = page(&metrics, &ops).await?;
    assert_eq!(status, 200, "{text}");
    has(
        &text,
        &[
            "askbus_session_binding_asked_total{tenant=\"acme\"} 3",
            "askbus_session_binding_resolved_total{tenant=\"acme\",reason=\"response\"} 1",
            "askbus_session_binding_resolved_total{tenant=\"acme\",reason=\"dismissed\"} 1",
            "askbus_session_binding_late_total{tenant=\"acme\"} 1",
            "askbus_session_binding_waiting{tenant=\"acme\"} 1.0",
            "askbus_session_binding_attachments{tenant=\"acme\"} 1.0",
            "askbus_session_binding_human_seconds_count{tenant=\"acme\"} 2",
            "askbus_session_binding_log_lag 0.0",
            "askbus_session_binding_slow_consumers_total 0",
        ],
    )?;
    let (status, text) = page(&format!("{}/metrics", gateway.address), &ops).await?;
    assert_eq!(status, 200, "{text}");
    has(
        &text,
        &[
            "askbus_gateway_sent_total{tenant=\"acme\",verdict=\"settled\"} 2",
            "askbus_gateway_sent_total{tenant=\"acme\",verdict=\"conflict\"} 1",
            "askbus_gateway_waiting{tenant=\"acme\"} 1.0",
        ],
    )?;
    // The bus shows the same figures.
    let stats = statistics(&nats, BINDING).await?;
    let figures = &stats["endpoints"][0]["data"];
    assert_eq!(figures["askbus_session_binding_asked"], 3, "{stats}");
    assert_eq!(figures["askbus_session_binding_late"], 1, "{stats}");
    let stats = statistics(&nats, GATEWAY).await?;
    let figures = &stats["endpoints"][0]["data"];
    assert_eq!(figures["askbus_gateway_sent"], 3, "{stats}");
    Ok(())
}

#[tokio::test]
async fn an_adapter_shows_operators_what_it_did() -> Result<()> {
    let (nats, team) = (NatsServer::start().await?, Team::prepare(BINARY).await?);
    let binding = team.session_binding(&nats).await?;
    let gateway = team.gateway(&nats, &binding.address).await?;
    let agent = team.credential("agent", "acme", "default", "bot").await?;
    let ops = team
        .credential("operator", "acme", "default", "ops")
        .await?;
    let ann = team
        .person(&gateway.address, "acme", "default", "ann")
        .await?;
    let keys = team.askbus().home().join("signing");
    let askbus = team.client(&binding.address, &agent)?;
    let askbus = askbus.env("ASKBUS_SIGNING_DIR", keys.display().to_string());
    let url = nats.url();
    let mut args = vec!["mcp-adapter", "--metrics", "127.0.0.1:0", "--nats", &url];
    args.extend(["--session-binding", &binding.address]);
    let mut adapter = McpStdio::connect(&askbus, &args).await?;
    let mut said = adapter.process.stderr.clone();
    let said = said.find(|line| line.contains("figures are shown")).await?;
    let address = said.split("address=").nth(1).unwrap_or_default();
    let address = address.split_whitespace().next().context("no address")?;
    adapter
        .call(1, "ask_user", one_question("One?", &["yes"]))
        .await?;
    let shown = asked(&ann, "One?").await?;
    ensure!(ann.answer(id(&shown), &choose("o1")).await?.status == 200);
    adapter.reply(1).await?;
    adapter
        .call(2, "ask_user", one_question("Two?", &["yes"]))
        .await?;
    asked(&ann, "Two?").await?;
    let url = format!("http://{address}/metrics");
    assert_eq!(page(&url, &agent).await?.0, 403);
    let (status, text) = page(&url, &ops).await?;
    assert_eq!(status, 200, "{text}");
    has(
        &text,
        &[
            "askbus_mcp_adapter_asked_total 2",
            "askbus_mcp_adapter_delivered_total{reason=\"response\"} 1",
            "askbus_mcp_adapter_waiting 1.0",
            "askbus_mcp_adapter_slow_consumers_total 0",
        ],
    )?;
    let figures = &statistics(&nats, ADAPTER).await?["endpoints"][0]["data"];
    assert_eq!(figures["askbus_mcp_adapter_asked"], 2, "{figures}");
    Ok(())
}

/// What `nats micro stats` shows of the one instance of a service.
async fn statistics(nats: &NatsServer, service: &str) -> Result<Value> {
    let client = nats.client().await?;
    let inbox = client.new_inbox();
    let mut replies = client.subscribe(inbox.clone()).await?;
    let subject = format!("$SRV.STATS.{service}");
    client.publish_with_reply(subject, inbox, "".into()).await?;
    let reply = within("statistics", replies.next()).await?;
    Ok(serde_json::from_slice(&reply.context("none")?.payload)?)
}

#[tokio::test]
async fn a_single_machine_shows_all_its_figures_on_one_page() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let me = up.person().await?;
    let (_asking, _) = ask(up.askbus(), &me, "Waits?", &[]).await?;
    let ops = credential(&up, "operator", "default", "ops").await?;
    let url = format!("{}/metrics", up.url());
    assert_eq!(page(&url, "").await?.0, 401);
    let (status, text) = page(&url, &ops).await?;
    assert_eq!(status, 200, "{text}");
    has(
        &text,
        &[
            "askbus_session_binding_asked_total{tenant=\"local\"} 1",
            "askbus_session_binding_waiting{tenant=\"local\"} 1.0",
            "askbus_gateway_waiting{tenant=\"local\"} 1.0",
            "askbus_gateway_log_lag 0.0",
        ],
    )?;
    let shown: BTreeSet<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next())
        .collect();
    let described = DOCS
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    let ours = |name: &&str| name.starts_with("askbus_");
    assert_eq!(described.filter(ours).collect::<BTreeSet<_>>(), shown);
    Ok(())
}

#[tokio::test]
async fn one_process_shows_the_figures_of_all_its_parts() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let person = up.person().await?;
    let agent = credential(&up, "agent", "default", "bot").await?;
    let ops = credential(&up, "operator", "default", "ops").await?;
    let url = up.announcement().mcp_url.clone().context("no mcp_url")?;
    let client = McpHttp::connect(&url, &agent, Era::Stateless, "codex").await?;
    let mut call = client
        .call(1, "ask_user", one_question("One?", &["yes"]))
        .await?;
    let shown = asked(&person, "One?").await?;
    ensure!(person.answer(id(&shown), &choose("o1")).await?.status == 200);
    call.result().await?;
    let (status, text) = page(&format!("{}/metrics", up.url()), &ops).await?;
    assert_eq!(status, 200, "{text}");
    has(
        &text,
        &[
            "askbus_mcp_adapter_asked_total 1",
            "askbus_mcp_adapter_delivered_total{reason=\"response\"} 1",
            "askbus_session_binding_asked_total{tenant=\"local\"} 1",
            "askbus_gateway_sent_total{tenant=\"local\",verdict=\"settled\"} 1",
        ],
    )
}
