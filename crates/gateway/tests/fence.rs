//! Who gets in, over real connections.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod world;

use askbus_credential::Role;
use askbus_domain::Dialect;
use serde_json::json;
use world::{Setup, World};

async fn status(world: &World, method: &str, path: &str, headers: &[(&str, &str)]) -> u16 {
    let mut request = world.http.request(method.parse().unwrap(), world.url(path));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.send().await.unwrap().status().as_u16()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_is_not_let_in_is_told_so_as_its_client_reads_it() {
    let world = World::start().await;
    let request = world
        .http
        .post(world.url("/askbus.v1.ClarifyService/ListPending"))
        .header("content-type", "application/grpc")
        .header("host", "evil.example");
    let refused = request.send().await.unwrap();
    let told = |name: &str| refused.headers()[name].to_str().unwrap().to_owned();
    assert_eq!(refused.status(), 200, "the status of the call is another");
    assert_eq!(told("content-type"), "application/grpc");
    assert_eq!(told("grpc-status"), "7", "permission denied");
    assert!(!told("grpc-message").is_empty());
}

// contract: D14
#[tokio::test(flavor = "multi_thread")]
async fn the_fence_stands_before_every_handler() {
    let world = World::start().await;
    let id = world
        .ask("s", Dialect::Ask, json!({"question": "which?"}))
        .await;
    let bearer = format!("Bearer {}", world.person("ann"));
    let cookie = format!("{}={}", world.cookie_name(), world.person("ann"));
    let own = format!("http://{}", world.address);
    let list = "/api/clarifications";
    let answer = format!("/api/clarifications/{id}/answer");
    // As a browser on the panel does.
    let same = [("cookie", cookie.as_str()), ("origin", own.as_str())];
    assert_eq!(status(&world, "GET", list, &same).await, 200);
    let refused: &[&[(&str, &str)]] = &[
        &[("authorization", &bearer), ("sec-fetch-site", "cross-site")],
        &[("authorization", &bearer), ("sec-fetch-site", "same-site")],
        &[("cookie", &cookie), ("origin", "null")],
        &[("cookie", &cookie), ("origin", "http://evil.example")],
        &[("cookie", &cookie), ("origin", "http://127.0.0.1:1")],
        &[("authorization", &bearer), ("host", "evil.example")],
        &[
            ("authorization", &bearer),
            ("host", "127.0.0.1.evil.example:80"),
        ],
        &[("host", "evil.example")],
    ];
    for headers in refused {
        assert_eq!(
            status(&world, "GET", list, headers).await,
            403,
            "{headers:?}"
        );
        assert_eq!(
            status(&world, "POST", &answer, headers).await,
            403,
            "{headers:?}"
        );
        assert_eq!(
            status(&world, "GET", "/", headers).await,
            403,
            "{headers:?}"
        );
        let socket = world.try_socket("/ws", headers).await;
        assert_eq!(socket.err(), Some(403), "{headers:?}");
    }
    // A configured name is answered for.
    let named = [("authorization", bearer.as_str()), ("host", "ask.example")];
    assert_eq!(status(&world, "GET", list, &named).await, 200);
    let waiting = world.get(list, &world.person("ann")).await.1;
    assert_eq!(
        waiting["clarifications"][0]["status"], "pending",
        "{waiting}"
    );
    world.end().await;
}

// contract: D14
#[tokio::test(flavor = "multi_thread")]
async fn a_browser_under_an_unknown_name_is_told_in_its_language_what_to_do() {
    let world = World::start().await;
    let window = "text/html,application/xhtml+xml,*/*;q=0.8";
    let open = async |accept: &str, language: &str| {
        let request = world
            .http
            .get(world.url("/"))
            .header("host", "my-laptop.local:7410")
            .header("accept", accept)
            .header("accept-language", language);
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 403);
        let kind = response.headers()["content-type"].to_str().unwrap();
        let kind = kind.to_owned();
        (kind, response.text().await.unwrap())
    };
    for (language, tag, words) in [
        (
            "en-GB,en;q=0.9",
            "en",
            "does not answer under the name my-laptop.local.",
        ),
        (
            "zh-CN,zh;q=0.9,en;q=0.8",
            "zh",
            "本服务不以 my-laptop.local 这个名称",
        ),
    ] {
        let (kind, page) = open(window, language).await;
        assert_eq!(kind, "text/html; charset=utf-8");
        assert!(page.contains(&format!("<html lang=\"{tag}\">")), "{page}");
        assert!(page.contains(words), "{page}");
        let command = "<pre>askbus up --host-names my-laptop.local</pre>";
        assert!(page.contains(command), "{page}");
    }
    let (kind, body) = open("application/json", "zh").await;
    assert_eq!(kind, "application/json");
    let body: serde_json::Value = serde_json::from_str(&body).unwrap();
    assert_eq!(body["reason"], "WRONG_HOST", "{body}");
    world.end().await;
}

// contract: D14
#[tokio::test(flavor = "multi_thread")]
async fn a_script_of_this_machine_may_look_and_nothing_else() {
    let world = World::start().await;
    let id = world
        .ask("s", Dialect::Ask, json!({"question": "which?"}))
        .await;
    let own = format!("http://{}", world.address);
    for path in [
        "/api/clarify/waiting",
        "/api/clarify/health",
        "/api/clarifications",
    ] {
        assert_eq!(status(&world, "GET", path, &[]).await, 200, "{path}");
        if path != "/api/clarify/health" {
            assert_eq!(
                status(&world, "GET", path, &[("origin", &own)]).await,
                401,
                "{path}"
            );
            assert_eq!(
                status(&world, "GET", path, &[("cookie", "a=b")]).await,
                401,
                "{path}"
            );
        }
        let elsewhere = [("x-forwarded-for", "192.0.2.7")];
        assert_eq!(status(&world, "GET", path, &elsewhere).await, 401, "{path}");
    }
    for (method, path) in [
        ("GET", "/api/clarifications?status=settled".to_owned()),
        ("GET", "/api/me".to_owned()),
        ("GET", format!("/api/clarifications/{id}")),
        ("POST", format!("/api/clarifications/{id}/answer")),
        ("POST", format!("/api/clarifications/{id}/hold")),
        ("POST", "/api/sign-in-link".to_owned()),
        ("POST", "/api/studio/clarifications/request".to_owned()),
    ] {
        assert_eq!(status(&world, method, &path, &[]).await, 401, "{path}");
    }
    assert_eq!(world.try_socket("/ws", &[]).await.err(), Some(401));
    world.end().await;
    let shared = World::with(Setup {
        single_machine: false,
        ..Setup::default()
    })
    .await;
    assert_eq!(
        status(&shared, "GET", "/api/clarify/waiting", &[]).await,
        401
    );
    shared.end().await;
}

// contract: D14
#[tokio::test(flavor = "multi_thread")]
async fn from_elsewhere_nothing_is_reached_without_a_credential() {
    let world = World::start().await;
    let elsewhere = [("x-forwarded-for", "192.0.2.7")];
    for path in [
        "/",
        "/assets/app.js",
        "/api/clarify/health",
        "/ws",
        "/nowhere",
    ] {
        assert_eq!(status(&world, "GET", path, &elsewhere).await, 401, "{path}");
    }
    let bearer = format!("Bearer {}", world.person("ann"));
    let known = [elsewhere[0], ("authorization", bearer.as_str())];
    assert_eq!(status(&world, "GET", "/api/me", &known).await, 200);
    assert_eq!(status(&world, "GET", "/nowhere", &known).await, 404);
    world.end().await;
}

// contract: D14
#[tokio::test(flavor = "multi_thread")]
async fn missing_forged_and_wrong_credentials() {
    let world = World::start().await;
    let other = World::start().await;
    let id = world
        .ask("s", Dialect::Ask, json!({"question": "which?"}))
        .await;
    let path = format!("/api/clarifications/{id}/answer");
    let body = json!({"action": "answer", "answers": [{"text": "me"}]});
    let forged = other.person("ann");
    let agent = world.token(Role::Agent, "bot", "local", &["default"]);
    let host = world.token(Role::Host, "ci", "local", &["default"]);
    for (token, expected) in [
        (forged, 401),
        ("nonsense".to_owned(), 401),
        (agent, 403),
        (host, 403),
    ] {
        let (status, object) = world.post(&path, &token, body.clone()).await;
        assert_eq!(
            (status, &object["ok"]),
            (expected, &json!(false)),
            "{object}"
        );
        assert!(
            object["error"].is_string() && object["reason"].is_string(),
            "{object}"
        );
        for path in ["/api/clarifications", "/api/clarify/waiting", "/api/me"] {
            assert_eq!(world.get(path, &token).await.0, expected, "{path}");
        }
        let bearer = format!("Bearer {token}");
        let socket = world.try_socket("/ws", &[("authorization", &bearer)]).await;
        assert_eq!(socket.err(), Some(expected));
    }
    let (_, waiting) = world
        .get(&format!("/api/clarifications/{id}"), &world.person("ann"))
        .await;
    assert_eq!(waiting["clarification"]["status"], "pending");
    world.end().await;
    other.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_instances_tenant_and_too_large_a_body() {
    let world = World::with(Setup {
        tenants: "all,!acme",
        ..Setup::default()
    })
    .await;
    let foreign = world.token(Role::Person, "eve", "acme", &["default"]);
    let (status, object) = world.get("/api/me", &foreign).await;
    assert_eq!((status, &object["reason"]), (409, &json!("WRONG_INSTANCE")));
    let ann = world.person("ann");
    let id = world
        .ask("s", Dialect::Ask, json!({"question": "which?"}))
        .await;
    let path = format!("/api/clarifications/{id}/answer");
    let (status, object) = world
        .post(&path, &ann, json!({"text": "x".repeat(1_100_000)}))
        .await;
    assert_eq!((status, &object["reason"]), (413, &json!("TOO_LARGE")));
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_response_is_hardened() {
    let world = World::start().await;
    for path in ["/", "/api/clarify/health", "/nowhere", "/api/me"] {
        let response = world.http.get(world.url(path)).send().await.unwrap();
        let header = |name: &str| {
            response
                .headers()
                .get(name)
                .unwrap()
                .to_str()
                .unwrap()
                .to_owned()
        };
        let policy = header("content-security-policy");
        assert!(policy.contains("default-src 'self'") && policy.contains("frame-ancestors 'none'"));
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(header("x-content-type-options"), "nosniff");
        assert_eq!(header("referrer-policy"), "no-referrer");
        let cached = if path == "/" { "no-cache" } else { "no-store" };
        assert_eq!(header("cache-control"), cached, "{path}");
    }
    // What can only be part of a page says what concerns parts.
    for path in ["/assets/app.js", "/assets/styles.css"] {
        let response = world.http.get(world.url(path)).send().await.unwrap();
        let headers = response.headers();
        assert_eq!(headers["x-content-type-options"], "nosniff");
        assert_eq!(headers["cross-origin-resource-policy"], "same-origin");
        assert_eq!(headers.get("content-security-policy"), None);
    }
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_read_is_refused_in_the_same_form() {
    let world = World::start().await;
    let ann = world.person("ann");
    for (path, expected) in [
        ("/api/clarifications?limit=x", 400),
        ("/api/clarifications?limit=1&limit=2", 400),
        ("/api/clarifications?status=odd", 400),
        ("/api/clarifications?session=%0a", 400),
        ("/api/clarifications/%ff", 404),
        ("/ws", 400),
        ("/ws?after=x", 400),
        ("/ws?dialect=odd", 400),
        ("/assets/none.js", 404),
        ("/assets/../Cargo.toml", 404),
        ("/assets/%2e%2e/Cargo.toml", 404),
        ("/api/sign-out", 405),
    ] {
        let (status, object) = world.get(path, &ann).await;
        assert_eq!(
            (status, &object["ok"]),
            (expected, &json!(false)),
            "{path}: {object}"
        );
        assert!(
            object["error"].is_string() && object["reason"].is_string(),
            "{path}"
        );
    }
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_body_neither_eats_the_response_nor_spoils_the_next_request() {
    let world = World::start().await;
    let ann = world.person("ann");
    let unknown = "/api/clarifications/0197f0f6-0000-7000-8000-000000000001/answer";
    for _ in 0..20 {
        for (size, host, expected) in [
            (2 * 1024 * 1024, world.address.as_str(), 413),
            (2 * 1024 * 1024, "evil.example", 403),
            (300 * 1024, "evil.example", 403),
        ] {
            let request = world.http.post(world.url(unknown)).bearer_auth(&ann);
            let response = request
                .header("host", host)
                .body("x".repeat(size))
                .send()
                .await;
            assert_eq!(response.unwrap().status().as_u16(), expected);
            assert_eq!(world.get("/api/me", &ann).await.0, 200);
        }
        let request = world
            .http
            .post(world.url("/api/sign-out"))
            .body("x".repeat(100_000));
        assert_eq!(request.send().await.unwrap().status(), 200);
        assert_eq!(world.get("/api/me", &ann).await.0, 200);
    }
    world.end().await;
}
