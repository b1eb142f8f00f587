//! A browser that becomes another person's: the page of the first one does nothing in the second's name.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod world;

use askbus_domain::Dialect;
use serde_json::{Value, json};
use world::{Socket, World};

/// The code with which a connection ends.
async fn closed(socket: &mut Socket) -> Option<u16> {
    loop {
        if let Err(code) = socket.next().await {
            return code;
        }
    }
}

// contract: E12
#[tokio::test(flavor = "multi_thread")]
async fn whom_a_request_means_to_speak_for_is_whom_it_speaks_for() {
    let world = World::start().await;
    let id = world
        .ask("s", Dialect::Ask, json!({"question": "Approve?"}))
        .await;
    let cookie = format!("{}={}", world.cookie_name(), world.person("ann b"));
    let own = world.url("");
    let said = json!({"answers": [{"question_id": "q1", "text": "yes"}]});
    let answer = async |whose: &str| -> (u16, Value) {
        let path = format!("/api/clarifications/{id}/answer");
        let request = world.http.post(world.url(&path)).json(&said);
        let request = request.header("cookie", &cookie).header("origin", &own);
        let response = request.header("askbus-as", whose).send().await.unwrap();
        (response.status().as_u16(), response.json().await.unwrap())
    };
    for other in ["local/bob", "acme/ann%20b", "ann%20b", "", "local/"] {
        let (status, body) = answer(other).await;
        assert_eq!(
            (status, &body["reason"]),
            (401, &json!("UNAUTHENTICATED")),
            "{other}"
        );
    }
    let onlooker = world.person("onlooker");
    let (_, waiting) = world.get("/api/clarifications", &onlooker).await;
    assert_eq!(waiting["clarifications"].as_array().unwrap().len(), 1);
    let headers = [("cookie", cookie.as_str()), ("origin", own.as_str())];
    let refused = world.try_socket("/ws?as=local%2Fbob", &headers).await;
    assert_eq!(refused.err(), Some(401));
    let mut socket = world
        .try_socket("/ws?as=local%2Fann%2520b", &headers)
        .await
        .unwrap();
    socket.until(|o| o["event"] == "ready").await;
    let (status, body) = answer("local/ann%20b").await;
    assert_eq!((status, &body["ok"]), (200, &json!(true)), "{body}");
    world.end().await;
}

// contract: D14
#[tokio::test(flavor = "multi_thread")]
async fn signing_out_ends_the_live_connections_of_that_browser_alone() {
    let world = World::start().await;
    let (ann, bob) = (world.person("ann"), world.person("bob"));
    let own = world.url("");
    let cookie = |token: &str| format!("{}={token}", world.cookie_name());
    let (anns, bobs) = (cookie(&ann), cookie(&bob));
    let open = async |cookie: &str| {
        let headers = [("cookie", cookie), ("origin", own.as_str())];
        let mut socket = world.try_socket("/ws", &headers).await.unwrap();
        socket.until(|o| o["event"] == "ready").await;
        socket
    };
    let (mut first, mut second, mut other) =
        (open(&anns).await, open(&anns).await, open(&bobs).await);
    let mut program = world.socket("/ws", &ann).await;
    let out = world.http.post(world.url("/api/sign-out"));
    let out = out
        .header("cookie", &anns)
        .header("origin", &own)
        .json(&json!({}));
    assert_eq!(out.send().await.unwrap().status(), 200);
    assert_eq!(closed(&mut first).await, Some(1008));
    assert_eq!(closed(&mut second).await, Some(1008));
    let id = world
        .ask("s", Dialect::Ask, json!({"question": "Still there?"}))
        .await;
    for socket in [&mut other, &mut program] {
        socket.until(|o| o["clarify_id"] == id.to_string()).await;
    }
    world.end().await;
}
