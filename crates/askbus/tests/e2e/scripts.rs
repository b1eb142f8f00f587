//! The command line as scripts use it: what it prints, and its exit statuses.

use crate::support::{BINARY, ask, asked, id, object};
use anyhow::Result;
use askbus_testkit::{Askbus, AskbusUp, McpStdio, Process, Program};
use serde_json::json;

// contract: A3 E10 E19
#[tokio::test]
async fn the_exit_status_of_ask_says_how_it_ended() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let (askbus, person) = (up.askbus(), up.person().await?);
    let cases: [(&[&str], i32, &str); 6] = [
        (&["--choose", "yes"], 0, "response"),
        (&["--choose", "2"], 0, "response"),
        (&["--text", "tomorrow"], 0, "response"),
        (&["--dismiss"], 10, "dismissed"),
        (&["--skip"], 11, "skipped"),
        (&["--ask-back", "which one?"], 15, "ask_back"),
    ];
    for (n, (how, status, reason)) in cases.into_iter().enumerate() {
        let question = format!("Deploy number {n}?");
        let more = [
            "--choice",
            "yes",
            "--choice",
            "no",
            "--recommended",
            "2",
            "--json",
        ];
        let (mut asking, clarify_id) = ask(askbus, &person, &question, &more).await?;
        let mut args = vec!["answer", &clarify_id, "--json"];
        args.extend(how);
        let (code, said) = askbus.json(&args).await?;
        assert_eq!((code, &said["reason"]), (0, &json!(reason)), "{said}");
        let done = asking.end().await?;
        assert_eq!(done.code, status, "{how:?}: {done:?}");
        let outcome = object(&done)?;
        assert_eq!(outcome["clarify_id"], clarify_id.as_str());
        assert_eq!(outcome["status"], "settled");
        assert_eq!(outcome["reason"], reason, "{how:?}");
        assert_eq!(outcome["decided_by"], "person");
        assert_eq!(
            outcome["actor"],
            json!({"person": "me", "surface": "terminal"})
        );
        match n {
            0 => assert_eq!(outcome["answers"][0]["options"][0]["label"], "yes"),
            1 => assert_eq!(outcome["answers"][0]["options"][0]["label"], "no"),
            2 => assert_eq!(outcome["answers"][0]["text"], "tomorrow"),
            4 => assert_eq!(outcome["assumptions"][0]["label"], "no", "{outcome}"),
            _ => assert_eq!(outcome["answers"], json!([]), "{how:?}"),
        }
    }

    let (code, outcome) = askbus
        .json(&["ask", "Quick?", "--timeout", "1s", "--json"])
        .await?;
    assert_eq!(code, 12, "{outcome}");
    assert_eq!(outcome["reason"], "timeout");
    assert_eq!(outcome["decided_by"], "policy");
    assert_eq!(
        (&outcome["answers"], &outcome["actor"]),
        (&json!([]), &json!(null))
    );

    let (mut asking, clarify_id) = ask(askbus, &person, "Never mind?", &["--json"]).await?;
    asking.signal(askbus_testkit::Signal::INT)?;
    assert_eq!(asking.wait().await?.code(), Some(13));
    assert_eq!(
        person.until_settled(&clarify_id).await?["reason"],
        "cancelled"
    );

    // Settled without a person: the text is kept, and its author told what settled it.
    let late = askbus
        .run(&["answer", &clarify_id, "--text", "too late"])
        .await?;
    assert_eq!(late.code, 20, "{late:?}");
    Ok(())
}

// contract: A2
#[tokio::test]
async fn answering_again_says_the_same_or_names_the_winner() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let (askbus, person) = (up.askbus(), up.person().await?);
    let (mut asking, clarify_id) = ask(
        askbus,
        &person,
        "Colour?",
        &["--choice", "red", "--choice", "blue"],
    )
    .await?;
    let answer = |choice: &'static str| {
        let clarify_id = clarify_id.clone();
        async move {
            askbus
                .run(&["answer", &clarify_id, "--choose", choice])
                .await
        }
    };
    assert_eq!(answer("red").await?.code, 0);
    let done = asking.end().await?;
    assert_eq!(
        (done.code, done.stdout.as_str()),
        (0, "red\n"),
        "the answer alone: {done:?}"
    );
    assert_eq!(answer("red").await?.code, 0, "the same content again");
    let conflict = answer("blue").await?;
    assert_eq!(conflict.code, 20, "{conflict:?}");
    assert!(
        conflict.stdout.contains("me"),
        "who settled it: {conflict:?}"
    );
    Ok(())
}

// contract: P6
#[tokio::test]
async fn a_shell_script_takes_the_answer_as_the_value_of_the_command() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let person = up.person().await?;
    let script = r#"
        set -eu
        target=$("$ASKBUS" ask "Where to?" --choice staging --choice production)
        if answer=$("$ASKBUS" ask "Really to $target?" --choice yes --json); then status=0; else status=$?; fi
        printf '%s %s\n' "$target" "$status"
        printf '%s\n' "$answer"
    "#;
    let mut command = Program::new("/bin/sh");
    command
        .args(["-c", script])
        .env("ASKBUS", BINARY)
        .envs(up.askbus().variables());
    let mut shell = Process::spawn("the script", command)?;
    let first = asked(&person, "Where to?").await?;
    let done = up
        .askbus()
        .run(&["answer", id(&first), "--choose", "production"])
        .await?;
    assert_eq!(done.code, 0, "{done:?}");
    asked(&person, "Really to production?").await?;

    let inbox = up.askbus().run(&["inbox", "--json"]).await?;
    let lines: Vec<serde_json::Value> = inbox
        .stdout
        .lines()
        .map(serde_json::from_str)
        .collect::<Result<_, _>>()?;
    assert_eq!(lines.len(), 1, "{inbox:?}");
    for name in [
        "clarify_id",
        "session_id",
        "questions",
        "requested_at",
        "deadline",
        "reason",
    ] {
        assert!(
            lines[0].get(name).is_some(),
            "{name} is missing: {}",
            lines[0]
        );
    }
    // As many characters of the id as make it unique are enough.
    let prefix = id(&lines[0]).split_at(30).0;
    assert_eq!(
        up.askbus()
            .run(&["answer", prefix, "--dismiss"])
            .await?
            .code,
        0
    );
    let done = shell.end().await?;
    let (line, answer) = done.stdout.split_once('\n').unwrap_or_default();
    assert_eq!(line, "production 10", "{done:?}");
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(answer)?["reason"],
        "dismissed"
    );

    let history = up.askbus().run(&["history", "--json"]).await?;
    let reasons: Vec<String> = history
        .stdout
        .lines()
        .map(|l| {
            Ok(serde_json::from_str::<serde_json::Value>(l)?["reason"]
                .as_str()
                .unwrap_or("-")
                .to_owned())
        })
        .collect::<Result<_>>()?;
    assert_eq!(reasons, ["dismissed", "response"], "newest first");
    Ok(())
}

// contract: A2 E10
#[tokio::test]
async fn several_questions_are_answered_and_declined_in_one_call() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let (askbus, person) = (up.askbus(), up.person().await?);
    let mut agent = McpStdio::connect(askbus, &["mcp"]).await?;
    let questions = json!({"questions": [
        {"question": "Where?", "options": ["here", "there"]},
        {"question": "When?"},
        {"question": "Who?"},
    ]});
    agent.call(1, "ask_user", questions).await?;
    let shown = asked(&person, "Where?").await?;
    let id = id(&shown);
    let wrong: [&[&str]; 4] = [
        // Declining one alone would end them all.
        &["--dismiss", "--question", "2"],
        &["--question", "1", "--choose", "here", "--dismiss"],
        &[
            "--text",
            "x",
            "--question",
            "1",
            "--question",
            "2",
            "--text",
            "y",
        ],
        &["--question", "2", "--text", "x", "--text", "y"],
    ];
    for args in wrong {
        let done = askbus.run(&[&["answer", id], args].concat()).await?;
        assert_eq!(done.code, 64, "{args:?}: {done:?}");
        assert!(done.stderr.contains("nothing was sent"), "{done:?}");
    }
    assert_eq!(person.pending().await?.len(), 1);
    let said = [
        "answer",
        id,
        "--json",
        "--question",
        "1",
        "--choose",
        "there",
        "--question",
        "q2",
        "--text",
        "now",
        "--question",
        "3",
        "--dismiss",
    ];
    let (code, taken) = askbus.json(&said).await?;
    assert_eq!((code, &taken["reason"]), (0, &json!("response")), "{taken}");
    assert_eq!(taken["dismissed_questions"], json!(["q3"]), "{taken}");
    let outcome = &agent.reply(1).await?["result"]["structuredContent"];
    assert_eq!(
        outcome["answers"][0]["options"][0]["label"], "there",
        "{outcome}"
    );
    assert_eq!(outcome["answers"][1]["text"], "now", "{outcome}");
    assert_eq!(outcome["unanswered"], json!(["q3"]), "{outcome}");
    assert_eq!(outcome["dismissed_questions"], json!(["q3"]), "{outcome}");
    let (_, past) = askbus.json(&["history", "--limit", "1", "--json"]).await?;
    assert_eq!(past["turn"], json!({"asked": 1, "auto": 0}), "{past}");
    Ok(())
}

// contract: E4
#[tokio::test]
async fn wrong_use_is_64_and_no_service_is_69() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let (askbus, person) = (up.askbus(), up.person().await?);
    let (_asking, waiting) = ask(askbus, &person, "Which?", &["--choice", "a"]).await?;
    let unknown = "01890000-0000-7000-8000-000000000000";
    let wrong: [&[&str]; 14] = [
        &["ask"],
        &["ask", "Which?", "--no-such-flag"],
        &["ask", "   "],
        &["ask", "Which?", "--choice", " "],
        &["ask", "Which?", "--choice", "a", "--recommended", "2"],
        &["ask", "Which?", "--choice", "a", "--recommended", "0"],
        &["ask", "Which?", "--timeout", "soon"],
        &["answer", &waiting],
        &["answer", &waiting, "--choose", "no such option"],
        &["answer", &waiting, "--choose", "9"],
        &["answer", &waiting, "--dismiss", "--skip"],
        &["answer", unknown, "--dismiss"],
        &["answer", "no-such-id", "--dismiss"],
        &["mcp", "--toolset", "nonsense"],
    ];
    for args in wrong {
        let done = askbus.run(args).await?;
        assert_eq!(done.code, 64, "{args:?}: {done:?}");
        assert!(!done.stderr.trim().is_empty(), "{args:?} says why");
        assert_eq!(done.stdout, "", "{args:?}");
    }
    assert_eq!(
        person.pending().await?.len(),
        1,
        "none of it asked or answered anything"
    );

    let nowhere = tempfile_home()?;
    let lonely = Askbus::new(BINARY, nowhere.as_path());
    for args in [
        &["ask", "Anybody?"] as &[&str],
        &["inbox"],
        &["answer", unknown, "--dismiss"],
    ] {
        let done = lonely.run(args).await?;
        assert_eq!(done.code, 69, "{args:?}: {done:?}");
    }
    std::fs::remove_dir_all(&nowhere)?;
    Ok(())
}

fn tempfile_home() -> Result<std::path::PathBuf> {
    let path = std::env::temp_dir().join(format!("askbus-test-empty-{}", std::process::id()));
    std::fs::create_dir_all(&path)?;
    Ok(path)
}

// contract: E11 E20
#[tokio::test]
async fn a_held_turn_ends_with_its_holder() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let (askbus, person) = (up.askbus(), up.person().await?);
    for by_signal in [false, true] {
        let session = format!("held-{by_signal}");
        let mut holder = askbus.spawn(&["turn", "begin", "--session", &session])?;
        let context = holder.stdout.next().await?.unwrap_or_default();
        let in_turn = askbus.clone().env("ASKBUS_CONTEXT", context.as_str());
        let question = format!("{session}?");
        let (mut asking, _) = ask(&in_turn, &person, &question, &["--json"]).await?;
        if by_signal {
            holder.signal(askbus_testkit::Signal::TERM)?;
        } else {
            holder.close_stdin();
        }
        holder.wait().await?;
        let done = asking.end().await?;
        assert_eq!(done.code, 13, "{done:?}");
        let refused = in_turn.run(&["ask", "Still there?"]).await?;
        assert_eq!(refused.code, 64, "the turn is over: {refused:?}");
    }
    Ok(())
}

// contract: A4
#[tokio::test]
async fn who_watches_the_inbox_sees_a_question_its_hold_and_its_end() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let (askbus, person) = (up.askbus(), up.person().await?);
    let mut watching = askbus.spawn(&["inbox", "--watch", "--json"])?;
    let more = ["--timeout", "1h", "--json"];
    let (mut asking, clarify_id) = ask(askbus, &person, "Which?", &more).await?;
    let of_it = |line: &str| line.contains(&clarify_id);
    let mut seen = Vec::new();
    for answer in [None, Some("--hold"), Some("--skip")] {
        if let Some(how) = answer {
            let done = askbus.run(&["answer", &clarify_id, how]).await?;
            assert_eq!(done.code, 0, "{done:?}");
        }
        let line = watching.stdout.find(of_it).await?;
        let shown: serde_json::Value = serde_json::from_str(&line)?;
        seen.push((shown["held"].clone(), shown["reason"].clone()));
    }
    let expected = [
        (json!(false), json!(null)),
        (json!(true), json!(null)),
        (json!(true), json!("skipped")),
    ];
    assert_eq!(seen, expected);
    assert_eq!(asking.end().await?.code, 11);
    watching.signal(askbus_testkit::Signal::INT)?;
    assert_eq!(watching.wait().await?.code(), Some(0));
    Ok(())
}
