//! `askbus bench`: that it measures what it says, on every kind of ledger; not how much it measures.

use crate::support::BINARY;
use anyhow::{Context as _, Result};
use askbus_testkit::{Askbus, Finished, workspace};
use serde_json::Value;

async fn bench(args: &[&str]) -> Result<Finished> {
    let home = tempfile::tempdir()?;
    let process = Askbus::new(BINARY, home.path()).spawn(args)?;
    let mut progress = process.stderr.clone();
    // Each step has a time limit of its own; all of them together may take longer.
    while progress
        .find(|line| line.starts_with("bench: "))
        .await
        .is_ok()
    {}
    process.finish().await
}

fn at<'a>(value: &'a Value, pointer: &str) -> &'a Value {
    value.pointer(pointer).unwrap_or(&Value::Null)
}

#[tokio::test(flavor = "multi_thread")]
async fn every_ledger_is_measured_and_nothing_is_lost() -> Result<()> {
    let tools = workspace().join("target/tools/nats-server");
    let nats = std::env::var("NATS_SERVER").unwrap_or_else(|_| tools.display().to_string());
    let done = bench(&[
        "bench",
        "--quick",
        "--ledger",
        "embedded",
        "--ledger",
        "nats",
        "--ledger",
        "nats3",
        "--nats-server",
        &nats,
        "--waiting",
        "60,30",
        "--events",
        "100",
        "--json",
    ])
    .await?;
    assert_eq!(done.code, 0, "{done:?}");
    let last = done.stdout.lines().last().context("nothing was printed")?;
    let report: Value = serde_json::from_str(last)?;
    assert!(at(&report, "/machine/cores").as_u64() > Some(0), "{report}");
    assert_eq!(at(&report, "/machine/fsync/count"), 5, "{report}");
    assert_eq!(
        at(&report, "/cold_start/askbus/until_tools_listed/count"),
        2,
        "{report}"
    );
    assert!(
        at(&report, "/cold_start/askbus/rss_kib").as_u64() > Some(0),
        "{report}"
    );
    let services = [
        ("embedded", vec!["up"], vec!["up"]),
        (
            "nats",
            vec!["gateway", "nats-server", "session-binding"],
            vec!["session-binding", "gateway"],
        ),
        (
            "nats3",
            vec![
                "gateway",
                "nats-server",
                "nats-server",
                "nats-server",
                "session-binding",
            ],
            vec!["session-binding", "gateway"],
        ),
    ];
    for (number, (name, processes, ready)) in services.iter().enumerate() {
        let on = at(&report, &format!("/ledgers/{number}"));
        assert_eq!(on["ledger"], *name, "{report}");
        for (figure, count) in [
            ("/submit_to_result/live/count", 5),
            ("/submit_to_result/request/count", 5),
            ("/throughput/questions", 64),
            ("/throughput/lost", 0),
            ("/throughput/repeated", 0),
            ("/cold_session/messages_between", 128),
            ("/cold_session/cold/count", 3),
            ("/cold_session/warm/count", 3),
            ("/waiting/none/shown/count", 3),
            ("/waiting/waiting/0/questions", 30),
            ("/waiting/waiting/1/questions", 60),
            ("/waiting/waiting/1/one_more_answered/count", 3),
            ("/waiting/drained/questions", 60),
            ("/waiting/drained/lost", 0),
            ("/waiting/drained/repeated", 0),
            // Four sessions of 26 messages each.
            ("/replay/events", 104),
        ] {
            assert_eq!(at(on, figure), count, "{name} {figure}: {report}");
        }
        assert_eq!(
            names(at(on, "/waiting/waiting/0/processes"), "process"),
            *processes,
            "{report}"
        );
        let started = at(on, "/replay/ready_ms").as_array().context("no replay")?;
        let started: Vec<_> = started
            .iter()
            .map(|r| r["service"].as_str().unwrap_or_default())
            .collect();
        assert_eq!(started, *ready, "{report}");
        assert!(done.stdout.contains(&format!("\n{name}\n")), "{done:?}");
    }
    for row in [
        "askbus mcp: resident memory",
        "asked and answered a second",
        "60 wait: memory",
    ] {
        assert!(done.stdout.contains(row), "{row}: {done:?}");
    }
    Ok(())
}

fn names<'a>(list: &'a Value, key: &str) -> Vec<&'a str> {
    let all = list.as_array().into_iter().flatten();
    let mut names: Vec<_> = all.filter_map(|item| item[key].as_str()).collect();
    names.sort_unstable();
    names
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_measured_outlives_a_step_that_fails() -> Result<()> {
    let mut args = vec!["bench", "--quick", "--figure", "submit", "--json"];
    // No program of a NATS server: the second of three ledgers cannot be started.
    args.extend(["--ledger", "embedded", "--ledger", "nats"]);
    args.extend(["--ledger", "embedded", "--nats-server", "/bin/false"]);
    let done = bench(&args).await?;
    assert_eq!(done.code, 1, "{done:?}");
    let last = done.stdout.lines().last().context("nothing was printed")?;
    let report: Value = serde_json::from_str(last)?;
    for (ledger, count) in [(0, 5.into()), (1, Value::Null), (2, 5.into())] {
        let figure = format!("/ledgers/{ledger}/submit_to_result/live/count");
        assert_eq!(at(&report, &figure), &count, "{report}");
    }
    let failed = at(&report, "/failed").as_array().context("no list")?;
    assert_eq!(failed.len(), 1, "{report}");
    assert_eq!(failed[0]["place"], "nats", "{report}");
    assert_eq!(failed[0]["step"], "submit to result", "{report}");
    let said = |text: &str| done.stderr.lines().position(|line| line.contains(text));
    let figures = said("bench:   person submits (live)").context("no figures while it ran")?;
    let failure = said("bench: failed: nats, submit to result").context("no failure told")?;
    assert!(figures < failure, "{done:?}");
    let rows = done.stdout.matches("person submits (live)").count();
    assert_eq!(rows, 2, "{done:?}");
    assert!(done.stdout.contains("not measured\n  nats, "), "{done:?}");
    Ok(())
}

#[tokio::test]
async fn what_cannot_be_measured_is_said_before_anything_starts() -> Result<()> {
    let unknown = bench(&["bench", "--ledger", "mars"]).await?;
    assert_eq!(unknown.code, 64, "{unknown:?}");
    assert!(unknown.stderr.contains("embedded, nats"), "{unknown:?}");
    let unknown = bench(&["bench", "--figure", "height"]).await?;
    assert_eq!(unknown.code, 64, "{unknown:?}");
    assert!(unknown.stderr.contains("submit, throughput"), "{unknown:?}");
    let no_server = bench(&["bench", "--quick", "--ledger", "nats"]).await?;
    assert_eq!(no_server.code, 64, "{no_server:?}");
    assert!(no_server.stderr.contains("--nats-server"), "{no_server:?}");
    Ok(())
}
