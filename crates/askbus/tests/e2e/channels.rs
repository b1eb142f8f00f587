//! People are told in a chat, and answer there: through a webhook and through WeChat.

mod deliveries;
mod handing_over;
mod on_nats;
mod place;
mod replies;
mod unreachable;
mod wechat;
mod wechat_replies;

use crate::support::BINARY;
use anyhow::{Context as _, Result, ensure};
use askbus_testkit::{
    Askbus, AskbusUp, Hook, HookMessage, McpStdio, Person, Process, Service, folder, within,
};
use serde_json::{Value, json};
use std::path::Path;
use tempfile::TempDir;

/// One person, whoever writes.
const ANN: &str = "people = [{ subject = \"ann\" }]";

/// Writes a configuration down; its path.
fn configuration(tables: &[String]) -> Result<(TempDir, String)> {
    let folder = folder()?;
    let path = folder.path().join("config.toml");
    std::fs::write(&path, tables.join("\n"))?;
    let path = path.to_str().context("not UTF-8")?.to_owned();
    Ok((folder, path))
}

/// `askbus up` with these channels.
async fn up(tables: &[String]) -> Result<(AskbusUp, TempDir)> {
    let (folder, path) = configuration(tables)?;
    let up = AskbusUp::start_with(
        BINARY,
        &[],
        &[("ASKBUS_CONFIG", &path), ("RUST_LOG", "info")],
    )
    .await?;
    Ok((up, folder))
}

/// Starts `askbus ask` and waits until the webhook told of the question.
async fn ask(up: &AskbusUp, hook: &Hook, args: &[&str]) -> Result<(Process, HookMessage)> {
    let mut all = vec!["ask"];
    all.extend(args);
    all.push("--json");
    let process = up.askbus().spawn(&all)?;
    let question = args.first().context("no question")?;
    let told = hook.told("question.asked", question).await;
    let told = told.with_context(|| format!("stderr: {:#?}", process.stderr.all()))?;
    Ok((process, told))
}

fn name(told: &HookMessage) -> &str {
    told.body["name"].as_str().unwrap_or_default()
}

fn verdict(said: &Value) -> &str {
    said["verdict"].as_str().unwrap_or_default()
}

fn text(said: &Value) -> String {
    let messages = said["messages"].as_array().into_iter().flatten();
    let texts: Vec<&str> = messages.filter_map(Value::as_str).collect();
    texts.join("\n")
}

/// The one channel of the service, as a person sees it.
async fn channel(person: &Person) -> Result<Value> {
    let reply = person.get("/api/channels").await?;
    ensure!(reply.status == 200, "{reply:?}");
    Ok(reply.body["channels"][0].clone())
}

/// Waits until the one channel shows this many undelivered messages.
async fn undelivered(look: impl AsyncFn() -> Result<Value>, count: u64) -> Result<Value> {
    let what = format!("{count} undelivered");
    let looking = async {
        loop {
            let shown = look().await?;
            if shown["undelivered"] == count {
                return anyhow::Ok(shown);
            }
            tokio::task::yield_now().await;
        }
    };
    within(&what, looking).await?
}

// contract: N4
#[tokio::test]
async fn two_questions_in_one_chat() -> Result<()> {
    let hook = Hook::start().await?;
    let (up, _config) = up(&[hook.table("team", ANN)]).await?;
    let (choosing, first) = ask(
        &up,
        &hook,
        &[
            "Where should it go?",
            "--choice",
            "staging",
            "--choice",
            "prod",
        ],
    )
    .await?;
    let (naming, second) = ask(&up, &hook, &["What is it called?"]).await?;
    let shown = first.body["messages"][0].as_str().unwrap_or_default();
    let one = name(&first);
    assert!(
        shown.starts_with(&format!("❓ #{one} Where should it go?")),
        "{shown}"
    );
    assert!(shown.contains("\n1. staging\n2. prod\n"), "{shown}");
    assert_eq!(first.body["buttons"][1]["reply"], format!("#{one} b"));
    assert_eq!(
        first.id,
        format!("{}.asked", first.body["clarify_id"].as_str().unwrap())
    );

    let said = hook.say(up.url(), "team", "1").await?;
    assert_eq!(verdict(&said), "ambiguous", "{said}");
    assert!(
        text(&said).contains(one) && text(&said).contains(name(&second)),
        "{said}"
    );
    let said = hook.say(up.url(), "team", &format!("#{one} 3")).await?;
    assert_eq!(verdict(&said), "unclear", "{said}");
    assert!(text(&said).contains("There is no option 3"), "{said}");
    let said = hook.say(up.url(), "team", &format!("#{one} 2")).await?;
    assert_eq!(verdict(&said), "settled", "{said}");
    let done = choosing.finish().await?;
    let answer: Value = serde_json::from_str(done.stdout.trim())?;
    assert_eq!(
        answer["answers"][0]["options"][0]["label"], "prod",
        "{answer}"
    );
    assert_eq!(
        answer["actor"],
        json!({"person": "ann", "surface": "webhook:team"})
    );
    let ended = hook.told("question.ended", "Where should it go?").await?;
    assert_eq!(ended.body["outcome"]["actor"]["surface"], "webhook:team");

    // What has ended says so, and who ended it.
    let said = hook.say(up.url(), "team", &format!("#{one} 1")).await?;
    assert_eq!(verdict(&said), "conflict", "{said}");
    assert!(
        text(&said).contains("It was answered by ann, webhook:team"),
        "{said}"
    );
    // One waits: a reply goes there.
    let said = hook.say(up.url(), "team", "/dismiss").await?;
    assert_eq!(verdict(&said), "settled", "{said}");
    assert_eq!(naming.finish().await?.code, 10);
    let said = hook.say(up.url(), "team", "release-7").await?;
    assert_eq!(verdict(&said), "nothing_waits", "{said}");
    let said = hook
        .say(up.url(), "team", &format!("#{} release-7", name(&second)))
        .await?;
    assert_eq!(verdict(&said), "conflict", "{said}");

    hook.told("question.ended", "What is it called?").await?;
    let mut ids: Vec<String> = hook.seen().into_iter().map(|m| m.id).collect();
    ids.sort();
    let count = ids.len();
    ids.dedup();
    assert_eq!((ids.len(), count), (4, 4), "each is told once: {ids:?}");
    let shown = channel(&up.person().await?).await?;
    assert_eq!(
        (&shown["undelivered"], &shown["kind"]),
        (&json!(0), &json!("webhook")),
        "{shown}"
    );
    Ok(())
}

// contract: N4
#[tokio::test]
async fn what_comes_after_the_end_is_said_to_be_late_and_reaches_the_history() -> Result<()> {
    let hook = Hook::start().await?;
    let (up, _config) = up(&[hook.table("team", &format!("language = \"zh\"\n{ANN}"))]).await?;
    let args = [
        "Which?",
        "--choice",
        "red",
        "--choice",
        "blue",
        "--timeout",
        "1s",
    ];
    let (asking, told) = ask(&up, &hook, &args).await?;
    assert!(text(&told.body).contains("请回复数字"), "{told:?}");
    let ended = hook.told("question.ended", "Which?").await?;
    assert!(text(&ended.body).contains("问题已超时"), "{ended:?}");
    assert_eq!(asking.finish().await?.code, 12);
    let said = hook
        .say(up.url(), "team", &format!("#{} ２", name(&told)))
        .await?;
    assert_eq!(verdict(&said), "late", "{said}");
    assert!(text(&said).contains("你的回复来晚了"), "{said}");
    let settled = up.person().await?.settled().await?;
    let late = &settled[0]["late_answers"][0];
    assert_eq!(
        late["answers"][0]["options"][0]["label"], "blue",
        "{settled:#?}"
    );
    assert_eq!(late["actor"]["surface"], "webhook:team");
    Ok(())
}

// contract: A2, N4
#[tokio::test]
async fn several_questions_are_put_one_at_a_time_and_survive_a_restart() -> Result<()> {
    let hook = Hook::start().await?;
    let (mut up, _config) = up(&[hook.table("team", ANN)]).await?;
    let mut client = McpStdio::connect(up.askbus(), &["mcp"]).await?;
    let questions = json!({"questions": [
        {"question": "Where?", "options": ["staging", "prod"]},
        {"question": "Which may fail?", "options": ["lint", "e2e", "docs"], "multi_select": true},
        {"question": "Name?"}]});
    client.call(1, "ask_user", questions).await?;
    hook.told("question.asked", "Where?").await?;
    let said = hook.say(up.url(), "team", "2").await?;
    assert_eq!(verdict(&said), "kept", "{said}");
    assert!(text(&said).contains("(2/3) Which may fail?"), "{said}");
    up.kill9().await?;
    up.restart().await?;
    let said = hook.say(up.url(), "team", "1、3").await?;
    assert!(text(&said).contains("(3/3) Name?"), "{said}");
    let said = hook.say(up.url(), "team", "7").await?;
    assert_eq!(verdict(&said), "settled", "{said}");
    let settled = up.person().await?.settled().await?;
    let answers = &settled[0]["answers"];
    assert_eq!(answers[0]["options"][0]["label"], "prod", "{answers}");
    assert_eq!(answers[1]["options"][1]["label"], "docs", "{answers}");
    assert_eq!(answers[2]["text"], "7", "{answers}");
    Ok(())
}

#[tokio::test]
async fn only_what_is_signed_comes_in_and_only_by_those_whom_the_configuration_names() -> Result<()>
{
    let hook = Hook::start().await?;
    let people = "people = [{ from = \"U1\", subject = \"ann\", groups = [\"ops\"] }]";
    let (up, _config) = up(&[hook.table("team", people)]).await?;
    let (asking, told) = ask(&up, &hook, &["Deploy?", "--choice", "yes"]).await?;
    let body = json!({"text": "1", "from": "U1"});
    let send = async |channel: &str, headers: [&str; 3]| {
        let sent = hook
            .send(up.url(), channel, headers, body.to_string())
            .await;
        sent.map(|(status, _)| status)
    };
    assert_eq!(send("team", ["m1", "1", "v1,AAAA"]).await?, 401);
    let soon = (std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?).as_secs();
    assert_eq!(
        send("team", ["m1", &soon.to_string(), "v1,AAAA"]).await?,
        401
    );
    assert_eq!(
        send("other", ["m1", &soon.to_string(), "v1,AAAA"]).await?,
        404
    );
    let (status, said) = hook.reply(up.url(), "other", "m1", &body).await?;
    assert_eq!(status, 404, "{said}");
    for unknown in [json!({"text": "1", "from": "U2"}), json!({"text": "1"})] {
        let (status, said) = hook.reply(up.url(), "team", "m1", &unknown).await?;
        assert_eq!(status, 403, "{said}");
    }
    for odd in [
        json!([]),
        json!({"text": 7, "from": "U1"}),
        json!({"from": "U1"}),
    ] {
        let (status, said) = hook.reply(up.url(), "team", "m1", &odd).await?;
        assert_eq!(status, 400, "{said}");
    }
    let forged = json!({"text": "1", "from": "U1", "actor": {"person": "root"}, "subject": "root"});
    let about = json!({"text": "1", "from": "U1", "reply_to": told.body["clarify_id"]});
    let (status, said) = hook.reply(up.url(), "team", "m2", &forged).await?;
    assert_eq!((status, verdict(&said)), (200, "settled"), "{said}");
    let done = asking.finish().await?;
    let answer: Value = serde_json::from_str(done.stdout.trim())?;
    assert_eq!(answer["actor"]["person"], "ann", "{answer}");
    // The same message again counts once.
    let (status, said) = hook.reply(up.url(), "team", "m2", &about).await?;
    assert_eq!((status, verdict(&said)), (200, "settled"), "{said}");
    Ok(())
}

#[tokio::test]
async fn a_configuration_that_cannot_be_served_stops_it() -> Result<()> {
    let hook = Hook::start().await?;
    let twice = [hook.table("team", ANN), hook.table("team", ANN)];
    let plain = [hook
        .table("team", ANN)
        .replace("http://127.0.0.1", "http://hooks.example")];
    let nobody = [hook.table("team", "people = []")];
    for (tables, words) in [
        (twice.as_slice(), "two channels named team"),
        (plain.as_slice(), "must begin with https"),
        (nobody.as_slice(), "names no person"),
    ] {
        let (home, path) = configuration(tables)?;
        let askbus = Askbus::new(Path::new(BINARY), home.path());
        let done = askbus.env("ASKBUS_CONFIG", path).run(&["up"]).await?;
        assert!(
            done.code == 78 && done.stderr.contains(words),
            "{words}: {done:?}"
        );
    }
    Ok(())
}

const README: &str = include_str!("../../../../README.md");

/// The block of a section of the README that is marked as `kind`.
fn block(section: &str, kind: &str) -> Result<&'static str> {
    let mark = format!("```{kind}\n");
    let part = README.split("\n## ").find(|p| p.starts_with(section));
    let (_, rest) = part
        .context("no such section")?
        .split_once(&mark)
        .context("no such block")?;
    let (block, rest) = rest.split_once("```").context("no end")?;
    ensure!(!rest.contains(&mark), "a second block that nothing runs");
    Ok(block)
}

#[tokio::test]
async fn the_commands_of_the_readme() -> Result<()> {
    let (home, hook) = (folder()?, Hook::start().await?);
    let at_home = home.path().to_str().context("not UTF-8")?;
    let command = block("In a chat", "sh")?.replace("~/.askbus", at_home);
    let made = std::process::Command::new("bash")
        .args(["-c", &command])
        .status()?;
    ensure!(made.success(), "{command}");
    hook.trust(&std::fs::read_to_string(home.path().join("team.key"))?)?;
    let table = block("In a chat", "toml")?.replace("http://127.0.0.1:9000/askbus", hook.address());
    ensure!(table.contains(hook.address()), "{table}");
    std::fs::write(home.path().join("config.toml"), table)?;
    let askbus = Askbus::new(Path::new(BINARY), home.path());
    let up = Service::ready(askbus.spawn(&["up", "--json"])?).await?;
    let asking = askbus.spawn(&["ask", "Told as the README says?", "--choice", "yes"])?;
    hook.told("question.asked", "Told as the README says?")
        .await?;
    let said = hook.say(&up.address, "team", "1").await?;
    assert_eq!(verdict(&said), "settled", "{said}");
    assert_eq!(asking.finish().await?.stdout.trim(), "yes");
    Ok(())
}
