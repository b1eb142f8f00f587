//! Where a process of a test runs: on loopback, or in a network namespace.

use crate::places::Askbus;
use crate::process::Process;
use crate::program::Program;
use anyhow::{Result, bail};
use std::hash::{BuildHasher as _, RandomState};
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;

/// The ports that `deploy/nats/cluster.conf` names.
const PORTS: [u16; 3] = [4222, 6222, 8222];
/// Attempts to find addresses that nobody uses.
const ATTEMPTS: usize = 100;

/// One host of a test.
#[derive(Debug, Clone)]
pub struct Host {
    address: Ipv4Addr,
    namespace: Option<String>,
}

impl Host {
    pub(super) fn new(address: Ipv4Addr, namespace: Option<String>) -> Self {
        Self { address, namespace }
    }

    /// This machine, on loopback.
    pub fn here() -> Self {
        Self::new(Ipv4Addr::LOCALHOST, None)
    }

    /// Its address.
    pub fn address(&self) -> Ipv4Addr {
        self.address
    }

    /// A command that runs `program` there.
    pub fn command(&self, program: &Path) -> Program {
        match &self.namespace {
            None => Program::new(program),
            // It becomes the program: signals reach that, and its parent is the test.
            Some(name) => {
                let mut command = Program::new("ip");
                command.args(["netns", "exec", name]).arg(program);
                command
            }
        }
    }

    /// Starts the program under test there.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn spawn(&self, askbus: &Askbus, args: &[&str]) -> Result<Process> {
        let mut command = self.command(askbus.binary());
        command
            .args(args)
            .env_clear()
            .envs(askbus.variables())
            .current_dir(askbus.home());
        if let Some(path) = std::env::var_os("PATH") {
            command.env("PATH", path);
        }
        Process::spawn(&format!("askbus {}", args.join(" ")), command)
    }
}

/// Some 16 bits, different every time.
pub(super) fn any() -> [u8; 2] {
    let [a, b, ..] = RandomState::new().hash_one(0).to_be_bytes();
    [a, b]
}

/// Addresses of loopback on which nobody uses the ports of a server.
pub(super) fn on_loopback(count: usize) -> Result<Vec<Host>> {
    for _ in 0..ATTEMPTS {
        let [a, b] = any();
        // 127.0 is where everybody else is.
        let address = |n: usize| Some(Ipv4Addr::new(127, a.max(1), b, u8::try_from(n + 1).ok()?));
        let addresses: Option<Vec<_>> = (0..count).map(address).collect();
        let Some(addresses) = addresses else { break };
        let is_free = |address: &Ipv4Addr| {
            let free = |port: &u16| TcpListener::bind((*address, *port)).is_ok();
            PORTS.iter().all(free)
        };
        if addresses.iter().all(is_free) {
            let host = |address| Host::new(address, None);
            return Ok(addresses.into_iter().map(host).collect());
        }
    }
    bail!("no addresses of loopback are free")
}
