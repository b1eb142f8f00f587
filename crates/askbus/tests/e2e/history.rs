//! The history in the terminal: filters, pages, and everything at once.

use crate::support::{BINARY, ask, credential, id};
use anyhow::Result;
use askbus_testkit::{Askbus, AskbusUp};
use serde_json::Value;

async fn lines(askbus: &Askbus, filters: &[&str]) -> Result<Vec<Value>> {
    let done = askbus
        .run(&[&["history", "--json"], filters].concat())
        .await?;
    anyhow::ensure!(done.code == 0, "{filters:?}: {done:?}");
    let lines = done.stdout.lines().map(serde_json::from_str);
    Ok(lines.collect::<Result<_, _>>()?)
}

fn asked(lines: &[Value]) -> Vec<&str> {
    let questions = lines.iter().map(|line| &line["questions"][0]);
    questions.filter_map(|q| q["question"].as_str()).collect()
}

// contract: A3 A8
#[tokio::test]
async fn the_history_is_filtered_and_exported_in_the_terminal() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let (askbus, person) = (up.askbus(), up.person().await?);
    let bob = credential(&up, "person", "default", "bob").await?;
    let bobs = askbus.clone().env("ASKBUS_CREDENTIAL", bob);
    assert!(lines(askbus, &[]).await?.is_empty());
    let nothing = askbus.run(&["history"]).await?;
    assert_eq!(nothing.stdout, "Nothing was found.\n");
    for (question, session) in [("Paint it red?", "paint"), ("And the door?", "door")] {
        let (asking, clarify_id) = ask(askbus, &person, question, &["--session", session]).await?;
        let answered = bobs
            .run(&["answer", &clarify_id, "--text", "Yes, soon"])
            .await?;
        assert_eq!(answered.code, 0, "{answered:?}");
        assert_eq!(asking.finish().await?.code, 0);
    }
    let (code, late) = askbus
        .json(&[
            "ask",
            "Anybody?",
            "--timeout",
            "1s",
            "--session",
            "paint",
            "--json",
        ])
        .await?;
    assert_eq!(code, 12, "{late}");
    let too_late = askbus.run(&["answer", id(&late), "--text", "Me!"]).await?;
    assert_eq!(too_late.code, 20, "{too_late:?}");

    let all = ["Anybody?", "And the door?", "Paint it red?"];
    for (filters, found) in [
        (&["--all"][..], &all[..]),
        (&["--limit", "2"], &all[..2]),
        (&["--limit", "1"], &all[..1]),
        (&["--session", "paint"], &["Anybody?", "Paint it red?"]),
        (&["--reason", "timeout"], &["Anybody?"]),
        (&["--reason", "timeout", "--reason", "response"], &all),
        (&["--reason", "skipped"], &[]),
        (&["--person", "bob"], &["And the door?", "Paint it red?"]),
        (
            &["--text", "yes, SOON", "--session", "door"],
            &["And the door?"],
        ),
        (&["--text", "me!"], &["Anybody?"]),
        (&["--asker", "askbus ask"], &all),
        (&["--asker", "no such client"], &[]),
        (&["--since", "1h"], &all),
        (&["--since", "2100-01-01"], &[]),
        (&["--until", "1h"], &[]),
        (
            &["--until", "2100-01-01T00:00:00Z", "--since", "2020-01-01"],
            &all,
        ),
    ] {
        let lines = lines(askbus, filters).await?;
        assert_eq!(asked(&lines), found, "{filters:?}");
    }
    let lines = lines(askbus, &[]).await?;
    for line in &lines {
        for name in [
            "clarify_id",
            "session_id",
            "questions",
            "requested_at",
            "deadline",
            "reason",
            "answers",
            "actor",
            "decided_by",
            "late",
            "resolved_at",
        ] {
            assert!(line.get(name).is_some(), "{name} is missing: {line}");
        }
        let by_person = line["reason"] == "response";
        assert_eq!(line["actor"].is_object(), by_person, "{line}");
        assert_eq!(line["decided_by"] == "person", by_person, "{line}");
    }
    assert_eq!(
        lines[0]["late"][0]["answers"][0]["text"], "Me!",
        "{}",
        lines[0]
    );
    for wrong in [
        ["--since", "soon"],
        ["--reason", "never"],
        ["--limit", "few"],
        ["--limit", "0"],
    ] {
        let done = askbus.run(&[&["history"], &wrong[..]].concat()).await?;
        assert_eq!(done.code, 64, "{wrong:?}: {done:?}");
    }
    let robot = credential(&up, "agent", "default", "robot").await?;
    let refused = askbus
        .clone()
        .env("ASKBUS_CREDENTIAL", robot)
        .run(&["history"])
        .await?;
    assert_eq!(refused.code, 77, "{refused:?}");
    Ok(())
}
