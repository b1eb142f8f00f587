//! The plan card: shown by hosts and agents on every way in, followed by people, and never ahead of the
//! log.

use crate::support::{BINARY, asked, begin_turn, choose, credential, id};
use anyhow::{Context as _, Result};
use askbus_testkit::{AskbusUp, McpStdio, NatsServer, Person, Reply, Service, Team, within};
use askbus_wire::client::{Client, Target};
use askbus_wire::error::WireError;
use askbus_wire::proto::{UpdatePlanRequest, update_plan_request::Input};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

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

    host.post(&format!("/api/turns/{context}/end"), &json!({}))
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

/// What breaks a rule of E16, and how the refusal begins.
fn broken() -> Vec<(Value, &'static str)> {
    let long = |count: usize| "计".repeat(count);
    let one = || step("a", "pending");
    let many: Vec<Value> = (0..31).map(|n| step(&n.to_string(), "pending")).collect();
    let with = |field: &str, value: Value| {
        let mut changed = one();
        changed[field] = value;
        json!({"plan": [changed]})
    };
    vec![
        (json!({}), "plan must be a list"),
        (json!({"plan": "[]"}), "plan must be a list"),
        (json!({"plan": []}), "plan is empty"),
        (json!({"plan": many}), "plan has 31 steps"),
        (json!({"plan": [7]}), "plan[0] must be an object"),
        (with("id", json!("")), "plan[0].id must not be blank"),
        (with("id", json!(7)), "plan[0].id is required"),
        (with("id", json!(long(101))), "plan[0].id is 101 characters"),
        (with("step", json!(" ")), "plan[0].step must not be blank"),
        (
            with("step", json!(long(201))),
            "plan[0].step is 201 characters",
        ),
        (with("status", json!("done")), "plan[0].status must be"),
        (with("note", json!("x")), "plan[0] has a field \"note\""),
        (json!({"plan": [one(), one()]}), "plan[1].id repeats"),
        (
            json!({"plan": [step("a", "in_progress"), step("b", "in_progress")]}),
            "plan[1] is in_progress and so is plan[0]",
        ),
        (
            json!({"plan": [one()], "explanation": long(1001)}),
            "explanation is 1001",
        ),
        (
            json!({"plan": [one()], "explanation": 7}),
            "explanation must be a string",
        ),
        (
            json!({"plan": [one()], "revision": 9}),
            "there is no field \"revision\"",
        ),
        (
            json!({"plan": [one()], "execution_state": "ended"}),
            "there is no field",
        ),
    ]
}

fn object(value: &Value, more: &[(&str, &str)]) -> Value {
    let mut object = value.clone();
    for (name, text) in more {
        object[*name] = json!(text);
    }
    object
}

// contract: E1 E8 E16
#[tokio::test]
async fn every_rule_is_kept_on_every_way_in_and_its_breach_changes_nothing() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let (host, person) = (host(&up).await?, up.person().await?);
    let context = begin_turn(up.askbus(), "s", &[]).await?;
    let shown = host
        .post(ROUTE, &update(&context, &[step("a", "pending")]))
        .await?;
    assert_eq!(shown.body["revision"], 1, "{shown:?}");
    let token = credential(&up, "agent", "default", "robot").await?;
    let grpc = Client::new(&up.url().parse::<Target>()?, &token)?;
    let gated = up
        .askbus()
        .clone()
        .env("HERMES_MCP_USER_CLARIFICATION", "1");
    let mut studio = McpStdio::connect(&gated, &["mcp", "--toolset", "studio"]).await?;
    let mut renamed = McpStdio::connect(&gated, &["mcp", "--toolset", "studio"]).await?;
    let in_turn = up.askbus().clone().env("ASKBUS_CONTEXT", &context);
    let mut ask = McpStdio::connect(&in_turn, &["mcp"]).await?;
    let alone = up.askbus().clone();
    let mut own = McpStdio::connect(&alone, &["mcp"]).await?;
    for (n, (arguments, problem)) in (1..).zip(broken()) {
        let reply = host
            .post(ROUTE, &object(&arguments, &[("context_id", &context)]))
            .await?;
        assert_eq!(pair(&reply), (400, "INVALID_PLAN"), "{arguments}");
        let told = reply.body["error"].as_str().unwrap_or_default();
        assert!(told.starts_with(problem), "{arguments}: {told}");

        let mut plans = grpc.plans.clone();
        let request = UpdatePlanRequest {
            context_id: context.clone(),
            input: Some(Input::ArgumentsJson(arguments.to_string())),
            ..UpdatePlanRequest::default()
        };
        let refused = plans.update(request).await.err().context("it was taken")?;
        let refused = WireError::from_status(&refused);
        assert_eq!(
            (refused.code.as_str(), refused.message.as_str()),
            ("INVALID_PLAN", told)
        );

        let in_it = object(&arguments, &[("context_id", context.as_str())]);
        for (client, call, tool, arguments) in [
            (&mut studio, n, "ekko_studio_update_plan", &in_it),
            (&mut renamed, n, "hermes_studio_update_plan", &in_it),
            (&mut ask, n, "update_plan", &arguments),
            (&mut own, n, "update_plan", &arguments),
        ] {
            client.call(call, tool, arguments.clone()).await?;
            let result = client.reply(call).await?["result"].clone();
            assert_eq!(result["isError"], true, "{tool} {arguments}: {result}");
            let structured = &result["structuredContent"];
            assert_eq!(structured["reason"], "INVALID_PLAN", "{result}");
            assert_eq!(structured["error"], told, "{result}");
        }
    }
    let listed = plans(&person).await?;
    assert_eq!(
        listed.len(),
        1,
        "a plan that breaks a rule begins no turn: {listed:?}"
    );
    assert_eq!(listed[0]["revision"], 1);
    Ok(())
}

// contract: E6 E8
#[tokio::test]
async fn errors_come_in_the_order_of_the_questions_errors() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let (host, person) = (host(&up).await?, up.person().await?);
    let nonsense = json!({"context_id": 7, "plan": 7});
    let nobody = Person::nobody(up.url())?;
    assert_eq!(
        pair(&nobody.post(ROUTE, &nonsense).await?),
        (401, "UNAUTHENTICATED")
    );
    assert_eq!(
        pair(&person.post(ROUTE, &nonsense).await?),
        (403, "FORBIDDEN")
    );
    for bad in [json!({}), json!({"context_id": " "}), nonsense] {
        assert_eq!(
            pair(&host.post(ROUTE, &bad).await?),
            (400, "INVALID_REQUEST"),
            "{bad}"
        );
    }
    let unknown = host.post(ROUTE, &update("no-such-context", &[])).await?;
    assert_eq!(pair(&unknown), (409, "CONTEXT_EXPIRED"));
    let other = credential(&up, "host", "other", "studio").await?;
    let as_other = up.askbus().clone().env("ASKBUS_CREDENTIAL", other);
    let foreign = begin_turn(&as_other, "foreign", &["--profile", "other"]).await?;
    let refused = host.post(ROUTE, &update(&foreign, &[])).await?;
    assert_eq!(
        (refused.status, &refused.body),
        (unknown.status, &unknown.body)
    );
    let over = begin_turn(up.askbus(), "over", &[]).await?;
    assert_eq!(up.askbus().run(&["turn", "end", &over]).await?.code, 0);
    assert_eq!(
        pair(&host.post(ROUTE, &update(&over, &[])).await?),
        (409, "NO_ACTIVE_TURN")
    );
    // Neither is told to people, and agents see no plans of others.
    assert_eq!(plans(&person).await?, Vec::<Value>::new());
    assert_eq!(pair(&host.get("/api/plans").await?), (403, "FORBIDDEN"));
    assert_eq!(
        pair(&nobody.get("/api/plans").await?),
        (401, "UNAUTHENTICATED")
    );
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

// contract: E16 E20
#[tokio::test]
async fn a_killed_service_shows_what_it_stored_and_interrupts_what_nobody_works_on() -> Result<()> {
    let lease = [("ASKBUS_LEASE_MS", "1500")];
    let mut up = AskbusUp::start_with(BINARY, &[], &lease).await?;
    let (host, person) = (host(&up).await?, up.person().await?);
    let context = begin(&host, json!({"session_id": "s", "lease_ms": 1_500})).await?;
    let mut told = 0;
    for _ in 0..20 {
        let reply = host
            .post(ROUTE, &update(&context, &[step("a", "in_progress")]))
            .await?;
        told = reply.body["revision"].as_u64().context("a revision")?;
    }
    up.kill9().await?;
    up.restart().await?;
    // What its host was told is there; and since its host is gone, it does not go on.
    let mut socket = person.socket().await?;
    let first = socket.find(|m| m["event"] == "plan.updated").await?;
    assert!(first["revision"].as_u64() >= Some(told), "{first}");
    let ended = socket
        .find(|m| m["event"] == "plan.updated" && m["execution_state"] == "interrupted")
        .await?;
    assert_eq!(ended["revision"].as_u64(), Some(told + 1));
    assert_eq!(ended["plan"][0]["status"], "pending");
    assert_eq!(
        pair(
            &host
                .post(ROUTE, &update(&context, &[step("a", "pending")]))
                .await?
        )
        .0,
        409
    );
    Ok(())
}

/// Shows the plan under one id for as long as it takes, as a host does.
async fn insist(host: &Person, context: &str, update_id: &str) -> Result<Value> {
    let mut body = update(context, &[step(update_id, "pending")]);
    body["update_id"] = json!(update_id);
    let shown = async {
        loop {
            match host.post(ROUTE, &body).await {
                Ok(reply) if reply.status == 200 => return Ok(reply.body),
                // Whether it was stored is not known: the same again.
                Ok(reply) if reply.status == 503 => {}
                Ok(reply) => anyhow::bail!("{reply:?}"),
                Err(_) => {}
            }
            tokio::task::yield_now().await;
        }
    };
    within("a plan is shown", shown).await?
}

/// How often its service dies.
const ROUNDS: u64 = 6;

// contract: E16
#[tokio::test]
async fn an_update_counts_once_however_often_its_service_dies_before_it_says_so() -> Result<()> {
    let (nats, team) = (NatsServer::start().await?, Team::prepare(BINARY).await?);
    let mut binding = team.session_binding(&nats).await?;
    let mut gateway = team.gateway(&nats, &binding.address).await?;
    let address = gateway.address.clone();
    let token = team.credential("host", "acme", "default", "ci").await?;
    let host = Person::bearer(&address, &token)?;
    let context = begin(&host, json!({"session_id": "s", "for_ms": 600_000})).await?;
    for round in 0..ROUNDS {
        let update_id = format!("update-{round}");
        let (asking, at) = (Person::bearer(&gateway.address, &token)?, context.clone());
        let named = update_id.clone();
        let sent = tokio::spawn(async move {
            let mut body = update(&at, &[step(&named, "pending")]);
            body["update_id"] = json!(named);
            asking.post(ROUTE, &body).await
        });
        // Killed on the way, wherever that is: between store and word, or before either.
        tokio::task::yield_now().await;
        if round % 2 == 0 {
            binding.process.kill9().await?;
            binding = team.session_binding(&nats).await?;
        }
        gateway.process.kill9().await?;
        gateway = team.gateway(&nats, &binding.address).await?;
        let host = Person::bearer(&gateway.address, &token)?;
        let shown = insist(&host, &context, &update_id).await?;
        assert_eq!(shown["revision"], round + 1, "{shown}");
        assert_eq!(
            insist(&host, &context, &update_id).await?,
            shown,
            "the first outcome"
        );
        drop(within("the call ends", sent).await??);
    }
    // Who was away through all of it sees the last of it.
    let ann = team
        .person(&gateway.address, "acme", "default", "ann")
        .await?;
    let mut socket = ann.socket().await?;
    let last = socket.find(|m| m["event"] == "plan.updated").await?;
    assert_eq!(last["revision"], ROUNDS);
    // And an older one, sent again, is told what it led to then.
    let host = Person::bearer(&gateway.address, &token)?;
    let old = insist(&host, &context, "update-1").await?;
    assert_eq!(
        (&old["revision"], &old["plan"][0]["id"]),
        (&json!(2), &json!("update-1"))
    );
    assert_eq!(plans(&ann).await?[0]["revision"], ROUNDS);
    Ok(())
}

async fn many_updates(address: &str, token: &str, person: &Person, each: u64) -> Result<()> {
    let host = Person::bearer(address, token)?;
    let context = begin(&host, json!({"session_id": "busy", "for_ms": 600_000})).await?;
    let mut socket = person.socket().await?;
    socket.find(|m| m["event"] == "ready").await?;
    let target: Target = address.parse()?;
    let writer = |name: &'static str| {
        let (target, token, context) = (target.clone(), token.to_owned(), context.clone());
        tokio::spawn(async move {
            let mut plans = Client::new(&target, &token)?.plans;
            let mut order = BTreeMap::new();
            for n in 0..each {
                let plan =
                    json!({"plan": [{"id": name, "step": n.to_string(), "status": "pending"}]});
                let request = UpdatePlanRequest {
                    context_id: context.clone(),
                    input: Some(Input::ArgumentsJson(plan.to_string())),
                    ..UpdatePlanRequest::default()
                };
                let shown = loop {
                    match plans.update(request.clone()).await {
                        Ok(shown) => break shown.into_inner().plan,
                        // Too fast for one caller: nothing was done.
                        Err(status) if status.code() == tonic::Code::ResourceExhausted => {
                            tokio::time::sleep(Duration::from_millis(20)).await;
                        }
                        Err(status) => return Err(status.into()),
                    }
                };
                let shown = shown.context("a plan")?;
                order.insert(shown.revision, shown.plan[0].step.clone());
            }
            anyhow::Ok(order)
        })
    };
    let (one, two) = (writer("one"), writer("two"));
    let follower = tokio::spawn(async move {
        let mut seen = Vec::new();
        while let Some(object) = socket.next().await? {
            if object["event"] == "plan.updated" {
                let last = object["revision"] == 2 * each;
                seen.push(object);
                if last {
                    return Ok(seen);
                }
            }
        }
        anyhow::bail!("the socket was closed")
    });
    let (one, two) = (one.await??, two.await??);
    // Each writer's own updates stand in their order, and no revision is anybody else's.
    for order in [&one, &two] {
        let steps: Vec<&String> = order.values().collect();
        let expected: Vec<String> = (0..each).map(|n| n.to_string()).collect();
        assert_eq!(steps, expected.iter().collect::<Vec<_>>());
    }
    let mut revisions: Vec<u64> = one.keys().chain(two.keys()).copied().collect();
    revisions.sort_unstable();
    assert_eq!(revisions, (1..=2 * each).collect::<Vec<_>>());
    let seen = follower.await??;
    let revisions = seen.iter().filter_map(|m| m["revision"].as_u64());
    assert!(revisions.is_sorted(), "in the order of the log");
    let last = seen.last().context("it saw nothing")?;
    let listed = plans(person).await?;
    assert_eq!(
        (&listed[0]["revision"], &listed[0]["plan"]),
        (&last["revision"], &last["plan"])
    );
    Ok(())
}

// contract: E16
#[tokio::test]
async fn ten_thousand_updates_of_two_writers_have_one_order_without_gaps() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let token = credential(&up, "host", "default", "studio").await?;
    many_updates(up.url(), &token, &up.person().await?, 5_000).await
}

// contract: E16
#[tokio::test]
async fn two_writers_on_two_replicas_have_one_order_without_gaps() -> Result<()> {
    let (nats, team) = (NatsServer::start().await?, Team::prepare(BINARY).await?);
    let (one, two) = (
        team.session_binding(&nats).await?,
        team.session_binding(&nats).await?,
    );
    let both: Vec<&Service> = vec![&one, &two];
    let list: Vec<&str> = both.iter().map(|s| s.address.as_str()).collect();
    let gateway = team.gateway(&nats, &list.join(",")).await?;
    let token = team.credential("host", "acme", "default", "ci").await?;
    let ann = team
        .person(&gateway.address, "acme", "default", "ann")
        .await?;
    many_updates(&gateway.address, &token, &ann, 300).await
}

// contract: E18
#[tokio::test]
async fn a_rooms_managers_join_it_follow_its_plan_and_answer_its_questions() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let host = host(&up).await?;
    let member = async |sub: &str, group: &str| {
        let args = [
            "credential",
            "issue",
            "--role",
            "person",
            "--sub",
            sub,
            "--group",
            group,
        ];
        let done = up.askbus().run(&args).await?;
        anyhow::ensure!(done.code == 0, "{done:?}");
        Person::bearer(up.url(), done.stdout.trim())
    };
    let (ann, bob) = (
        member("ann", "room:42").await?,
        member("bob", "room:7").await?,
    );
    let turn =
        json!({"session_id": "chat", "group_chat": true, "room_id": "42", "for_ms": 600_000});
    let context = begin(&host, turn).await?;
    let mut socket = ann.socket().await?;
    let join = json!({"event": "room.join", "roomId": "42"});
    socket.send(&join).await?;
    let joined = socket.find(|m| m["event"] == "room.joined").await?;
    assert_eq!(
        (&joined["ok"], &joined["pendingClarifies"]),
        (&json!(true), &json!([]))
    );
    host.post(ROUTE, &update(&context, &[step("a", "pending")]))
        .await?;
    let plan = socket.find(|m| m["event"] == "plan.updated").await?;
    assert_eq!(plan["room_id"], "42", "{plan}");

    let question = json!({"context_id": context, "question": "Deploy?", "choices": ["yes", "no"]});
    let waiting = host.post("/api/studio/clarifications/request", &question);
    let (answered, ()) = futures::try_join!(waiting, async {
        let shown = socket.find(|m| m["event"] == "clarify.requested").await?;
        assert_eq!(
            (&shown["room_id"], &shown["may_answer"]),
            (&json!("42"), &json!(true))
        );
        assert_eq!(shown["to"], json!({"group": "room:42"}));
        let answer = json!({"event": "clarify.respond", "roomId": "42",
            "clarify_id": id(&shown), "response": "no"});

        // Whoever joins later finds it.
        let mut later = ann.socket().await?;
        later.send(&join).await?;
        let joined = later.find(|m| m["event"] == "room.joined").await?;
        assert_eq!(
            joined["pendingClarifies"][0]["clarify_id"],
            shown["clarify_id"]
        );
        assert_eq!(joined["plans"][0]["revision"], 1, "{joined}");

        // Of another room's managers nobody joins or answers.
        let mut other = bob.socket().await?;
        other.send(&join).await?;
        let refused = other.find(|m| m["event"] == "room.joined").await?;
        assert_eq!(
            (&refused["reason"], &refused["ok"]),
            (&json!("NOT_ADDRESSED"), &json!(null))
        );
        other.send(&answer).await?;
        let refused = other.find(|m| m["event"] == "clarify.ack").await?;
        assert!(
            refused["error"].is_string() && refused["ok"].is_null(),
            "{refused}"
        );
        // Nor does a room answer what is not its own.
        let mut mine = answer.clone();
        mine["roomId"] = json!("7");
        other.send(&mine).await?;
        let refused = other.find(|m| m["roomId"] == "7").await?;
        assert_eq!(refused["reason"], "UNKNOWN_CLARIFICATION", "{refused}");
        assert_eq!(ann.pending().await?.len(), 1);

        socket.send(&answer).await?;
        let ack = socket.find(|m| m["event"] == "clarify.ack").await?;
        assert_eq!(
            (&ack["ok"], &ack["resolved"]),
            (&json!(true), &json!(true)),
            "{ack}"
        );
        assert_eq!(
            (&ack["roomId"], &ack["clarify_id"]),
            (&json!("42"), &shown["clarify_id"])
        );
        assert!(ack["stale"].is_null() && ack["error"].is_null(), "{ack}");

        let mut again = answer.clone();
        again["response"] = json!("yes");
        later.send(&again).await?;
        let ack = later.find(|m| m["event"] == "clarify.ack").await?;
        assert_eq!(
            (&ack["ok"], &ack["resolved"]),
            (&json!(true), &json!(false)),
            "{ack}"
        );
        assert_eq!(ack["stale"], true, "{ack}");
        later.send(&join).await?;
        let joined =
            later.find(|m| m["event"] == "room.joined" && m["pendingClarifies"] == json!([]));
        joined.await?;
        Ok(())
    })?;
    assert_eq!(
        (&answered.body["reason"], &answered.body["response"]),
        (&json!("response"), &json!("no"))
    );
    Ok(())
}
