//! What was to be told is told: once, or again, whatever dies.

use super::{ANN, ask, channel, configuration, up};
use crate::support::BINARY;
use anyhow::{Context as _, Result};
use askbus_testkit::{Hook, HookAnswer, HookMessage, NatsServer, Person, Service, Team, within};
use serde_json::Value;

/// Waits until the one channel shows this many undelivered messages.
async fn undelivered(look: impl AsyncFn() -> Result<Value>, count: u64) -> Result<Value> {
    let what = format!("{count} undelivered");
    let looking = async {
        loop {
            let shown = look().await?;
            if shown["undelivered"] == count {
                return anyhow::Ok(shown);
            }
            tokio::task::yield_now().await;
        }
    };
    within(&what, looking).await?
}

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
    let line = "askbus_gateway_channel_undelivered{tenant=\"local\",kind=\"webhook\"} 2";
    let text = format!("{figures:?}").replace("\\\"", "\"");
    assert!(text.contains(line), "{text}");
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

#[tokio::test]
async fn of_several_gateways_one_tells_and_another_goes_on_when_it_dies() -> Result<()> {
    let hook = Hook::start().await?;
    let (_config, path) =
        configuration(&[hook.table("team", &format!("tenant = \"acme\"\n{ANN}"))])?;
    let (nats, team) = (NatsServer::start().await?, Team::prepare(BINARY).await?);
    let binding = team.session_binding(&nats).await?;
    let mut gateways = Vec::new();
    for instance in ["g1", "g2"] {
        let more = ["--instance", instance, "--config", path.as_str()];
        let gateway = team.spawn_gateway_with(&nats, &binding.address, &more)?;
        gateways.push(Service::ready(gateway).await?);
    }
    let agent = team.credential("agent", "acme", "default", "agent").await?;
    let askbus = team.client(&binding.address, &agent)?;
    let _first = askbus.spawn(&["ask", "Who tells?"])?;
    hook.told("question.asked", "Who tells?").await?;
    let ann = team
        .person(&gateways[1].address, "acme", "default", "ann")
        .await?;
    let shown = ann.get("/api/channels").await?.body["channels"][0].clone();
    let owner = shown["served_by"]
        .as_str()
        .context("nobody serves it")?
        .to_owned();
    let dying = usize::from(owner == "g2");
    hook.answer(HookAnswer::Never);
    let _second = askbus.spawn(&["ask", "And now?"])?;
    let is_second = |m: &HookMessage| m.body["questions"][0]["question"] == "And now?";
    hook.until("an attempt", |seen| seen.iter().any(is_second))
        .await?;
    gateways[dying].process.kill9().await?;
    hook.answer(HookAnswer::Status(204));
    hook.told("question.asked", "And now?").await?;
    let seen = hook.seen();
    let of = |text: &str| {
        seen.iter()
            .filter(|m| m.body["questions"][0]["question"] == text)
            .count()
    };
    assert_eq!((of("Who tells?"), of("And now?")), (1, 2), "{seen:#?}");
    // Any gateway takes a reply, and says what is not delivered.
    let left = &gateways[1 - dying].address;
    let ann = team.person(left, "acme", "default", "ann").await?;
    let look = async || Ok(ann.get("/api/channels").await?.body["channels"][0].clone());
    let shown = undelivered(look, 0).await?;
    assert_ne!(shown["served_by"], owner.as_str(), "{shown}");
    let said = hook.say(left, "team", "/list").await?;
    assert_eq!(said["verdict"], "list", "{said}");
    Ok(())
}
