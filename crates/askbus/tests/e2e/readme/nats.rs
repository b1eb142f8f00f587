//! The README's parts about services over NATS, and about NATS itself.

use super::{Lines, output, reaches, shell};
use crate::support::{BINARY, asked, choose, id};
use anyhow::{Context as _, Result, ensure};
use askbus_testkit::{NatsServer, Person, Service, Team, within};
use async_nats::Client;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures::StreamExt as _;
use serde_json::{Value, json};
use std::net::TcpListener;

/// A port nobody listens on now.
fn free_port() -> Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

#[tokio::test]
async fn services_over_nats() -> Result<()> {
    let lines = Lines::of(Some("As services over NATS"));
    let nats = NatsServer::start().await?;
    let team = Team::prepare(BINARY).await?;
    let home = team.askbus();
    let ports = [
        ("7410", free_port()?),
        ("7411", free_port()?),
        ("7412", free_port()?),
        ("7413", free_port()?),
        ("7414", free_port()?),
    ];
    let placed = |line: String| {
        let line = line.replace("nats://127.0.0.1:4222", &nats.url());
        ports.iter().fold(line, |line, (port, free)| {
            line.replace(port, &free.to_string())
        })
    };
    output(home, &lines.take("credential init")?).await?;
    let mut services = Vec::new();
    for part in [
        "--listen 127.0.0.1:7411",
        "--listen 127.0.0.1:7412",
        "askbus gateway",
    ] {
        let line = format!("{} --json", placed(lines.take(part)?));
        services.push(Service::ready(shell(home, &line)?).await?);
    }
    let ann = output(home, &lines.take("--role person")?).await?;
    let bot = output(home, &lines.take("--role agent")?).await?;

    let on_nats = Lines::of(Some("On NATS"));
    let watcher = nats.client().await?;
    let mut happened = watcher
        .subscribe(quoted(&on_nats.take("nats sub 'clarify.*.*.*'")?))
        .await?;
    let mut sent = watcher
        .subscribe(quoted(&on_nats.take("nats sub 'clarify.respond.>'")?))
        .await?;
    watcher.flush().await?;

    let agent = home.clone().env("ASKBUS_CREDENTIAL", bot.trim());
    let mut adapter = shell(&agent, &placed(lines.take("askbus mcp-adapter")?))?;
    for message in [
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"ask_user","arguments":{"question":"Over the bus?","options":["yes","no"]}}}"#,
    ] {
        adapter.write(format!("{message}\n").as_bytes()).await?;
    }
    let gateway = services.last().context("no gateway")?;
    let person = Person::bearer(&gateway.address, ann.trim())?;
    let shown = asked(&person, "Over the bus?").await?;
    person.answer(id(&shown), &choose("o1")).await?;
    let reply = adapter
        .stdout
        .find(|line| line.contains("\"id\":2"))
        .await?;
    ensure!(reply.contains("\"label\":\"yes\""), "{reply}");

    let mut over_http = Vec::new();
    for part in ["mcp-adapter --listen", "--mcp-adapter 127.0.0.1:7413"] {
        let line = format!("{} --json", placed(lines.take(part)?));
        over_http.push(Service::ready(shell(home, &line)?).await?);
    }
    let gateway = over_http.last().context("no gateway")?;
    reaches(&format!("{}/mcp", gateway.address), bot.trim()).await?;

    let began = within("the first event on the bus", happened.next())
        .await?
        .context("ended")?;
    ensure!(
        began.subject.starts_with("clarify.begun.acme."),
        "{}",
        began.subject
    );
    let answer = within("the answer on the bus", sent.next())
        .await?
        .context("ended")?;
    ensure!(answer.subject.ends_with(id(&shown)), "{}", answer.subject);
    for part in [
        "healthcheck session-binding",
        "healthcheck gateway",
        "healthcheck mcp-adapter",
    ] {
        let said = output(home, &placed(lines.take(part)?)).await?;
        ensure!(said == "ok\n", "{said}");
    }
    let listed = output(home, &lines.take("credential list")?).await?;
    let anns = listed.lines().find(|line| line.contains(" ann "));
    let record = word(anns.with_context(|| listed.clone())?, 0);
    output(
        home,
        &lines.take("credential revoke")?.replace("ID", record),
    )
    .await?;
    let refused = async {
        while person.get("/api/me").await?.status != 401 {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        anyhow::Ok(())
    };
    within("the revocation to be noticed", refused).await??;
    lines.all_were_run()?;
    nats_tooling(&watcher, &on_nats, id(&shown)).await
}

/// What the tool sends for each line, and that the services and streams reply to it.
async fn nats_tooling(client: &Client, lines: &Lines, clarify_id: &str) -> Result<()> {
    let line = lines.take("nats stream info")?;
    let info = request(
        client,
        &format!("$JS.API.STREAM.INFO.{}", word(&line, 3)),
        "",
    )
    .await?;
    ensure!(
        info["config"]["subjects"] == json!(["askbus.log.*.*.*"]),
        "{info}"
    );
    ensure!(info["state"]["messages"].as_u64() >= Some(3), "{info}");

    let line = lines.take("nats stream get")?;
    let wanted = json!({"last_by_subj": quoted(&line)}).to_string();
    let got = format!("$JS.API.STREAM.MSG.GET.{}", word(&line, 3));
    let got = request(client, &got, &wanted).await?;
    let asked = got["message"]["data"].as_str().context("no data")?;
    let asked = String::from_utf8(STANDARD.decode(asked)?)?;
    ensure!(asked.contains(clarify_id), "{asked}");

    let line = lines.take("nats consumer info")?;
    let info = format!(
        "$JS.API.CONSUMER.INFO.{}.{}",
        word(&line, 3),
        word(&line, 4)
    );
    let info = request(client, &info, "").await?;
    ensure!(
        info["config"]["filter_subject"] == "clarify.respond.acme.*.*",
        "{info}"
    );

    lines.take("nats micro ls")?;
    let mut found = std::collections::BTreeSet::new();
    let inbox = client.new_inbox();
    let mut pongs = client.subscribe(inbox.clone()).await?;
    client
        .publish_with_reply("$SRV.PING", inbox, "".into())
        .await?;
    let all = async {
        while found.len() < 3 {
            let Some(pong) = pongs.next().await else {
                break;
            };
            let pong: Value = serde_json::from_slice(&pong.payload)?;
            found.insert(pong["name"].as_str().unwrap_or_default().to_owned());
        }
        anyhow::Ok(())
    };
    within("three services", all).await??;
    let expected = [
        "askbus-gateway",
        "askbus-mcp-adapter",
        "askbus-session-binding",
    ];
    ensure!(found.iter().eq(expected.iter()), "{found:?}");

    let line = lines.take("nats micro info")?;
    let info = request(client, &format!("$SRV.INFO.{}", word(&line, 3)), "").await?;
    ensure!(info["metadata"]["tenants"] == "all", "{info}");
    let line = lines.take("nats micro stats")?;
    let stats = request(client, &format!("$SRV.STATS.{}", word(&line, 3)), "").await?;
    let figures = &stats["endpoints"][0]["data"];
    ensure!(figures["askbus_session_binding_asked"].is_u64(), "{stats}");
    lines.all_were_run()
}

/// What replies first.
async fn request(client: &Client, subject: &str, body: &str) -> Result<Value> {
    let sent = client.request(subject.to_owned(), body.to_owned().into());
    let reply = within(subject, sent).await??;
    let reply: Value = serde_json::from_slice(&reply.payload)?;
    ensure!(reply.get("error").is_none(), "{subject}: {reply}");
    Ok(reply)
}

/// The word of a command at this place.
fn word(line: &str, at: usize) -> &str {
    line.split_whitespace().nth(at).unwrap_or_default()
}

/// What a command has between quotation marks.
fn quoted(line: &str) -> String {
    line.split('\'').nth(1).unwrap_or_default().to_owned()
}
