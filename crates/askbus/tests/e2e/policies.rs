//! What the operator sets for questions that nobody answers or nobody is there for.

use crate::support::{BINARY, object};
use anyhow::{Context as _, Result};
use askbus_ledger::jetstream::{self, JetStreamOptions};
use askbus_testkit::{AskbusUp, NatsServer, Service, Team, within};
use serde_json::{Value, json};

// contract: A5 A6
#[tokio::test]
async fn a_policy_that_cannot_be_read_stops_the_program_and_names_the_setting() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let file = up.askbus().home().join("policy.toml");
    let file = file.to_str().context("UTF-8")?;
    for (text, setting) in [
        ("[policy]\ntimeout = \"soon\"\n", "policy.timeout"),
        (
            "[policy.tenants.acme]\nwhen_absent = \"maybe\"\n",
            "policy.tenants.acme.when_absent",
        ),
        ("[policy]\nwhen_away = \"wait\"\n", "policy.when_away"),
        (
            "[policy.tenants.acme.dialects.any]\ngrace = 1\n",
            "policy.tenants.acme.dialects.any",
        ),
    ] {
        std::fs::write(file, text)?;
        for command in [&["config", "show"][..], &["session-binding"], &["up"]] {
            let mut args = command.to_vec();
            args.extend(["--config", file]);
            let done = up.askbus().run(&args).await?;
            assert_eq!(done.code, 78, "{text}: {done:?}");
            assert!(done.stderr.contains(setting), "{text}: {done:?}");
        }
    }
    std::fs::write(
        file,
        "[policy.tenants.acme.profiles.ops]\ntimeout = \"5m\"\n",
    )?;
    let shown = up
        .askbus()
        .run(&["config", "show", "--config", file])
        .await?;
    let setting = "policy.tenants.acme.profiles.ops.timeout";
    let line = shown.stdout.lines().find(|l| l.starts_with(setting));
    let line = line.with_context(|| format!("{shown:?}"))?;
    assert!(line.contains("5m") && line.contains(file), "{line}");
    Ok(())
}

/// An `askbus up` under this configuration.
async fn up_with(config: &str) -> Result<(AskbusUp, tempfile::TempDir)> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("policy.toml");
    std::fs::write(&file, config)?;
    let file = file.to_str().context("UTF-8")?;
    let up = AskbusUp::start_with(BINARY, &[], &[("ASKBUS_CONFIG", file)]).await?;
    Ok((up, folder))
}

fn recommended(question: &str) -> Vec<&str> {
    vec![
        "ask",
        question,
        "--choice",
        "yes",
        "--choice",
        "no",
        "--recommended",
        "2",
        "--json",
    ]
}

fn nobody_decided(outcome: &Value, reason: &str) {
    assert_eq!(outcome["reason"], reason, "{outcome}");
    assert_eq!(outcome["decided_by"], "policy", "{outcome}");
    assert_eq!(
        (&outcome["answers"], &outcome["actor"]),
        (&json!([]), &json!(null))
    );
}

// contract: A4 A5 N5
#[tokio::test]
async fn a_tenants_policy_holds_for_calls_that_say_nothing_else() -> Result<()> {
    let config = "[policy.tenants.local]\ntimeout = \"1s\"\non_timeout = \"adopt\"\n";
    let (up, _folder) = up_with(config).await?;
    let (code, outcome) = up.askbus().json(&recommended("Quick?")).await?;
    assert_eq!(code, 12, "{outcome}");
    nobody_decided(&outcome, "timeout");
    assert_eq!(outcome["assumptions"][0]["label"], "no", "{outcome}");
    Ok(())
}

// contract: A6 A9 D9 E14
#[tokio::test]
async fn a_script_says_for_its_turn_what_silence_means() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let begin = |session: &'static str, absent: &'static str| {
        let askbus = up.askbus().clone();
        async move {
            let args = [
                "turn",
                "begin",
                "--session",
                session,
                "--for",
                "10m",
                "--when-absent",
                absent,
                "--language",
                "zh",
                "--json",
            ];
            let (code, begun) = askbus.json(&args).await?;
            assert_eq!(code, 0, "{begun}");
            assert_eq!(begun["capabilities"], json!(["clarify", "plan"]), "{begun}");
            let context = begun["context_id"].as_str().unwrap_or_default().to_owned();
            let instruction = begun["instruction"].as_str().unwrap_or_default();
            assert!(instruction.contains(&context), "{begun}");
            assert!(instruction.contains("不等于同意"), "{begun}");
            anyhow::Ok((askbus.env("ASKBUS_CONTEXT", context.clone()), context))
        }
    };
    let (askbus, _) = begin("alone", "unattended").await?;
    let (code, outcome) = askbus.json(&recommended("Go on?")).await?;
    assert_eq!(code, 14, "{outcome}");
    nobody_decided(&outcome, "unattended");
    assert_eq!(outcome["assumptions"][0]["label"], "no", "{outcome}");

    let (askbus, context) = begin("night", "deferred").await?;
    let (code, outcome) = askbus.json(&recommended("Deploy?")).await?;
    assert_eq!(code, 14, "{outcome}");
    nobody_decided(&outcome, "deferred");
    // What the turn asked of nobody is its reply.
    let ended = up.askbus().run(&["turn", "end", &context]).await?;
    assert_eq!(ended.code, 0, "{ended:?}");
    for part in ["我需要你的决定", "Deploy?", "1. yes", "2. no"] {
        assert!(ended.stdout.contains(part), "{ended:?}");
    }
    let wrong = ["turn", "begin", "--when-absent", "never"];
    assert_eq!(up.askbus().run(&wrong).await?.code, 64);
    Ok(())
}

// contract: A6 D9
#[tokio::test]
async fn services_share_who_is_there_over_nats() -> Result<()> {
    let (nats, team) = (NatsServer::start().await?, Team::prepare(BINARY).await?);
    let file = team.askbus().home().join("policy.toml");
    std::fs::write(
        &file,
        "[policy.tenants.acme.profiles.ops]\nwhen_absent = \"unattended\"\n",
    )?;
    let config = ["--config", file.to_str().context("UTF-8")?];
    let binding = Service::ready(team.spawn_session_binding(&nats, &config)?).await?;
    let one = team.gateway(&nats, &binding.address).await?;
    let two = team.gateway(&nats, &binding.address).await?;
    let token = team.credential("agent", "acme", "ops", "robot").await?;
    let agent = team.client(&one.address, &token)?;
    // Somebody is there, but not for this profile.
    let other = team.person(&two.address, "acme", "other", "bob").await?;
    let _open = other.socket().await?;
    let (code, outcome) = agent.json(&recommended("Alone?")).await?;
    assert_eq!(code, 14, "{outcome}");
    nobody_decided(&outcome, "unattended");

    // Ann looks through one gateway, the question comes through the other.
    let (bus, _, _link) =
        jetstream::connect(JetStreamOptions::new(nats.url(), "onlooker@test")).await?;
    let mut heard = bus.alive.watch().await?;
    let ann = team.person(&two.address, "acme", "ops", "ann").await?;
    let mut socket = ann.socket().await?;
    socket.find(|m| m["event"] == "ready").await?;
    within("the gateway says that ann is there", async {
        while let Some(heartbeat) = heard.recv().await {
            if heartbeat.people.iter().any(|p| p.person.as_str() == "ann") {
                return Ok(());
            }
        }
        anyhow::bail!("no more heartbeats")
    })
    .await??;
    let mut asking = agent.spawn(&recommended("Together?"))?;
    let shown = socket
        .find(|m| m["event"] == "clarify.requested" && m["question"] == "Together?")
        .await?;
    let id = shown["clarify_id"].as_str().unwrap_or_default();
    ann.answer(id, &json!({"response": "yes"})).await?;
    let done = asking.end().await?;
    assert_eq!(done.code, 0, "{done:?}");
    assert_eq!(object(&done)?["reason"], "response");
    Ok(())
}
