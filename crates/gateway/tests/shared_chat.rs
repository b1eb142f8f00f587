//! A chat of several people in which some questions are for one of them.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod world;

use askbus_domain::Dialect;
use askbus_testkit::Hook;
use serde_json::{Value, json};
use world::{Setup, World, chats, now};

async fn say(world: &World, hook: &Hook, from: &str, body: Value) -> Value {
    let mut body = body;
    body["from"] = from.into();
    let id = format!("m-{}", uuid::Uuid::new_v4());
    let gateway = world.url("");
    let said = hook.reply(&gateway, "team", &id, &body);
    let (status, said) = said.await.unwrap();
    assert_eq!(status, 200, "{said}");
    said
}

fn text(message: &Value) -> String {
    let messages = message["messages"].as_array().unwrap();
    let messages = messages.iter().map(|m| m.as_str().unwrap());
    messages.collect::<Vec<_>>().join("\n")
}

// contract: N4
#[tokio::test(flavor = "multi_thread")]
async fn what_is_for_one_says_so_to_all() {
    let hook = Hook::start().await.unwrap();
    let people = ["ann", "bob"].map(|name| chats::person(Some(name), name));
    let world = World::with(Setup {
        channels: vec![chats::webhook(&hook, people.into())],
        ..Setup::default()
    })
    .await;
    world.begin("local", "s", "default").await;
    let ask = async |question: Value| {
        let id = world.ask_at(("local", "s"), Dialect::Ask, question, now());
        id.await.to_string()
    };
    let for_ann = ask(json!({"question": "Deploy?", "options": ["yes", "no"], "to": "ann"})).await;
    let for_zoe = ask(json!({"question": "Whose secret?", "to": "zoe"})).await;
    let told = hook.told("question.asked", "Deploy?").await.unwrap().body;
    assert!(text(&told).lines().any(|l| l == "· For ann"), "{told}");
    let name = told["name"].as_str().unwrap().to_owned();
    let of_ann = json!([format!("#{name} is for ann; nothing was sent.")]);
    for body in [
        json!({"text": format!("#{name} 1")}),
        json!({"text": format!("{name} 1")}),
        json!({"text": "1", "reply_to": text(&told)}),
    ] {
        let said = say(&world, &hook, "bob", body).await;
        assert_eq!(said["verdict"], "refused", "{said}");
        assert_eq!(said["messages"], of_ann);
        assert_eq!(said["clarify_id"], for_ann.as_str());
    }
    // What the chat was never told of is called by nobody.
    let said = say(
        &world,
        &hook,
        "bob",
        json!({"text": "1", "reply_to": for_zoe}),
    )
    .await;
    assert_eq!(said["verdict"], "unknown", "{said}");
    assert!(!text(&said).contains("zoe"), "{said}");
    let list = say(
        &world,
        &hook,
        "bob",
        json!({"text": format!("#{name} /list")}),
    )
    .await;
    assert_eq!(list["verdict"], "list", "{list}");
    // His own one is not answered by the name of another.
    ask(json!({"question": "For all?"})).await;
    let told = hook.told("question.asked", "For all?").await.unwrap().body;
    assert!(!text(&told).contains("· For"), "{told}");
    let said = say(&world, &hook, "bob", json!({"text": format!("{name} 1")})).await;
    assert_eq!(said["messages"], of_ann);
    // Two at once, and nothing of them is sent.
    let other = told["name"].as_str().unwrap();
    let both = json!({"text": format!("#{name} 1\n#{other} soon")});
    let said = say(&world, &hook, "ann", both).await;
    assert_eq!(said["verdict"], "ambiguous", "{said}");
    let blank = json!({"text": format!("#{other} \u{0}")});
    let said = say(&world, &hook, "ann", blank).await;
    assert_eq!(said["verdict"], "unclear", "{said}");
    let said = say(&world, &hook, "ann", json!({"text": format!("#{name} 1")})).await;
    assert_eq!(said["verdict"], "settled", "{said}");
    world.end().await;
}
