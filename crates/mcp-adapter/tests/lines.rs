//! Lines that cannot be read, or not be done, and what their sender hears of them.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod fixture;

use fixture::client::Client;
use fixture::service::{Service, answer};
use serde_json::{Value, json};

#[tokio::test]
async fn lines_that_cannot_be_read_get_an_error_and_the_process_goes_on() {
    let service = Service::down();
    let mut client = Client::ask_toolset(service.options()).await;
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let long = format!("{{\"jsonrpc\": \"{}\"}}", "x".repeat(1024 * 1024));
    for bad in [
        "{not json".as_bytes(),
        b"\xff\xfe",
        deep.as_bytes(),
        long.as_bytes(),
    ] {
        client.send_bytes(bad).await;
        client.send_bytes(b"\n").await;
        assert_eq!(client.error(None).await["code"], -32700);
    }
    let deep_call = format!(
        r#"{{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{{"name":"ask_user","arguments":{{"questions":{}1{}}}}}}}"#,
        "[".repeat(500),
        "]".repeat(500)
    );
    client.send_bytes(deep_call.as_bytes()).await;
    client.send_bytes(b"\n").await;
    assert_eq!(client.error(Some(5)).await["code"], -32700);
    for invalid in [
        &b"[]\n"[..],
        b"1\n",
        b"{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}\n",
        b"{\"jsonrpc\":\"2.0\"}\n",
    ] {
        client.send_bytes(invalid).await;
        assert_eq!(client.error(None).await["code"], -32600);
    }
    client.send_bytes(b"{\"id\":8,\"method\":\"ping\"}\n").await;
    assert_eq!(client.error(Some(8)).await["code"], -32600);
    client.send(&json!({"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": {"arguments": {}}})).await;
    assert_eq!(client.error(Some(9)).await["code"], -32602);
    client
        .send(&json!({"jsonrpc": "2.0", "id": 10, "method": "no/such", "params": {}}))
        .await;
    assert_eq!(client.error(Some(10)).await["code"], -32601);
    client.send_bytes(b"\r\n\n").await;
    client.ping(11).await;
    // Two messages in one write, one message in two writes.
    client
        .send_bytes(b"{\"jsonrpc\":\"2.0\",\"id\":12,\"method\":\"ping\"}\r\n{\"jsonrpc\":\"2.0\",")
        .await;
    client.result(12).await;
    client.send_bytes(b"\"id\":13,\"method\":\"ping\"}\n").await;
    client.result(13).await;
}

/// JavaScript writes a text that was cut within an emoji so. The rest of it is a question all the same.
// contract: A1
#[tokio::test]
async fn a_question_cut_within_a_character_is_asked() {
    let service = Service::up();
    let mut client = Client::ask_toolset(service.options()).await;
    let call = r#"{"method":"tools/call","params":{"name":"ask_user","arguments":{"question":"Ship \ud83d","options":["\ud83d\ude80","\ude00 no"]}},"jsonrpc":"2.0","id":1}"#;
    client.send_bytes(format!("{call}\n").as_bytes()).await;
    let clarify_id = service.question(0).await;
    service.state(|s| {
        let question = &s.clarifications[0].questions[0];
        assert_eq!(question.question, "Ship \u{fffd}");
        let labels = question.options.iter().map(|o| o.label.as_str());
        assert_eq!(labels.collect::<Vec<_>>(), ["\u{1f680}", "\u{fffd} no"]);
    });
    service.settle(&clarify_id, answer("yes"));
    let result = client.result(1).await;
    assert_eq!(result["structuredContent"]["reason"], "response");
}

/// A client waits for hours for a reply that names its request; one that names none it cannot use.
// contract: E13
#[tokio::test]
async fn whoever_sent_a_broken_request_hears_of_it_under_its_id() {
    let service = Service::up();
    let mut client = Client::ask_toolset(service.options()).await;
    let text = "\u{1f600}".repeat(300_000);
    let long = json!({"name": "ask_user", "arguments": {"question": text}}).to_string();
    for (id, params) in [
        (1, r#"{"name":"ask_user","arguments":{"question":"\x"}}"#),
        (2, &long),
    ] {
        let before =
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{params}}}"#);
        let after =
            format!(r#"{{"method":"tools/call","params":{params},"jsonrpc":"2.0","id":{id}}}"#);
        for line in [before, after] {
            client.send_bytes(line.as_bytes()).await;
            client.send_bytes(b"\n").await;
            let error = client.error(Some(id)).await;
            assert_eq!(error["code"], -32700, "{error}");
        }
    }
    client.ping(3).await;
    service.state(|s| assert!(s.asks.is_empty()));
}

/// Two replies under one id: the client takes the first for both, and the second answer reaches nobody.
// contract: E13
#[tokio::test]
async fn a_second_request_under_an_open_id_asks_nobody() {
    let service = Service::up();
    let mut client = Client::ask_toolset(service.options()).await;
    client.ask(7, "first?").await;
    let clarify_id = service.question(0).await;
    client.ask(7, "second?").await;
    assert_eq!(client.error(None).await["code"], -32600);
    // Nor does one that cannot be read end the first.
    client
        .send_bytes(b"{\"id\":7,\"method\":\"ping\",\"params\":nonsense,\"jsonrpc\":\"2.0\"}\n")
        .await;
    assert_eq!(client.error(None).await["code"], -32600);
    service.settle(&clarify_id, answer("one"));
    let result = client.result(7).await;
    assert_eq!(result["structuredContent"]["answers"][0]["text"], "one");
    service.state(|s| assert_eq!(s.asks.len(), 1));
    // Answered, the id is free again; cancelled, it is not: the reply to the one could still be on its way.
    client.ask(7, "third?").await;
    service.question(1).await;
    client.cancel(7).await;
    client.ask(7, "fourth?").await;
    assert_eq!(client.error(None).await["code"], -32600);
    client.ask(8, "fifth?").await;
    service.settle(&service.question(2).await, answer("five"));
    let result: Value = client.result(8).await;
    assert_eq!(result["structuredContent"]["answers"][0]["text"], "five");
}

// contract: E4
#[tokio::test]
async fn a_long_name_is_told_back_short() {
    let mut client = Client::ask_toolset(Service::down().options()).await;
    let long = "n".repeat(900_000);
    let short = format!("{}…", "n".repeat(100));
    for (method, params, message) in [
        (
            "tools/call",
            json!({"name": long, "arguments": {}}),
            format!("there is no tool \"{short}\" here"),
        ),
        (&long, json!({}), short.clone()),
    ] {
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        client.send(&request).await;
        assert_eq!(client.error(Some(1)).await["message"], message);
    }
    let request = json!({"jsonrpc": "2.0", "id": long, "method": "ping"});
    client.send(&request).await;
    let error = client.error(None).await;
    assert_eq!(error["message"], "an id has at most 128 bytes");
}
