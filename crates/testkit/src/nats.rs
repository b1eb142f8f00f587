//! A real nats-server with JetStream.

use crate::places::{folder, nats_server};
use crate::process::Process;
use crate::program::Program;
use anyhow::{Context as _, Result, anyhow};
use rustix::process::Signal;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A nats-server on a loopback port with a store of its own; gone on drop.
pub struct NatsServer {
    program: PathBuf,
    process: Option<Process>,
    port: u16,
    store: TempDir,
    configured: bool,
}

/// The file of a server's configuration, in its store.
const CONFIGURATION: &str = "server.conf";

impl NatsServer {
    /// Starts one on a free port.
    ///
    /// # Errors
    /// When it is not ready within the limit.
    pub async fn start() -> Result<Self> {
        Self::start_program(&nats_server()?).await
    }

    /// Starts this program on a free port.
    ///
    /// # Errors
    /// When it is not ready within the limit.
    pub async fn start_program(program: &Path) -> Result<Self> {
        Self::start_configured(program, "").await
    }

    /// Starts this program on a free port with more configuration, as a file of it would say.
    ///
    /// # Errors
    /// When it is not ready within the limit.
    pub async fn start_configured(program: &Path, configuration: &str) -> Result<Self> {
        let store = folder()?;
        std::fs::write(store.path().join(CONFIGURATION), configuration)?;
        let mut server = Self {
            program: program.to_owned(),
            process: None,
            port: 0,
            store,
            configured: !configuration.is_empty(),
        };
        server.run().await?;
        Ok(server)
    }

    /// One that will listen on a port nobody listens on now; `start` it with [`Self::restart`].
    ///
    /// # Errors
    /// When there is no free port.
    pub fn absent() -> Result<Self> {
        let port = std::net::TcpListener::bind("127.0.0.1:0")?
            .local_addr()?
            .port();
        Ok(Self {
            program: nats_server()?,
            process: None,
            port,
            store: folder()?,
            configured: false,
        })
    }

    /// Where it listens.
    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    /// A client of it.
    ///
    /// # Errors
    /// When it cannot be connected to.
    pub async fn client(&self) -> Result<async_nats::Client> {
        Ok(async_nats::connect(self.url()).await?)
    }

    /// Sends it a signal.
    ///
    /// # Errors
    /// When it is not running.
    pub fn signal(&self, signal: Signal) -> Result<()> {
        let process = self.process.as_ref();
        process
            .ok_or_else(|| anyhow!("no nats-server runs"))?
            .signal(signal)
    }

    /// Kills it at once (SIGKILL).
    ///
    /// # Errors
    /// When it is not running.
    pub async fn kill9(&mut self) -> Result<()> {
        let mut process = self
            .process
            .take()
            .ok_or_else(|| anyhow!("no nats-server runs"))?;
        process.kill9().await
    }

    /// Ends it the orderly way and waits until it is gone.
    ///
    /// # Errors
    /// When it is not running, or does not end.
    pub async fn stop(&mut self) -> Result<()> {
        let mut process = self
            .process
            .take()
            .ok_or_else(|| anyhow!("no nats-server runs"))?;
        process.stop().await.map(drop)
    }

    /// Starts it (again) on the same port and store.
    ///
    /// # Errors
    /// When it is not ready within the limit.
    pub async fn restart(&mut self) -> Result<()> {
        self.process = None;
        self.run().await
    }

    async fn run(&mut self) -> Result<()> {
        let mut command = Program::new(&self.program);
        let port = if self.port == 0 {
            "-1".to_owned()
        } else {
            self.port.to_string()
        };
        command
            .args(["-a", "127.0.0.1", "-p", &port, "-js", "-sd"])
            .arg(self.store.path());
        if self.configured {
            command.arg("-c").arg(self.store.path().join(CONFIGURATION));
        }
        let process = Process::spawn("nats-server", command)?;
        let mut log = process.stderr.clone();
        let listening = log
            .find(|l| l.contains("Listening for client connections on"))
            .await?;
        let port = listening
            .rsplit(':')
            .next()
            .and_then(|p| p.trim().parse().ok());
        self.port = port.with_context(|| format!("no port in {listening:?}"))?;
        log.find(|l| l.contains("Server is ready")).await?;
        self.process = Some(process);
        Ok(())
    }
}
