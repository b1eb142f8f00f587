//! Hosts over HTTP: turns begun, held, ended, and the example client of the documentation.

use crate::support::{BINARY, asked, choose, credential, id};
use anyhow::{Context as _, Result};
use askbus_testkit::{
    AskbusUp, NatsServer, Person, Process, Program, Reply, Team, python, workspace,
};
use serde_json::{Value, json};

/// A lease short enough to be waited for.
const LEASE_MS: u64 = 1_000;

async fn host(up: &AskbusUp) -> Result<Person> {
    Person::bearer(up.url(), &credential(up, "host", "default", "ci").await?)
}

fn reason(reply: &Reply) -> (u16, &str) {
    let reason = reply.body["reason"].as_str();
    (reply.status, reason.unwrap_or_default())
}

async fn begin(host: &Person, turn: Value) -> Result<Value> {
    let reply = host.post("/api/turns/begin", &turn).await?;
    anyhow::ensure!(reply.status == 200, "{reply:?}");
    Ok(reply.body)
}

fn path(begun: &Value, what: &str) -> String {
    let context = begun["context_id"].as_str().unwrap_or_default();
    format!("/api/turns/{context}/{what}")
}

async fn ask(host: &Person, begun: &Value, question: &str) -> Result<Reply> {
    let body = json!({"context_id": begun["context_id"], "question": question});
    host.post("/api/studio/clarifications/request", &body).await
}

/// The example client of the documentation, run as it stands there.
fn example(url: &str, token: &str, more: &[&str]) -> Result<Process> {
    let mut command = Program::new(python()?);
    command
        .arg(workspace().join("docs/examples/host.py"))
        .args(["--url", url, "--credential", token])
        .args(more)
        .env_clear();
    Process::spawn("host.py", command)
}

async fn step(example: &mut Process, name: &str) -> Result<Value> {
    let line = example.stdout.next().await?;
    let line = line.with_context(|| format!("it ended: {:#?}", example.stderr.all()))?;
    let step: Value = serde_json::from_str(&line)?;
    anyhow::ensure!(step["step"] == name, "{step} is not {name}");
    Ok(step)
}

async fn the_example_runs(url: &str, token: &str, person: &Person) -> Result<()> {
    let more = [
        "--session",
        "build",
        "--tool",
        "Read",
        "--tool",
        "Write",
        "Deploy?",
        "yes",
        "no",
    ];
    let mut example = example(url, token, &more)?;
    let begun = step(&mut example, "begun").await?;
    let context = begun["context_id"].as_str().context("a context")?;
    let instruction = begun["instruction"].as_str().unwrap_or_default();
    assert!(
        instruction.starts_with("<studio_interaction_context>"),
        "{begun}"
    );
    assert!(instruction.contains(context), "{begun}");
    assert_eq!(begun["capabilities"], json!(["clarify", "plan"]));
    let shown = asked(person, "Deploy?").await?;
    person.answer(id(&shown), &choose("o2")).await?;
    let answered = step(&mut example, "answered").await?;
    assert_eq!(
        (&answered["reason"], &answered["response"]),
        (&json!("response"), &json!("no"))
    );
    let read = step(&mut example, "used").await?;
    let write = step(&mut example, "used").await?;
    assert_eq!(
        (&read["work_begun"], &write["work_begun"]),
        (&json!(false), &json!(true))
    );
    let ended = step(&mut example, "ended").await?;
    assert_eq!((&ended["asked"], &ended["auto"]), (&json!(1), &json!(0)));
    assert_eq!(ended["deferred"], json!([]));
    assert_eq!(example.end().await?.code, 0);
    Ok(())
}

// contract: E7 E14 E20 D8 A8
#[tokio::test]
async fn the_example_of_the_documentation_runs_on_one_machine() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let token = credential(&up, "host", "default", "ci").await?;
    the_example_runs(up.url(), &token, &up.person().await?).await
}

// contract: E7 E14 E20 D8 A8
#[tokio::test]
async fn the_example_of_the_documentation_runs_over_nats() -> Result<()> {
    let (nats, team) = (NatsServer::start().await?, Team::prepare(BINARY).await?);
    let binding = team.session_binding(&nats).await?;
    let gateway = team.gateway(&nats, &binding.address).await?;
    let token = team.credential("host", "acme", "default", "ci").await?;
    let person = team
        .person(&gateway.address, "acme", "default", "ann")
        .await?;
    the_example_runs(&gateway.address, &token, &person).await
}

// contract: A6 A8 A9 D9
#[tokio::test]
async fn what_nobody_was_there_to_answer_is_the_reply_of_the_turn() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let token = credential(&up, "host", "default", "ci").await?;
    let more = [
        "--session",
        "night",
        "--when-absent",
        "deferred",
        "--language",
        "zh",
        "Deploy?",
        "yes",
    ];
    let mut example = example(up.url(), &token, &more)?;
    let begun = step(&mut example, "begun").await?;
    let instruction = begun["instruction"].as_str().unwrap_or_default();
    assert!(instruction.contains("不等于同意"), "in Chinese: {begun}");
    let answered = step(&mut example, "answered").await?;
    assert_eq!(
        (&answered["reason"], &answered["response"]),
        (&json!("timeout"), &json!(""))
    );
    let ended = step(&mut example, "ended").await?;
    assert_eq!((&ended["asked"], &ended["auto"]), (&json!(1), &json!(0)));
    let deferred = &ended["deferred"][0];
    assert_eq!(deferred["clarify_id"], answered["clarify_id"]);
    let text = deferred["text"].as_str().unwrap_or_default();
    assert!(
        text.contains("Deploy?") && text.contains("1. yes"),
        "{text}"
    );
    assert!(text.contains("我需要你的决定"), "{text}");
    assert_eq!(example.end().await?.code, 0);
    Ok(())
}

// contract: D9
#[tokio::test]
async fn a_person_who_polls_is_there() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let (host, person) = (host(&up).await?, up.person().await?);
    // Without a credential the same look is nobody's.
    let script = Person::nobody(up.url())?;
    assert_eq!(script.pending().await?.len(), 0);
    let policy = json!({"when_absent": "deferred"});
    let alone = begin(
        &host,
        json!({"session_id": "alone", "for_ms": 600_000, "policy": policy}),
    );
    let alone = alone.await?;
    let settled = ask(&host, &alone, "Is anybody there?").await?;
    assert_eq!(reason(&settled), (200, "timeout"), "{settled:?}");

    person.pending().await?;
    let seen = begin(
        &host,
        json!({"session_id": "seen", "for_ms": 600_000, "policy": policy}),
    );
    let seen = seen.await?;
    let (settled, ()) = futures::try_join!(ask(&host, &seen, "Now?"), async {
        // By the list alone: a socket would be presence as well.
        let shown = loop {
            let pending = person.pending().await?;
            if let Some(first) = pending.first() {
                break first.clone();
            }
        };
        person
            .answer(id(&shown), &json!({"response": "yes"}))
            .await?;
        Ok(())
    })?;
    assert_eq!(reason(&settled), (200, "response"), "{settled:?}");
    Ok(())
}

// contract: E6
#[tokio::test]
async fn hosts_are_refused_in_the_words_of_the_one_table() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let (host, person) = (host(&up).await?, up.person().await?);
    let turn = json!({"session_id": "s", "for_ms": 600_000});
    let begun = begin(&host, turn.clone()).await?;

    // Who it is, before what it wants.
    let nobody = Person::nobody(up.url())?;
    for what in ["hold", "end", "tool-use"] {
        let path = path(&begun, what);
        assert_eq!(reason(&nobody.post(&path, &json!({})).await?).0, 401);
        assert_eq!(
            reason(&person.post(&path, &json!({})).await?),
            (403, "FORBIDDEN")
        );
    }
    // Unknown, replaced and another profile's are one refusal.
    let other = credential(&up, "host", "other", "ci").await?;
    let other = Person::bearer(up.url(), &other)?;
    let newer = begin(&host, turn).await?;
    let unknown = json!({"context_id": "0197f0f6-0000-4000-8000-000000000001"});
    for (who, context) in [(&host, &unknown), (&host, &begun), (&other, &newer)] {
        for (what, body) in [
            ("hold", json!({})),
            ("end", json!({"end": "completed"})),
            ("tool-use", json!({"tool": "Write"})),
        ] {
            let refused = who.post(&path(context, what), &body).await?;
            assert_eq!(reason(&refused), (409, "CONTEXT_EXPIRED"), "{refused:?}");
        }
    }
    // A body that is not understood says where.
    for (body, named) in [
        (json!({"session_id": "s", "polizy": {}}), "polizy"),
        (
            json!({"session_id": "s", "policy": {"when_away": "wait"}}),
            "when_away",
        ),
        (
            json!({"session_id": "s", "policy": {"when_absent": "never"}}),
            "when_absent",
        ),
        (json!({"session_id": "s", "toolset": "all"}), "toolset"),
        (
            json!({"session_id": "s", "input_kind": "voice"}),
            "input_kind",
        ),
        (
            json!({"session_id": "s", "lease_ms": 1, "for_ms": 1}),
            "lease_ms",
        ),
        (json!({"session_id": " "}), "session"),
        (json!(["session_id"]), "object"),
    ] {
        let refused = host.post("/api/turns/begin", &body).await?;
        assert_eq!(reason(&refused), (400, "INVALID_REQUEST"), "{body}");
        let said = refused.body["error"].as_str().unwrap_or_default();
        assert!(said.contains(named), "{body}: {said}");
    }
    let refused = host.post(&path(&newer, "tool-use"), &json!({})).await?;
    assert_eq!(reason(&refused), (400, "INVALID_REQUEST"));
    let refused = host
        .post(&path(&newer, "end"), &json!({"end": "lost"}))
        .await?;
    assert_eq!(reason(&refused), (400, "INVALID_REQUEST"));

    // Ended: the hold says how, ending again is no fault, asking is over.
    for _ in 0..2 {
        let ended = host
            .post(&path(&newer, "end"), &json!({"end": "completed"}))
            .await?;
        assert_eq!((ended.status, &ended.body["asked"]), (200, &json!(0)));
    }
    let held = host.post(&path(&newer, "hold"), &json!({})).await?;
    assert_eq!(held.body["ended"], "completed", "{held:?}");
    assert_eq!(
        reason(&ask(&host, &newer, "Still?").await?),
        (409, "NO_ACTIVE_TURN")
    );

    Ok(())
}

// contract: E6 E15
#[tokio::test]
async fn turns_that_do_not_ask_are_told_nothing_of_asking() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let host = host(&up).await?;
    for (narrow, plans) in [
        (json!({"input_kind": "command"}), false),
        (json!({"source": "workflow"}), true),
        (json!({"session_source": "global_agent"}), true),
        (json!({"agent_kind": "research"}), true),
        (json!({"terminal": true}), false),
    ] {
        let mut turn = json!({"session_id": "narrow", "for_ms": 600_000});
        if let (Value::Object(turn), Value::Object(narrow)) = (&mut turn, narrow.clone()) {
            turn.extend(narrow);
        }
        let begun = begin(&host, turn).await?;
        let told = begun["instruction"].as_str().unwrap_or_default();
        assert_eq!(told.contains("ekko_studio_update_plan"), plans, "{begun}");
        assert!(!told.contains("ekko_studio_clarify"), "{begun}");
        assert_eq!(told.is_empty(), !plans, "{begun}");
        let may = if plans { json!(["plan"]) } else { json!([]) };
        assert_eq!(begun["capabilities"], may, "{narrow}");
        let refused = ask(&host, &begun, "May I?").await?;
        assert_eq!(reason(&refused), (409, "CONTEXT_EXPIRED"), "{narrow}");
    }
    // No session of the host: nothing is begun.
    let nothing = begin(&host, json!({"for_ms": 600_000})).await?;
    assert_eq!(
        (&nothing["context_id"], &nothing["instruction"]),
        (&json!(""), &json!(""))
    );
    Ok(())
}

// contract: E20
#[tokio::test]
async fn a_turn_lives_as_long_as_its_host_says_so() -> Result<()> {
    let lease = LEASE_MS.to_string();
    let up = AskbusUp::start_with(BINARY, &[], &[("ASKBUS_LEASE_MS", &lease)]).await?;
    let host = host(&up).await?;
    let turn = |session: &str| json!({"session_id": session, "lease_ms": LEASE_MS});
    let kept = begin(&host, turn("kept")).await?;
    let hold = path(&kept, "hold");
    let keep = async {
        loop {
            let held = host.post(&hold, &json!({})).await?;
            anyhow::ensure!(held.body["ended"] == json!(null), "{held:?}");
            assert_eq!(held.body["lease_ms"], LEASE_MS);
            tokio::time::sleep(std::time::Duration::from_millis(LEASE_MS / 4)).await;
        }
    };
    let lost = async {
        // Time is the subject: two turns after each other that nobody holds.
        for session in ["lost", "lost too"] {
            let begun = begin(&host, turn(session)).await?;
            let settled = ask(&host, &begun, session).await?;
            assert_eq!(reason(&settled), (200, "cancelled"), "{settled:?}");
            let held = host.post(&path(&begun, "hold"), &json!({})).await?;
            assert_eq!(held.body["ended"], "interrupted", "{held:?}");
        }
        anyhow::Ok(())
    };
    tokio::select! {
        kept = keep => kept,
        lost = lost => lost,
    }?;
    let ended = host
        .post(&path(&kept, "end"), &json!({"end": "stopped"}))
        .await?;
    assert_eq!(ended.status, 200);
    Ok(())
}
