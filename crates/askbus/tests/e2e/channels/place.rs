//! A team's services over a real bus, with channels.

use super::configuration;
use crate::support::BINARY;
use anyhow::{Context as _, Result};
use askbus_testkit::{Askbus, NatsServer, Service, Team};
use serde_json::Value;
use tempfile::TempDir;

/// Gateways that are given the same channels of tenant acme, and who asks.
pub(super) struct Place {
    pub team: Team,
    pub gateways: Vec<Service>,
    pub asker: Askbus,
    binding: Service,
    pub nats: NatsServer,
    config: String,
    _folder: TempDir,
}

impl Place {
    /// As many gateways, each with these arguments. The first is called g1.
    pub(super) async fn of(channels: &[String], gateways: &[&[&str]]) -> Result<Self> {
        let (folder, config) = configuration(channels)?;
        let (nats, team) = (NatsServer::start().await?, Team::prepare(BINARY).await?);
        let binding = team.session_binding(&nats).await?;
        let agent = team.credential("agent", "acme", "default", "agent").await?;
        let mut place = Self {
            asker: team.client(&binding.address, &agent)?,
            team,
            gateways: Vec::new(),
            binding,
            nats,
            config,
            _folder: folder,
        };
        for more in gateways {
            place.start(more).await?;
        }
        Ok(place)
    }

    /// Starts one more gateway.
    pub(super) async fn start(&mut self, more: &[&str]) -> Result<()> {
        let instance = format!("g{}", self.gateways.len() + 1);
        let mut all = vec!["--instance", &instance, "--config", &self.config];
        all.extend(more);
        let gateway = self
            .team
            .spawn_gateway_with(&self.nats, &self.binding.address, &all)?;
        self.gateways.push(Service::ready(gateway).await?);
        Ok(())
    }

    /// The first channel as the gateway in this place shows it.
    pub(super) async fn shown(&self, at: usize) -> Result<Value> {
        let gateway = &self.gateways[at].address;
        let ann = self.team.person(gateway, "acme", "default", "ann").await?;
        let reply = ann.get("/api/channels").await?;
        anyhow::ensure!(reply.status == 200, "{reply:?}");
        Ok(reply.body["channels"][0].clone())
    }

    /// Which of two gateways serves it, and its name.
    pub(super) async fn owner(&self) -> Result<(usize, String)> {
        let shown = self.shown(1).await?;
        let owner = shown["served_by"].as_str().context("nobody serves it")?;
        Ok((usize::from(owner == "g2"), owner.to_owned()))
    }
}
