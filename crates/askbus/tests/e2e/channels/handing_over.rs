//! Of several gateways one serves a channel; when it goes, another one does, and nothing is told twice
//! or forgotten.

use super::{ANN, configuration, undelivered};
use crate::support::BINARY;
use anyhow::{Context as _, Result};
use askbus_testkit::{Askbus, Hook, HookAnswer, HookMessage, NatsServer, Service, Team};
use serde_json::Value;
use tempfile::TempDir;

/// Two gateways over a real bus, and who asks.
struct Place {
    hook: Hook,
    team: Team,
    gateways: Vec<Service>,
    asker: Askbus,
    binding: Service,
    nats: NatsServer,
    config: String,
    _folder: TempDir,
}

impl Place {
    async fn make() -> Result<Self> {
        Self::of(&[&[], &[]]).await
    }

    /// As many gateways, each with these arguments.
    async fn of(gateways: &[&[&str]]) -> Result<Self> {
        let hook = Hook::start().await?;
        let table = hook.table("team", &format!("tenant = \"acme\"\n{ANN}"));
        let (config, path) = configuration(&[table])?;
        let (nats, team) = (NatsServer::start().await?, Team::prepare(BINARY).await?);
        let binding = team.session_binding(&nats).await?;
        let agent = team.credential("agent", "acme", "default", "agent").await?;
        let mut place = Self {
            asker: team.client(&binding.address, &agent)?,
            hook,
            team,
            gateways: Vec::new(),
            binding,
            nats,
            config: path,
            _folder: config,
        };
        for more in gateways {
            place.start(more).await?;
        }
        Ok(place)
    }

    /// Starts one more gateway.
    async fn start(&mut self, more: &[&str]) -> Result<()> {
        let instance = format!("g{}", self.gateways.len() + 1);
        let mut all = vec!["--instance", &instance, "--config", &self.config];
        all.extend(more);
        let gateway = self
            .team
            .spawn_gateway_with(&self.nats, &self.binding.address, &all)?;
        self.gateways.push(Service::ready(gateway).await?);
        Ok(())
    }

    /// The channel as the gateway in this place shows it.
    async fn shown(&self, at: usize) -> Result<Value> {
        let gateway = &self.gateways[at].address;
        let ann = self.team.person(gateway, "acme", "default", "ann").await?;
        let reply = ann.get("/api/channels").await?;
        anyhow::ensure!(reply.status == 200, "{reply:?}");
        Ok(reply.body["channels"][0].clone())
    }

    /// Which of the two serves the channel, and its name.
    async fn owner(&self) -> Result<(usize, String)> {
        let shown = self.shown(1).await?;
        let owner = shown["served_by"].as_str().context("nobody serves it")?;
        Ok((usize::from(owner == "g2"), owner.to_owned()))
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
    let mut place = Place::make().await?;
    let _first = place.asker.spawn(&["ask", "Who tells?"])?;
    place.hook.told("question.asked", "Who tells?").await?;
    let (dying, owner) = place.owner().await?;
    place.hook.answer(HookAnswer::Never);
    let _second = place.asker.spawn(&["ask", "And now?"])?;
    let attempt = |seen: &[HookMessage]| seen.iter().any(|m| is_of(m, "And now?"));
    place.hook.until("an attempt", attempt).await?;
    place.gateways[dying].process.kill9().await?;
    place.hook.answer(HookAnswer::Status(204));
    place.hook.told("question.asked", "And now?").await?;
    let told = (place.attempts("Who tells?"), place.attempts("And now?"));
    assert_eq!(told, (1, 2), "{:#?}", place.hook.seen());
    // Any gateway takes a reply, and says what is not delivered.
    let left = 1 - dying;
    let shown = undelivered(async || place.shown(left).await, 0).await?;
    assert_ne!(shown["served_by"], owner.as_str(), "{shown}");
    let said = place
        .hook
        .say(&place.gateways[left].address, "team", "/list");
    assert_eq!(said.await?["verdict"], "list");
    Ok(())
}

// contract: N4
#[tokio::test]
async fn stopped_in_order_it_leaves_the_channel_to_another_one() -> Result<()> {
    let mut place = Place::make().await?;
    let _first = place.asker.spawn(&["ask", "Who tells?"])?;
    place.hook.told("question.asked", "Who tells?").await?;
    let (leaving, owner) = place.owner().await?;
    let left = 1 - leaving;
    // What the one that stays says when it hears that.
    let mut standby = place.gateways[left].process.stderr.clone();
    place.gateways[leaving].process.stop().await?;
    // It stands on the bus by the time that the process is gone.
    let shown = place.shown(left).await?;
    assert_ne!(shown["served_by"], owner.as_str(), "{shown}");
    standby
        .find(|line| line.contains("leaves its channels"))
        .await?;
    let _second = place.asker.spawn(&["ask", "And now?"])?;
    place.hook.told("question.asked", "And now?").await?;
    let told = (place.attempts("Who tells?"), place.attempts("And now?"));
    assert_eq!(told, (1, 1), "{:#?}", place.hook.seen());
    let (now, _) = place.owner().await?;
    assert_eq!(now, left);
    Ok(())
}

// contract: N4
#[tokio::test]
async fn one_that_does_not_serve_the_tenant_leaves_its_channel_to_others() -> Result<()> {
    // The first to come sees no question of the channel's tenant.
    let place = Place::of(&[&["--tenants", "all,!acme"], &[]]).await?;
    let _asking = place.asker.spawn(&["ask", "Who tells?"])?;
    place.hook.told("question.asked", "Who tells?").await?;
    assert_eq!(place.shown(1).await?["served_by"], "g2");
    let refused = place.hook.say(&place.gateways[0].address, "team", "yes");
    assert!(refused.await.is_err(), "it takes no reply either");
    Ok(())
}

/// The webhook has read the message; its gateway dies before it is known, and the question is over
/// before another one comes: whoever read it hears that.
// contract: N4
#[tokio::test]
async fn killed_before_it_is_known_that_it_told_it_tells_the_end() -> Result<()> {
    let mut place = Place::of(&[&[]]).await?;
    place.hook.answer(HookAnswer::Hold);
    let mut asking = place
        .asker
        .spawn(&["ask", "Still there?", "--timeout", "1s"])?;
    let attempt = |seen: &[HookMessage]| seen.iter().any(|m| is_of(m, "Still there?"));
    place.hook.until("an attempt", attempt).await?;
    place.gateways.remove(0).process.kill9().await?;
    assert_eq!(asking.wait().await?.code(), Some(12));
    place.hook.answer(HookAnswer::Status(204));
    place.start(&[]).await?;
    place.hook.told("question.ended", "Still there?").await?;
    assert_eq!(place.attempts("Still there?"), 1);
    Ok(())
}
