//! One service that can be hit, and started again as an operator would.

use anyhow::Result;
use askbus_testkit::{Askbus, Process, Service, Signal};

/// A service at an address that it keeps when it is started again.
pub struct Part {
    askbus: Askbus,
    args: Vec<String>,
    service: Service,
}

impl Part {
    /// Starts `askbus NAME ARGS --listen LISTEN` and waits until it is ready.
    ///
    /// # Errors
    /// When it is not ready within the limit.
    pub async fn start(askbus: Askbus, name: &str, args: &[&str], listen: &str) -> Result<Self> {
        let mut all = vec![name.to_owned()];
        all.extend(args.iter().map(|a| (*a).to_owned()));
        let service = run(&askbus, &all, listen).await?;
        Ok(Self {
            askbus,
            args: all,
            service,
        })
    }

    /// `http://host:port`.
    pub fn address(&self) -> &str {
        &self.service.address
    }

    /// `host:port`.
    pub fn host_and_port(&self) -> &str {
        let address = self.address();
        address.strip_prefix("http://").unwrap_or(address)
    }

    /// Its process.
    pub fn process(&mut self) -> &mut Process {
        &mut self.service.process
    }

    /// Sends it a signal.
    ///
    /// # Errors
    /// When it has ended.
    pub fn signal(&self, signal: Signal) -> Result<()> {
        self.service.process.signal(signal)
    }

    /// Starts it again at the same address, after it has ended.
    ///
    /// # Errors
    /// When it is not ready within the limit.
    pub async fn restart(&mut self) -> Result<()> {
        self.service.process.wait().await?;
        let listen = self.host_and_port().to_owned();
        self.service = run(&self.askbus, &self.args, &listen).await?;
        Ok(())
    }
}

async fn run(askbus: &Askbus, args: &[String], listen: &str) -> Result<Service> {
    let mut all: Vec<&str> = args.iter().map(String::as_str).collect();
    all.extend(["--listen", listen]);
    Service::ready(askbus.spawn(&all)?).await
}
