//! `askbus bench faults`: every victim at least once, with both signals.

use crate::support::BINARY;
use anyhow::{Context as _, Result, ensure};
use askbus_testkit::{Askbus, Process, Signal, folder, nats_server, within};
use serde_json::Value;
use std::path::Path;

/// Questions that wait when a round's victim is hit.
const WAITING: u64 = 100;

/// Plays the rounds from `seed` on, and returns the object on the last line.
async fn play(rounds: u64, seed: u64, more: &[&str]) -> Result<Value> {
    let home = folder()?;
    let (count, first) = (rounds.to_string(), seed.to_string());
    let mut args = vec![
        "bench", "faults", "--json", "--rounds", &count, "--seed", &first,
    ];
    args.extend(more);
    let mut process = Askbus::new(BINARY, home.path()).spawn(&args)?;
    for round in seed..seed + rounds {
        // One after the other, so that each has its own bound.
        let begin = format!("seed {round}: ");
        process.stderr.find(|line| line.starts_with(&begin)).await?;
    }
    let done = process.end().await?;
    let last = done.stdout.lines().last().context("it printed nothing")?;
    let report: Value = serde_json::from_str(last)?;
    let clean = ["lost", "double", "resurrected", "unfinished"];
    ensure!(clean.iter().all(|name| report[*name] == 0), "{report:#}");
    ensure!(done.code == 0, "{done:?}");
    assert_eq!(
        (&report["rounds"], &report["seed"]),
        (&rounds.into(), &seed.into())
    );
    assert_eq!(report["failed"], Value::Array(Vec::new()));
    let asked = report["asked"].as_u64().unwrap_or_default();
    let answered = report["answered"].as_u64().unwrap_or_default();
    ensure!(asked >= rounds * WAITING, "{report:#}");
    ensure!(answered > 0 && answered <= asked, "{report:#}");
    // A host went on with its plan through all of it, and a chat was told of what waits.
    let number = |name: &str| report[name].as_u64().unwrap_or_default();
    ensure!(number("plan_revisions") >= rounds * 5, "{report:#}");
    ensure!(number("notices") >= rounds * (WAITING / 12), "{report:#}");
    Ok(report)
}

fn victims(report: &Value) -> Vec<&str> {
    let victims = report["victims"].as_object();
    victims
        .into_iter()
        .flatten()
        .map(|(name, _)| name.as_str())
        .collect()
}

// contract: E9 E11 E12 E20
#[tokio::test]
async fn nothing_is_lost_on_one_machine_whoever_dies() -> Result<()> {
    let report = play(5, 0, &[]).await?;
    assert_eq!(report["nats"], false);
    let expected = [
        "adapter SIGKILL",
        "adapter and replica SIGSTOP",
        "everything SIGKILL",
        "host of a turn SIGKILL",
        "up SIGSTOP",
    ];
    assert_eq!(victims(&report), expected);
    // The other signal for the one process that is everything.
    let report = play(1, 6, &[]).await?;
    assert_eq!(victims(&report), ["up SIGKILL"]);
    Ok(())
}

// contract: E9 E11 E12 E20
#[tokio::test]
async fn nothing_is_lost_over_nats_whoever_dies() -> Result<()> {
    let nats = nats_server()?;
    let nats = nats.to_str().context("not UTF-8")?;
    let report = play(8, 8, &["--nats-server", nats]).await?;
    assert_eq!(report["nats"], true);
    let expected = [
        "adapter SIGSTOP",
        "adapter and replica SIGSTOP",
        "all session-bindings SIGSTOP",
        "everything SIGKILL",
        "gateway SIGKILL",
        "host of a turn SIGKILL",
        "nats-server SIGSTOP",
        "one session-binding SIGKILL",
    ];
    assert_eq!(victims(&report), expected);
    Ok(())
}

/// What the session-bindings held when they died comes to their successors soon.
// contract: E11 E12
#[tokio::test]
async fn answers_that_dead_session_bindings_held_are_judged_by_the_next() -> Result<()> {
    let nats = nats_server()?;
    let nats = nats.to_str().context("not UTF-8")?;
    let report = play(1, 2018, &["--nats-server", nats]).await?;
    assert_eq!(victims(&report), ["all session-bindings SIGKILL"]);
    Ok(())
}

/// The processes that run in a folder below `place`.
fn running_in(place: &Path) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc")? {
        let folder = entry?.path();
        // Processes of others, and those that end meanwhile, cannot be read.
        let Ok(cwd) = std::fs::read_link(folder.join("cwd")) else {
            continue;
        };
        if cwd.starts_with(place) {
            found.push(std::fs::read_to_string(folder.join("cmdline")).unwrap_or_default());
        }
    }
    Ok(found)
}

async fn interrupted(signal: Signal) -> Result<()> {
    let (home, place) = (folder()?, folder()?);
    let temp = place.path().to_str().context("not UTF-8")?;
    let askbus = Askbus::new(BINARY, home.path()).env("TMPDIR", temp);
    let mut process: Process = askbus.spawn(&["bench", "faults", "--rounds", "1"])?;
    let started = async {
        while running_in(place.path())?.is_empty() {
            tokio::task::yield_now().await;
        }
        anyhow::Ok(())
    };
    within("the services to start", started).await??;
    process.signal(signal)?;
    let status = process.wait().await?;
    ensure!(!status.success(), "{status}");
    let gone = async {
        loop {
            let left = std::fs::read_dir(place.path())?.count();
            if left == 0 && running_in(place.path())?.is_empty() {
                return anyhow::Ok(());
            }
            tokio::task::yield_now().await;
        }
    };
    within("everything it started to be gone", gone).await?
}

#[tokio::test]
async fn what_it_started_goes_with_it_however_it_ends() -> Result<()> {
    interrupted(Signal::INT).await?;
    interrupted(Signal::KILL).await
}
