//! Three real nats-servers that hold every message together, configured by the files of
//! `deploy/nats`: only addresses and stores are the test's own, and the grace of a lame duck is
//! short.

mod host;
mod network;

pub use host::Host;
pub use network::Network;

use crate::bound::within;
use crate::places::{folder, nats_server, workspace};
use crate::process::Process;
use anyhow::{Context as _, Result, ensure};
use async_nats::{Client, ConnectOptions};
use rustix::process::Signal;
use serde_json::Value;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;

/// How many there are.
const NODES: usize = 3;
/// How soon a state that is waited for is looked at again; no server tells of it.
const PACE: Duration = Duration::from_millis(50);
/// How long a node may take to answer one request.
const ANSWER: Duration = Duration::from_secs(2);
/// The users of `deploy/nats/permissions.conf`.
const USERS: [&str; 4] = ["session-binding", "gateway", "mcp-adapter", "observer"];

/// The pass phrase of a user of `deploy/nats/permissions.conf` in every cluster of tests.
fn pass(user: &str) -> String {
    format!("{user}-pass")
}

/// Three nats-servers; gone on drop.
pub struct NatsCluster {
    nodes: Vec<Node>,
    folder: TempDir,
}

struct Node {
    name: String,
    host: Host,
    process: Option<Process>,
}

impl NatsCluster {
    /// Starts three on addresses of loopback that nobody else uses.
    ///
    /// # Errors
    /// When they are not ready within the limit.
    pub async fn start() -> Result<Self> {
        Self::start_on(host::on_loopback(NODES)?).await
    }

    /// Starts one on each of three hosts.
    ///
    /// # Errors
    /// When they are not ready within the limit.
    pub async fn start_on(hosts: Vec<Host>) -> Result<Self> {
        ensure!(hosts.len() == NODES, "three hosts are needed");
        let name = |number| format!("nats-{number}");
        let nodes = hosts.into_iter().zip(1..).map(|(host, number)| Node {
            name: name(number),
            host,
            process: None,
        });
        let mut cluster = Self {
            nodes: nodes.collect(),
            folder: folder()?,
        };
        cluster.configure()?;
        for node in 0..NODES {
            cluster.launch(node)?;
        }
        cluster.healthy().await?;
        Ok(cluster)
    }

    /// Writes what the servers share and each one's own file.
    fn configure(&self) -> Result<()> {
        let deploy = workspace().join("deploy/nats");
        let here = self.folder.path();
        let users = here.join("users");
        std::fs::create_dir(&users)?;
        std::fs::copy(
            deploy.join("permissions.conf"),
            here.join("permissions.conf"),
        )?;
        let mut passes = String::new();
        for user in USERS {
            let (name, pass) = (user.to_uppercase().replace('-', "_"), pass(user));
            writeln!(passes, "PASS_{name}: \"{pass}\"")?;
            std::fs::write(self.pass_file(user), pass)?;
        }
        std::fs::write(users.join("users.conf"), passes)?;
        let mut routes = "authorization { user: route, password: \"route-pass\" }\n".to_owned();
        routes.push_str("routes: [\n");
        for node in &self.nodes {
            let address = node.host.address();
            writeln!(routes, "  \"nats-route://route:route-pass@{address}:6222\"")?;
        }
        routes.push_str("]\n");
        std::fs::write(users.join("routes.conf"), routes)?;
        let file = deploy.join("cluster.conf");
        let text = std::fs::read_to_string(&file)?;
        for node in &self.nodes {
            let address = node.host.address();
            let store = here.join(&node.name);
            let store = store.to_str().context("the folder's name is not UTF-8")?;
            let own = [
                ("\"0.0.0.0:4222\"", format!("\"{address}:4222\"")),
                ("\"0.0.0.0:6222\"", format!("\"{address}:6222\"")),
                ("\"127.0.0.1:8222\"", format!("\"{address}:8222\"")),
                ("/data", format!("\"{store}\"")),
            ];
            let mut text = text.clone();
            for (shared, own) in own {
                ensure!(text.contains(shared), "{} has no {shared}", file.display());
                text = text.replace(shared, &own);
            }
            text += "lame_duck_grace_period: \"1s\"\n";
            std::fs::write(self.file(node), text)?;
        }
        Ok(())
    }

    fn file(&self, node: &Node) -> PathBuf {
        self.folder.path().join(format!("{}.conf", node.name))
    }

    fn launch(&mut self, node: usize) -> Result<()> {
        let file = self.file(self.node(node)?);
        let server = nats_server()?;
        let node = self.node_mut(node)?;
        let mut command = node.host.command(&server);
        command.arg("-c").arg(file).env("NATS_NAME", &node.name);
        node.process = Some(Process::spawn(&node.name, command)?);
        Ok(())
    }

    fn node(&self, node: usize) -> Result<&Node> {
        self.nodes.get(node).context("there is no such node")
    }

    fn node_mut(&mut self, node: usize) -> Result<&mut Node> {
        self.nodes.get_mut(node).context("there is no such node")
    }

    fn running(&mut self, node: usize) -> Result<Process> {
        let node = self.node_mut(node)?;
        let name = &node.name;
        node.process
            .take()
            .with_context(|| format!("{name} does not run"))
    }

    /// The address of one node, as a client takes it.
    ///
    /// # Errors
    /// When there is no such node.
    pub fn url(&self, node: usize) -> Result<String> {
        Ok(format!("nats://{}:4222", self.node(node)?.host.address()))
    }

    /// The addresses of all nodes, comma separated.
    pub fn urls(&self) -> String {
        let urls = self
            .nodes
            .iter()
            .map(|n| format!("nats://{}:4222", n.host.address()));
        urls.collect::<Vec<_>>().join(",")
    }

    /// A file with the pass phrase of a user.
    pub fn pass_file(&self, user: &str) -> PathBuf {
        self.folder.path().join(format!("{user}.pass"))
    }

    /// A connection to one node as one of the users.
    ///
    /// # Errors
    /// When it cannot be made.
    pub async fn client(&self, node: usize, user: &str) -> Result<Client> {
        let options = ConnectOptions::with_user_and_password(user.to_owned(), pass(user))
            .custom_inbox_prefix(format!("_INBOX.{user}"))
            .ignore_discovered_servers();
        Ok(options.connect(self.url(node)?).await?)
    }

    /// Kills a node at once (SIGKILL).
    ///
    /// # Errors
    /// When it is not running.
    pub async fn kill9(&mut self, node: usize) -> Result<()> {
        self.running(node)?.kill9().await
    }

    /// Ends a node with SIGTERM and waits until it is gone.
    ///
    /// # Errors
    /// When it is not running, or does not end.
    pub async fn stop(&mut self, node: usize) -> Result<()> {
        self.running(node)?.stop().await.map(drop)
    }

    /// Has a node leave the orderly way: it hands over what it leads, takes no more clients, lets go
    /// of those it has one by one, and ends (lame duck mode).
    ///
    /// # Errors
    /// When it is not running, or does not end.
    pub async fn retire(&mut self, node: usize) -> Result<()> {
        let mut process = self.running(node)?;
        process.signal(Signal::USR2)?;
        process.wait().await.map(drop)
    }

    /// Starts a node again on the same address and store, and does not wait for it.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn restart(&mut self, node: usize) -> Result<()> {
        ensure!(self.node(node)?.process.is_none(), "it runs");
        self.launch(node)
    }

    /// Waits until every running node has caught up with the others and says so.
    ///
    /// # Errors
    /// When they do not within the limit.
    pub async fn healthy(&self) -> Result<()> {
        // One request that is stuck does not use up the time of all.
        let http = reqwest::Client::builder().timeout(ANSWER).build()?;
        for node in self.nodes.iter().filter(|n| n.process.is_some()) {
            let place = format!("http://{}:8222/healthz", node.host.address());
            let mut said = String::new();
            let well = async {
                loop {
                    said = match http.get(&place).send().await {
                        Ok(reply) if reply.status().is_success() => return,
                        Ok(reply) => reply.text().await.unwrap_or_default(),
                        Err(error) => error.to_string(),
                    };
                    tokio::time::sleep(PACE).await;
                }
            };
            let waited = within(&format!("{} to be well", node.name), well).await;
            let log = || node.process.as_ref().map(|p| p.stderr.all());
            waited.with_context(|| format!("it says {said}: {:#?}", log()))?;
        }
        Ok(())
    }

    /// The names of the connections that clients have to a node.
    ///
    /// # Errors
    /// When it does not say.
    pub async fn clients(&self, node: usize) -> Result<Vec<String>> {
        let place = format!("http://{}:8222/connz", self.node(node)?.host.address());
        let said: Value = reqwest::get(place).await?.json().await?;
        let all = said["connections"].as_array().cloned().unwrap_or_default();
        let name = |c: &Value| c["name"].as_str().map(str::to_owned);
        Ok(all.iter().filter_map(name).collect())
    }

    /// What one node says of a stream; none when it says nothing or that it does not know.
    ///
    /// # Errors
    /// When there is no such node.
    pub async fn stream(&self, node: usize, stream: &str) -> Result<Option<Value>> {
        let asked = async {
            let client = self.client(node, "observer").await?;
            let reply = client
                .request(format!("$JS.API.STREAM.INFO.{stream}"), "".into())
                .await?;
            let info: Value = serde_json::from_slice(&reply.payload)?;
            ensure!(info.get("error").is_none(), "{info}");
            anyhow::Ok(info)
        };
        self.node(node)?;
        let answered = tokio::time::timeout(ANSWER, asked).await;
        Ok(answered.ok().and_then(Result::ok))
    }

    /// Waits until a node names the leader of a stream.
    ///
    /// # Errors
    /// When it does not within the limit.
    pub async fn leader(&self, seen_by: usize, stream: &str) -> Result<usize> {
        let named = async {
            loop {
                let info = self.stream(seen_by, stream).await?.unwrap_or_default();
                let leader = info["cluster"]["leader"].as_str().unwrap_or_default();
                if let Some(node) = self.nodes.iter().position(|n| n.name == leader) {
                    return anyhow::Ok(node);
                }
                tokio::time::sleep(PACE).await;
            }
        };
        within(&format!("a leader of {stream}"), named).await?
    }

    /// Waits until a stream has three replicas that hold the same.
    ///
    /// # Errors
    /// When it has not within the limit.
    pub async fn in_step(&self, stream: &str) -> Result<()> {
        let current = async {
            loop {
                let info = self.stream(0, stream).await?.unwrap_or_default();
                let replicas = info["cluster"]["replicas"].as_array();
                let well = |r: &Value| r["current"] == true && r["lag"].as_u64().unwrap_or(0) == 0;
                if replicas.is_some_and(|all| all.len() == NODES - 1 && all.iter().all(well)) {
                    return anyhow::Ok(());
                }
                tokio::time::sleep(PACE).await;
            }
        };
        within(&format!("the replicas of {stream} to be in step"), current).await?
    }

    /// What a node wrote so far.
    pub fn log(&self, node: usize) -> Vec<String> {
        let process = self.nodes.get(node).and_then(|n| n.process.as_ref());
        process.map(|p| p.stderr.all()).unwrap_or_default()
    }

    /// The folder of its files.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }
}
