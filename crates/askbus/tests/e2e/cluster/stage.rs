//! The services of a team over three nats-servers, each a process with a user of its own, as
//! `deploy/` starts them.

use crate::support::BINARY;
use anyhow::{Context as _, Result};
use askbus_testkit::{Askbus, Host, LIMIT, NatsCluster, Network, Service, Team};
use std::time::{Duration, Instant};

/// The log and the inbox.
pub const LOG: &str = "ASKBUS_LOG";
pub const INBOX: &str = "ASKBUS_INBOX";

/// The services, as their connections are named, each with its host.
pub const SERVICES: [(&str, &str); 3] = [
    ("session-binding@b1", "b1"),
    ("session-binding@b2", "b2"),
    ("gateway@g", "g"),
];

/// Two session-bindings and a gateway over three servers.
pub struct Stage {
    _bindings: Vec<Service>,
    pub gateway: Service,
    pub nats: NatsCluster,
    pub team: Team,
    /// Last: it goes when nobody is in it any more.
    pub network: Option<Network>,
}

impl Stage {
    /// Everything on loopback.
    pub async fn start() -> Result<Self> {
        let nats = NatsCluster::start().await?;
        let hosts = [Host::here(), Host::here(), Host::here()];
        Self::serve(nats, hosts, None).await
    }

    /// Every process on a host of its own: `n1` to `n3` the servers, `b1` and `b2` the
    /// session-bindings, `g` the gateway.
    pub async fn start_on_a_network() -> Result<Self> {
        let network = Network::make(&["n1", "n2", "n3", "b1", "b2", "g"]).await?;
        let host = |name| network.host(name);
        let nats = NatsCluster::start_on(vec![host("n1")?, host("n2")?, host("n3")?]).await?;
        let services = [host("b1")?, host("b2")?, host("g")?];
        Self::serve(nats, services, Some(network)).await
    }

    async fn serve(nats: NatsCluster, hosts: [Host; 3], network: Option<Network>) -> Result<Self> {
        let team = Team::prepare(BINARY).await?;
        let [one, two, three] = &hosts;
        let mut bindings = Vec::new();
        for (host, node, name) in [(one, 0, "b1"), (two, 1, "b2")] {
            let at = Place { host, node, name };
            bindings.push(serve(&nats, &team, &at, "session-binding", &[]).await?);
        }
        let addresses: Vec<_> = bindings.iter().map(|b| b.address.as_str()).collect();
        let targets = addresses.join(",");
        let at = Place {
            host: three,
            node: 2,
            name: "g",
        };
        let args = ["--session-binding", &targets];
        let gateway = serve(&nats, &team, &at, "gateway", &args).await?;
        for stream in [LOG, INBOX] {
            nats.in_step(stream).await?;
        }
        Ok(Self {
            _bindings: bindings,
            gateway,
            nats,
            team,
            network,
        })
    }

    /// The network, where the stage is on one.
    pub fn network(&mut self) -> Result<&mut Network> {
        self.network.as_mut().context("the stage is on loopback")
    }

    /// Waits until a service is connected to a node that `wanted` takes.
    pub async fn connected(
        &self,
        service: &str,
        wanted: impl Fn(usize) -> bool + Send,
    ) -> Result<usize> {
        let found = async {
            loop {
                for node in (0..3).filter(|node| wanted(*node)) {
                    let clients = self.nats.clients(node).await.unwrap_or_default();
                    if clients.iter().any(|name| name == service) {
                        return node;
                    }
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        patiently(&format!("{service} on a node"), found).await
    }
}

/// Where a service runs, the server it begins at, and its name. The other servers it learns of from
/// that one; with each service at a server of its own, whatever befalls a server befalls a service.
struct Place<'a> {
    host: &'a Host,
    node: usize,
    name: &'a str,
}

/// Starts a service under its own user of the bus, and waits until it is ready.
async fn serve(
    nats: &NatsCluster,
    team: &Team,
    at: &Place<'_>,
    service: &str,
    args: &[&str],
) -> Result<Service> {
    let text = |path: &std::path::Path| path.to_str().map(str::to_owned);
    let pass_file = text(&nats.pass_file(service)).context("a path that is not UTF-8")?;
    let keys = text(team.keys()).context("a path that is not UTF-8")?;
    let listen = format!("{}:0", at.host.address());
    let askbus = Askbus::new(BINARY, team.askbus().home())
        .env("ASKBUS_NATS", nats.url(at.node)?)
        .env("ASKBUS_NATS_USER", service)
        .env("ASKBUS_NATS_PASS_FILE", pass_file)
        .env("ASKBUS_NATS_REPLICAS", "3")
        .env("ASKBUS_LOG_MAX_BYTES", (64 << 20).to_string())
        .env("ASKBUS_SIGNING_DIR", keys)
        .env("ASKBUS_INSTANCE", at.name)
        .env("ASKBUS_HOST_NAMES", at.host.address().to_string());
    let all = [&[service][..], args, &["--listen", &listen, "--json"]].concat();
    Service::ready(at.host.spawn(&askbus, &all)?).await
}

/// Waits for what servers have to agree on first, after they have noticed what befell them.
pub async fn patiently<T>(what: &str, future: impl Future<Output = T>) -> Result<T> {
    let limit = LIMIT * 2;
    let waited = tokio::time::timeout(limit, future).await;
    waited.with_context(|| format!("nothing within {} s: {what}", limit.as_secs()))
}

/// Prints how long something took. It is told, not judged: machines differ.
pub fn took(what: &str, since: Instant) {
    println!("{what}: {} ms", since.elapsed().as_millis());
}
