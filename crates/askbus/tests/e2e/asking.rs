//! `askbus ask`: whom a question is meant for, and what silence means for it.

use crate::support::{BINARY, ask, id, object};
use anyhow::Result;
use askbus_testkit::{Askbus, AskbusUp, Person};
use serde_json::{Value, json};

/// A person of this name and group, and the program as they run it.
async fn somebody(up: &AskbusUp, name: &str, group: &str) -> Result<(Person, Askbus)> {
    let args = [
        "credential",
        "issue",
        "--role",
        "person",
        "--sub",
        name,
        "--group",
        group,
    ];
    let done = up.askbus().run(&args).await?;
    anyhow::ensure!(done.code == 0, "{done:?}");
    let token = done.stdout.trim();
    let person = Person::bearer(up.url(), token)?;
    Ok((person, up.askbus().clone().env("ASKBUS_CREDENTIAL", token)))
}

// contract: A6
#[tokio::test]
async fn a_question_for_somebody_is_answered_by_them_alone() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let askbus = up.askbus();
    let (bob, bobs) = somebody(&up, "bob", "ops").await?;
    let (_, anns) = somebody(&up, "ann", "dev").await?;
    for (n, to) in ["bob", "person:bob", "group:ops"].into_iter().enumerate() {
        let question = format!("Question {n}?");
        let more = ["--to", to, "--choice", "yes", "--json"];
        let (mut asking, clarify_id) = ask(askbus, &bob, &question, &more).await?;
        let listed = anns.run(&["inbox"]).await?;
        assert!(
            listed.stdout.contains("(not for you to answer)"),
            "{listed:?}"
        );
        let answer = ["answer", &clarify_id, "--choose", "yes"];
        let refused = anns.run(&answer).await?;
        assert_eq!(refused.code, 77, "{to}: {refused:?}");
        assert_eq!(bob.pending().await?.len(), 1, "{to}");
        let taken = bobs.run(&answer).await?;
        assert_eq!(taken.code, 0, "{to}: {taken:?}");
        let done = asking.end().await?;
        assert_eq!(done.code, 0, "{done:?}");
        assert_eq!(object(&done)?["actor"]["person"], "bob", "{done:?}");
    }
    Ok(())
}

// contract: A6
#[tokio::test]
async fn nobody_is_asked_who_is_not_on_this_machine() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let askbus = up.askbus();
    for to in ["bob", "user", "group:ops"] {
        let done = askbus.run(&["ask", "Who?", "--to", to]).await?;
        assert_ne!(done.code, 0, "{to}: {done:?}");
        assert!(
            done.stderr.contains("only one person here"),
            "{to}: {done:?}"
        );
    }
    let me = up.person().await?;
    assert!(me.pending().await?.is_empty());
    // Whoever is given a credential can be asked from then on.
    let (bob, _) = somebody(&up, "bob", "ops").await?;
    let (mut asking, clarify_id) = ask(askbus, &bob, "Bob?", &["--to", "Bob"]).await?;
    let path = format!("/api/clarifications/{clarify_id}/answer");
    let taken = bob
        .post(&path, &json!({"action": "answer", "text": "here"}))
        .await?;
    assert_eq!(taken.body["reason"], "response", "{taken:?}");
    assert_eq!(asking.end().await?.stdout.trim(), "here");
    Ok(())
}

fn nobody_decided(outcome: &Value, reason: &str) {
    assert_eq!(outcome["reason"], reason, "{outcome}");
    assert_eq!(outcome["decided_by"], "policy", "{outcome}");
    assert_eq!(
        (&outcome["answers"], &outcome["actor"]),
        (&json!([]), &json!(null))
    );
}

// contract: A5 A6 A9 E19
#[tokio::test]
async fn a_script_says_for_its_question_what_silence_means() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let askbus = up.askbus();
    let asked = async |more: &[&str]| {
        let question = ["ask", "Deploy?", "--choice", "yes", "--choice", "no"];
        let rest = ["--recommended", "2", "--json"];
        askbus.json(&[&question[..], more, &rest].concat()).await
    };
    let assumed = |outcome: &Value| outcome["assumptions"][0]["label"].clone();
    let (code, outcome) = asked(&["--when-absent", "unattended"]).await?;
    assert_eq!((code, assumed(&outcome)), (14, json!("no")), "{outcome}");
    nobody_decided(&outcome, "unattended");
    let (code, outcome) = asked(&["--when-absent", "deferred"]).await?;
    assert_eq!((code, assumed(&outcome)), (14, json!(null)), "{outcome}");
    nobody_decided(&outcome, "deferred");
    let said = outcome["deferred_text"].as_str().unwrap_or_default();
    assert!(
        said.contains("Deploy?") && said.contains("1. yes"),
        "{outcome}"
    );

    // With somebody there: the clock decides.
    let person = up.person().await?;
    let _open = person.socket().await?;
    for (word, code, reason, assumption) in [
        ("return", 12, "timeout", json!(null)),
        ("adopt", 12, "timeout", json!("no")),
        ("defer", 14, "deferred", json!(null)),
    ] {
        let more = ["--timeout", "1s", "--on-timeout", word];
        let (ended, outcome) = asked(&more).await?;
        assert_eq!((ended, assumed(&outcome)), (code, assumption), "{outcome}");
        nobody_decided(&outcome, reason);
        let past = person.settled().await?;
        assert_eq!(id(&past[0]), id(&outcome), "{past:?}");
        assert_eq!(past[0]["on_timeout"], word, "{past:?}");
    }
    Ok(())
}

// contract: A5 A6 E4
#[tokio::test]
async fn words_that_nobody_knows_ask_nothing() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let person = up.person().await?;
    for wrong in [
        ["--to", ""],
        ["--to", "  "],
        ["--to", "group:"],
        ["--when-absent", "never"],
        ["--on-timeout", "maybe"],
    ] {
        let done = up
            .askbus()
            .run(&[&["ask", "Which?"][..], &wrong].concat())
            .await?;
        assert_eq!(done.code, 64, "{wrong:?}: {done:?}");
        assert!(!done.stderr.trim().is_empty(), "{wrong:?} says why");
    }
    assert_eq!(person.pending().await?.len(), 0);
    assert_eq!(person.settled().await?.len(), 0);
    Ok(())
}
