//! Chats over a real bus: what a person has answered so far outlives the gateway that heard it.

use super::place::Place;
use super::{ANN, text, verdict};
use anyhow::Result;
use askbus_testkit::{FakeILink, Hook, McpStdio};
use serde_json::{Value, json};

fn three_questions() -> Value {
    json!({"questions": [
        {"question": "Where?", "options": ["staging", "prod"]},
        {"question": "Which may fail?", "options": ["lint", "e2e", "docs"], "multi_select": true},
        {"question": "Name?"}]})
}

fn check(answers: &Value, name: &str) {
    let label = |at: usize, option: usize| answers[at]["options"][option]["label"].clone();
    assert_eq!(
        [label(0, 0), label(1, 0), label(1, 1)],
        ["prod", "lint", "docs"],
        "{answers}"
    );
    assert_eq!(answers[2]["text"], name, "{answers}");
}

// contract: A2 N4
#[tokio::test]
async fn an_answer_is_given_in_parts_through_one_gateway_after_the_other() -> Result<()> {
    let hook = Hook::start().await?;
    let table = hook.table("team", &format!("tenant = \"acme\"\n{ANN}"));
    let mut place = Place::of(&[table], &[&[], &[]]).await?;
    let mut client = McpStdio::connect(&place.asker, &["mcp"]).await?;
    client.call(1, "ask_user", three_questions()).await?;
    hook.told("question.asked", "Where?").await?;
    let at = |at: usize, place: &Place| place.gateways[at].address.clone();
    let said = hook.say(&at(0, &place), "team", "2").await?;
    assert_eq!(verdict(&said), "kept", "{said}");
    // The other one knows what the first has heard, and so does one that comes when both are gone.
    let said = hook.say(&at(1, &place), "team", "1、3").await?;
    assert_eq!(verdict(&said), "kept", "{said}");
    assert!(text(&said).contains("(3/3) Name?"), "{said}");
    for gateway in &mut place.gateways {
        gateway.process.kill9().await?;
    }
    place.start(&[]).await?;
    let said = hook.say(&at(2, &place), "team", "release-7").await?;
    assert_eq!(verdict(&said), "settled", "{said}");
    let outcome = client.reply(1).await?["result"]["structuredContent"].clone();
    check(&outcome["answers"], "release-7");
    assert_eq!(
        outcome["actor"],
        json!({"person": "ann", "surface": "webhook:team"})
    );
    Ok(())
}

// contract: A2 N4
#[tokio::test]
async fn a_conversation_in_wechat_goes_on_at_another_gateway() -> Result<()> {
    let wechat = FakeILink::start().await?;
    let table = wechat.table("mine", "ann", "tenant = \"acme\"");
    let mut place = Place::of(&[table], &[&[], &[]]).await?;
    let mut client = McpStdio::connect(&place.asker, &["mcp"]).await?;
    client.call(1, "ask_user", three_questions()).await?;
    wechat.write("hello");
    wechat.says(&["❓", "Where?", "2. prod"]).await?;
    wechat.write("2");
    wechat.says(&["(2/3) Which may fail?"]).await?;
    let (dying, owner) = place.owner().await?;
    place.gateways[dying].process.kill9().await?;
    // Written while nobody reads.
    wechat.write("1、3");
    wechat.says(&["(3/3) Name?"]).await?;
    let shown = place.shown(1 - dying).await?;
    assert_ne!(shown["served_by"], owner.as_str(), "{shown}");
    wechat.write("release-7");
    let outcome = client.reply(1).await?["result"]["structuredContent"].clone();
    check(&outcome["answers"], "release-7");
    assert_eq!(
        outcome["actor"],
        json!({"person": "ann", "surface": "wechat:mine"})
    );
    wechat.says(&["release-7"]).await?;
    let sent = wechat.sent();
    let asked = sent
        .iter()
        .filter(|m| m[2].contains("Where?") && m[2].contains("❓"));
    assert_eq!(asked.count(), 1, "told once: {sent:#?}");
    Ok(())
}
