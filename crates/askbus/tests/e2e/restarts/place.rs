//! A whole installation that is killed and started again: on one machine, or services over NATS.

use crate::support::{BINARY, credential};
use anyhow::{Context as _, Result, ensure};
use askbus_domain::{PersonId, SessionId, Surface, TenantId};
use askbus_ledger::{Submission, embedded};
use askbus_testkit::{Askbus, AskbusUp, Balancer, NatsServer, Person, Service, Team, folder};
use askbus_wire::client::{Client, Target};
use askbus_wire::messages::{InboxBody, InboxMessage};
use serde_json::{Value, json};
use std::path::PathBuf;
use tempfile::TempDir;

/// No lease ends in these tests: restarting takes as long as it takes.
const LEASE_MS: &str = "600000";

/// All parts, with a configuration that can be changed.
pub struct Place {
    parts: Parts,
    folder: TempDir,
}

enum Parts {
    OneMachine(Box<AskbusUp>),
    Services(Box<Services>),
}

struct Services {
    nats: NatsServer,
    team: Team,
    binding: Option<Service>,
    gateway: Option<Service>,
    /// The address that outlives the gateway.
    front: Balancer,
}

impl Services {
    async fn serve(&mut self, config: &str) -> Result<()> {
        if self.binding.is_none() {
            let more = ["--config", config, "--lease-ms", LEASE_MS];
            let binding = self.team.spawn_session_binding(&self.nats, &more)?;
            self.binding = Some(Service::ready(binding).await?);
        }
        let binding = self.binding.as_ref().context("a session-binding")?;
        let gateway = self.team.gateway(&self.nats, &binding.address).await?;
        self.front.retarget(&[&gateway.address]);
        self.gateway = Some(gateway);
        Ok(())
    }

    async fn kill_session_binding(&mut self) -> Result<()> {
        match self.binding.take() {
            Some(mut binding) => binding.process.kill9().await,
            None => Ok(()),
        }
    }
}

impl Place {
    /// Everything in one process over a file.
    pub async fn one_machine(config: &str) -> Result<Self> {
        let folder = configuration(config)?;
        let file = path(&folder)?;
        let env = [
            ("ASKBUS_CONFIG", file.as_str()),
            ("ASKBUS_LEASE_MS", LEASE_MS),
        ];
        let up = AskbusUp::start_with(BINARY, &[], &env).await?;
        let parts = Parts::OneMachine(Box::new(up));
        Ok(Self { parts, folder })
    }

    /// A session-binding and a gateway over a nats-server.
    pub async fn services(config: &str) -> Result<Self> {
        let folder = configuration(config)?;
        let mut services = Services {
            nats: NatsServer::start().await?,
            team: Team::prepare(BINARY).await?,
            binding: None,
            gateway: None,
            front: Balancer::start(&[]).await?,
        };
        services.serve(&path(&folder)?).await?;
        let parts = Parts::Services(Box::new(services));
        Ok(Self { parts, folder })
    }

    /// Puts another configuration in the place of the one it was started with; it counts from the
    /// next start on.
    pub fn configure(&self, config: &str) -> Result<()> {
        Ok(std::fs::write(path(&self.folder)?, config)?)
    }

    /// Kills every part at once, the broker included, and starts them all again.
    pub async fn restart(&mut self) -> Result<()> {
        match &mut self.parts {
            Parts::OneMachine(up) => {
                up.kill9().await?;
                up.restart().await
            }
            Parts::Services(services) => {
                services.kill_session_binding().await?;
                if let Some(mut gateway) = services.gateway.take() {
                    gateway.process.kill9().await?;
                }
                services.nats.kill9().await?;
                services.nats.restart().await?;
                services.serve(&path(&self.folder)?).await
            }
        }
    }

    /// The tenant of everybody here.
    pub fn tenant(&self) -> &'static str {
        match &self.parts {
            Parts::OneMachine(_) => "local",
            Parts::Services(_) => "acme",
        }
    }

    fn url(&self) -> String {
        match &self.parts {
            Parts::OneMachine(up) => up.url().to_owned(),
            Parts::Services(services) => services.front.url(),
        }
    }

    async fn token(&self, role: &str, sub: &str) -> Result<String> {
        match &self.parts {
            Parts::OneMachine(up) => credential(up, role, "default", sub).await,
            Parts::Services(services) => {
                let team = &services.team;
                team.credential(role, "acme", "default", sub).await
            }
        }
    }

    /// A person, before and after every restart.
    pub async fn person(&self, sub: &str) -> Result<Person> {
        Person::bearer(&self.url(), &self.token("person", sub).await?)
    }

    /// A host that speaks HTTP.
    pub async fn host(&self) -> Result<Person> {
        Person::bearer(&self.url(), &self.token("host", "ci").await?)
    }

    /// The program as somebody of this role runs it.
    pub async fn askbus(&self, role: &str) -> Result<Askbus> {
        let token = self.token(role, role).await?;
        let askbus = match &self.parts {
            Parts::OneMachine(up) => up.askbus().clone().env("ASKBUS_CREDENTIAL", token),
            Parts::Services(services) => services.team.client(&self.url(), &token)?,
        };
        Ok(askbus)
    }

    /// The calls of an agent.
    pub async fn grpc(&self) -> Result<Client> {
        let token = self.token("agent", "agent").await?;
        Ok(Client::new(&Target::Url(self.url()), &token)?)
    }

    /// Kills what judges, has this answer stored by the inbox, and leaves it there unjudged.
    pub async fn leave_unjudged(&mut self, shown: &Value, answer: &Value) -> Result<()> {
        let person = self.person("ann").await?;
        let tenant = self.tenant();
        match &mut self.parts {
            Parts::OneMachine(up) => {
                up.kill9().await?;
                // The file of a service that was killed between storing an answer and judging it.
                submit_to_file(up.askbus().home().to_owned(), tenant, shown, answer).await?;
                up.restart().await
            }
            Parts::Services(services) => {
                services.kill_session_binding().await?;
                let id = shown["clarify_id"].as_str().unwrap_or_default();
                let sent = person.answer(id, answer).await?;
                ensure!(sent.status == 202, "{sent:?}");
                self.restart().await
            }
        }
    }
}

fn configuration(text: &str) -> Result<TempDir> {
    let folder = folder()?;
    std::fs::write(path(&folder)?, text)?;
    Ok(folder)
}

fn path(folder: &TempDir) -> Result<String> {
    let file = folder.path().join("config.toml");
    Ok(file.to_str().context("UTF-8")?.to_owned())
}

async fn submit_to_file(home: PathBuf, tenant: &str, shown: &Value, answer: &Value) -> Result<()> {
    let body = json!({"type": "respond", "answer_id": "a1", "action": "answer",
        "actor": {"person": PersonId::new("ann")?, "surface": Surface::Web},
        "answers": answer["answers"]});
    let body: InboxBody = serde_json::from_value(body)?;
    let requested = shown["seq"].as_u64().context("a sequence")?;
    let submission = Submission {
        tenant: TenantId::new(tenant)?,
        session: SessionId::new(shown["session_id"].as_str().unwrap_or_default())?,
        clarify_id: serde_json::from_value(shown["clarify_id"].clone())?,
        message: InboxMessage::new(requested, askbus_domain::Rights::default(), body),
        trace: None,
    };
    let (bus, handle) = tokio::task::spawn_blocking(move || embedded::open(&home)).await??;
    let stored = bus.inbox.submit(submission).await;
    drop(bus);
    handle.close().await;
    stored?;
    Ok(())
}
