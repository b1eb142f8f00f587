//! WeChat: what its person cannot be told is seen, keeps nothing else back, and is told when they write.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod world;

use askbus_credential::Role;
use askbus_domain::{ClarifyId, Dialect};
use askbus_testkit::FakeILink;
use serde_json::{Value, json};
use world::{BOUND, Setup, World, chats, now};

fn setup(wechat: &FakeILink) -> Setup {
    Setup {
        channels: vec![chats::wechat(wechat)],
        ..Setup::default()
    }
}

async fn ask(world: &World, session: &str, question: &str) -> ClarifyId {
    world.begin("local", session, "default").await;
    let asked = json!({"question": question, "options": ["yes", "no"]});
    world
        .ask_at(("local", session), Dialect::Ask, asked, now())
        .await
}

/// The one channel as `token` sees it, once it satisfies `wanted`.
async fn shown(world: &World, token: &str, wanted: impl Fn(&Value) -> bool) -> Value {
    let mut last = Value::Null;
    let looking = async {
        loop {
            let (status, body) = world.get("/api/channels", token).await;
            // Who asks too often is refused for a moment.
            if status != 429 {
                assert_eq!(status, 200, "{body}");
                last = body["channels"][0].clone();
                if wanted(&last) {
                    return;
                }
            }
            tokio::task::yield_now().await;
        }
    };
    let found = tokio::time::timeout(BOUND, looking).await;
    assert!(found.is_ok(), "{last}");
    last
}

// contract: N4
#[tokio::test(flavor = "multi_thread")]
async fn a_reply_that_is_given_up_is_listed_and_told_when_its_person_writes() {
    let wechat = FakeILink::start().await.unwrap();
    let mut world = World::with(setup(&wechat)).await;
    let (ann, ben) = (world.person("ann"), world.person("ben"));
    wechat.write("hello");
    wechat.says(&["No question waits"]).await.unwrap();
    let id = ask(&world, "s", "Go?").await;
    wechat.says(&["Go?"]).await.unwrap();

    wechat.dislike(Some("no option 9"));
    let before = now();
    wechat.write("9");
    wechat.tries(&["No question waits"], 1).await.unwrap();
    // Others are told theirs, and what is asked meanwhile.
    wechat.write("8");
    wechat.says(&["no option 8"]).await.unwrap();
    ask(&world, "t", "And this?").await;
    wechat.says(&["And this?"]).await.unwrap();
    let listed = |w: &Value| w["replies"][0].is_object() && w["undelivered"] == 1;
    let seen = shown(&world, &ann, listed).await;
    let reply = &seen["replies"][0];
    assert!(
        reply["text"]
            .as_str()
            .unwrap()
            .contains("There is no option 9"),
        "{seen}"
    );
    assert_eq!(
        (&reply["to"], &reply["clarify_id"]),
        (&json!("ann"), &json!(id)),
        "{seen}"
    );
    assert_eq!(
        (&reply["attempts"], &reply["problem"]),
        (&json!(3), &json!("it answered ret -3"))
    );
    let since: askbus_domain::Timestamp = serde_json::from_value(reply["since"].clone()).unwrap();
    assert!(since >= before && since <= now(), "{seen}");
    assert_eq!(seen["undelivered"], 1, "{seen}");
    // Ben sees the question, and whoever does not sees nothing of it.
    assert_eq!(
        shown(&world, &ben, listed).await["replies"],
        seen["replies"]
    );
    let other = world.token(Role::Person, "eve", "local", &["other"]);
    assert_eq!(shown(&world, &other, |_| true).await, Value::Null);
    let operator = world.token(Role::Operator, "ops", "local", &["default"]);
    let figures = world.http.get(world.url("/metrics")).bearer_auth(operator);
    let figures = figures.send().await.unwrap().text().await.unwrap();
    let line = "askbus_gateway_channel_undelivered{tenant=\"local\",channel=\"mine\"} 1.0";
    assert!(figures.lines().any(|l| l == line), "{figures}");

    // It outlives the gateway.
    world.stop().await;
    world.start_again(setup(&wechat)).await;
    assert_eq!(
        shown(&world, &ann, listed).await["replies"],
        seen["replies"]
    );
    // It is tried again when its person writes, and given up again where that is in vain.
    wechat.write("7");
    wechat
        .says(&["More than one question waits"])
        .await
        .unwrap();
    let again = shown(&world, &ann, |w| w["replies"][0]["attempts"] == 6).await;
    assert_eq!(again["replies"][0]["since"], reply["since"], "{again}");
    wechat.dislike(None);
    wechat.write("6");
    wechat.says(&["There is no option 9"]).await.unwrap();
    let none = shown(&world, &ann, |w| w["replies"] == json!([])).await;
    assert_eq!(none["undelivered"], 0, "{none}");
    world.end().await;
}

/// Whoever settled it is told so in vain: meanwhile and afterwards others hear what ended.
// contract: N4
#[tokio::test(flavor = "multi_thread")]
async fn the_end_is_told_where_the_reply_that_says_it_was_given_up() {
    let wechat = FakeILink::start().await.unwrap();
    let world = World::with(setup(&wechat)).await;
    wechat.write("hello");
    wechat.says(&["No question waits"]).await.unwrap();
    ask(&world, "s", "Go?").await;
    wechat.says(&["Go?"]).await.unwrap();
    wechat.dislike(Some("Taken"));
    wechat.write("1");
    wechat.says(&["It was answered by ann"]).await.unwrap();
    wechat.dislike(None);
    wechat.write("hello again");
    wechat.says(&["Taken", "yes"]).await.unwrap();
    world.end().await;
}

/// Twelve megabytes of messages in one answer, and one of nine alone.
// contract: N4
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_of_any_length_is_read_and_what_is_too_large_is_left_out() {
    let wechat = FakeILink::start().await.unwrap();
    for n in 1..=20 {
        wechat.write_with(&format!("hello {n}"), 600_000);
    }
    let world = World::with(setup(&wechat)).await;
    let ann = world.person("ann");
    let replied = |id: usize| {
        let name = format!("{id}.0");
        wechat.sent().iter().any(|[sent, ..]| *sent == name)
    };
    wechat.tries(&["No question waits"], 20).await.unwrap();
    wechat.write_with("too large", 9_000_000);
    wechat.write("22");
    wechat.tries(&["No question waits"], 21).await.unwrap();
    ask(&world, "s", "Go?").await;
    wechat.says(&["Go?"]).await.unwrap();
    wechat.write("1");
    wechat.says(&["Taken", "yes"]).await.unwrap();
    let missing: Vec<usize> = (1..=22).filter(|id| !replied(*id)).collect();
    assert_eq!(missing, [21]);
    // What cannot be read at all is said, and does not stop the channel.
    wechat.garble(true);
    let problem = json!("its answer is not the JSON that was expected");
    shown(&world, &ann, |w| w["problem"] == problem).await;
    let id = ask(&world, "t", "And this?").await;
    wechat.says(&["And this?"]).await.unwrap();
    wechat.garble(false);
    wechat.write("2");
    wechat.says(&["Taken", "no"]).await.unwrap();
    shown(&world, &ann, |w| w["problem"].is_null()).await;
    world.shown_over(&ann, id).await;
    world.end().await;
}
