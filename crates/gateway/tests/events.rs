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

/// What is told of drafts: whose, and of one's own what is in it.
fn drafts(body: &Value) -> Vec<(bool, Value)> {
    let events = body["events"].as_array().unwrap().iter();
    let drafts = events.filter(|e| e["event"] == "clarify.draft");
    let told = |e: &Value| {
        if e["own"] == true {
            return (true, e["answers"][0]["text"].clone());
        }
        assert!(e.get("answers").is_none() && e.get("text").is_none(), "{e}");
        (false, e["person"].clone())
    };
    drafts.map(told).collect()
}

// contract: D4 D9
#[tokio::test(flavor = "multi_thread")]
async fn drafts_go_and_come_without_a_socket() {
    let world = World::start().await;
    let (ann, bob) = (world.person("ann"), world.person("bob"));
    let id = world
        .ask("s1", Dialect::Ask, json!({"question": "q"}))
        .await;
    let path = format!("/api/clarifications/{id}/draft");
    let draft = |tab: &str, text: &str| json!({"tab": tab, "answers": [{"question_id": "q1", "text": text}], "text": null});
    let look = async |token: &str, tab: &str, before: &Value| {
        let (seq, now) = (&before["seq"], &before["now"]);
        let path = format!("/api/events?after={seq}&since={now}&tab={tab}");
        world.get(&path, token).await.1
    };
    let (_, ann_before) = world.get("/api/events?tab=t1", &ann).await;
    let (_, bob_before) = world.get("/api/events?tab=b", &bob).await;
    let mut socket = world.socket("/ws", &bob).await;
    socket.replay().await;

    // It wakes whoever waits, over either way.
    let (seen, saved) = tokio::join!(
        look(&bob, "b", &bob_before),
        world.post(&path, &ann, draft("t1", "se"))
    );
    assert_eq!(saved, (200, json!({"ok": true})));
    assert_eq!(drafts(&seen), [(false, json!("ann"))], "{seen}");
    let heard = socket.until(|o| o["event"] == "clarify.draft").await;
    assert_eq!(heard["person"], "ann", "{heard}");
    // Whoever was not waiting in that moment is told when they ask next; its own tab is not.
    let seen = look(&bob, "b", &bob_before).await;
    assert_eq!(drafts(&seen), [(false, json!("ann"))], "{seen}");
    let seen = look(&ann, "t2", &ann_before).await;
    assert_eq!(drafts(&seen), [(true, json!("se"))], "{seen}");

    // Once a second; what was refused can be sent again.
    let mut taken = None;
    for _ in 0..200 {
        let (status, body) = world.post(&path, &ann, draft("t1", "secret")).await;
        if status == 200 {
            taken = Some(body);
            break;
        }
        assert_eq!(
            (status, &body["reason"]),
            (429, &json!("RATE_LIMITED")),
            "{body}"
        );
        tokio::time::sleep(std::time::Duration::from_millis(25)).await;
    }
    assert_eq!(taken, Some(json!({"ok": true})));
    let own_tab = look(&ann, "t1", &ann_before);
    let answer = format!("/api/clarifications/{id}/answer");
    let (own_tab, _) = tokio::join!(own_tab, world.post(&answer, &bob, json!({"response": "x"})));
    assert_eq!(drafts(&own_tab), [], "{own_tab}");
    assert!(
        events(&own_tab).contains(&"clarify.resolved"),
        "what woke it is the end alone: {own_tab}"
    );
    let (tenant, session) = (
        askbus_domain::TenantId::new("local").unwrap(),
        askbus_domain::SessionId::new("s1").unwrap(),
    );
    let kept = world.bus.drafts.list(&tenant, &session, id).await.unwrap();
    let texts: Vec<_> = kept
        .iter()
        .map(|d| (d.person.as_str(), d.draft.answers[0].text.as_deref()))
        .collect();
    assert_eq!(texts, [("ann", Some("secret"))]);
    world.end().await;
}

// contract: D14
#[tokio::test(flavor = "multi_thread")]
async fn a_draft_by_request_is_let_in_and_bound_as_over_a_socket() {
    let world = World::start().await;
    let ann = world.person("ann");
    let id = world
        .ask("s1", Dialect::Ask, json!({"question": "q"}))
        .await;
    let path = format!("/api/clarifications/{id}/draft");
    let agent = world.token(Role::Agent, "bot", "local", &["default"]);
    assert_eq!(world.post(&path, &agent, json!({})).await.0, 403);
    let foreign = world.token(Role::Person, "eve", "local", &["other"]);
    let (status, body) = world.post(&path, &foreign, json!({})).await;
    assert_eq!(
        (status, &body["reason"]),
        (404, &json!("UNKNOWN_CLARIFICATION")),
        "{body}"
    );
    let long = json!({"text": "x".repeat(256 * 1024)});
    let (status, body) = world.post(&path, &ann, long).await;
    assert_eq!(
        (status, &body["reason"]),
        (413, &json!("TOO_LARGE")),
        "{body}"
    );
    for wrong in [
        json!({"answers": 1}),
        json!({"tab": 1}),
        json!({"text": []}),
    ] {
        let (status, body) = world.post(&path, &ann, wrong).await;
        assert_eq!(
            (status, &body["reason"]),
            (400, &json!("INVALID_REQUEST")),
            "{body}"
        );
    }
    world.end().await;
}

// contract: D4
#[tokio::test(flavor = "multi_thread")]
async fn lists_and_news_have_the_plain_words_of_what_is_markdown() {
    let world = World::start().await;
    let ann = world.person("ann");
    let asked = json!({"question": "**是否**部署到 `prod`？", "options": ["`yes`, now", "no"]});
    let id = world.ask("s1", Dialect::Ask, asked).await;
    let plain =
        json!({"q1": {"question": "是否部署到 prod？", "options": {"o1": {"label": "yes, now"}}}});
    let (_, waiting) = world.get("/api/clarifications", &ann).await;
    assert_eq!(waiting["clarifications"][0]["plain"], plain, "{waiting}");
    let (_, news) = world.get("/api/events", &ann).await;
    assert_eq!(news["events"][1]["plain"], plain, "{news}");
    let answer = format!("/api/clarifications/{id}/answer");
    world
        .post(&answer, &ann, json!({"response": "`yes`, now"}))
        .await;
    let (_, history) = world.get("/api/history", &ann).await;
    assert_eq!(history["clarifications"][0]["plain"], plain, "{history}");
    // What reads as it is written is not said twice.
    world
        .ask("s2", Dialect::Ask, json!({"question": "And this?"}))
        .await;
    let (_, waiting) = world.get("/api/clarifications", &ann).await;
    assert!(
        waiting["clarifications"][0].get("plain").is_none(),
        "{waiting}"
    );
    world.end().await;
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
    for wrong in ["after=x", "after=-1", "since=x", "session=%01"] {
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
