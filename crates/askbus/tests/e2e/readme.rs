//! Every command of the README, run as it stands there (with free ports and real ids put in).

use crate::support::{BINARY, asked, choose, id};
use anyhow::{Context as _, Result, ensure};
use askbus_testkit::{
    Askbus, AskbusUp, NatsServer, Person, Process, Program, Service, Team, folder, nats_server,
    within,
};
use async_nats::Client;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures::StreamExt as _;
use serde_json::{Value, json};
use std::net::TcpListener;
use std::sync::Mutex;

const README: &str = include_str!("../../../../README.md");

/// The lines of the README's shell blocks, each to be run once.
struct Lines {
    left: Mutex<Vec<&'static str>>,
}

impl Lines {
    fn of(heading: Option<&str>) -> Self {
        let text = match heading {
            None => README.split("\n## ").next().unwrap_or_default(),
            Some(name) => README
                .split("\n## ")
                .find(|part| part.starts_with(name))
                .unwrap_or_default(),
        };
        let mut left = Vec::new();
        for block in text.split("```sh\n").skip(1) {
            left.extend(block.split("```").next().unwrap_or_default().lines());
        }
        Self {
            left: Mutex::new(left),
        }
    }

    /// Takes the first line that contains `part`.
    fn take(&self, part: &str) -> Result<String> {
        let mut left = self
            .left
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let at = left.iter().position(|line| line.contains(part));
        let at = at.with_context(|| format!("the README has no command with {part:?}"))?;
        Ok(left.remove(at).to_owned())
    }

    fn all_were_run(&self) -> Result<()> {
        let left = self
            .left
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        ensure!(
            left.is_empty(),
            "the README has commands that no test runs: {left:#?}"
        );
        Ok(())
    }
}

/// Runs a line in a shell where `askbus` and `cargo run --release --` are the program under test.
fn shell(askbus: &Askbus, line: &str) -> Result<Process> {
    let script = format!(
        "askbus() {{ \"{BINARY}\" \"$@\"; }}\n{}",
        line.replace("cargo run --release --", "askbus")
    );
    let mut command = Program::new("bash");
    command
        .args(["-c", &script])
        .env_clear()
        .envs(askbus.variables())
        .current_dir(askbus.home());
    if let Some(path) = std::env::var_os("PATH") {
        command.env("PATH", path);
    }
    Process::spawn(line, command)
}

async fn output(askbus: &Askbus, line: &str) -> Result<String> {
    let done = shell(askbus, line)?.finish().await?;
    ensure!(done.code == 0, "{line}: {done:?}");
    Ok(done.stdout)
}

#[tokio::test]
async fn the_first_screen() -> Result<()> {
    let lines = Lines::of(None);
    lines.take("cargo run --release -- up")?;
    let up = AskbusUp::start(BINARY).await?;
    let person = up.person().await?;
    let script = shell(up.askbus(), &lines.take("-- ask ")?)?;
    let shown = asked(&person, "Deploy where?").await?;
    let inbox = output(up.askbus(), &lines.take("-- inbox")?).await?;
    ensure!(
        inbox.contains("Deploy where?") && inbox.contains(id(&shown)),
        "{inbox}"
    );
    output(
        up.askbus(),
        &lines.take("-- answer")?.replace("ID", id(&shown)),
    )
    .await?;
    let done = script.finish().await?;
    ensure!(done.code == 0 && done.stdout == "staging\n", "{done:?}");
    // This very run.
    lines.take("./test")?;
    lines.all_were_run()
}

#[tokio::test]
async fn scripts_and_hosts() -> Result<()> {
    let lines = Lines::of(Some("From a script"));
    let up = AskbusUp::start(BINARY).await?;
    let person = up.person().await?;
    let script = shell(up.askbus(), &lines.take("answer=$(askbus ask")?)?;
    let shown = asked(&person, "Release 2.0 now?").await?;
    person.answer(id(&shown), &choose("o1")).await?;
    let done = script.finish().await?;
    ensure!(done.code == 0 && done.stdout == "go: yes\n", "{done:?}");

    lines.take("askbus turn begin --session build-43")?;
    let mut host = up
        .askbus()
        .spawn(&["turn", "begin", "--session", "build-43"])?;
    let context = host.stdout.next().await?.context("no context_id")?;
    host.close_stdin();
    let ended = host.finish().await?;
    ensure!(ended.code == 0 && !context.is_empty(), "{ended:?}");
    let context = output(up.askbus(), &lines.take("--for 30m")?).await?;
    let within_turn = up.askbus().clone().env("ASKBUS_CONTEXT", context.trim());
    let asking = within_turn.spawn(&["ask", "In the turn of a host?"])?;
    asked(&person, "In the turn of a host?").await?;
    output(
        up.askbus(),
        &lines
            .take("askbus turn end")?
            .replace("CONTEXT", context.trim()),
    )
    .await?;
    ensure!(
        asking.finish().await?.code == 13,
        "the question outlived its turn"
    );
    lines.all_were_run()
}

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

/// With one round instead of several: the matrix itself has a test of its own.
#[tokio::test]
async fn put_it_to_the_test() -> Result<()> {
    let lines = Lines::of(Some("Put it to the test"));
    let home = folder()?;
    let askbus = Askbus::new(BINARY, home.path());
    let line = lines
        .take("--rounds 8")?
        .replace("--rounds 8", "--rounds 1");
    let nats = nats_server()?.display().to_string();
    let line = line.replace("/usr/local/bin/nats-server", &nats);
    for line in [
        line,
        lines
            .take("--rounds 5")?
            .replace("--rounds 5", "--rounds 1"),
    ] {
        let said = output(&askbus, &line).await?;
        ensure!(
            said.ends_with("0 lost, 0 double, 0 resurrected\n"),
            "{said}"
        );
    }
    lines.all_were_run()
}

/// What the README says about a phone: another name, and an address that a browser can open.
// contract: D14
#[tokio::test]
async fn a_service_on_the_network_is_reached_by_the_name_it_was_told() -> Result<()> {
    let args = ["--listen", "0.0.0.0:0", "--host-names", "my-laptop.local"];
    let up = AskbusUp::start_with(BINARY, &args, &[]).await?;
    let panel = up.url();
    ensure!(panel.starts_with("http://127.0.0.1:"), "{panel}");
    let known = Person::nobody(panel)?.with_header("host", "my-laptop.local")?;
    ensure!(known.get("/api/clarify/health").await?.status == 200);
    let stranger = Person::nobody(panel)?.with_header("host", "other.local")?;
    ensure!(stranger.get("/api/clarify/health").await?.status == 403);
    Ok(())
}

#[tokio::test]
async fn an_empty_answer_is_a_mistake_and_no_dismissal() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let person = up.person().await?;
    let (_asking, asked_id) = crate::support::ask(up.askbus(), &person, "Empty?", &[]).await?;
    for text in ["", "  "] {
        let done = up
            .askbus()
            .run(&["answer", &asked_id, "--text", text])
            .await?;
        ensure!(done.code == 64, "{done:?}");
    }
    ensure!(person.pending().await?.len() == 1, "it was settled");
    Ok(())
}
