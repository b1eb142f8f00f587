//! Who started a command is gone: its terminal was closed, or its process was killed.

use crate::support::{BINARY, ask, asked, id, one_question};
use anyhow::{Context as _, Result};
use askbus_testkit::{Askbus, AskbusUp, McpStdio, Process, Program, Signal};
use serde_json::Value;

/// What cancelled a question; a lease that ran out would be `asker_gone`.
async fn cause(askbus: &Askbus, clarify_id: &str) -> Result<String> {
    let done = askbus.run(&["history", "--json"]).await?;
    let lines = done.stdout.lines().map(serde_json::from_str::<Value>);
    let all = lines.collect::<Result<Vec<_>, _>>()?;
    let found = all.iter().find(|one| one["clarify_id"] == clarify_id);
    let found = found.with_context(|| format!("{clarify_id} is not over: {done:?}"))?;
    Ok(found["cause"].as_str().unwrap_or_default().to_owned())
}

// contract: E11
#[tokio::test]
async fn a_terminal_that_is_closed_ends_a_command_in_order() -> Result<()> {
    let mut up = AskbusUp::start(BINARY).await?;
    let (askbus, person) = (up.askbus().clone(), up.person().await?);
    let (mut asking, asked_alone) = ask(&askbus, &person, "Alone?", &["--json"]).await?;
    asking.signal(Signal::HUP)?;
    assert_eq!(asking.end().await?.code, 13);
    person.until_settled(&asked_alone).await?;
    assert_eq!(cause(&askbus, &asked_alone).await?, "withdrawn");

    let mut holder = askbus.spawn(&["turn", "begin", "--session", "held"])?;
    let context = holder.stdout.next().await?.unwrap_or_default();
    let in_turn = askbus.clone().env("ASKBUS_CONTEXT", context.as_str());
    let (mut asking, in_a_turn) = ask(&in_turn, &person, "In a turn?", &["--json"]).await?;
    holder.signal(Signal::HUP)?;
    assert_eq!(holder.wait().await?.code(), Some(0));
    assert_eq!(asking.end().await?.code, 13);
    assert_eq!(cause(&askbus, &in_a_turn).await?, "turn_ended");

    let mut client = McpStdio::connect(&askbus, &["mcp"]).await?;
    client
        .call(1, "ask_user", one_question("Over MCP?", &[]))
        .await?;
    let shown = asked(&person, "Over MCP?").await?;
    client.process.signal(Signal::HUP)?;
    assert_eq!(client.process.wait().await?.code(), Some(0));
    person.until_settled(id(&shown)).await?;
    assert_eq!(cause(&askbus, id(&shown)).await?, "withdrawn");

    up.process()?.signal(Signal::HUP)?;
    assert_eq!(up.stopped().await?.code(), Some(0));
    Ok(())
}

/// As `nohup` starts it.
#[tokio::test]
async fn who_was_told_to_ignore_a_closed_terminal_goes_on() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let person = up.person().await?;
    let mut command = Program::new("/bin/sh");
    let script = r#"trap "" HUP; exec "$0" "$@""#;
    command
        .args(["-c", script, BINARY, "ask", "Still there?"])
        .envs(up.askbus().variables());
    let mut asking = Process::spawn("the asker", command)?;
    let shown = asked(&person, "Still there?").await?;
    asking.signal(Signal::HUP)?;
    let done = up
        .askbus()
        .run(&["answer", id(&shown), "--text", "yes"])
        .await?;
    assert_eq!(done.code, 0, "{done:?}");
    let done = asking.end().await?;
    assert_eq!((done.code, done.stdout.as_str()), (0, "yes\n"), "{done:?}");
    Ok(())
}

/// Here the shell is the agent, and `cat` one of its other programs: it holds the server's input open.
// contract: E11
#[cfg(target_os = "linux")]
#[tokio::test]
async fn the_server_of_a_killed_agent_ends_although_its_input_is_open() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let person = up.person().await?;
    let agent = r#"
        mkfifo "$ASKBUS_HOME/input"
        "$0" mcp <"$ASKBUS_HOME/input" &
        exec 3>"$ASKBUS_HOME/input"
        cat >&3
    "#;
    let mut command = Program::new("/bin/sh");
    command
        .args(["-c", agent, BINARY])
        .envs(up.askbus().variables())
        .env("RUST_LOG", "askbus=debug");
    let process = Process::spawn("the agent", command)?;
    let mut client = McpStdio::hello(process).await?;
    client
        .call(1, "ask_user", one_question("Orphan?", &[]))
        .await?;
    let shown = asked(&person, "Orphan?").await?;
    // Before that, the agent could be a launcher.
    let watched = |line: &str| line.contains("ends with its parent");
    client.process.stderr.find(watched).await?;
    client.process.signal(Signal::KILL)?;
    // Only the server still holds its output.
    client.process.stdout.to_end().await?;
    assert_eq!(person.pending().await?.len(), 0);
    assert_eq!(cause(up.askbus(), id(&shown)).await?, "withdrawn");
    Ok(())
}
