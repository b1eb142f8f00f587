//! Real services in a folder of their own, and the programs of agents, hosts and people beside them.
//! Everything is gone when it is dropped, and also when this process ends in any other way.

mod part;

pub use part::Part;

use anyhow::{Context as _, Result};
use askbus_credential::{Grant, Issuer, Role};
use askbus_domain::{PersonId, ProfileId, TenantId};
use askbus_testkit::{Askbus, McpStdio, NatsServer, Person, folder};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;

/// How long a credential of a run holds.
const LIFE: Duration = Duration::from_hours(24);
/// Any free port of this machine.
const ANYWHERE: &str = "127.0.0.1:0";

/// How to deploy.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The program.
    pub binary: PathBuf,
    /// How long an asker or a host may be missing; none: the program's own default.
    pub lease: Option<Duration>,
    /// The configuration of whoever faces people; none: the defaults.
    pub configuration: Option<String>,
}

/// The tenant of services in one process, and of separate ones.
pub const TENANTS: (&str, &str) = ("local", "acme");
/// The name of the gateway, also after it was started again: it goes on with what it served.
const GATEWAY: &str = "gateway";

/// The services that run.
pub enum Services {
    /// `askbus up` over a file.
    Embedded {
        /// The one process.
        up: Part,
    },
    /// Separate services over NATS.
    OnNats {
        /// The servers.
        nats: Vec<NatsServer>,
        /// The session-bindings.
        bindings: Vec<Part>,
        /// The gateway.
        gateway: Part,
    },
}

/// Which way an agent's program takes to the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// Straight to a session-binding: on one machine its socket, else any of them.
    Straight,
    /// Through the gateway.
    Gateway,
}

/// Services, their keys and their folder.
pub struct Deployment {
    /// What runs.
    pub services: Services,
    settings: Settings,
    issuer: Issuer,
    tenant: &'static str,
    folder: TempDir,
}

impl Deployment {
    /// `askbus up` over a file.
    ///
    /// # Errors
    /// When it is not ready within the limit.
    pub async fn embedded(settings: Settings) -> Result<Self> {
        let folder = folder()?;
        let askbus = with_lease(Askbus::new(&settings.binary, folder.path()), &settings);
        let askbus = configured(askbus, &settings, folder.path())?;
        let up = Part::start(askbus, "up", &["--json"], ANYWHERE).await?;
        Ok(Self {
            services: Services::Embedded { up },
            issuer: Issuer::open(&folder.path().join("keys"))?,
            settings,
            tenant: TENANTS.0,
            folder,
        })
    }

    /// This many session-bindings and a gateway over these servers.
    ///
    /// # Errors
    /// When one is not ready within the limit.
    pub async fn on_nats(
        settings: Settings,
        nats: Vec<NatsServer>,
        bindings: usize,
    ) -> Result<Self> {
        let folder = folder()?;
        let keys = folder.path().join("keys");
        let issuer = Issuer::open_or_create(&keys)?;
        let askbus = Askbus::new(&settings.binary, folder.path())
            .env("ASKBUS_NATS", urls(&nats))
            .env("ASKBUS_NATS_REPLICAS", nats.len().to_string())
            .env("ASKBUS_SIGNING_DIR", text(&keys)?);
        let askbus = with_lease(askbus, &settings);
        let mut started = Vec::new();
        for _ in 0..bindings {
            started
                .push(Part::start(askbus.clone(), "session-binding", &["--json"], ANYWHERE).await?);
        }
        let targets = addresses(&started);
        let mut args = vec!["--json", "--session-binding", &targets];
        args.extend(["--instance", GATEWAY]);
        let askbus = configured(askbus, &settings, folder.path())?;
        let gateway = Part::start(askbus, "gateway", &args, ANYWHERE).await?;
        Ok(Self {
            services: Services::OnNats {
                nats,
                bindings: started,
                gateway,
            },
            settings,
            issuer,
            tenant: TENANTS.1,
            folder,
        })
    }

    /// The tenant that everybody belongs to.
    pub fn tenant(&self) -> &'static str {
        self.tenant
    }

    /// The folder of the services.
    pub fn home(&self) -> &Path {
        self.folder.path()
    }

    /// Where people reach it.
    pub fn url(&self) -> &str {
        match &self.services {
            Services::Embedded { up } => up.address(),
            Services::OnNats { gateway, .. } => gateway.address(),
        }
    }

    /// Where the NATS servers listen, if there are any.
    pub fn nats_urls(&self) -> Option<String> {
        match &self.services {
            Services::Embedded { .. } => None,
            Services::OnNats { nats, .. } => Some(urls(nats)),
        }
    }

    /// Makes a credential.
    ///
    /// # Errors
    /// When the name is not one, or the keys are gone.
    pub fn credential(&self, role: Role, subject: &str) -> Result<String> {
        let grant = Grant {
            subject: PersonId::new(subject)?,
            role,
            tenant: TenantId::new(self.tenant)?,
            profiles: vec![ProfileId::new("default")?],
            groups: Vec::new(),
            life: LIFE,
        };
        Ok(self.issuer.issue(&grant)?.0)
    }

    /// A person at the gateway.
    ///
    /// # Errors
    /// When the credential cannot be made.
    pub fn person(&self, name: &str) -> Result<Person> {
        Person::bearer(self.url(), &self.credential(Role::Person, name)?)
    }

    /// The program as somebody runs it who has nothing but an address and a credential.
    ///
    /// # Errors
    /// When the credential or the folder cannot be made.
    pub fn program(&self, role: Role, subject: &str, way: Way) -> Result<Askbus> {
        let home = tempfile::Builder::new()
            .prefix("home-")
            .tempdir_in(self.folder.path())?
            .keep();
        let askbus = Askbus::new(&self.settings.binary, home)
            .env("ASKBUS_CREDENTIAL", self.credential(role, subject)?)
            .env("ASKBUS_URL", self.url());
        Ok(match (&self.services, way) {
            (_, Way::Gateway) => askbus,
            (Services::Embedded { .. }, Way::Straight) => {
                let socket = self.folder.path().join("askbus.sock");
                askbus.env("ASKBUS_SESSION_BINDING", text(&socket)?)
            }
            (Services::OnNats { bindings, .. }, Way::Straight) => {
                askbus.env("ASKBUS_SESSION_BINDING", addresses(bindings))
            }
        })
    }

    /// An agent's MCP server, `askbus mcp`, with its client.
    ///
    /// # Errors
    /// When it does not shake hands within the limit.
    pub async fn adapter(&self, askbus: &Askbus) -> Result<McpStdio> {
        McpStdio::connect(askbus, &["mcp"]).await
    }

    /// The same as a service on the bus, where it hears outcomes; none without a bus.
    ///
    /// # Errors
    /// When it does not shake hands within the limit.
    pub async fn adapter_on_bus(&self, askbus: &Askbus) -> Result<Option<McpStdio>> {
        let Some(urls) = self.nats_urls() else {
            return Ok(None);
        };
        let askbus = with_lease(askbus.clone().env("ASKBUS_NATS", urls), &self.settings);
        McpStdio::connect(&askbus, &["mcp-adapter"]).await.map(Some)
    }
}

/// Writes the configuration down and names it.
fn configured(askbus: Askbus, settings: &Settings, folder: &Path) -> Result<Askbus> {
    let Some(configuration) = &settings.configuration else {
        return Ok(askbus);
    };
    let path = folder.join("configuration.toml");
    std::fs::write(&path, configuration)?;
    Ok(askbus.env("ASKBUS_CONFIG", text(&path)?))
}

fn with_lease(askbus: Askbus, settings: &Settings) -> Askbus {
    match settings.lease {
        Some(lease) => askbus.env("ASKBUS_LEASE_MS", lease.as_millis().to_string()),
        None => askbus,
    }
}

fn urls(nats: &[NatsServer]) -> String {
    let urls: Vec<String> = nats.iter().map(NatsServer::url).collect();
    urls.join(",")
}

/// `host:port,host:port`, as a client takes several session-bindings.
fn addresses(bindings: &[Part]) -> String {
    let all: Vec<&str> = bindings.iter().map(Part::host_and_port).collect();
    all.join(",")
}

fn text(path: &Path) -> Result<&str> {
    path.to_str()
        .with_context(|| format!("{} is not UTF-8", path.display()))
}
