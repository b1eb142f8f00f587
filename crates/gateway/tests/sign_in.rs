//! Links, credentials and cookies.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod world;

use askbus_credential::Role;
use serde_json::{Value, json};
use world::World;

fn cookie_of(response: &reqwest::Response) -> String {
    let set = response
        .headers()
        .get("set-cookie")
        .unwrap()
        .to_str()
        .unwrap();
    for part in ["HttpOnly", "SameSite=Strict", "Path=/"] {
        assert!(set.contains(part), "{set}");
    }
    set.split(';').next().unwrap().to_owned()
}

async fn me(world: &World, cookie: &str) -> (u16, Value) {
    let request = world
        .http
        .get(world.url("/api/me"))
        .header("cookie", cookie);
    let response = request.send().await.unwrap();
    (response.status().as_u16(), response.json().await.unwrap())
}

// contract: D14
#[tokio::test(flavor = "multi_thread")]
async fn a_link_signs_in_once() {
    let world = World::start().await;
    let link = world.gateway.as_ref().unwrap().sign_in_url().unwrap();
    assert!(link.starts_with(&format!("http://{}/sign-in?code=", world.address)));
    // Looking does not spend it.
    world.http.head(&link).send().await.unwrap();
    let first = world.http.get(&link).send().await.unwrap();
    assert_eq!(first.status(), 200);
    let cookie = cookie_of(&first);
    let page = first.text().await.unwrap();
    assert!(
        page.contains("url=/") && !page.contains("<script"),
        "{page}"
    );
    let (status, object) = me(&world, &cookie).await;
    assert_eq!(
        (status, &object["person"], &object["tenant"]),
        (200, &json!("owner"), &json!("local"))
    );
    let second = world.http.get(&link).send().await.unwrap();
    assert_eq!(second.status(), 401);
    assert!(second.headers().get("set-cookie").is_none());
    // Whoever is signed in is led on to the panel all the same.
    let page = second.text().await.unwrap();
    assert!(page.contains("url=/?link=stale"), "{page}");
    for wrong in ["/sign-in", "/sign-in?code=", "/sign-in?code=00"] {
        assert_eq!(
            world
                .http
                .get(world.url(wrong))
                .send()
                .await
                .unwrap()
                .status(),
            401
        );
    }
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_brings_a_credential_and_makes_a_link_of_the_same_scope() {
    let world = World::start().await;
    let ann = world.token(Role::Person, "ann", "acme", &["design"]);
    let sign_in = |body: Value| {
        world
            .http
            .post(world.url("/api/sign-in"))
            .json(&body)
            .send()
    };
    let response = sign_in(json!({"credential": ann})).await.unwrap();
    assert_eq!(response.status(), 200);
    let cookie = cookie_of(&response);
    assert_eq!(me(&world, &cookie).await.1["person"], "ann");
    let agent = world.token(Role::Agent, "bot", "acme", &["design"]);
    assert_eq!(
        sign_in(json!({"credential": agent}))
            .await
            .unwrap()
            .status(),
        403
    );
    assert_eq!(
        sign_in(json!({"credential": "x"})).await.unwrap().status(),
        401
    );
    assert_eq!(sign_in(json!({})).await.unwrap().status(), 401);
    let (status, object) = world.post("/api/sign-in-link", &agent, json!({})).await;
    assert_eq!(status, 403, "{object}");
    let (_, object) = world.post("/api/sign-in-link", &ann, json!({})).await;
    let response = world
        .http
        .get(object["url"].as_str().unwrap())
        .send()
        .await
        .unwrap();
    let (_, object) = me(&world, &cookie_of(&response)).await;
    assert_eq!(object["person"], "ann");
    assert_eq!(object["tenant"], "acme");
    assert_eq!(object["profiles"], json!(["design"]));
    let out = world
        .http
        .post(world.url("/api/sign-out"))
        .header("cookie", &cookie)
        .send()
        .await;
    let emptied = cookie_of(&out.unwrap());
    assert_eq!(me(&world, &emptied).await.0, 401);
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_without_scripts_signs_in_too() {
    let world = World::start().await;
    let token = world.person("ann");
    let request = world
        .http
        .post(world.url("/api/sign-in"))
        .header("content-type", "application/x-www-form-urlencoded")
        .body(format!("other=1&credential={token}"));
    let response = request.send().await.unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!(me(&world, &cookie_of(&response)).await.1["person"], "ann");
    world.end().await;
}

// contract: D14
#[tokio::test(flavor = "multi_thread")]
async fn a_link_neither_outlives_its_credential_nor_survives_its_revocation() {
    let world = World::start().await;
    // The gateway's own cookies live an hour; this credential ten minutes.
    let (ann, id) = world.issued(Role::Person, "ann", "local", &["default"]);
    let (_, object) = world.post("/api/sign-in-link", &ann, json!({})).await;
    let response = world
        .http
        .get(object["url"].as_str().unwrap())
        .send()
        .await
        .unwrap();
    let set = response.headers()["set-cookie"]
        .to_str()
        .unwrap()
        .to_owned();
    let age = set.split("Max-Age=").nth(1).unwrap();
    let age: u64 = age.split(';').next().unwrap().parse().unwrap();
    assert!(age <= 600, "{set}");
    let cookie = cookie_of(&response);
    let (status, object) = me(&world, &cookie).await;
    let own = world.get("/api/me", &ann).await.1;
    assert_eq!((status, &object["expires_at"]), (200, &own["expires_at"]));
    world.revoke(&id);
    let denied = async { while me(&world, &cookie).await.0 != 401 {} };
    tokio::time::timeout(world::BOUND, denied)
        .await
        .expect("the cookie is revoked with the credential it came from");
    world.end().await;
}

async fn sign_out(world: &World, cookie: &str) -> Value {
    let request = world
        .http
        .post(world.url("/api/sign-out"))
        .header("cookie", cookie);
    request.send().await.unwrap().json().await.unwrap()
}

async fn refused(world: &World, cookie: &str) {
    let denied = async { while me(world, cookie).await.0 != 401 {} };
    tokio::time::timeout(world::BOUND, denied)
        .await
        .expect("the cookie is good no more");
}

// contract: D14
#[tokio::test(flavor = "multi_thread")]
async fn who_signs_out_ends_what_was_made_for_the_browser_and_not_what_was_brought() {
    let world = World::start().await;
    let link = world.gateway.as_ref().unwrap().sign_in_url().unwrap();
    let cookie = cookie_of(&world.http.get(&link).send().await.unwrap());
    // Another browser of the same person, by a link of the first.
    let more = world
        .http
        .post(world.url("/api/sign-in-link"))
        .header("cookie", &cookie)
        .json(&json!({}));
    let more: Value = more.send().await.unwrap().json().await.unwrap();
    let more = world.http.get(more["url"].as_str().unwrap());
    let other = cookie_of(&more.send().await.unwrap());
    assert_eq!(me(&world, &cookie).await.0, 200);
    // Whoever copied the cookie before has nothing of it.
    assert_eq!(sign_out(&world, &cookie).await["revoked"], true);
    refused(&world, &cookie).await;
    assert_eq!(me(&world, &other).await.0, 200);

    let ann = world.person("ann");
    let brought = world
        .http
        .post(world.url("/api/sign-in"))
        .json(&json!({"credential": ann}));
    let brought = cookie_of(&brought.send().await.unwrap());
    assert_eq!(sign_out(&world, &brought).await["revoked"], false);
    assert_eq!(me(&world, &brought).await.0, 200, "the file's own holds");
    world.end().await;
}

// contract: D14
#[tokio::test(flavor = "multi_thread")]
async fn who_signs_out_at_one_gateway_is_signed_out_at_the_others() {
    let mut world = World::start().await;
    let second = world.second(&world.bus).await;
    let link = world.gateway.as_ref().unwrap().sign_in_url().unwrap();
    let cookie = cookie_of(&world.http.get(&link).send().await.unwrap());
    let own = std::mem::replace(&mut world.address, second.address());
    let mut socket = world
        .try_socket("/ws", &[("cookie", &cookie)])
        .await
        .unwrap();
    let replay = socket.replay().await;
    let seq = replay.last().unwrap()["seq"].as_u64().unwrap();
    let news = world
        .http
        .get(world.url(&format!("/api/events?after={seq}")))
        .header("cookie", &cookie);
    world.address = own;
    let (news, out) = tokio::join!(news.send(), sign_out(&world, &cookie));
    assert_eq!(out["revoked"], true);
    assert_eq!(socket.next().await, Err(Some(1008)));
    assert_eq!(news.unwrap().status(), 401, "nobody waits on for news");
    second.end().await;
    world.end().await;
}
