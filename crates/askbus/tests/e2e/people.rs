//! What the commands of people say when something is in the way, and how they go on by themselves.

use crate::support::{BINARY, ask};
use anyhow::Result;
use askbus_testkit::{Askbus, AskbusUp, Signal};
use serde_json::json;
use tokio::net::TcpListener;

#[tokio::test]
async fn a_taken_address_is_told_with_what_to_do_and_nothing_else() -> Result<()> {
    let other = TcpListener::bind("127.0.0.1:0").await?;
    let address = other.local_addr()?.to_string();
    let home = tempfile::tempdir()?;
    let askbus = Askbus::new(BINARY, home.path());
    let done = askbus.run(&["up", "--listen", &address]).await?;
    assert_eq!(done.code, 69, "{done:?}");
    let lines: Vec<&str> = done.stderr.lines().collect();
    assert_eq!(lines.len(), 1, "{done:?}");
    assert!(
        lines[0].contains(&address) && lines[0].contains("--listen"),
        "{done:?}"
    );
    Ok(())
}

// contract: E9
#[tokio::test]
async fn what_is_over_is_named_with_the_id_that_still_takes_words() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let (askbus, person) = (up.askbus(), up.person().await?);
    let (mut asking, clarify_id) = ask(askbus, &person, "Which?", &["--choice", "a"]).await?;
    let part = &clarify_id[..clarify_id.len() - 1];
    let taken = askbus.run(&["answer", part, "--choose", "a"]).await?;
    assert_eq!(
        (taken.code, taken.stdout.as_str()),
        (0, "Taken:\n  Which?\n    → a\n")
    );
    asking.end().await?;
    let late = askbus.run(&["answer", part, "--text", "wait"]).await?;
    assert_eq!(late.code, 64, "{late:?}");
    for words in [&clarify_id, "→ response by me", "give its whole id"] {
        assert!(late.stderr.contains(words), "{words}: {late:?}");
    }
    let late = askbus
        .run(&["answer", &clarify_id, "--text", "wait"])
        .await?;
    assert_eq!(late.code, 20, "{late:?}");
    let unknown = askbus.run(&["answer", "zzz", "--text", "x"]).await?;
    assert!(
        unknown.stderr.contains("`askbus inbox` shows what waits"),
        "{unknown:?}"
    );
    Ok(())
}

// contract: E12
#[tokio::test]
async fn who_watches_finds_a_service_that_starts_again_elsewhere() -> Result<()> {
    let mut up = AskbusUp::start(BINARY).await?;
    let askbus = up.askbus().clone();
    let mut watching = askbus.spawn(&["inbox", "--watch", "--json"])?;
    let person = up.person().await?;
    let (_asking, first) = ask(&askbus, &person, "Before?", &[]).await?;
    watching.stdout.find(|line| line.contains(&first)).await?;
    let url = up.url().to_owned();
    up.stop().await?;
    let _taken = TcpListener::bind(url.trim_start_matches("http://")).await?;
    let mut again = askbus.spawn(&["up", "--listen", "127.0.0.1:0", "--json"])?;
    again.stdout.find(|line| line.contains("panel_url")).await?;
    let _later = askbus.spawn(&["ask", "After?"])?;
    let line = watching.stdout.find(|line| line.contains("After?")).await?;
    let shown: serde_json::Value = serde_json::from_str(&line)?;
    assert_eq!(shown["status"], json!("pending"), "{shown}");
    for process in [&mut watching, &mut again] {
        process.signal(Signal::TERM)?;
        process.wait().await?;
    }
    Ok(())
}
