//! What the server says to its client.

mod fixture;

use askbus_mcp_adapter::{Gate, Panel, Toolset};
use askbus_wire::error::ErrorCode;
use fixture::client::{Client, open_gate, text};
use fixture::service::{Script, Service, answer, outcome};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

async fn studio(service: &Service) -> Client {
    Client::connect(service.options(), Toolset::Studio, open_gate()).await
}

// contract: A1 A4 A9 P8
#[tokio::test]
async fn the_tools_of_each_toolset_are_listed_without_a_service() {
    let service = Service::down();
    let mut client = Client::ask_toolset(service.options()).await;
    insta::assert_json_snapshot!("ask", client.request(1, "tools/list", json!({})).await);
    let mut client = studio(&service).await;
    insta::assert_json_snapshot!("studio", client.request(1, "tools/list", json!({})).await);
    let options = service.options();
    let mut client = Client::connect(options, Toolset::Interaction, Gate::default()).await;
    let listed = client.request(1, "tools/list", json!({})).await;
    insta::assert_json_snapshot!("interaction", listed);
}

// contract: E1 E2
#[tokio::test]
async fn the_gate_guards_the_list_the_instructions_and_the_call() {
    let service = Service::up();
    let context_id = service.host_turn();
    let arguments = json!({"context_id": context_id, "question": "q"});
    let native = |name: &str| match name {
        Gate::USER_CLARIFICATION | Gate::NATIVE_TASK_PLAN => Some("1".to_owned()),
        _ => None,
    };
    for (gate, plans) in [(Gate::default(), true), (Gate::read(native), false)] {
        let mut client = Client::raw(service.options(), Toolset::Studio, gate);
        let info = client.initialize().await;
        assert_eq!(info["serverInfo"]["name"], "ekko-studio-interaction");
        // Only the agent's own plan hides ours; what may not ask is not told of asking.
        let told = info["instructions"].as_str().unwrap_or_default();
        assert_eq!(told.contains("ekko_studio_update_plan"), plans, "{info}");
        assert!(!told.contains("ekko_studio_clarify"), "{info}");
        let tools = &client.request(1, "tools/list", json!({})).await["tools"];
        let names: Vec<&str> = tools
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|t| t["name"].as_str())
            .collect();
        let expected: &[&str] = if plans {
            &["ekko_studio_update_plan"]
        } else {
            &[]
        };
        assert_eq!(names, expected);
        for tool in ["ekko_studio_clarify", "hermes_studio_clarify"] {
            client.call(2, tool, arguments.clone()).await;
            assert_eq!(client.error(Some(2)).await["code"], -32602);
        }
    }
    service.state(|s| assert!(s.asks.is_empty()));

    let mut client = Client::raw(service.options(), Toolset::Studio, open_gate());
    let info = client.initialize().await;
    assert!(
        info["instructions"]
            .as_str()
            .unwrap()
            .contains("ekko_studio_clarify")
    );
}

// contract: E1 E3 E5 E7 E13
#[tokio::test]
async fn the_studio_tool_and_its_alias_ask_in_the_turn_they_name() {
    let service = Service::up();
    let mut client = studio(&service).await;
    for (nth, tool) in ["ekko_studio_clarify", "hermes_studio_clarify"]
        .into_iter()
        .enumerate()
    {
        let context_id = service.host_turn();
        let arguments = json!({"context_id": context_id, "question": "q", "choices": ["a", "b"]});
        client.call(7, tool, arguments).await;
        let clarify_id = service.question(nth).await;
        service.settle(&clarify_id, answer("own words"));
        let result = client.result(7).await;
        let expected = json!({"ok": true, "clarify_id": clarify_id, "response": "own words", "reason": "response"});
        assert_eq!(result["structuredContent"], expected);
        assert_eq!(
            serde_json::from_str::<Value>(text(&result)).unwrap(),
            expected
        );
        assert_eq!(result["isError"], false);
        service.state(|s| {
            let ask = &s.asks[nth];
            assert_eq!(
                (ask.dialect.as_str(), &ask.context_id),
                ("studio", &context_id)
            );
            let limit = ask.call_limit_ms.unwrap();
            assert!((300_000..=320_000).contains(&limit), "{limit}");
            assert!(s.begins.is_empty());
        });
    }
}

// contract: E7 E19
#[tokio::test]
async fn the_studio_tool_says_only_its_four_words() {
    let service = Service::up();
    let mut client = studio(&service).await;
    let words = [
        ("timeout", "timeout"),
        ("dismissed", "dismissed"),
        ("off", "cancelled"),
        ("unattended", "timeout"),
    ];
    for (nth, (reason, word)) in words.into_iter().enumerate() {
        let context_id = service.host_turn();
        client
            .call(
                1,
                "ekko_studio_clarify",
                json!({"context_id": context_id, "question": "q"}),
            )
            .await;
        service.settle(&service.question(nth).await, outcome(reason));
        let result = client.result(1).await;
        assert_eq!(result["structuredContent"]["reason"], word);
        assert_eq!(result["structuredContent"]["response"], "");
        assert_eq!(result["isError"], false);
    }
}

// contract: E6
#[tokio::test]
async fn what_the_service_refuses_is_an_error_the_model_can_read() {
    let service = Service::up();
    let mut client = studio(&service).await;
    let call = |context_id: &str| json!({"context_id": context_id, "question": "q"});
    client
        .call(1, "ekko_studio_clarify", call("nobody's"))
        .await;
    let result = client.result(1).await;
    assert_eq!(result["isError"], true);
    assert_eq!(result["structuredContent"]["ok"], false);
    assert_eq!(result["structuredContent"]["reason"], "CONTEXT_EXPIRED");
    for code in [
        ErrorCode::Busy,
        ErrorCode::NoActiveTurn,
        ErrorCode::Forbidden,
    ] {
        service.script(Script::Fail(code));
        client
            .call(2, "ekko_studio_clarify", call(&service.host_turn()))
            .await;
        let result = client.result(2).await;
        assert_eq!(result["isError"], true);
        assert_eq!(result["structuredContent"]["reason"], code.as_str());
        assert!(
            text(&result).contains(&format!("scripted {}", code.as_str())),
            "{result}"
        );
    }
    client
        .call(3, "ekko_studio_clarify", json!({"question": "q"}))
        .await;
    let result = client.result(3).await;
    assert_eq!(result["structuredContent"]["reason"], "INVALID_REQUEST");
    service.state(|s| assert!(s.begins.is_empty()));
}

// contract: A1 A2 A9
#[tokio::test]
async fn a_settled_call_carries_text_and_structure() {
    let service = Service::up();
    let mut client = Client::ask_toolset(service.options()).await;
    let arguments = json!({"questions": [{"question": "Which?", "options": ["a", {"label": "b"}], "recommended": 1}]});
    client.call(1, "ask_user", arguments).await;
    let clarify_id = service.question(0).await;
    let mut chosen = answer("with care");
    chosen.answers[0].options = vec![askbus_wire::proto::ChosenOption {
        id: "o2".to_owned(),
        label: "b".to_owned(),
    }];
    service.settle(&clarify_id, chosen);
    let result = client.result(1).await;
    assert_eq!(
        result["structuredContent"],
        json!({
            "status": "settled", "clarify_id": clarify_id, "session_id": "session",
            "reason": "response", "mode": "answered", "decided_by": "person",
            "actor": {"person": "ann", "surface": "web"},
            "answers": [{"question_id": "q1", "options": [{"id": "o2", "label": "b"}], "text": "with care", "note": null}],
            "partial": [], "unanswered": [], "dismissed_questions": [], "assumptions": [],
            "text": null, "deferred_text": null, "late": [], "timeout": null,
            "message": text(&result),
        })
    );
    assert_eq!(result["isError"], false);
    assert!(text(&result).contains("The person answered") && text(&result).contains("Which?"));
}

// contract: A3 E19
#[tokio::test]
async fn no_way_of_settling_is_an_error() {
    let service = Service::up();
    let mut client = Client::ask_toolset(service.options()).await;
    let reasons = [
        "ask_back",
        "dismissed",
        "skipped",
        "timeout",
        "unattended",
        "deferred",
        "off",
    ];
    for (nth, reason) in reasons.into_iter().enumerate() {
        client.ask(1, "q").await;
        service.settle(&service.question(nth).await, outcome(reason));
        let result = client.result(1).await;
        assert_eq!(result["isError"], false);
        assert_eq!(result["structuredContent"]["reason"], reason);
        assert_eq!(result["structuredContent"]["answers"], json!([]));
        assert_eq!(result["structuredContent"]["actor"], Value::Null);
    }
}

// contract: A1 E4
#[tokio::test]
async fn questions_that_cannot_be_shown_are_refused_without_a_turn() {
    let service = Service::up();
    let mut client = Client::ask_toolset(service.options()).await;
    for arguments in [
        json!({}),
        json!({"questions": []}),
        json!({"questions": [{"question": "  "}]}),
    ] {
        client.call(1, "ask_user", arguments).await;
        let result = client.result(1).await;
        assert_eq!(result["isError"], true);
        assert_eq!(result["structuredContent"]["reason"], "INVALID_QUESTION");
        assert!(text(&result).contains("Correct the arguments"), "{result}");
    }
    service.state(|s| assert!(s.begins.is_empty() && s.asks.is_empty()));
}

// contract: A4
#[tokio::test]
async fn arguments_reach_the_service_as_they_came() {
    let service = Service::up();
    let mut client = Client::ask_toolset(service.options()).await;
    // One object for a list, twice-encoded options, a numeric string: what models send.
    let arguments =
        json!({"questions": {"prompt": "q", "choices": "[\"a\", \"b\"]"}, "timeout_s": "90"});
    client.call(1, "ask_user", arguments.clone()).await;
    service.question(0).await;
    service.state(|s| {
        let Some(askbus_wire::proto::ask_request::Input::ArgumentsJson(sent)) = &s.asks[0].input
        else {
            panic!("typed input");
        };
        assert_eq!(serde_json::from_str::<Value>(sent).unwrap(), arguments);
        assert_eq!(s.asks[0].call_limit_ms, None);
    });
}

#[tokio::test]
async fn progress_goes_at_once_to_who_gave_a_token_and_says_where_to_answer() {
    let service = Service::up();
    let mut client = Client::ask_toolset(service.options()).await;
    let params = json!({"name": "ask_user", "arguments": {"questions": ["q"]}, "_meta": {"progressToken": "t"}});
    client
        .send(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}))
        .await;
    let mut last = 0.0;
    loop {
        let message = client.next().await;
        assert_eq!(message["method"], "notifications/progress");
        let params = &message["params"];
        assert_eq!(params["progressToken"], "t");
        let progress = params["progress"].as_f64().unwrap();
        assert!(progress > last);
        last = progress;
        let text = params["message"].as_str().unwrap();
        if text.contains("Waiting for a person") {
            assert!(text.contains("http://127.0.0.1:7000"), "{text}");
            break;
        }
    }
    client.ping(2).await;
    service.settle(&service.question(0).await, answer("yes"));
    client.result(1).await;
    // Without a token there is nothing legal to send.
    client.ask(3, "q").await;
    service.settle(&service.question(1).await, answer("yes"));
    client.result(3).await;
}

#[tokio::test]
async fn the_panel_is_looked_up_when_a_question_opens() {
    let service = Service::up();
    let address = Arc::new(Mutex::new(None));
    let known = Arc::clone(&address);
    let panel: Panel = Arc::new(move || known.lock().unwrap().clone());
    let mut client = Client::with_panel(service.options(), panel).await;
    // The service came up after this process.
    *address.lock().unwrap() = Some("http://127.0.0.1:7001".to_owned());
    let params = json!({"name": "ask_user", "arguments": {"questions": ["q"]}, "_meta": {"progressToken": "t"}});
    client
        .send(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}))
        .await;
    loop {
        let message = client.next().await;
        let text = message["params"]["message"].as_str().unwrap();
        if text.contains("Waiting for a person") {
            assert!(text.contains("http://127.0.0.1:7001"), "{text}");
            break;
        }
    }
}

#[tokio::test]
async fn ping_is_answered_while_a_call_waits() {
    let service = Service::up();
    let mut client = Client::ask_toolset(service.options()).await;
    client.ask(1, "q").await;
    service.question(0).await;
    client.ping(2).await;
}

#[tokio::test]
async fn what_comes_before_the_handshake_does_not_end_the_process() {
    let service = Service::down();
    let mut client = Client::raw(service.options(), Toolset::Ask, Gate::default());
    for method in [
        "notifications/initialized",
        "notifications/cancelled",
        "notifications/unknown",
    ] {
        client
            .send(&json!({"jsonrpc": "2.0", "method": method, "params": {"requestId": 1}}))
            .await;
    }
    client
        .send(&json!({"jsonrpc": "2.0", "id": 1, "result": {}}))
        .await;
    client.send_bytes(b"garbage\n").await;
    assert_eq!(client.error(None).await["code"], -32700);
    client.ping(2).await;
    client
        .send(&json!({"jsonrpc": "2.0", "id": 3, "method": "tools/list", "params": {}}))
        .await;
    client.error(Some(3)).await;
    client
        .send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
        .await;
    let info = client.initialize().await;
    assert_eq!(info["serverInfo"]["name"], "askbus");
    assert!(info["instructions"].as_str().unwrap().contains("ask_user"));
    let (rest, _) = client.end().await;
    assert!(rest.is_empty(), "{rest:?}");
}

#[tokio::test]
async fn a_client_of_the_stateless_era_needs_no_handshake() {
    let service = Service::up();
    let mut client = Client::raw(service.options(), Toolset::Ask, Gate::default());
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "modern", "version": "2"},
    });
    let found = client
        .request(1, "server/discover", json!({"_meta": meta}))
        .await;
    assert!(
        found["supportedVersions"]
            .as_array()
            .unwrap()
            .contains(&json!("2026-07-28")),
        "{found}"
    );
    // The cancellation of a probe that timed out.
    client.cancel(1).await;
    let params = json!({"name": "ask_user", "arguments": {"questions": ["q"]}, "_meta": meta});
    client
        .send(&json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params}))
        .await;
    service.settle(&service.question(0).await, answer("yes"));
    assert_eq!(
        client.result(2).await["structuredContent"]["reason"],
        "response"
    );
    service.state(|s| assert_eq!(s.asks[0].asker.as_ref().unwrap().client, "modern 2"));
}

#[tokio::test]
async fn input_that_ends_at_once_is_answered_first() {
    let service = Service::down();
    let mut client = Client::ask_toolset(service.options()).await;
    client
        .send(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}))
        .await;
    let (rest, _) = client.end().await;
    assert_eq!(rest.len(), 1);
    assert_eq!(rest[0]["id"], 1);
}
