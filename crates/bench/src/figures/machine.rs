//! What the figures were measured on: processors, memory, and above all how long the disk takes.

use super::samples::{Samples, Spread};
use anyhow::Result;
use serde::Serialize;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::time::Instant;

/// How often the disk is waited for.
const SYNCS: usize = 200;
/// About what one commit writes, in bytes.
const BLOCK: usize = 4096;

/// The machine.
#[derive(Debug, Clone, Serialize)]
pub struct Machine {
    /// Processors that this process may use.
    pub cores: usize,
    /// Their name.
    pub processor: String,
    /// Main memory.
    pub memory_mib: u64,
    /// The kernel's release.
    pub kernel: String,
    /// One block written and waited for (`fdatasync`), in the folder where everything is kept.
    pub fsync: Spread,
    /// Whether the program was built with optimisation; figures of one that was not say nothing.
    pub optimised: bool,
}

impl Machine {
    /// Looks at this machine; waits for its disk.
    pub(crate) fn look(folder: &Path, syncs: usize) -> Result<Self> {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let field = |text: &str, name: &str| {
            let line = text.lines().find(|l| l.starts_with(name));
            let value = line.and_then(|l| l.split_once(':')).map(|(_, v)| v.trim());
            value.unwrap_or_default().to_owned()
        };
        let memory = field(&read("/proc/meminfo"), "MemTotal");
        let kib = memory.split(' ').next().and_then(|n| n.parse::<u64>().ok());
        Ok(Self {
            cores: std::thread::available_parallelism()?.get(),
            processor: field(&read("/proc/cpuinfo"), "model name"),
            memory_mib: kib.unwrap_or_default() / 1024,
            kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
            fsync: fsync(folder, syncs.min(SYNCS))?,
            optimised: !cfg!(debug_assertions),
        })
    }
}

fn fsync(folder: &Path, times: usize) -> Result<Spread> {
    let mut file = File::create(folder.join("fsync"))?;
    let block = [0x2a; BLOCK];
    let mut samples = Samples::default();
    for _ in 0..times {
        file.write_all(&block)?;
        let begun = Instant::now();
        file.sync_data()?;
        samples.add(begun.elapsed());
    }
    Ok(samples.spread())
}
