//! What was to be told is told: once, or again, whatever dies.

use super::{ANN, ask, channel, undelivered, up};
use anyhow::Result;
use askbus_testkit::{Hook, HookAnswer, HookMessage, Person, Signal};

// contract: N4
#[tokio::test]
async fn killed_in_the_middle_of_a_delivery_it_is_delivered_again() -> Result<()> {
    let hook = Hook::start().await?;
    let (mut up, _config) = up(&[hook.table("team", ANN)]).await?;
    let (_first, told) = ask(&up, &hook, &["Told already?"]).await?;
    hook.answer(HookAnswer::Never);
    let _asking = up
        .askbus()
        .spawn(&["ask", "In the middle?", "--choice", "yes"])?;
    let is_second = |m: &HookMessage| m.body["questions"][0]["question"] == "In the middle?";
    hook.until("an attempt", |seen| seen.iter().any(is_second))
        .await?;
    let person = up.person().await?;
    undelivered(async || channel(&person).await, 1).await?;
    up.kill9().await?;
    hook.answer(HookAnswer::Status(200));
    up.restart().await?;
    let second = hook.told("question.asked", "In the middle?").await?;
    undelivered(async || channel(&person).await, 0).await?;
    let seen = hook.seen();
    let attempts = |id: &str| seen.iter().filter(|m| m.id == id).count();
    assert_eq!(attempts(&told.id), 1, "{seen:#?}");
    assert_eq!(attempts(&second.id), 2, "{seen:#?}");
    let said = hook.say(up.url(), "team", "/list").await?;
    assert_eq!(said["verdict"], "list");
    Ok(())
}

#[tokio::test]
async fn what_a_broken_place_does_not_take_is_shown_and_tried_again_and_delays_no_other()
-> Result<()> {
    let (broken, silent, well) = (
        Hook::start().await?,
        Hook::start().await?,
        Hook::start().await?,
    );
    broken.answer(HookAnswer::Status(500));
    silent.answer(HookAnswer::Never);
    let tables = [
        broken.table("a-broken", ANN),
        silent.table("b-silent", ANN),
        well.table("c-well", ANN),
    ];
    let (up, _config) = up(&tables).await?;
    let person = up.person().await?;
    let (asking, _) = ask(&up, &well, &["Anybody?", "--choice", "yes"]).await?;
    broken
        .until("three attempts", |seen| seen.len() >= 3)
        .await?;
    let shown = undelivered(async || channel(&person).await, 1).await?;
    let message = &shown["messages"][0];
    assert_eq!(message["what"], "asked", "{shown}");
    assert_eq!(message["problem"], "it answered 500", "{shown}");
    assert!(
        message["attempts"].as_u64().is_some_and(|n| n >= 2),
        "{shown}"
    );
    let operator = up
        .askbus()
        .run(&["credential", "issue", "--role", "operator", "--sub", "op"]);
    let operator = operator.await?.stdout.trim().to_owned();
    let figures = Person::bearer(up.url(), &operator)?;
    let figures = figures.get("/metrics").await?;
    let text = format!("{figures:?}").replace("\\\"", "\"");
    for (name, undelivered) in [("a-broken", 1), ("b-silent", 1), ("c-well", 0)] {
        let of = format!("{{tenant=\"local\",channel=\"{name}\"}}");
        let line = format!("askbus_gateway_channel_undelivered{of} {undelivered}.0");
        assert!(text.contains(&line), "{line}: {text}");
    }
    let told = "askbus_gateway_channel_delivered_total{tenant=\"local\",channel=\"c-well\"} 1";
    assert!(text.contains(told), "{text}");
    broken.answer(HookAnswer::Status(202));
    broken.told("question.asked", "Anybody?").await?;
    undelivered(async || channel(&person).await, 0).await?;
    let said = well.say(up.url(), "c-well", "1").await?;
    assert_eq!(said["verdict"], "settled", "{said}");
    assert_eq!(asking.finish().await?.code, 0);
    broken.told("question.ended", "Anybody?").await?;
    well.told("question.ended", "Anybody?").await?;
    Ok(())
}

// contract: N4
#[tokio::test]
async fn any_success_counts_by_its_head_and_is_not_sent_again() -> Result<()> {
    let hook = Hook::start().await?;
    let (up, _config) = up(&[hook.table("team", ANN)]).await?;
    // It says that it took the message, and then nothing that it promised.
    hook.answer(HookAnswer::HeadOf(200));
    let (_asking, told) = ask(&up, &hook, &["Heard?"]).await?;
    let person = up.person().await?;
    undelivered(async || channel(&person).await, 0).await?;
    hook.answer(HookAnswer::Status(204));
    let (_another, _) = ask(&up, &hook, &["And this?"]).await?;
    let attempts = hook.seen().iter().filter(|m| m.id == told.id).count();
    assert_eq!(attempts, 1, "{:#?}", hook.seen());
    Ok(())
}

// contract: N4
#[tokio::test]
async fn told_to_stop_it_waits_for_what_is_on_its_way_and_tells_it_once() -> Result<()> {
    let hook = Hook::start().await?;
    let (mut up, _config) = up(&[hook.table("team", ANN)]).await?;
    let (_first, _) = ask(&up, &hook, &["Told already?"]).await?;
    hook.answer(HookAnswer::Hold);
    let _asking = up.askbus().spawn(&["ask", "On its way?"])?;
    let is_second = |m: &HookMessage| m.body["questions"][0]["question"] == "On its way?";
    hook.until("an attempt", |seen| seen.iter().any(is_second))
        .await?;
    up.process()?.signal(Signal::TERM)?;
    let mut said = up.process()?.stderr.clone();
    said.find(|line| line.contains("stopping;")).await?;
    hook.answer(HookAnswer::Status(204));
    assert!(up.stopped().await?.success());
    up.restart().await?;
    let (_third, _) = ask(&up, &hook, &["After that?"]).await?;
    let seen = hook.seen();
    let attempts = seen.iter().filter(|m| is_second(m)).count();
    assert_eq!(attempts, 1, "{seen:#?}");
    Ok(())
}
