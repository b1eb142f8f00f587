//! What a socket says, for whoever cannot open one; and the panel's own files.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod world;

use askbus_credential::Role;
use askbus_domain::Dialect;
use serde_json::{Value, json};
use world::World;

fn events(body: &Value) -> Vec<&str> {
    let events = body["events"].as_array().unwrap();
    events.iter().filter_map(|e| e["event"].as_str()).collect()
}

fn ready(body: &Value) -> &Value {
    body["events"].as_array().unwrap().last().unwrap()
}

// contract: E12 D9
#[tokio::test(flavor = "multi_thread")]
async fn news_are_waited_for_and_told_in_the_objects_of_a_socket() {
    let world = World::start().await;
    let token = world.token(Role::Person, "ann", "local", &["default"]);
    let asked = json!({"question": "Is `this` **it**?", "options": ["yes", "no"]});
    let first = world.ask("s1", Dialect::Ask, asked).await;
    world.get("/api/clarifications", &token).await;
    let (status, body) = world.get("/api/events?surface=panel", &token).await;
    assert_eq!(status, 200, "{body}");
    assert_eq!(
        events(&body),
        ["hello", "clarify.requested", "ready"],
        "{body}"
    );
    let shown = &body["events"][1];
    assert_eq!(shown["clarify_id"], json!(first));
    let html = &shown["html"]["q1"]["question"];
    assert_eq!(
        html, "<p dir=\"auto\">Is <code>this</code> <strong>it</strong>?</p>",
        "{shown}"
    );
    assert_eq!(ready(&body)["pending"], json!([first]));
    let seq = body["seq"].as_u64().unwrap();

    // It waits, and hears what comes; what is known already is only named.
    let path = format!("/api/events?after={seq}");
    let (heard, second) = tokio::join!(
        world.get(&path, &token),
        world.ask("s2", Dialect::Ask, json!({"question": "And this?"}))
    );
    let (_, body) = heard;
    assert_eq!(body["events"][1]["clarify_id"], json!(second), "{body}");
    assert!(
        body["events"][1].get("html").is_none(),
        "only for who shows it: {body}"
    );
    assert_eq!(events(&body), ["hello", "clarify.requested", "ready"]);
    let mut pending = [first, second].map(|id| json!(id)).to_vec();
    assert_eq!(ready(&body)["pending"], json!(pending));

    // A hold is told as the question it changed, an end as an end.
    let seq = body["seq"].as_u64().unwrap();
    let hold = format!("/api/clarifications/{first}/hold");
    world.post(&hold, &token, json!({})).await;
    let (_, body) = world.get(&format!("/api/events?after={seq}"), &token).await;
    assert_eq!(
        (&body["events"][1]["clarify_id"], &body["events"][1]["held"]),
        (&json!(first), &json!(true)),
        "{body}"
    );
    let seq = body["seq"].as_u64().unwrap();
    let answer = format!("/api/clarifications/{first}/answer");
    world
        .post(&answer, &token, json!({"response": "yes"}))
        .await;
    let (_, body) = world
        .get(&format!("/api/events?after={seq}&session=s1"), &token)
        .await;
    assert_eq!(
        events(&body),
        ["hello", "clarify.resolved", "ready"],
        "{body}"
    );
    assert_eq!(
        ready(&body)["pending"],
        json!([]),
        "of this session nothing waits: {body}"
    );
    let (_, body) = world.get("/api/events?after=0", &token).await;
    pending.remove(0);
    assert_eq!(ready(&body)["pending"], json!(pending), "{body}");
}

// contract: D14 E5
#[tokio::test(flavor = "multi_thread")]
async fn news_are_for_people_who_may_see_them() {
    let world = World::start().await;
    let agent = world.token(Role::Agent, "bot", "local", &["default"]);
    assert_eq!(world.get("/api/events", &agent).await.0, 403);
    assert_eq!(
        world
            .http
            .get(world.url("/api/events"))
            .send()
            .await
            .unwrap()
            .status(),
        401
    );
    world
        .ask("s1", Dialect::Ask, json!({"question": "Ours?"}))
        .await;
    let other = world.token(Role::Person, "eve", "local", &["other"]);
    let (_, body) = world.get("/api/events", &other).await;
    assert_eq!(events(&body), ["hello", "ready"], "{body}");
    let ann = world.token(Role::Person, "ann", "local", &["default"]);
    for wrong in ["after=x", "after=-1", "session=%01"] {
        let (status, body) = world.get(&format!("/api/events?{wrong}"), &ann).await;
        assert_eq!(
            (status, &body["reason"]),
            (400, &json!("INVALID_REQUEST")),
            "{wrong}: {body}"
        );
    }
}

// contract: D4
#[tokio::test(flavor = "multi_thread")]
async fn the_panel_is_compressed_and_its_page_lets_nothing_foreign_in() {
    let world = World::start().await;
    let get = async |path: &str, encoding: &str| {
        let request = world.http.get(world.url(path));
        request
            .header("accept-encoding", encoding)
            .send()
            .await
            .unwrap()
    };
    let page = get("/", "identity").await;
    let policy = page.headers()["content-security-policy"]
        .to_str()
        .unwrap()
        .to_owned();
    for rule in [
        "default-src 'self'",
        "script-src 'self'",
        "object-src 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types askbus",
    ] {
        assert!(policy.contains(rule), "{policy}");
    }
    assert!(!policy.contains("unsafe"), "{policy}");
    let plain = get("/assets/app.js", "identity").await;
    assert!(plain.headers().get("content-encoding").is_none());
    let zipped = get("/assets/app.js", "gzip").await;
    assert_eq!(zipped.headers()["content-encoding"], "gzip");
    assert_eq!(zipped.headers()["etag"], plain.headers()["etag"]);
    let (plain, zipped) = (plain.bytes().await.unwrap(), zipped.bytes().await.unwrap());
    assert!(
        zipped.len() * 2 < plain.len(),
        "{} of {}",
        zipped.len(),
        plain.len()
    );
    // What people write is not: its length would tell of it.
    let token = world.token(Role::Person, "ann", "local", &["default"]);
    let api = world.http.get(world.url("/api/clarifications"));
    let api = api
        .bearer_auth(&token)
        .header("accept-encoding", "gzip")
        .send()
        .await
        .unwrap();
    assert!(api.headers().get("content-encoding").is_none());
    let languages: Value = serde_json::from_slice(
        &get("/assets/languages.json", "identity")
            .await
            .bytes()
            .await
            .unwrap(),
    )
    .unwrap();
    assert_eq!(languages, json!(["en", "zh"]));
}
