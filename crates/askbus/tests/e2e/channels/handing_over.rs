//! Of several gateways one serves a channel; when it goes, another one does, and nothing is told twice
//! or forgotten.

use super::place::Place;
use super::{ANN, undelivered};
use anyhow::Result;
use askbus_testkit::{Hook, HookAnswer, HookMessage};

/// A webhook channel over a real bus.
struct Told {
    hook: Hook,
    place: Place,
}

impl Told {
    /// By as many gateways, each with these arguments.
    async fn by(gateways: &[&[&str]]) -> Result<Self> {
        let hook = Hook::start().await?;
        let table = hook.table("team", &format!("tenant = \"acme\"\n{ANN}"));
        let place = Place::of(&[table], gateways).await?;
        Ok(Self { hook, place })
    }

    /// How often a question was told of.
    fn attempts(&self, question: &str) -> usize {
        let seen = self.hook.seen();
        seen.iter().filter(|m| is_of(m, question)).count()
    }
}

fn is_of(message: &HookMessage, question: &str) -> bool {
    message.body["type"] == "question.asked" && message.body["questions"][0]["question"] == question
}

// contract: N4
#[tokio::test]
async fn another_one_goes_on_when_it_dies() -> Result<()> {
    let mut told = Told::by(&[&[], &[]]).await?;
    let _first = told.place.asker.spawn(&["ask", "Who tells?"])?;
    told.hook.told("question.asked", "Who tells?").await?;
    let (dying, owner) = told.place.owner().await?;
    told.hook.answer(HookAnswer::Never);
    let _second = told.place.asker.spawn(&["ask", "And now?"])?;
    let attempt = |seen: &[HookMessage]| seen.iter().any(|m| is_of(m, "And now?"));
    told.hook.until("an attempt", attempt).await?;
    told.place.gateways[dying].process.kill9().await?;
    told.hook.answer(HookAnswer::Status(204));
    told.hook.told("question.asked", "And now?").await?;
    let counts = (told.attempts("Who tells?"), told.attempts("And now?"));
    assert_eq!(counts, (1, 2), "{:#?}", told.hook.seen());
    // Any gateway takes a reply, and says what is not delivered.
    let left = 1 - dying;
    let shown = undelivered(async || told.place.shown(left).await, 0).await?;
    assert_ne!(shown["served_by"], owner.as_str(), "{shown}");
    let said = told
        .hook
        .say(&told.place.gateways[left].address, "team", "/list");
    assert_eq!(said.await?["verdict"], "list");
    Ok(())
}

// contract: N4
#[tokio::test]
async fn stopped_in_order_it_leaves_the_channel_to_another_one() -> Result<()> {
    let mut told = Told::by(&[&[], &[]]).await?;
    let _first = told.place.asker.spawn(&["ask", "Who tells?"])?;
    told.hook.told("question.asked", "Who tells?").await?;
    let (leaving, owner) = told.place.owner().await?;
    let left = 1 - leaving;
    // What the one that stays says when it hears that.
    let mut standby = told.place.gateways[left].process.stderr.clone();
    told.place.gateways[leaving].process.stop().await?;
    // It stands on the bus by the time that the process is gone.
    let shown = told.place.shown(left).await?;
    assert_ne!(shown["served_by"], owner.as_str(), "{shown}");
    standby
        .find(|line| line.contains("leaves its channels"))
        .await?;
    let _second = told.place.asker.spawn(&["ask", "And now?"])?;
    told.hook.told("question.asked", "And now?").await?;
    let counts = (told.attempts("Who tells?"), told.attempts("And now?"));
    assert_eq!(counts, (1, 1), "{:#?}", told.hook.seen());
    let (now, _) = told.place.owner().await?;
    assert_eq!(now, left);
    Ok(())
}

// contract: N4
#[tokio::test]
async fn one_that_does_not_serve_the_tenant_leaves_its_channel_to_others() -> Result<()> {
    // The first to come sees no question of the channel's tenant.
    let told = Told::by(&[&["--tenants", "all,!acme"], &[]]).await?;
    let _asking = told.place.asker.spawn(&["ask", "Who tells?"])?;
    told.hook.told("question.asked", "Who tells?").await?;
    assert_eq!(told.place.shown(1).await?["served_by"], "g2");
    let refused = told
        .hook
        .say(&told.place.gateways[0].address, "team", "yes");
    assert!(refused.await.is_err(), "it takes no reply either");
    Ok(())
}

/// The webhook has read the message; its gateway dies before it is known, and the question is over
/// before another one comes: whoever read it hears that.
// contract: N4
#[tokio::test]
async fn killed_before_it_is_known_that_it_told_it_tells_the_end() -> Result<()> {
    let mut told = Told::by(&[&[]]).await?;
    told.hook.answer(HookAnswer::Hold);
    let mut asking = told
        .place
        .asker
        .spawn(&["ask", "Still there?", "--timeout", "1s"])?;
    let attempt = |seen: &[HookMessage]| seen.iter().any(|m| is_of(m, "Still there?"));
    told.hook.until("an attempt", attempt).await?;
    told.place.gateways.remove(0).process.kill9().await?;
    assert_eq!(asking.wait().await?.code(), Some(12));
    told.hook.answer(HookAnswer::Status(204));
    told.place.start(&[]).await?;
    told.hook.told("question.ended", "Still there?").await?;
    assert_eq!(told.attempts("Still there?"), 1);
    Ok(())
}
