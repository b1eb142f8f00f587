//! Every command of the README, run as it stands there (with free ports and real ids put in).

mod nats;

use crate::support::{BINARY, asked, choose, id};
use anyhow::{Context as _, Result, ensure};
use askbus_testkit::{
    Askbus, AskbusUp, Era, McpHttp, McpStdio, Person, Process, Program, folder, nats_server,
};
use serde_json::{Value, json};
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
    let token = output(up.askbus(), &lines.take("credential issue")?).await?;
    let url = up.announcement().mcp_url.as_deref().context("no mcp_url")?;
    reaches(url, token.trim()).await?;
    // This very run.
    lines.take("./test")?;
    lines.all_were_run()
}

/// An agent at this address is told that its questions reach people.
async fn reaches(url: &str, token: &str) -> Result<()> {
    let client = McpHttp::connect(url, token, Era::Stateless, "reader").await?;
    let mut call = client.call(1, "list_capabilities", json!({})).await?;
    let said = call.result().await?;
    ensure!(
        said["structuredContent"]["service"]["reachable"] == true,
        "{said:#}"
    );
    Ok(())
}

#[tokio::test]
async fn in_the_terminal() -> Result<()> {
    let lines = Lines::of(Some("In the terminal"));
    let up = AskbusUp::start(BINARY).await?;
    let (askbus, person) = (up.askbus(), up.person().await?);
    let command =
        |part: &str, id: &str| Ok::<_, anyhow::Error>(lines.take(part)?.replace("ID", id));
    let mut watching = shell(askbus, &lines.take("inbox --watch")?)?;
    let mut agent = McpStdio::connect(askbus, &["mcp"]).await?;
    let questions = json!({"timeout_s": 3_600, "questions": [
        {"question": "Where to?", "options": ["here", "there"]},
        {"question": "When?"},
        {"question": "Who?"},
    ]});
    agent.call(1, "ask_user", questions).await?;
    let shown = asked(&person, "Where to?").await?;
    watching
        .stdout
        .find(|line| line.contains("Where to?"))
        .await?;
    let held = output(askbus, &command("--hold", id(&shown))?).await?;
    ensure!(held.contains("it is open until 20"), "{held}");
    let card = person.pending().await?;
    ensure!(card[0]["held"] == true, "{card:?}");
    output(askbus, &command("--question 1", id(&shown))?).await?;
    let reply = agent.reply(1).await?;
    let outcome = &reply["result"]["structuredContent"];
    ensure!(
        outcome["answers"][0]["options"][0]["label"] == "there",
        "{reply}"
    );
    ensure!(
        outcome["answers"][1]["text"] == "not before noon",
        "{reply}"
    );
    ensure!(outcome["dismissed_questions"] == json!(["q3"]), "{reply}");
    let (asking, clarify_id) = crate::support::ask(askbus, &person, "Which one?", &[]).await?;
    output(askbus, &command("--ask-back", &clarify_id)?).await?;
    ensure!(asking.finish().await?.code == 15);
    let choices = ["--choice", "staging", "--choice", "production"];
    let (asking, clarify_id) = crate::support::ask(askbus, &person, "Now?", &choices).await?;
    output(askbus, &command("--note", &clarify_id)?).await?;
    let done = asking.finish().await?;
    ensure!(done.stdout == "production\n", "{done:?}");
    ensure!(done.stderr.contains("after lunch"), "{done:?}");
    let late = askbus
        .run(&["answer", id(&shown), "--text", "here after all"])
        .await?;
    ensure!(late.code == 20, "{late:?}");
    let said = output(askbus, &command("--pass-on", id(&shown))?).await?;
    ensure!(said.contains("reaches the agent"), "{said}");
    let past = output(askbus, &lines.take("history --since")?).await?;
    for words in ["Which one?", "Which region?", "here after all"] {
        ensure!(past.contains(words), "{words}: {past}");
    }
    let found = output(askbus, &lines.take("history --text")?).await?;
    let found: Value = serde_json::from_str(&found)?;
    ensure!(found["text"] == "Which region?", "{found}");
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

    // Nobody of the group is there, and nobody answers the other one.
    output(up.askbus(), &lines.take("--group ops")?).await?;
    let deferred = shell(up.askbus(), &lines.take("--to group:ops")?)?
        .finish()
        .await?;
    ensure!(deferred.code == 14, "{deferred:?}");
    ensure!(
        deferred.stderr.contains("Delete the old backups?"),
        "{deferred:?}"
    );
    let adopted = shell(up.askbus(), &lines.take("--on-timeout adopt")?)?
        .finish()
        .await?;
    ensure!(
        adopted.code == 12 && adopted.stderr.contains("8080"),
        "{adopted:?}"
    );

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
