//! MCP over HTTP, from its first byte: who gets in, what is bounded, and what becomes of a call
//! whose connection goes.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod fixture;

use askbus_wire::error::ErrorCode;
use fixture::http::{HOST, Http, Request};
use fixture::service::{Script, Service, answer};
use serde_json::json;
use std::time::Duration;
use tokio::io::AsyncWriteExt as _;
use tokio::time::Instant;

/// What is cut within this time, on time that is made up, was not waited for without limit.
const SOON: Duration = Duration::from_mins(1);
/// The largest request.
const MAX_BODY: usize = 1024 * 1024;
/// Sessions that one owner may have.
const MAX_SESSIONS: usize = 256;

fn words(result: &serde_json::Value) -> &serde_json::Value {
    &result["structuredContent"]["answers"][0]["text"]
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_does_not_get_on_is_cut() {
    let http = Http::serve(&Service::down()).await;
    let half = "POST /mcp HTTP/1.1\r\nhost: localhost\r\n";
    let second = format!("GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n{half}");
    for begun in ["", "PO", "PRI * HTTP/2.0\r\n", half, &second] {
        let since = Instant::now();
        let mut connection = http.connect().await;
        connection.write.write_all(begun.as_bytes()).await.unwrap();
        let cut = tokio::time::timeout(SOON, connection.closed()).await;
        assert!(cut.is_ok(), "{begun:?}");
        assert!(since.elapsed() >= Duration::from_secs(10), "{begun:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_is_bounded_in_size_and_in_time() {
    let http = Http::serve(&Service::down()).await;
    let token = http.token("agent");
    let request = Request::stateless(&token, 1, "tools/list", json!({}));

    let mut connection = http.connect().await;
    // Much more is announced; nobody waits for it.
    let head = request.head("POST", MAX_BODY * 1_000);
    connection.write.write_all(head.as_bytes()).await.unwrap();
    let body = vec![b' '; MAX_BODY + 1];
    connection.write.write_all(&body).await.unwrap();
    let head = connection.head().await;
    assert_eq!(head.status, 413, "{head:?}");

    let since = Instant::now();
    let mut connection = http.connect().await;
    let head = request.head("POST", 100);
    connection.write.write_all(head.as_bytes()).await.unwrap();
    connection.write.write_all(b"{").await.unwrap();
    let head = tokio::time::timeout(SOON, connection.head()).await;
    assert_eq!(head.unwrap().status, 408);
    assert!(since.elapsed() >= Duration::from_secs(20));
}

// contract: E5
#[tokio::test]
async fn only_under_its_own_names_and_for_no_page_of_others() {
    let http = Http::serve(&Service::down()).await;
    let token = http.token("agent");
    let listed = Request::stateless(&token, 1, "tools/list", json!({}));
    for (header, value, status) in [
        ("host", "localhost", 200),
        ("host", "127.0.0.1:7400", 200),
        ("host", HOST, 200),
        ("host", "rebound.example", 403),
        ("host", "127.0.0.1.evil.example", 403),
        ("origin", "http://evil.example", 403),
        ("origin", "null", 403),
    ] {
        let (head, _) = http.send(&listed.clone().with(header, value)).await;
        assert_eq!(head.status, status, "{header}: {value}");
    }
    let mut forged = listed;
    forged.token.push('x');
    let (head, _) = http.send(&forged).await;
    assert_eq!(head.status, 401);
}

// contract: E5
#[tokio::test]
async fn a_session_is_its_credentials_and_one_owner_has_only_so_many() {
    let http = Http::serve(&Service::down()).await;
    let (token, other) = (http.token("agent"), http.token("other"));
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let with = |token: &str, session: &str| Request::plain(token, list.clone()).of(session);
    let others = http.session(&other).await;
    let first = http.session(&token).await;
    assert_eq!(http.send(&with(&token, &first)).await.0.status, 200);
    assert_eq!(http.send(&with(&other, &first)).await.0.status, 404);

    // The stream that a client of this era keeps open does not keep its session for ever.
    let listen = async |session: &str| {
        let mut stream = http.connect().await;
        let head = with(&token, session).head("GET", 0);
        stream.write.write_all(head.as_bytes()).await.unwrap();
        assert_eq!(stream.head().await.status, 200);
        stream
    };
    let mut sessions = vec![first];
    let mut streams = vec![listen(&sessions[0]).await];
    for _ in 0..MAX_SESSIONS {
        sessions.push(http.session(&token).await);
        streams.push(listen(&sessions[sessions.len() - 1]).await);
    }
    let mut over = Vec::new();
    for (nth, session) in sessions.iter().enumerate() {
        if http.send(&with(&token, session)).await.0.status == 404 {
            over.push(nth);
        }
    }
    assert_eq!(over, [0], "the one that was used least recently");
    assert_eq!(http.send(&with(&other, &others)).await.0.status, 200);
}

// contract: E13
#[tokio::test(start_paused = true)]
async fn a_reply_begins_in_time_without_a_token_and_an_error_keeps_its_status() {
    let http = Http::serve(&Service::down()).await;
    let token = http.token("agent");
    let since = Instant::now();
    // Nobody is there to take the question: nothing is to be said for half a minute.
    let (head, _connection) = http.send(&Request::ask(&token, 1, "q?")).await;
    assert_eq!(head.status, 200, "{head:?}");
    assert_eq!(head.headers["content-type"], "text/event-stream");
    assert!(
        since.elapsed() <= Duration::from_secs(5),
        "{:?}",
        since.elapsed()
    );
    for (name, value) in [("mcp-name", "await_answer"), ("mcp-method", "tools/list")] {
        let wrong = Request::ask(&token, 2, "q?").with(name, value);
        let (head, mut connection) = http.send(&wrong).await;
        assert_eq!(head.status, 400, "{head:?}");
        assert_eq!(connection.whole(&head).await["error"]["code"], -32020);
    }
}

// contract: E11
#[tokio::test]
async fn a_question_on_its_way_when_its_connection_goes_is_kept() {
    let service = Service::up();
    let http = Http::serve(&service).await;
    let token = http.token("agent");
    let gate = service.hold_asks();
    let mut connection = http.connect().await;
    connection.send(&Request::ask(&token, 1, "q?")).await;
    service
        .until("the ask is on its way", |s| (s.arrived == 1).then_some(()))
        .await;
    drop(connection);
    http.settle_down().await;
    gate.notify_one();
    let clarify_id = service.question(0).await;
    let (head, mut connection) = http.send(&Request::wait(&token, 2, &clarify_id)).await;
    assert_eq!(head.status, 200);
    service.settle(&clarify_id, answer("kept"));
    assert_eq!(words(&connection.result(2).await), "kept");
    http.stop().await;
    service.state(|s| assert_eq!(s.cancels, Vec::<String>::new()));
}

// contract: E11 E13
#[tokio::test]
async fn a_server_that_stops_hands_its_calls_back_and_withdraws_nothing() {
    let service = Service::up();
    let http = Http::serve(&service).await;
    let token = http.token("agent");
    let session = http.session(&token).await;
    let mut calls = Vec::new();
    for request in [
        Request::ask(&token, 7, "stateless?"),
        Request::ask_in(&session, &token, 7, "in a session?"),
    ] {
        let mut connection = http.connect().await;
        connection.send(&request).await;
        let clarify_id = service.question(calls.len()).await;
        assert_eq!(connection.head().await.status, 200);
        calls.push((connection, clarify_id));
    }
    http.shutdown.cancel();
    for (connection, clarify_id) in &mut calls {
        let result = connection.result(7).await;
        let said = &result["structuredContent"];
        assert_eq!(
            (&said["status"], &said["clarify_id"]),
            (&json!("pending"), &json!(clarify_id))
        );
    }
    http.stop().await;
    service.state(|s| {
        assert_eq!(s.cancels, Vec::<String>::new());
        assert!(s.ends.is_empty(), "{:?}", s.ends);
    });
}

/// A question that is on its way when its connection goes, and is refused then, is nobody's: there is
/// nothing to keep, and nothing to withdraw.
// contract: E11
#[tokio::test]
async fn an_ask_refused_after_its_connection_went_leaves_nothing() {
    let service = Service::up();
    let http = Http::serve(&service).await;
    let token = http.token("agent");
    let gate = service.hold_asks();
    service.script(Script::Fail(ErrorCode::Unavailable));
    service.script(Script::Fail(ErrorCode::TooManyPending));
    let mut connection = http.connect().await;
    connection.send(&Request::ask(&token, 1, "q?")).await;
    service
        .until("the ask is on its way", |s| (s.arrived == 1).then_some(()))
        .await;
    drop(connection);
    http.settle_down().await;
    gate.notify_one();
    service
        .until("the same ask again", |s| (s.arrived == 2).then_some(()))
        .await;
    gate.notify_one();
    // The turn of a call that named no conversation ends with the call.
    service
        .until("the end of its turn", |s| (s.ends.len() == 1).then_some(()))
        .await;
    service.state(|s| {
        assert_eq!((s.asks.len(), s.cancels.len()), (2, 0));
        assert_eq!(s.asks[0].ask_id, s.asks[1].ask_id);
    });
    http.stop().await;
}
