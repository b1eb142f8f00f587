//! Messages over HTTP that cannot be read, or not be done, and what their sender hears of them.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod fixture;

use fixture::http::{Connection, Http, Request};
use fixture::service::{Service, answer};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;

fn words(result: &Value) -> &Value {
    &result["structuredContent"]["answers"][0]["text"]
}

/// The error with which a request is refused, and the id under which that is said.
async fn refused(http: &Http, request: &Request, body: &str) -> (Value, Value) {
    let mut connection = http.connect().await;
    connection.send_body(request, body).await;
    error(connection, body).await
}

async fn error(mut connection: Connection, body: &str) -> (Value, Value) {
    let head = connection.head().await;
    assert_eq!(head.status, 400, "{body:.300}: {head:?}");
    let reply = connection.whole(&head).await;
    assert_eq!(reply["jsonrpc"], "2.0", "{body:.300}: {reply}");
    (reply["error"].clone(), reply["id"].clone())
}

/// As over lines: a question cut within a character is asked, and an error names the request it is about.
// contract: A1 E13
#[tokio::test]
async fn what_cannot_be_read_is_refused_in_the_words_of_the_protocol() {
    let service = Service::up();
    let http = Http::serve(&service).await;
    let token = http.token("agent");
    let request = Request::ask(&token, 1, "Ship it?");
    for (body, id, code) in [
        ("5", None, -32600),
        ("[]", None, -32600),
        (
            r#"[{"jsonrpc":"2.0","id":9,"method":"ping"}]"#,
            None,
            -32600,
        ),
        ("null", None, -32600),
        ("{}", None, -32600),
        ("", None, -32700),
        (" \r\n", None, -32700),
        ("\u{feff}", None, -32700),
        ("{", None, -32700),
        // Over lines these need no answer; a request over HTTP gets one.
        (r#"{"jsonrpc":"1.0","method":"m"}"#, None, -32600),
        (r#"{"jsonrpc":"2.0","id":{},"result":{}}"#, None, -32600),
        (
            r#"{"jsonrpc":"2.0","id":9,"method":"tools/call","params":nonsense}"#,
            Some(9),
            -32700,
        ),
        (
            r#"{"jsonrpc":"2.0","id":9,"method":"tools/call","params":[]}"#,
            Some(9),
            -32602,
        ),
    ] {
        let (error, named) = refused(&http, &request, body).await;
        assert_eq!(error["code"], code, "{body}: {error}");
        assert_eq!(named, json!(id), "{body}: {error}");
    }
    let broken = request.head("POST", 0);
    let broken = broken.replace("content-length: 0", "transfer-encoding: chunked");
    let mut connection = http.connect().await;
    let sent = format!("{broken}1\r\n{{\r\nno size\r\n");
    connection.write.write_all(sent.as_bytes()).await.unwrap();
    let (told, named) = error(connection, &sent).await;
    assert_eq!((&told["code"], named), (&json!(-32700), Value::Null));
    assert!(
        told["message"].as_str().unwrap().contains("broke off"),
        "{told}"
    );

    // With the mark that some programs write before any text.
    let cut = request.body.to_string().replace("Ship it?", "Ship \\ud83d");
    let cut = format!("\u{feff}{cut}");
    let mut connection = http.connect().await;
    connection.send_body(&request, &cut).await;
    let clarify_id = service.question(0).await;
    service.state(|s| assert_eq!(s.clarifications[0].questions[0].question, "Ship \u{fffd}"));
    service.settle(&clarify_id, answer("yes"));
    assert_eq!(connection.head().await.status, 200);
    assert_eq!(words(&connection.result(1).await), "yes");
    http.stop().await;
}

/// Ids of calls are a session's own; a cancellation is for a call that is open there, or for none.
// contract: E11
#[tokio::test]
async fn a_stray_cancellation_withdraws_nothing() {
    let service = Service::up();
    let http = Http::serve(&service).await;
    let token = http.token("agent");
    let (session, neighbour) = (http.session(&token).await, http.session(&token).await);
    let mut asking = http.connect().await;
    asking
        .send(&Request::ask_in(&session, &token, 1, "in a session?"))
        .await;
    let first = service.question(0).await;
    let mut alone = http.connect().await;
    alone.send(&Request::ask(&token, 1, "alone?")).await;
    let second = service.question(1).await;
    for stray in [
        Request::cancel(&token, 1).of(&neighbour),
        Request::cancel(&token, 99).of(&session),
        Request::cancel(&token, 1)
            .with("mcp-protocol-version", "2026-07-28")
            .with("mcp-method", "notifications/cancelled"),
        Request::cancel(&token, 1),
    ] {
        // Whatever is said to it.
        http.send(&stray).await;
    }
    http.settle_down().await;
    service.settle(&first, answer("one"));
    service.settle(&second, answer("two"));
    for (connection, told) in [(&mut asking, "one"), (&mut alone, "two")] {
        assert_eq!(connection.head().await.status, 200);
        assert_eq!(words(&connection.result(1).await), told);
    }
    // Some clients send one after every call that went well.
    let late = Request::cancel(&token, 1).of(&session);
    assert_eq!(http.send(&late).await.0.status, 202);
    http.settle_down().await;
    service.state(|s| assert_eq!(s.cancels, Vec::<String>::new()));
    // The one that is meant: it is heard.
    let mut meant = http.connect().await;
    meant
        .send(&Request::ask_in(&session, &token, 2, "meant?"))
        .await;
    let third = service.question(2).await;
    http.send(&Request::cancel(&token, 2).of(&session)).await;
    service
        .until("the withdrawal", |s| {
            s.cancels.contains(&third).then_some(())
        })
        .await;
    service.state(|s| assert_eq!(s.cancels, [third]));
    http.stop().await;
}

/// Both would be answered, and one of the answers would reach nobody. In a session of its own an id is free.
// contract: E13
#[tokio::test]
async fn a_second_request_under_an_open_id_of_a_session_asks_nobody() {
    let service = Service::up();
    let http = Http::serve(&service).await;
    let token = http.token("agent");
    let (session, neighbour) = (http.session(&token).await, http.session(&token).await);
    let asking = |id: u64, question: &str| Request::ask_in(&session, &token, id, question);
    let (head, mut first) = http.send(&asking(7, "first?")).await;
    assert_eq!(head.status, 200);
    let clarify_id = service.question(0).await;
    let second = asking(7, "second?");
    let unread = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":nonsense}"#;
    for body in [&second.body.to_string(), unread] {
        let (error, named) = refused(&http, &second, body).await;
        assert_eq!(
            (&error["code"], named),
            (&json!(-32600), Value::Null),
            "{error}"
        );
    }
    // A text is no number, and another session has ids of its own.
    let mut text = asking(7, "third?");
    text.body["id"] = json!("7");
    let mut others = Vec::new();
    for request in [text, Request::ask_in(&neighbour, &token, 7, "fourth?")] {
        let (head, connection) = http.send(&request).await;
        assert_eq!(head.status, 200);
        service.question(1 + others.len()).await;
        others.push(connection);
    }
    service.settle(&clarify_id, answer("one"));
    assert_eq!(words(&first.result(7).await), "one");
    for (nth, connection) in others.iter_mut().enumerate() {
        service.settle(&service.question(1 + nth).await, answer("other"));
        assert_eq!(words(&connection.message().await["result"]), "other");
    }
    service.state(|s| assert_eq!(s.asks.len(), 3));
    http.stop().await;
}

/// An id is open as long as a reply under it may come, and no longer.
// contract: E11 E13
#[tokio::test]
async fn an_id_of_a_session_is_free_once_nothing_comes_under_it() {
    let service = Service::up();
    let http = Http::serve(&service).await;
    let token = http.token("agent");
    let session = http.session(&token).await;
    let asking = |question: &str| Request::ask_in(&session, &token, 7, question);
    // Refused before it came as far as the session.
    let stranger = asking("of no version?").with("mcp-protocol-version", "1999-01-01");
    assert_eq!(http.send(&stranger).await.0.status, 400);
    let (head, mut answered) = http.send(&asking("answered?")).await;
    assert_eq!(head.status, 200);
    service.settle(&service.question(0).await, answer("yes"));
    assert_eq!(words(&answered.result(7).await), "yes");
    let (head, lost) = http.send(&asking("lost?")).await;
    assert_eq!(head.status, 200);
    service.question(1).await;
    drop(lost);
    http.settle_down().await;
    let (head, _cancelled) = http.send(&asking("cancelled?")).await;
    assert_eq!(head.status, 200);
    let cancelled = service.question(2).await;
    http.send(&Request::cancel(&token, 7).of(&session)).await;
    service
        .until("the withdrawal", |s| {
            s.cancels.contains(&cancelled).then_some(())
        })
        .await;
    // What is done for it may not have ended yet.
    let again = asking("again?");
    let (error, _) = refused(&http, &again, &again.body.to_string()).await;
    assert_eq!(error["code"], -32600, "{error}");
    service.state(|s| assert_eq!(s.asks.len(), 3));
    http.stop().await;
}

// contract: E4
#[tokio::test]
async fn a_long_name_is_told_back_short() {
    let http = Http::serve(&Service::up()).await;
    let token = http.token("agent");
    let session = http.session(&token).await;
    let long = "n".repeat(900_000);
    let short = format!("{}…", "n".repeat(100));
    let call = json!({"name": long, "arguments": {}});
    for (method, params, code, message) in [
        (
            "tools/call",
            call,
            -32602,
            format!("there is no tool \"{short}\" here"),
        ),
        (&long, json!({}), -32601, short.clone()),
    ] {
        let mut stateless = Request::stateless(&token, 1, method, params.clone());
        let long_header = |(_, value): &(String, String)| value.len() > 1_000;
        stateless.headers.retain(|header| !long_header(header));
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let in_session = Request::plain(&token, body).of(&session);
        for request in [stateless, in_session] {
            let (error, named) = refused(&http, &request, &request.body.to_string()).await;
            assert_eq!(named, 1);
            assert_eq!(error, json!({"code": code, "message": message}));
        }
    }
    let long = json!({"jsonrpc": "2.0", "id": long, "method": "ping"});
    let (error, named) =
        refused(&http, &Request::plain(&token, json!({})), &long.to_string()).await;
    assert_eq!((&error["code"], named), (&json!(-32600), Value::Null));
    assert_eq!(error["message"], "an id has at most 128 bytes");
    http.stop().await;
}
