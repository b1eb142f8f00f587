//! A network of hosts, each a network namespace of its own, in which any two can be cut off from
//! each other as a broken switch does it: what they send is lost, and nobody is told.

use super::host::{Host, any};
use crate::reaper;
use anyhow::{Context as _, Result, ensure};
use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::path::Path;
use tokio::process::Command;

/// The hardware address of nobody.
const NOBODY: &str = "02:00:00:00:00:01";
/// A host's interface.
const CABLE: &str = "eth0";
/// The longest pause between two tries of TCP, in milliseconds.
const LONGEST_PAUSE: &str = "/proc/sys/net/ipv4/tcp_rto_max_ms";
/// What it takes, for those who have not got it.
const NEEDED: &str = "network namespaces need root and the command ip (Debian: iproute2)";

/// Hosts on one switch; gone on drop.
pub struct Network {
    /// The namespace with the switch; the hosts' names begin with it too.
    name: String,
    hosts: Vec<(String, Host)>,
    cuts: BTreeSet<(String, String)>,
}

impl Network {
    /// Makes hosts of these names. This process, too, reaches all of them, over an interface of its
    /// own, whatever is cut.
    ///
    /// # Errors
    /// When it may not: it takes root and the command `ip`.
    pub async fn make(names: &[&str]) -> Result<Self> {
        let [a, b] = any();
        // 198.18.0.0/15 is set aside for tests of networks.
        let half = if a.is_multiple_of(2) { 18 } else { 19 };
        let subnet = |host: u8| Ipv4Addr::new(198, half, b, host);
        let name = format!("askbus{a:02x}{b:02x}");
        let mut network = Self {
            name: name.clone(),
            hosts: Vec::new(),
            cuts: BTreeSet::new(),
        };
        reaper::namespace(&name);
        ip(&["netns", "add", &name]).await.context(NEEDED)?;
        ip(&["-n", &name, "link", "add", "switch", "type", "bridge"]).await?;
        ip(&["-n", &name, "link", "set", "switch", "up"]).await?;
        // The test's own way in; it goes away with its other end.
        network.plug("way-in", None, subnet(254)).await?;
        for (own, number) in names.iter().zip(1..) {
            let namespace = format!("{name}-{own}");
            reaper::namespace(&namespace);
            ip(&["netns", "add", &namespace]).await?;
            let host = Host::new(subnet(number), Some(namespace.clone()));
            network.hosts.push(((*own).to_owned(), host));
            network
                .plug(&format!("port{number}"), Some(&namespace), subnet(number))
                .await?;
            ip(&["-n", &namespace, "link", "set", "lo", "up"]).await?;
            try_again_soon(&namespace).await?;
        }
        Ok(network)
    }

    /// A cable from the switch to a host, or to this process where none is named.
    async fn plug(&self, port: &str, host: Option<&str>, address: Ipv4Addr) -> Result<()> {
        let switch = self.name.as_str();
        let own = std::process::id().to_string();
        let (cable, far_end) = match host {
            Some(host) => (CABLE, host),
            None => (switch, own.as_str()),
        };
        let make = ["-n", switch, "link", "add", port, "type", "veth"];
        let far = ["peer", "name", cable, "netns", far_end];
        ip(&[&make[..], &far].concat()).await?;
        ip(&["-n", switch, "link", "set", port, "master", "switch", "up"]).await?;
        let there = host.map_or_else(Vec::new, |host| vec!["-n", host]);
        let address = format!("{address}/24");
        for args in [
            ["address", "add", &address, "dev", cable],
            ["link", "set", "dev", cable, "up"],
        ] {
            ip(&[&there[..], &args].concat()).await?;
        }
        Ok(())
    }

    /// A host by its name.
    ///
    /// # Errors
    /// When there is none of this name.
    pub fn host(&self, name: &str) -> Result<Host> {
        Ok(self.place(name)?.1.clone())
    }

    fn place(&self, name: &str) -> Result<&(String, Host)> {
        let found = self.hosts.iter().find(|(own, _)| own == name);
        found.with_context(|| format!("there is no host {name}"))
    }

    /// Cuts two hosts off from each other.
    ///
    /// # Errors
    /// When there is no such host, or the kernel refuses.
    pub async fn cut(&mut self, one: &str, other: &str) -> Result<()> {
        self.between(one, other, true).await?;
        self.cuts.insert((one.to_owned(), other.to_owned()));
        Ok(())
    }

    /// Mends everything that is cut.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub async fn heal(&mut self) -> Result<()> {
        for (one, other) in std::mem::take(&mut self.cuts) {
            self.between(&one, &other, false).await?;
        }
        Ok(())
    }

    /// Has each of two hosts send what is for the other to nobody, or no longer.
    async fn between(&self, one: &str, other: &str, cut: bool) -> Result<()> {
        let (one, other) = (self.place(one)?, self.place(other)?);
        for ((from, _), (_, to)) in [(one, other), (other, one)] {
            let namespace = format!("{}-{from}", self.name);
            let address = to.address().to_string();
            let mut args = vec!["-n", namespace.as_str(), "neighbour"];
            if cut {
                args.extend(["replace", &address, "lladdr", NOBODY, "nud", "permanent"]);
            } else {
                args.extend(["del", &address]);
            }
            args.extend(["dev", CABLE]);
            ip(&args).await?;
        }
        Ok(())
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        let own = self
            .hosts
            .iter()
            .map(|(own, _)| format!("{}-{own}", self.name));
        for namespace in own.chain([self.name.clone()]) {
            let remove = std::process::Command::new("ip")
                .args(["netns", "delete", &namespace])
                .status();
            // The reaper tries again.
            drop(remove);
        }
    }
}

/// After a cut TCP tries again about as long later as the cut was long. How long a cut lasts depends on
/// the machine, so a host tries every second, where its kernel (6.15 and newer) can be told so.
async fn try_again_soon(namespace: &str) -> Result<()> {
    if !Path::new(LONGEST_PAUSE).exists() {
        return Ok(());
    }
    let write = format!("echo 1000 > {LONGEST_PAUSE}");
    ip(&["netns", "exec", namespace, "sh", "-c", &write]).await
}

async fn ip(args: &[&str]) -> Result<()> {
    let command = || format!("ip {}", args.join(" "));
    let done = Command::new("ip").args(args).output().await;
    let done = done.with_context(|| format!("{}: {NEEDED}", command()))?;
    let said = String::from_utf8_lossy(&done.stderr);
    ensure!(done.status.success(), "{}: {said}", command());
    Ok(())
}
