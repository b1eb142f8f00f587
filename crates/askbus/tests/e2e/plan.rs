//! The plan card: shown by hosts and agents on every way in, followed by people, and never ahead of the
//! log.

mod crashes;
mod order;
mod rooms;
mod rules;

use crate::support::{BINARY, asked, choose, credential, id};
use anyhow::{Context as _, Result};
use askbus_testkit::{AskbusUp, McpStdio, Person, Reply};
use serde_json::{Value, json};

const ROUTE: &str = "/api/studio/task-plans/update";

async fn host(up: &AskbusUp) -> Result<Person> {
    let token = credential(up, "host", "default", "studio").await?;
    Person::bearer(up.url(), &token)
}

fn step(id: &str, status: &str) -> Value {
    json!({"id": id, "step": format!("do {id}"), "status": status})
}

fn update(context: &str, steps: &[Value]) -> Value {
    json!({"context_id": context, "plan": steps})
}

fn pair(reply: &Reply) -> (u16, &str) {
    let reason = reply.body["reason"].as_str().unwrap_or_default();
    (reply.status, reason)
}

/// A turn that its host holds by calls.
async fn begin(host: &Person, turn: Value) -> Result<String> {
    let begun = host.post("/api/turns/begin", &turn).await?;
    let context = begun.body["context_id"].as_str();
    Ok(context.with_context(|| format!("{begun:?}"))?.to_owned())
}

async fn plans(person: &Person) -> Result<Vec<Value>> {
    let listed = person.get("/api/plans").await?;
    anyhow::ensure!(listed.status == 200, "{listed:?}");
    let plans = listed.body["plans"].as_array().cloned();
    plans.with_context(|| format!("{listed:?}"))
}

// contract: E8 E16
#[tokio::test]
async fn a_plan_is_followed_from_its_first_revision_to_the_end_of_its_turn() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let (host, person) = (host(&up).await?, up.person().await?);
    let mut socket = person.socket().await?;
    socket.find(|m| m["event"] == "ready").await?;
    let context = begin(
        &host,
        json!({"session_id": "s", "run_id": "r-1", "for_ms": 600_000}),
    )
    .await?;
    let mut first = update(&context, &[step("a", "in_progress"), step("b", "pending")]);
    first["explanation"] = json!("two steps");
    let reply = host.post(ROUTE, &first).await?;
    assert_eq!(reply.status, 200, "{reply:?}");
    let shown = &reply.body;
    assert_eq!(shown["ok"], true);
    assert_eq!(
        (&shown["session_id"], &shown["run_id"]),
        (&json!("s"), &json!("r-1"))
    );
    assert_eq!(
        (&shown["revision"], &shown["execution_state"]),
        (&json!(1), &json!("running"))
    );
    assert_eq!(
        (&shown["plan"], &shown["explanation"]),
        (&first["plan"], &json!("two steps"))
    );
    assert!(shown["plan_id"].is_string() && shown["created_at"].is_i64());
    let seen = socket.find(|m| m["event"] == "plan.updated").await?;
    for field in [
        "plan_id",
        "revision",
        "plan",
        "created_at",
        "updated_at",
        "explanation",
    ] {
        assert_eq!(seen[field], shown[field], "{field}");
    }
    assert_eq!(
        (&seen["profile"], &seen["room_id"]),
        (&json!("default"), &json!(null))
    );
    assert!(
        seen["context_id"].is_null(),
        "a capability is nobody else's: {seen}"
    );

    let second = update(
        &context,
        &[step("a", "completed"), step("b", "in_progress")],
    );
    let reply = host.post(ROUTE, &second).await?.body;
    assert_eq!(
        (&reply["revision"], &reply["plan_id"]),
        (&json!(2), &shown["plan_id"])
    );
    assert_eq!(reply["created_at"], shown["created_at"]);
    socket
        .find(|m| m["event"] == "plan.updated" && m["revision"] == 2)
        .await?;

    host.post(
        &format!("/api/turns/{context}/end"),
        &json!({"end": "completed"}),
    )
    .await?;
    let ended = socket
        .find(|m| m["event"] == "plan.updated" && m["revision"] == 3)
        .await?;
    assert_eq!(ended["execution_state"], "ended");
    let left = [&step("a", "completed"), &step("b", "pending")];
    assert_eq!(
        ended["plan"],
        json!(left),
        "nothing is completed by the service"
    );
    let late = host.post(ROUTE, &second).await?;
    assert_eq!(pair(&late), (409, "NO_ACTIVE_TURN"));

    // It stays visible: to whoever comes now, and in the list.
    let mut again = person.socket().await?;
    let replayed = again.find(|m| m["event"] == "plan.updated").await?;
    assert_eq!(
        (&replayed["revision"], &replayed["plan"]),
        (&ended["revision"], &ended["plan"])
    );
    assert_eq!(plans(&person).await?.len(), 1);
    // Until the session's next one, whose revision is higher still.
    let next = begin(&host, json!({"session_id": "s", "for_ms": 600_000})).await?;
    assert_eq!(plans(&person).await?[0]["revision"], 3);
    let reply = host
        .post(ROUTE, &update(&next, &[step("c", "pending")]))
        .await?
        .body;
    assert_eq!(reply["revision"], 4);
    assert_ne!(reply["plan_id"], shown["plan_id"]);
    let now = again
        .find(|m| m["event"] == "plan.updated" && m["revision"] == 4)
        .await?;
    assert_eq!(now["execution_state"], "running");
    let listed = plans(&person).await?;
    assert_eq!((listed.len(), &listed[0]["revision"]), (1, &json!(4)));
    Ok(())
}

// contract: E15 E16
#[tokio::test]
async fn a_turn_that_only_plans_plans_and_a_question_stands_beside_a_plan() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let (host, person) = (host(&up).await?, up.person().await?);
    let turn = json!({"session_id": "flow", "source": "workflow", "for_ms": 600_000});
    let context = begin(&host, turn).await?;
    let planned = host
        .post(ROUTE, &update(&context, &[step("a", "pending")]))
        .await?;
    assert_eq!(planned.status, 200, "{planned:?}");
    let asked_in_it = json!({"context_id": context, "question": "May I?"});
    let refused = host
        .post("/api/studio/clarifications/request", &asked_in_it)
        .await?;
    assert_eq!(pair(&refused), (409, "CONTEXT_EXPIRED"));
    let command = json!({"session_id": "slash", "input_kind": "command", "for_ms": 600_000});
    let none = begin(&host, command).await?;
    let refused = host
        .post(ROUTE, &update(&none, &[step("a", "pending")]))
        .await?;
    assert_eq!(pair(&refused), (409, "CONTEXT_EXPIRED"));

    // One id, two bindings: while a question waits the plan goes on, and neither ends the other.
    let context = begin(&host, json!({"session_id": "both", "for_ms": 600_000})).await?;
    let question = json!({"context_id": context, "question": "Which?", "choices": ["x", "y"]});
    let waiting = host.post("/api/studio/clarifications/request", &question);
    let (answered, ()) = futures::try_join!(waiting, async {
        let shown = asked(&person, "Which?").await?;
        for status in ["in_progress", "completed"] {
            let reply = host
                .post(ROUTE, &update(&context, &[step("a", status)]))
                .await?;
            assert_eq!(reply.status, 200, "{reply:?}");
        }
        assert_eq!(person.pending().await?.len(), 1);
        person.answer(id(&shown), &choose("o2")).await?;
        Ok(())
    })?;
    assert_eq!(answered.body["response"], "y");
    let of_both = person.get("/api/plans?session=both").await?.body["plans"].clone();
    assert_eq!(of_both[0]["revision"], 2, "{of_both}");
    assert_eq!(of_both[0]["execution_state"], "running");
    Ok(())
}

// contract: E1 E2 E16
#[tokio::test]
async fn an_agent_without_a_host_plans_in_a_turn_of_its_own() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let person = up.person().await?;
    let mut client = McpStdio::connect(up.askbus(), &["mcp"]).await?;
    let arguments = json!({"plan": [step("a", "in_progress"), step("b", "pending")]});
    client.call(1, "update_plan", arguments.clone()).await?;
    let result = client.reply(1).await?["result"].clone();
    assert_ne!(result["isError"], true, "{result}");
    let structured = &result["structuredContent"];
    assert_eq!(
        (&structured["status"], &structured["revision"]),
        (&json!("updated"), &json!(1))
    );
    assert_eq!(structured["plan"], arguments["plan"]);
    // The question that follows belongs to the same turn.
    client
        .call(
            2,
            "ask_user",
            crate::support::one_question("Which?", &["x", "y"]),
        )
        .await?;
    let shown = asked(&person, "Which?").await?;
    assert_eq!(shown["session_id"], structured["session_id"]);
    person.answer(id(&shown), &choose("o1")).await?;
    client.reply(2).await?;
    client.call(3, "update_plan", arguments).await?;
    assert_eq!(
        client.reply(3).await?["result"]["structuredContent"]["revision"],
        2
    );
    let mut socket = person.socket().await?;
    socket
        .find(|m| m["event"] == "plan.updated" && m["revision"] == 2)
        .await?;
    client.process.close_stdin();
    assert_eq!(client.process.wait().await?.code(), Some(0));
    let ended = socket
        .find(|m| m["event"] == "plan.updated" && m["revision"] == 3)
        .await?;
    assert_eq!(ended["execution_state"], "ended");
    assert_eq!(ended["plan"][0]["status"], "pending", "{ended}");

    // An agent with a plan of its own is offered none of ours.
    for toolset in ["ask", "studio"] {
        let native = up.askbus().clone().env("HERMES_MCP_NATIVE_TASK_PLAN", "1");
        let mut client = McpStdio::connect(&native, &["mcp", "--toolset", toolset]).await?;
        client.request(1, "tools/list", json!({})).await?;
        let listed = client.reply(1).await?["result"]["tools"].clone();
        assert!(
            !listed.to_string().contains("update_plan"),
            "{toolset}: {listed}"
        );
        for (n, tool) in ["update_plan", "ekko_studio_update_plan"]
            .into_iter()
            .enumerate()
        {
            let call = 2 + n as u64;
            client.call(call, tool, json!({})).await?;
            assert!(
                client.reply(call).await?["error"].is_object(),
                "{toolset} {tool}"
            );
        }
    }
    Ok(())
}
