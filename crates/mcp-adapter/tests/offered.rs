//! What a client is shown, by what it says of itself.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod fixture;

use askbus_mcp_adapter::{Gate, Toolset};
use fixture::client::Client;
use fixture::service::{Service, answer};
use serde_json::{Value, json};

/// What each client said of itself when it was recorded.
fn recorded() -> Vec<(String, Value)> {
    let clients = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../testkit/clis");
    let entries = std::fs::read_dir(clients).unwrap().map(Result::unwrap);
    let mut said: Vec<_> = entries
        .map(|entry| {
            let text = std::fs::read_to_string(entry.path().join("recorded.json")).unwrap();
            let said: Value = serde_json::from_str(&text).unwrap();
            let name = entry.file_name().into_string().unwrap();
            (name, said["initialize"].clone())
        })
        .filter(|(_, hello)| hello.is_object())
        .collect();
    said.sort_by(|(one, _), (other, _)| one.cmp(other));
    assert!(said.iter().any(|(name, _)| name == "gemini"), "{said:?}");
    assert!(said.len() > 4, "{said:?}");
    said
}

// contract: A1 P8
#[tokio::test]
async fn a_client_that_hides_the_tool_is_shown_it_under_another_name() {
    let service = Service::up();
    for (name, hello) in recorded() {
        let (shown, hidden) = if name == "gemini" {
            ("ask_person", "ask_user")
        } else {
            ("ask_user", "ask_person")
        };
        let mut client = Client::raw(service.options(), Toolset::Ask, Gate::default());
        let info = client.request(0, "initialize", hello).await;
        client
            .send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
            .await;
        let instructions = info["instructions"].as_str().unwrap();
        let listed = client.request(1, "tools/list", json!({})).await;
        assert_eq!(listed, client.request(2, "tools/list", json!({})).await);
        assert_eq!(listed["tools"][0]["name"], shown, "{name}");
        // Nothing speaks of a tool that this client's model cannot see.
        for text in [instructions, &listed.to_string()] {
            assert!(text.contains(shown), "{name}: {text}");
            assert!(!text.contains(hidden), "{name}: {text}");
        }
        let able = json!({"name": "list_capabilities", "arguments": {}});
        let able = client.request(3, "tools/call", able).await;
        let tools = &able["structuredContent"]["tools"];
        assert_eq!(tools[0]["name"], shown, "{name}");
        // Whoever knows either name may use it.
        for tool in [shown, hidden] {
            let nth = service.state(|s| s.clarifications.len());
            let question = json!({"questions": [{"question": format!("q{nth}?")}]});
            client.call(4, tool, question).await;
            service.settle(&service.question(nth).await, answer("yes"));
            assert_eq!(client.result(4).await["isError"], false, "{name} {tool}");
        }
    }
}

/// In the stateless era every request says anew who sends it.
// contract: A1
#[tokio::test]
async fn without_a_handshake_the_name_of_the_tool_follows_from_the_request() {
    let service = Service::down();
    let mut client = Client::raw(service.options(), Toolset::Ask, Gate::default());
    for (name, shown) in [
        ("gemini-cli-mcp-client", "ask_person"),
        ("codex", "ask_user"),
    ] {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": {"name": name, "version": "1"},
        });
        let info = client
            .request(1, "server/discover", json!({"_meta": meta}))
            .await;
        let instructions = info["instructions"].as_str().unwrap();
        assert!(instructions.contains(shown), "{name}: {instructions}");
        let listed = client
            .request(2, "tools/list", json!({"_meta": meta}))
            .await;
        assert_eq!(listed["tools"][0]["name"], shown);
    }
}

/// Some clients hold a call against the schema before they send it.
// contract: A4
#[tokio::test]
async fn the_schema_has_options_as_models_send_them() {
    let service = Service::up();
    let mut client = Client::ask_toolset(service.options()).await;
    let listed = client.request(1, "tools/list", json!({})).await;
    let schema = &listed["tools"][0]["inputSchema"];
    // A part of what may be, at the top, is what some clients refuse the whole tool for.
    for word in ["anyOf", "oneOf", "allOf"] {
        assert!(schema.get(word).is_none(), "{schema}");
    }
    let option = &schema["properties"]["questions"]["items"]["properties"]["options"]["items"];
    let kinds: Vec<_> = option["anyOf"].as_array().unwrap().iter().collect();
    assert_eq!(
        (&kinds[0]["type"], &kinds[1]["type"]),
        (&json!("object"), &json!("string")),
        "the fuller one first: {option}"
    );
    let options = json!(["a", {"label": "b", "description": "What b is."}]);
    let arguments = json!({"questions": [{"question": "Which?", "options": options}]});
    client.call(2, "ask_user", arguments).await;
    let clarify_id = service.question(0).await;
    let labels = service.state(|s| {
        let options = &s.clarifications[0].questions[0].options;
        options.iter().map(|o| o.label.clone()).collect::<Vec<_>>()
    });
    assert_eq!(labels, ["a", "b"]);
    service.settle(&clarify_id, answer("b"));
    client.result(2).await;
}
