//! `askbus inbox --watch`: what it says when the service goes, and what it leaves running when it goes.

use crate::support::{BINARY, ask};
use anyhow::{Context as _, Result};
use askbus_testkit::{AskbusUp, Balancer, Signal, Tmux, within};
use std::path::Path;

/// What a file says once it says something.
async fn written(path: &Path) -> Result<String> {
    let reading = async {
        loop {
            match std::fs::read_to_string(path) {
                Ok(text) if text.ends_with('\n') => return text.trim().to_owned(),
                _ => tokio::task::yield_now().await,
            }
        }
    };
    within("a file", reading).await
}

/// Waits until a process is over.
async fn over(process: &str) -> Result<()> {
    let stat = format!("/proc/{process}/stat");
    let gone = async {
        loop {
            // Nobody may have asked how it ended.
            match std::fs::read_to_string(&stat) {
                Ok(stat) if !stat.contains(") Z ") => tokio::task::yield_now().await,
                _ => return,
            }
        }
    };
    within(&format!("process {process} to end"), gone).await
}

// contract: E9
#[tokio::test]
async fn an_editor_ends_with_the_view_and_so_does_what_it_started() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let person = up.person().await?;
    let (_script, _) = ask(up.askbus(), &person, "Notes?", &[]).await?;
    let home = up.askbus().home();
    let (editor, child) = (home.join("editor"), home.join("child"));
    let script = format!(
        "sleep 1000 &\necho $! > {}\nprintf rescued > \"$1\"\necho editing\nwait\n",
        child.display()
    );
    std::fs::write(&editor, script)?;
    let program = up.askbus().clone();
    let program = program.env("VISUAL", format!("/bin/sh {}", editor.display()));
    let tmux = Tmux::open(&program, 80, 24).await?;
    tmux.command("$askbus inbox --watch").await?;
    tmux.shows("> Notes?").await?;
    tmux.keys(&["Enter", "C-g"]).await?;
    tmux.shows("editing").await?;
    let child = written(&child).await?;
    tmux.signal(Signal::TERM).await?;
    let screen = tmux.shows("kept in").await?;
    over(&child).await.context(screen)?;
    // The shell has the terminal for itself.
    tmux.command("echo still $((20 + 22))").await?;
    tmux.shows("still 42").await.map(drop)
}

// contract: E12
#[tokio::test]
async fn the_lines_say_once_that_the_connection_is_lost_and_once_that_it_is_back() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let person = up.person().await?;
    let way = Balancer::start(&[up.url()]).await?;
    let program = up.askbus().clone().env("ASKBUS_URL", way.url());
    let watch = program.spawn(&["inbox", "--watch"])?;
    let (_first, _) = ask(up.askbus(), &person, "Before?", &[]).await?;
    watch.stdout.clone().find(|l| l.contains("Before?")).await?;
    way.cut(true);
    let mut said = watch.stderr.clone();
    said.find(|l| l.contains("lost")).await?;
    // Several tries come to nothing.
    way.until_refused(3).await?;
    way.cut(false);
    said.find(|l| l.contains("connected again")).await?;
    let lines = watch.stderr.all();
    assert_eq!(
        lines,
        [
            "askbus: the connection is lost; trying again; if the service was stopped, start it: askbus up",
            "askbus: connected again"
        ]
    );
    Ok(())
}
