//! One vocabulary: every way of ending, in the words of every adapter.

use crate::support::{BINARY, asked, begin_turn, credential, id, one_question};
use anyhow::{Context as _, Result};
use askbus_testkit::{Askbus, AskbusUp, McpStdio, Person};
use askbus_wire::client::{Client, Target};
use askbus_wire::proto::GetClarificationRequest;
use serde_json::{Value, json};

/// A row of the table: our word, the exit status of `ask`, the words of the other columns and who
/// decided.
struct Row {
    reason: &'static str,
    exit: i32,
    mode: Option<&'static str>,
    studio: Option<&'static str>,
    decided_by: &'static str,
}

const fn row(
    reason: &'static str,
    exit: i32,
    mode: Option<&'static str>,
    studio: Option<&'static str>,
    decided_by: &'static str,
) -> Row {
    Row {
        reason,
        exit,
        mode,
        studio,
        decided_by,
    }
}

const ROWS: [Row; 9] = [
    row("response", 0, Some("answered"), Some("response"), "person"),
    row("ask_back", 15, Some("answered"), Some("response"), "person"),
    row(
        "dismissed",
        10,
        Some("declined"),
        Some("dismissed"),
        "person",
    ),
    row("skipped", 11, Some("declined"), Some("dismissed"), "person"),
    row("timeout", 12, Some("timed_out"), Some("timeout"), "policy"),
    row(
        "cancelled",
        13,
        Some("declined"),
        Some("cancelled"),
        "system",
    ),
    row(
        "unattended",
        14,
        Some("unattended"),
        Some("timeout"),
        "policy",
    ),
    row("deferred", 14, Some("deferred"), Some("timeout"), "policy"),
    // Nobody is asked: the studio dialect has no word for it and is never told it.
    row("off", 16, None, None, "policy"),
];

impl Row {
    fn actor(&self) -> Value {
        match self.decided_by {
            "person" => json!({"person": "me", "surface": "web"}),
            _ => Value::Null,
        }
    }

    /// What the object of an adapter has to say.
    fn check(&self, object: &Value, case: &str) {
        let case = format!("{case} {}: {object}", self.reason);
        assert_eq!(object["reason"], self.reason, "{case}");
        assert_eq!(object["mode"], json!(self.mode), "{case}");
        assert_eq!(object["decided_by"], self.decided_by, "{case}");
        assert_eq!(object["actor"], self.actor(), "{case}");
        let agreed = self.reason == "response";
        let answers = object["answers"].as_array().map_or(0, Vec::len);
        assert_eq!(answers, usize::from(agreed), "{case}");
        assert_eq!(object["late"], json!([]), "{case}");
    }
}

/// How the end of a question comes about.
async fn bring_about(row: &Row, person: &Person, askbus: &Askbus, context: &str) -> Result<()> {
    let question = format!("{context}?");
    let answer = match row.reason {
        "response" => json!({"answers": [{"option_ids": ["o1"]}]}),
        "ask_back" => json!({"action": "ask_back", "text": "why?"}),
        "dismissed" => json!({"action": "dismiss"}),
        "skipped" => json!({"action": "skip"}),
        "cancelled" => {
            asked(person, &question).await?;
            let done = askbus.run(&["turn", "end", context]).await?;
            anyhow::ensure!(done.code == 0, "{done:?}");
            return Ok(());
        }
        _ => return Ok(()),
    };
    let shown = asked(person, &question).await?;
    let taken = person.answer(id(&shown), &answer).await?;
    anyhow::ensure!(taken.status == 200, "{taken:?}");
    Ok(())
}

/// The turn in which a question ends so, before anybody is there.
async fn turn(up: &AskbusUp, row: &Row, adapter: &str) -> Result<String> {
    let session = format!("{adapter}-{}", row.reason);
    let more: &[&str] = match row.reason {
        "unattended" | "off" => &["--when-absent", "unattended"],
        "deferred" => &["--when-absent", "deferred"],
        _ => &[],
    };
    begin_turn(up.askbus(), &session, more).await
}

async fn over_terminal(up: &AskbusUp, row: &Row, person: Option<&Person>) -> Result<String> {
    let context = turn(up, row, "terminal").await?;
    let askbus = up.askbus().clone().env("ASKBUS_CONTEXT", &context);
    let question = format!("{context}?");
    let mut args = vec!["ask", &question, "--choice", "yes", "--json"];
    if row.reason == "timeout" {
        args.extend(["--timeout", "1s"]);
    }
    if row.reason == "off" {
        // Two in a row stay unanswered.
        for n in ["first?", "second?"] {
            assert_eq!(askbus.run(&["ask", n]).await?.code, 14);
        }
    }
    let ended = async {
        match person {
            Some(person) => bring_about(row, person, up.askbus(), &context).await,
            None => Ok(()),
        }
    };
    let ((code, object), ()) = futures::try_join!(askbus.json(&args), ended)?;
    assert_eq!(code, row.exit, "{object}");
    row.check(&object, "terminal");
    Ok(object["clarify_id"].as_str().context("an id")?.to_owned())
}

async fn over_mcp(up: &AskbusUp, row: &Row, person: Option<&Person>) -> Result<String> {
    let context = turn(up, row, "mcp").await?;
    let askbus = up.askbus().clone().env("ASKBUS_CONTEXT", &context);
    let mut agent = McpStdio::connect(&askbus, &["mcp"]).await?;
    let question = format!("{context}?");
    let mut arguments = one_question(&question, &["yes"]);
    if row.reason == "timeout" {
        arguments["timeout_s"] = json!(1);
    }
    if row.reason == "off" {
        for (call, n) in [(1, "first?"), (2, "second?")] {
            agent.call(call, "ask_user", one_question(n, &[])).await?;
            agent.reply(call).await?;
        }
    }
    agent.call(3, "ask_user", arguments).await?;
    if let Some(person) = person {
        bring_about(row, person, up.askbus(), &context).await?;
    }
    let result = agent.reply(3).await?["result"].clone();
    assert_ne!(result["isError"], true, "{result}");
    row.check(&result["structuredContent"], "mcp");
    let id = result["structuredContent"]["clarify_id"].as_str();
    Ok(id.context("an id")?.to_owned())
}

async fn over_http(
    up: &AskbusUp,
    row: &Row,
    host: &Person,
    person: Option<&Person>,
) -> Result<Option<String>> {
    let Some(word) = row.studio else {
        return Ok(None);
    };
    let context = turn(up, row, "http").await?;
    let mut body =
        json!({"context_id": context, "question": format!("{context}?"), "choices": ["yes"]});
    if row.reason == "timeout" {
        body["timeout_s"] = json!(1);
    }
    let ended = async {
        match person {
            Some(person) => bring_about(row, person, up.askbus(), &context).await,
            None => Ok(()),
        }
    };
    let asking = host.post("/api/studio/clarifications/request", &body);
    let (reply, ()) = futures::try_join!(asking, ended)?;
    let object = &reply.body;
    assert_eq!(
        (reply.status, &object["reason"]),
        (200, &json!(word)),
        "{object}"
    );
    let finer = Some(row.reason).filter(|own| *own != word);
    assert_eq!(object["outcome_reason"], json!(finer), "{object}");
    let response = match row.reason {
        "response" => "yes",
        "ask_back" => "why?",
        _ => "",
    };
    assert_eq!(object["response"], response, "{object}");
    Ok(Some(
        object["clarify_id"].as_str().context("an id")?.to_owned(),
    ))
}

/// The same end as gRPC and the socket of a person tell it.
async fn as_others_hear(
    row: &Row,
    ids: &[String],
    person: &Person,
    grpc: &mut Client,
) -> Result<()> {
    let mut socket = person.socket_at("/ws?after=0").await?;
    for id in ids {
        let request = GetClarificationRequest {
            clarify_id: id.clone(),
        };
        let told = grpc.clarify.get_clarification(request).await?.into_inner();
        let outcome = told.outcome.context("it is settled")?;
        let actor = outcome
            .actor
            .as_ref()
            .map(|a| json!({"person": a.person, "surface": a.surface}));
        assert_eq!(outcome.reason, row.reason);
        assert_eq!(outcome.decided_by, row.decided_by, "{}", row.reason);
        assert_eq!(outcome.mode, row.mode.unwrap_or_default(), "{}", row.reason);
        assert_eq!(json!(actor), row.actor(), "{}", row.reason);

        let heard = socket
            .find(|m| m["event"] == "clarify.resolved" && m["clarify_id"] == id.as_str())
            .await?;
        assert_eq!(
            heard["reason"],
            row.studio.unwrap_or("cancelled"),
            "{heard}"
        );
        assert_eq!(heard["outcome_reason"], row.reason, "{heard}");
        assert_eq!(heard["decided_by"], row.decided_by, "{heard}");
        assert_eq!(heard["actor"], row.actor(), "{heard}");
    }
    Ok(())
}

/// The same end as the history tells it in the terminal, and as somebody hears it who answers now.
async fn as_the_terminal_tells(row: &Row, ids: &[String], askbus: &Askbus) -> Result<()> {
    let history = askbus.run(&["history", "--json"]).await?;
    for id in ids {
        let line = history
            .stdout
            .lines()
            .find(|line| line.contains(id.as_str()));
        let past: Value = serde_json::from_str(line.with_context(|| format!("{history:?}"))?)?;
        let (code, late) = askbus
            .json(&["answer", id, "--text", "no", "--json"])
            .await?;
        assert_eq!(code, 20, "{late}");
        for object in [&past, &late] {
            assert_eq!(object["status"], "settled", "{object}");
            assert_eq!(object["reason"], row.reason, "{object}");
            assert_eq!(object["decided_by"], row.decided_by, "{object}");
            assert_eq!(object["actor"], row.actor(), "{object}");
            let answers = object["answers"].as_array().map_or(0, Vec::len);
            assert_eq!(answers, usize::from(row.reason == "response"), "{object}");
        }
        // Of a turn of its own each asked one question, and two more before asking was off; what a
        // policy settled in a person's place is counted (A8).
        let (asked, auto) = match row.reason {
            "off" => (2, 2),
            "timeout" | "unattended" => (1, 1),
            _ => (1, 0),
        };
        assert_eq!(
            past["turn"],
            json!({"asked": asked, "auto": auto}),
            "{past}"
        );
    }
    Ok(())
}

// contract: A2 A3 A6 A7 A8 E7 E9 E19
#[tokio::test]
async fn every_adapter_says_the_same_of_every_way_of_ending() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let host = credential(&up, "host", "default", "studio").await?;
    let mut grpc = Client::new(&Target::Url(up.url().to_owned()), &host)?;
    let host = Person::bearer(up.url(), &host)?;
    let nobody_there = |row: &&Row| ["unattended", "deferred", "off"].contains(&row.reason);
    let mut ended = Vec::new();
    // First what happens while nobody is there; then somebody comes.
    for row in ROWS.iter().filter(nobody_there) {
        let mut ids = vec![
            over_terminal(&up, row, None).await?,
            over_mcp(&up, row, None).await?,
        ];
        ids.extend(over_http(&up, row, &host, None).await?);
        ended.push((row, ids));
    }
    let person = up.person().await?;
    for row in ROWS.iter().filter(|row| !nobody_there(row)) {
        let mut ids = vec![
            over_terminal(&up, row, Some(&person)).await?,
            over_mcp(&up, row, Some(&person)).await?,
        ];
        ids.extend(over_http(&up, row, &host, Some(&person)).await?);
        ended.push((row, ids));
    }
    assert_eq!(ended.len(), ROWS.len());
    for (row, ids) in &ended {
        as_others_hear(row, ids, &person, &mut grpc).await?;
    }
    for (row, ids) in &ended {
        as_the_terminal_tells(row, ids, up.askbus()).await?;
    }
    Ok(())
}
