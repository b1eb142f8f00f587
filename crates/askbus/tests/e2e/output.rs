//! What a command does when nobody reads what it says, or when it cannot be written.

use crate::support::{BINARY, ask, asked, id};
use anyhow::Result;
use askbus_testkit::{Askbus, AskbusUp, Process, Program, folder};

/// Standard output to a pipe whose reader has left.
const CLOSED: &str = r#"
    pipe="$ASKBUS_HOME/pipe.$$"
    mkfifo "$pipe"
    exec 3<>"$pipe" 4>"$pipe" 3<&-
    rm "$pipe"
    exec "$0" "$@" >&4 4>&-
"#;
/// Standard output to a disk that is full.
const FULL: &str = r#"exec "$0" "$@" >/dev/full"#;

fn run(askbus: &Askbus, script: &str, args: &[&str]) -> Result<Process> {
    let mut command = Program::new("/bin/sh");
    command
        .args(["-c", script, BINARY])
        .args(args)
        .env_clear()
        .envs(askbus.variables());
    if let Some(path) = std::env::var_os("PATH") {
        command.env("PATH", path);
    }
    Process::spawn(&args.join(" "), command)
}

// contract: P6
#[tokio::test]
async fn no_command_panics_over_what_it_cannot_say() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let (askbus, person) = (up.askbus(), up.person().await?);
    let (mut over, first) = ask(askbus, &person, "Over?", &[]).await?;
    let done = askbus.run(&["answer", &first, "--text", "yes"]).await?;
    assert_eq!(done.code, 0, "{done:?}");
    over.end().await?;
    let (_waits, _) = ask(askbus, &person, "Waits?", &[]).await?;
    let issue = [
        "credential",
        "issue",
        "--role",
        "agent",
        "--profile",
        "p",
        "--sub",
        "a",
    ];
    let commands: [&[&str]; 14] = [
        &["config", "show"],
        &["credential", "init"],
        &issue,
        &["credential", "list"],
        &["credential", "list", "--json"],
        &["healthcheck"],
        &["inbox"],
        &["inbox", "--json"],
        &["inbox", "--watch"],
        &["inbox", "--watch", "--json"],
        &["history"],
        &["history", "--json", "--all"],
        &["turn", "begin", "--session", "s", "--for", "10m"],
        &["--help"],
    ];
    for args in commands {
        let done = run(askbus, CLOSED, args)?.end().await?;
        assert_eq!(
            (done.code, done.stderr.as_str()),
            (0, ""),
            "{args:?}: {done:?}"
        );
        let done = run(askbus, FULL, args)?.end().await?;
        assert_eq!(done.code, 74, "{args:?}: {done:?}");
        assert!(done.stderr.contains("No space left"), "{args:?}: {done:?}");
        assert!(!done.stderr.contains("panicked"), "{args:?}: {done:?}");
    }
    Ok(())
}

/// A script that lost the answer hears which question it was; one that did not want it hears how it ended.
// contract: A3 P6
#[tokio::test]
async fn an_answer_that_cannot_be_written_is_taken_all_the_same() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let (askbus, person) = (up.askbus(), up.person().await?);
    let cases = [
        (CLOSED, "--dismiss", 10, 0),
        (CLOSED, "--text=yes", 0, 0),
        (FULL, "--text=yes", 74, 74),
    ];
    for (n, (script, how, asker, answerer)) in cases.into_iter().enumerate() {
        let question = format!("Number {n}?");
        let mut asking = run(askbus, script, &["ask", &question])?;
        let shown = asked(&person, &question).await?;
        let answered = run(askbus, script, &["answer", id(&shown), how])?
            .end()
            .await?;
        assert_eq!(answered.code, answerer, "{answered:?}");
        let done = asking.end().await?;
        assert_eq!(done.code, asker, "{done:?}");
        if script == FULL {
            assert!(done.stderr.contains(id(&shown)), "{done:?}");
        }
        let outcome = person.until_settled(id(&shown)).await?;
        let reason = if asker == 10 { "dismissed" } else { "response" };
        assert_eq!(outcome["reason"], reason, "{outcome}");
    }
    Ok(())
}

/// The disk that is full may be the one with the log on it.
#[tokio::test]
async fn a_service_goes_on_when_its_log_cannot_be_written() -> Result<()> {
    let home = folder()?;
    let askbus = Askbus::new(BINARY, home.path()).env("RUST_LOG", "debug");
    let mut up = run(&askbus, r#"exec "$0" "$@" 2>/dev/full"#, &["up", "--json"])?;
    assert!(up.stdout.next().await?.is_some(), "it is ready");
    let healthy = askbus.run(&["healthcheck"]).await?;
    assert_eq!(healthy.code, 0, "{healthy:?}");
    assert_eq!(up.stop().await?.code(), Some(0));
    Ok(())
}
