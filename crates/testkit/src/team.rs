//! Separate services over one nats-server, as in production: keys, session-bindings, a gateway.

use crate::nats::NatsServer;
use crate::person::Person;
use crate::places::{Askbus, folder};
use crate::process::Process;
use anyhow::{Context as _, Result, bail};
use serde_json::Value;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// The services of a team; all of them gone on drop.
pub struct Team {
    askbus: Askbus,
    keys: PathBuf,
    folder: TempDir,
}

/// One service and where it says it listens.
pub struct Service {
    /// The process.
    pub process: Process,
    /// `http://host:port`, or the path of a socket.
    pub address: String,
}

impl Team {
    /// Makes the keys; no service runs yet.
    ///
    /// # Errors
    /// When the keys cannot be made.
    pub async fn prepare(binary: impl AsRef<Path>) -> Result<Self> {
        let folder = folder()?;
        let keys = folder.path().join("signing");
        let askbus = Askbus::new(binary.as_ref(), folder.path());
        let done = askbus
            .run(&["credential", "--signing-dir", path(&keys)?, "init"])
            .await?;
        if done.code != 0 {
            bail!("credential init: {done:?}");
        }
        Ok(Self {
            askbus,
            keys,
            folder,
        })
    }

    /// The program, with the team's folder as its home.
    pub fn askbus(&self) -> &Askbus {
        &self.askbus
    }

    /// The folder of its signing key.
    pub fn keys(&self) -> &Path {
        &self.keys
    }

    /// The program as an agent or a person of this team runs it: against a service's address, with
    /// a credential, from a home that holds nothing.
    ///
    /// # Errors
    /// When the home cannot be made.
    pub fn client(&self, address: &str, token: &str) -> Result<Askbus> {
        let home = tempfile::Builder::new()
            .prefix("home-")
            .tempdir_in(self.folder.path())?
            .keep();
        let askbus = Askbus::new(self.askbus.binary(), home);
        Ok(askbus
            .env("ASKBUS_URL", address)
            .env("ASKBUS_CREDENTIAL", token))
    }

    /// Makes a credential.
    ///
    /// # Errors
    /// When it is refused.
    pub async fn credential(
        &self,
        role: &str,
        tenant: &str,
        profile: &str,
        sub: &str,
    ) -> Result<String> {
        let args = [
            "credential",
            "--signing-dir",
            path(&self.keys)?,
            "issue",
            "--role",
            role,
            "--tenant",
            tenant,
            "--profile",
            profile,
            "--sub",
            sub,
        ];
        let done = self.askbus.run(&args).await?;
        match done.stdout.lines().next() {
            Some(token) if done.code == 0 => Ok(token.trim().to_owned()),
            _ => bail!("credential issue: {done:?}"),
        }
    }

    /// Starts a session-binding on a free port and does not wait for it.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn spawn_session_binding(&self, nats: &NatsServer, more: &[&str]) -> Result<Process> {
        self.spawn_session_binding_over(&nats.url(), more)
    }

    /// The same over whatever leads to the bus.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn spawn_session_binding_over(&self, bus: &str, more: &[&str]) -> Result<Process> {
        let mut args = vec!["session-binding", "--listen", "127.0.0.1:0"];
        args.extend(["--nats", bus, "--signing-dir", path(&self.keys)?, "--json"]);
        args.extend(more);
        self.askbus.spawn(&args)
    }

    /// Starts a session-binding and waits until it is ready.
    ///
    /// # Errors
    /// When it is not ready within the limit.
    pub async fn session_binding(&self, nats: &NatsServer) -> Result<Service> {
        Service::ready(self.spawn_session_binding(nats, &[])?).await
    }

    /// Starts a gateway on a free port and does not wait for it.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn spawn_gateway(&self, nats: &NatsServer, session_binding: &str) -> Result<Process> {
        self.spawn_gateway_with(nats, session_binding, &[])
    }

    /// The same with more arguments.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn spawn_gateway_with(
        &self,
        nats: &NatsServer,
        session_binding: &str,
        more: &[&str],
    ) -> Result<Process> {
        self.spawn_gateway_over(&nats.url(), session_binding, more)
    }

    /// The same over whatever leads to the bus.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn spawn_gateway_over(
        &self,
        bus: &str,
        session_binding: &str,
        more: &[&str],
    ) -> Result<Process> {
        let mut args = vec!["gateway", "--listen", "127.0.0.1:0", "--nats", bus];
        args.extend(["--signing-dir", path(&self.keys)?]);
        args.extend(["--session-binding", session_binding, "--json"]);
        args.extend(more);
        self.askbus.spawn(&args)
    }

    /// Starts an adapter that serves MCP over HTTP, and waits until it is ready.
    ///
    /// # Errors
    /// When it is not ready within the limit.
    pub async fn mcp_adapter(
        &self,
        session_binding: &str,
        variables: &[(&str, &str)],
    ) -> Result<Service> {
        let listen = "127.0.0.1:0";
        self.mcp_adapter_at(listen, session_binding, variables)
            .await
    }

    /// The same at an address.
    ///
    /// # Errors
    /// When it is not ready within the limit.
    pub async fn mcp_adapter_at(
        &self,
        listen: &str,
        session_binding: &str,
        variables: &[(&str, &str)],
    ) -> Result<Service> {
        let mut askbus = self.askbus.clone();
        for (name, value) in variables {
            askbus = askbus.env(name, *value);
        }
        let mut args = vec!["mcp-adapter", "--listen", listen, "--json"];
        args.extend(["--signing-dir", path(&self.keys)?]);
        args.extend(["--session-binding", session_binding]);
        Service::ready(askbus.spawn(&args)?).await
    }

    /// Starts a gateway and waits until it is ready.
    ///
    /// # Errors
    /// When it is not ready within the limit.
    pub async fn gateway(&self, nats: &NatsServer, session_binding: &str) -> Result<Service> {
        Service::ready(self.spawn_gateway(nats, session_binding)?).await
    }

    /// A person of a tenant at a gateway.
    ///
    /// # Errors
    /// When the credential cannot be made.
    pub async fn person(
        &self,
        gateway: &str,
        tenant: &str,
        profile: &str,
        sub: &str,
    ) -> Result<Person> {
        let token = self.credential("person", tenant, profile, sub).await?;
        Person::bearer(gateway, &token)
    }
}

impl Service {
    /// Waits until a started service says where it listens.
    ///
    /// # Errors
    /// When it does not within the limit.
    pub async fn ready(mut process: Process) -> Result<Self> {
        let line = process.stdout.next().await;
        let line = line.with_context(|| format!("stderr: {:#?}", process.stderr.all()))?;
        let line = line.with_context(|| format!("it ended: {:#?}", process.stderr.all()))?;
        let said: Value = serde_json::from_str(&line).with_context(|| line.clone())?;
        let address = ["url", "address", "panel_url", "mcp_url"]
            .iter()
            .find_map(|name| said[*name].as_str());
        let address = address
            .with_context(|| format!("no address in {line}"))?
            .trim_end_matches('/');
        let scheme = if address.contains("://") || address.contains('/') {
            ""
        } else {
            "http://"
        };
        Ok(Self {
            address: format!("{scheme}{address}"),
            process,
        })
    }
}

fn path(path: &Path) -> Result<&str> {
    path.to_str()
        .with_context(|| format!("{} is not UTF-8", path.display()))
}
