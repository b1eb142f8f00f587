//! A real nats-server for one test, on a free port with a store of its own; it dies with the test.

use std::net::TcpListener;
use std::path::PathBuf;
use std::process::Stdio;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

pub struct NatsServer {
    port: u16,
    dir: TempDir,
    /// A file in `dir`, if it has one.
    configuration: Option<&'static str>,
    process: Child,
}

fn binary() -> PathBuf {
    std::env::var_os("NATS_SERVER").map_or_else(
        || {
            PathBuf::from(concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/../../target/tools/nats-server"
            ))
        },
        PathBuf::from,
    )
}

async fn start(port: u16, dir: &TempDir, configuration: Option<&str>) -> Option<Child> {
    let mut command = Command::new(binary());
    if let Some(file) = configuration {
        command.arg("-c").arg(dir.path().join(file));
    }
    let mut process = command
        .args(["-a", "127.0.0.1", "-p", &port.to_string(), "-js", "-sd"])
        .arg(dir.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("nats-server is at NATS_SERVER or target/tools/nats-server");
    let mut lines = BufReader::new(process.stderr.take().unwrap()).lines();
    while let Some(line) = lines.next_line().await.unwrap() {
        if line.contains("Server is ready") {
            // Read on, so that the server never waits for us.
            tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
            return Some(process);
        }
    }
    None
}

pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port()
}

impl NatsServer {
    pub async fn start() -> Self {
        Self::start_in(tempfile::tempdir().unwrap(), None).await
    }

    /// With a configuration file of this folder; port and store are the test's own.
    #[allow(dead_code, reason = "not every test has one")]
    pub async fn configured(dir: TempDir, file: &'static str) -> Self {
        Self::start_in(dir, Some(file)).await
    }

    async fn start_in(dir: TempDir, configuration: Option<&'static str>) -> Self {
        // Another test may be faster to take the port.
        for _ in 0..10 {
            let port = free_port();
            if let Some(process) = start(port, &dir, configuration).await {
                return Self {
                    port,
                    dir,
                    configuration,
                    process,
                };
            }
        }
        panic!("nats-server does not start");
    }

    pub async fn start_at(port: u16) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let process = start(port, &dir, None).await.expect("the port is free");
        Self {
            port,
            dir,
            configuration: None,
            process,
        }
    }

    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    /// Stops the server in the middle of what it does (SIGSTOP): connections stay, replies do not come.
    #[allow(dead_code, reason = "not every test does")]
    pub async fn freeze(&self) {
        let id = self.process.id().expect("it runs").to_string();
        let done = Command::new("kill").args(["-STOP", &id]).status().await;
        assert!(done.unwrap().success());
    }

    /// Kills the server as a power cut would.
    pub async fn kill(&mut self) {
        self.process.kill().await.unwrap();
    }

    /// Starts it again, same port, same store.
    pub async fn revive(&mut self) {
        self.process = start(self.port, &self.dir, self.configuration)
            .await
            .expect("it starts again");
    }
}
