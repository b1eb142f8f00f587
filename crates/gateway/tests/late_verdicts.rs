//! A reply that is judged after its author was told that it waits to be: they hear what became of it.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod world;

use askbus_credential::Role;
use askbus_domain::{Dialect, TenantId};
use askbus_gateway::ChannelOptions;
use askbus_ledger::Delivery;
use askbus_testkit::{FakeILink, Hook, HookAnswer};
use askbus_wire::messages::InboxReply;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use world::{BOUND, Setup, World, chats, now};

/// A world in which nobody judges but the test, and one question waits.
async fn world(channel: ChannelOptions) -> (World, mpsc::Receiver<Delivery>) {
    let world = World::with(Setup {
        judge: false,
        channels: vec![channel],
        ..Setup::default()
    })
    .await;
    world.begin("local", "s", "default").await;
    let asked = json!({"question": "Go?", "options": ["yes", "no"]});
    world
        .ask_at(("local", "s"), Dialect::Ask, asked, now())
        .await;
    let tenant = TenantId::new("local").unwrap();
    let taken = world.bus.inbox.take(&tenant).await.unwrap();
    (world, taken)
}

async fn refuse(taken: &mut mpsc::Receiver<Delivery>) {
    let delivery = tokio::time::timeout(BOUND, taken.recv()).await.unwrap();
    let delivery = delivery.unwrap();
    let refused = InboxReply::Refused {
        reason: "INVALID_ANSWER".into(),
        error: "it is not for you".into(),
    };
    delivery.reply.send(&refused).await;
    delivery.acker.ack().await.unwrap();
}

/// A webhook that gives up soon.
fn team(hook: &Hook) -> ChannelOptions {
    ChannelOptions {
        retries: chats::SOON,
        ..chats::webhook(hook, vec![chats::person(Some("U1"), "ann")])
    }
}

async fn say(world: &World, hook: &Hook, id: &str) -> Value {
    let body = json!({"text": "1", "from": "U1"});
    let (status, said) = hook.reply(&world.url(""), "team", id, &body).await.unwrap();
    assert_eq!((status, &said["verdict"]), (200, &json!("sent")), "{said}");
    said
}

// contract: N4
#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_that_comes_late_is_told_through_the_webhook() {
    let hook = Hook::start().await.unwrap();
    let (world, mut taken) = world(team(&hook)).await;
    let said = say(&world, &hook, "m1").await;
    refuse(&mut taken).await;
    let judged = |m: &&askbus_testkit::HookMessage| m.body["type"] == "reply.judged";
    let seen = hook
        .until("the verdict", |seen| {
            seen.iter().any(|m| judged(&m) && m.taken)
        })
        .await
        .unwrap();
    let told = seen.iter().find(judged).unwrap();
    assert_eq!(told.id, "m1.judged");
    let body = &told.body;
    assert_eq!(
        (&body["verdict"], &body["reply_id"]),
        (&json!("refused"), &json!("m1")),
        "{body}"
    );
    assert_eq!(
        (&body["from"], &body["clarify_id"]),
        (&json!("U1"), &said["clarify_id"])
    );
    let text = body["messages"][0].as_str().unwrap();
    assert!(
        text.starts_with("It was not taken: it is not for you"),
        "{text}"
    );
    assert!(text.contains("kept as your draft"), "{text}");
    world.end().await;
}

// contract: N4
#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_that_the_webhook_never_takes_is_listed() {
    let hook = Hook::start().await.unwrap();
    let (world, mut taken) = world(team(&hook)).await;
    let said = say(&world, &hook, "m1").await;
    hook.answer(HookAnswer::Status(500));
    refuse(&mut taken).await;
    let ann = world.person("ann");
    let listed = async {
        loop {
            let (_, body) = world.get("/api/channels", &ann).await;
            let channel = body["channels"][0].clone();
            if channel["replies"][0].is_object() {
                return channel;
            }
            tokio::task::yield_now().await;
        }
    };
    let shown = tokio::time::timeout(BOUND, listed).await.unwrap();
    let reply = &shown["replies"][0];
    assert_eq!(
        (&reply["to"], &reply["clarify_id"]),
        (&json!("ann"), &said["clarify_id"])
    );
    assert_eq!(
        (&reply["attempts"], &reply["problem"]),
        (&json!(3), &json!("it answered 500"))
    );
    assert!(
        reply["text"]
            .as_str()
            .unwrap()
            .contains("it is not for you"),
        "{shown}"
    );
    world.end().await;
}

// contract: N4
#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_that_comes_late_is_told_in_wechat() {
    let wechat = FakeILink::start().await.unwrap();
    let (world, mut taken) = world(chats::wechat(&wechat)).await;
    wechat.write("/list");
    wechat.says(&["Go?"]).await.unwrap();
    wechat.write("1");
    wechat.says(&["will be judged as soon as"]).await.unwrap();
    refuse(&mut taken).await;
    let told = wechat
        .says(&["It was not taken: it is not for you"])
        .await
        .unwrap();
    assert!(told.contains("kept as your draft"), "{told}");
    world.end().await;
}

/// Nobody judges: a gateway that stops waits for no verdict.
// contract: N4
#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_that_stops_waits_for_no_verdict() {
    let hook = Hook::start().await.unwrap();
    let (mut world, _taken) = world(team(&hook)).await;
    say(&world, &hook, "m1").await;
    world.stop().await;
    assert!(hook.seen().iter().all(|m| m.body["type"] != "reply.judged"));
    world.end().await;
}

/// Waits until so many were told that theirs waits to be judged.
async fn until_unjudged(world: &World, count: usize) {
    let operator = world.token(Role::Operator, "ops", "local", &["default"]);
    let line = format!("askbus_gateway_sent{{tenant=\"local\",verdict=\"unjudged\"}} {count}");
    let looking = async {
        loop {
            let figures = world.http.get(world.url("/metrics")).bearer_auth(&operator);
            let figures = figures.send().await.unwrap().text().await.unwrap();
            if figures
                .lines()
                .any(|l| l.replace("_total", "").starts_with(&line))
            {
                return;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(BOUND, looking).await.unwrap();
}

// contract: N4
#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_that_comes_late_is_told_over_a_socket_of_each_dialect() {
    let hook = Hook::start().await.unwrap();
    let (world, mut taken) = world(team(&hook)).await;
    let id = hook.told("question.asked", "Go?").await.unwrap().body["clarify_id"].clone();
    let ann = world.person("ann");
    let mut panel = world.socket("/ws", &ann).await;
    panel
        .send(
            json!({"event": "clarify.respond", "session_id": "s", "clarify_id": id,
            "answer_id": "mine", "response": "yes"}),
        )
        .await;
    let sent = panel.until(|o| o["event"] == "clarify.sent").await;
    assert_eq!(sent["answer_id"], "mine", "{sent}");
    refuse(&mut taken).await;
    let told = panel.until(|o| o["event"] == "clarify.resolved").await;
    assert_eq!(
        (&told["resolved"], &told["verdict"]),
        (&json!(false), &json!("refused")),
        "{told}"
    );
    assert_eq!(
        (&told["answer_id"], &told["kept"]),
        (&json!("mine"), &json!(true)),
        "{told}"
    );
    assert!(
        told["error"]
            .as_str()
            .unwrap()
            .contains("it is not for you"),
        "{told}"
    );

    let mut plain = world.socket("/ws?dialect=interaction", &ann).await;
    plain
        .send(
            json!({"type": "clarify_response", "sessionId": "s", "requestId": id, "answer": "no"}),
        )
        .await;
    until_unjudged(&world, 2).await;
    refuse(&mut taken).await;
    let told = plain.until(|o| o["type"] == "clarify_error").await;
    assert_eq!(
        (&told["requestId"], &told["stale"]),
        (&id, &json!(false)),
        "{told}"
    );
    assert!(
        told["error"]
            .as_str()
            .unwrap()
            .contains("it is not for you"),
        "{told}"
    );
    world.end().await;
}
