//! What a plan may be, and who may show one: kept on every way in, each breach with its code.

use super::{ROUTE, host, pair, plans, step, update};
use crate::support::{BINARY, begin_turn, credential};
use anyhow::{Context as _, Result};
use askbus_testkit::{AskbusUp, McpStdio, Person};
use askbus_wire::client::{Client, Target};
use askbus_wire::error::WireError;
use askbus_wire::proto::{UpdatePlanRequest, update_plan_request::Input};
use serde_json::{Value, json};

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

/// A host's request names its turn and its update; a tool takes the plan and nothing else.
// contract: E16
#[tokio::test]
async fn a_tool_takes_nothing_beside_the_plan() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let (host, person) = (host(&up).await?, up.person().await?);
    let context = begin_turn(up.askbus(), "s", &[]).await?;
    let mut named = update(&context, &[step("a", "pending")]);
    named["update_id"] = json!("u-1");
    let shown = host.post(ROUTE, &named).await?;
    assert_eq!((shown.status, &shown.body["revision"]), (200, &json!(1)));
    let gated = up
        .askbus()
        .clone()
        .env("HERMES_MCP_USER_CLARIFICATION", "1");
    let mut studio = McpStdio::connect(&gated, &["mcp", "--toolset", "studio"]).await?;
    let in_turn = up.askbus().clone().env("ASKBUS_CONTEXT", &context);
    let mut ask = McpStdio::connect(&in_turn, &["mcp"]).await?;
    let mut own = McpStdio::connect(up.askbus(), &["mcp"]).await?;
    let plan = json!({"plan": [step("a", "completed")]});
    let in_it = object(&plan, &[("context_id", context.as_str())]);
    let with_update = object(&plan, &[("update_id", "u-1")]);
    let both = object(&in_it, &[("update_id", "u-1")]);
    for (client, tool, extra) in [
        (
            &mut studio,
            "ekko_studio_update_plan",
            vec![(&both, "update_id")],
        ),
        (
            &mut ask,
            "update_plan",
            vec![(&with_update, "update_id"), (&in_it, "context_id")],
        ),
        (
            &mut own,
            "update_plan",
            vec![(&with_update, "update_id"), (&in_it, "context_id")],
        ),
    ] {
        for (call, (arguments, field)) in (1..).zip(extra) {
            client.call(call, tool, arguments.clone()).await?;
            let result = client.reply(call).await?["result"].clone();
            let structured = &result["structuredContent"];
            assert_eq!(structured["reason"], "INVALID_PLAN", "{tool}: {result}");
            let told = structured["error"].as_str().unwrap_or_default();
            let expected = format!("there is no field {field:?} in a plan");
            assert!(told.starts_with(&expected), "{tool} {arguments}: {told}");
        }
    }
    let listed = plans(&person).await?;
    assert_eq!((listed.len(), &listed[0]["revision"]), (1, &json!(1)));
    // The turn it names is no part of the plan.
    studio.call(2, "ekko_studio_update_plan", in_it).await?;
    let result = studio.reply(2).await?["result"].clone();
    assert_eq!(result["structuredContent"]["revision"], 2, "{result}");
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
