//! What a ledger can be kept on, and who may take part there.

use super::answering::{LivePerson, PostingPerson};
use super::asking::Asker;
use crate::deployment::{Deployment, Services, Settings};
use anyhow::{Context as _, Result, anyhow};
use askbus_credential::{Grant, Issuer, Role};
use askbus_domain::{PersonId, ProfileId, TenantId};
use askbus_testkit::NatsServer;
use askbus_wire::client::Target;
use serde::Serialize;
use std::path::Path;
use std::time::Duration;

/// How long a credential holds.
const LIFE: Duration = Duration::from_hours(24);
/// Servers of a cluster.
const NODES: usize = 3;

/// What the log is kept on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Place {
    /// One file, everything in one process.
    Embedded,
    /// One NATS server as it comes: it writes at once and waits for the disk now and then.
    Nats,
    /// One NATS server that waits for the disk before it acknowledges.
    NatsSync,
    /// Three NATS servers that wait for their disks.
    Nats3,
}

impl Place {
    /// All of them, by the names of the command line.
    pub const ALL: [(&'static str, Place); 4] = [
        ("embedded", Place::Embedded),
        ("nats", Place::Nats),
        ("natssync", Place::NatsSync),
        ("nats3", Place::Nats3),
    ];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        let found = Self::ALL.iter().find(|(_, place)| *place == self);
        found.map_or("", |(name, _)| name)
    }

    /// Starts the services there.
    pub(crate) async fn deploy(self, binary: &Path, nats: Option<&Path>) -> Result<Deployment> {
        let settings = Settings {
            binary: binary.to_owned(),
            lease: None,
            configuration: None,
        };
        let servers = match self {
            Place::Embedded => return Deployment::embedded(settings).await,
            Place::Nats => servers(nats, &[String::new()]).await?,
            Place::NatsSync => servers(nats, &[sync_always()]).await?,
            Place::Nats3 => servers(nats, &cluster()?).await?,
        };
        Deployment::on_nats(settings, servers, 1).await
    }
}

impl std::str::FromStr for Place {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.iter().find(|(name, _)| *name == text);
        let names = Self::ALL.map(|(name, _)| name).join(", ");
        found
            .map(|(_, place)| *place)
            .ok_or_else(|| format!("{text:?} is not one of {names}"))
    }
}

async fn servers(program: Option<&Path>, configurations: &[String]) -> Result<Vec<NatsServer>> {
    let program = program.context("a ledger on NATS needs --nats-server PATH")?;
    let mut servers = Vec::with_capacity(configurations.len());
    for configuration in configurations {
        servers.push(NatsServer::start_configured(program, configuration).await?);
    }
    Ok(servers)
}

fn sync_always() -> String {
    "jetstream { sync_interval: always }\n".to_owned()
}

/// One configuration for each server of a cluster on this machine.
fn cluster() -> Result<Vec<String>> {
    // All held at once, so that they differ; free again before the servers take them.
    let ports: Vec<std::net::TcpListener> = (0..NODES)
        .map(|_| std::net::TcpListener::bind("127.0.0.1:0"))
        .collect::<std::io::Result<_>>()?;
    let ports: Vec<u16> = ports
        .iter()
        .map(|p| p.local_addr().map(|a| a.port()))
        .collect::<std::io::Result<_>>()?;
    let routes: Vec<String> = ports
        .iter()
        .map(|p| format!("nats-route://127.0.0.1:{p}"))
        .collect();
    let routes = routes.join(", ");
    let configuration = |(number, port): (usize, &u16)| {
        format!(
            "server_name: n{number}\ncluster {{ name: bench, listen: \"127.0.0.1:{port}\", \
             routes: [{routes}] }}\n{}",
            sync_always()
        )
    };
    Ok(ports.iter().enumerate().map(configuration).collect())
}

/// The way in for askers and people of any tenant.
pub(crate) struct Access {
    issuer: Issuer,
    target: Target,
    url: String,
    /// The tenant that the program's own credentials name.
    pub tenant: &'static str,
}

impl Access {
    pub(crate) fn to(deployment: &Deployment) -> Result<Self> {
        let target = match &deployment.services {
            Services::Embedded { .. } => Target::Socket(deployment.home().join("askbus.sock")),
            Services::OnNats { bindings, .. } => {
                let first = bindings.first().context("no session-binding")?;
                Target::Url(first.address().to_owned())
            }
        };
        Ok(Self {
            issuer: Issuer::open(&deployment.home().join("keys"))?,
            target,
            url: deployment.url().to_owned(),
            tenant: deployment.tenant(),
        })
    }

    fn token(&self, role: Role, tenant: &str, subject: &str) -> Result<String> {
        let grant = Grant {
            subject: PersonId::new(subject)?,
            role,
            tenant: TenantId::new(tenant)?,
            profiles: vec![ProfileId::new("default")?],
            groups: Vec::new(),
            life: LIFE,
        };
        Ok(self.issuer.sign(&grant)?.0)
    }

    /// An asking process of a tenant, with so many sessions.
    pub(crate) async fn asker(&self, tenant: &str, name: &str, sessions: usize) -> Result<Asker> {
        let token = self.token(Role::Host, tenant, name)?;
        let attached = Asker::attach(&self.target, &token, name, sessions).await;
        attached.map_err(|e| anyhow!("{name}: {e:#}"))
    }

    /// A person of a tenant on a live connection, who sees all sessions or the named one, and how
    /// many questions waited for them.
    pub(crate) async fn live_person(
        &self,
        tenant: &str,
        name: &str,
        session: Option<&str>,
    ) -> Result<(LivePerson, usize)> {
        let token = self.token(Role::Person, tenant, name)?;
        LivePerson::connect(&self.url, &token, session).await
    }

    /// A person of a tenant who sends single requests.
    pub(crate) fn posting_person(&self, tenant: &str, name: &str) -> Result<PostingPerson> {
        PostingPerson::new(&self.url, &self.token(Role::Person, tenant, name)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_is_known_by_its_name() {
        for (name, place) in Place::ALL {
            assert_eq!(name.parse(), Ok(place));
            assert_eq!(place.name(), name);
        }
        assert!("mars".parse::<Place>().is_err());
    }

    #[test]
    fn servers_of_a_cluster_know_each_other() {
        let configurations = cluster().unwrap();
        assert_eq!(configurations.len(), NODES);
        for (number, text) in configurations.iter().enumerate() {
            assert!(text.contains(&format!("server_name: n{number}")), "{text}");
            assert_eq!(text.matches("nats-route://").count(), NODES, "{text}");
            assert!(text.contains("sync_interval: always"), "{text}");
        }
    }
}
