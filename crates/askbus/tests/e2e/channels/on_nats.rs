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

/// Two gateways hear one person at the same moment: of what each says is kept nothing is overwritten.
// contract: A2 N4
#[tokio::test]
async fn what_two_gateways_hear_in_one_moment_is_all_kept() -> Result<()> {
    let hook = Hook::start().await?;
    let table = hook.table("team", &format!("tenant = \"acme\"\n{ANN}"));
    let place = Place::of(&[table], &[&[], &[]]).await?;
    let at = |at: usize| place.gateways[at].address.as_str();
    let mut client = McpStdio::connect(&place.asker, &["mcp"]).await?;
    for round in 1..=6_u64 {
        let question =
            |n: usize| json!({"question": format!("{round}.{n}?"), "options": ["x", "y"]});
        let questions: Vec<Value> = (1..=5).map(question).collect();
        let questions = json!({"questions": questions});
        client.call(round, "ask_user", questions).await?;
        let told = hook.told("question.asked", &format!("{round}.1?")).await?;
        let name = super::name(&told);
        let said = hook.say(at(0), "team", "1").await?;
        assert_eq!(verdict(&said), "kept", "{said}");
        for (anew, next) in [("2", "2"), ("1", "1"), ("2", "2")] {
            let anew = format!("#{name}.1 {anew}");
            let (one, other) = tokio::join!(
                hook.say(at(0), "team", &anew),
                hook.say(at(1), "team", next)
            );
            let (one, other) = (one?, other?);
            assert_eq!(
                (verdict(&one), verdict(&other)),
                ("kept", "kept"),
                "{one} {other}"
            );
        }
        let said = hook.say(at(1), "team", "1").await?;
        assert_eq!(verdict(&said), "settled", "{said}");
        let outcome = client.reply(round).await?["result"]["structuredContent"].clone();
        let chosen = |n: usize| outcome["answers"][n]["options"][0]["label"].clone();
        assert_eq!(
            [0, 1, 2, 3, 4].map(chosen),
            ["y", "y", "x", "y", "x"],
            "{outcome}"
        );
    }
    Ok(())
}
