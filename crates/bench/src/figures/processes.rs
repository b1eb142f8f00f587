//! The services as the kernel sees them: how much memory they hold, how long they computed.

use serde::Serialize;
use std::fs;
use std::path::PathBuf;

/// Commands of the program that are services.
const SERVICES: [&str; 3] = ["up", "session-binding", "gateway"];
/// Ticks of processor time in a second, as the kernel counts for programs.
const TICKS: f64 = 100.0;

/// One process.
#[derive(Debug, Clone, Serialize)]
pub struct Resident {
    /// `up`, `session-binding`, `gateway` or `nats-server`.
    pub process: String,
    /// Its resident memory.
    pub rss_kib: u64,
    /// The part of it that is no file: heap and stacks.
    pub anonymous_kib: u64,
}

/// The resident memory of a process, in KiB, and what of it is no file.
pub(crate) fn resident(pid: u32) -> (u64, u64) {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let kib = |name: &str| {
        let line = status.lines().find_map(|l| l.strip_prefix(name));
        let number = line.and_then(|l| l.split_whitespace().next());
        number.and_then(|n| n.parse().ok()).unwrap_or_default()
    };
    (kib("VmRSS:"), kib("RssAnon:"))
}

/// All services that this process started.
pub(crate) fn services() -> Vec<Resident> {
    let of = |(pid, process): (u32, String)| {
        let (rss_kib, anonymous_kib) = resident(pid);
        Resident {
            process,
            rss_kib,
            anonymous_kib,
        }
    };
    children().into_iter().map(of).collect()
}

/// Processor time of all services, in seconds.
pub(crate) fn services_cpu_s() -> f64 {
    children().iter().map(|(pid, _)| cpu_s(*pid)).sum()
}

/// Processor time of this process, in seconds.
pub(crate) fn own_cpu_s() -> f64 {
    cpu_s(std::process::id())
}

fn children() -> Vec<(u32, String)> {
    let own = std::process::id().to_string();
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    let pids = entries
        .flatten()
        .filter_map(|e| e.file_name().to_str()?.parse().ok());
    let mut found: Vec<(u32, String)> = pids
        .filter(|pid| stat(*pid).get(1) == Some(&own))
        .filter_map(|pid| Some((pid, service(pid)?)))
        .collect();
    found.sort();
    found
}

/// The name of a service by its command line; none for other programs.
fn service(pid: u32) -> Option<String> {
    let line = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let mut words = line.split(|b| *b == 0).map(String::from_utf8_lossy);
    let program = PathBuf::from(words.next()?.into_owned());
    let program = program.file_name()?.to_string_lossy().into_owned();
    if program.contains("nats-server") {
        return Some("nats-server".to_owned());
    }
    let command = words.next()?.into_owned();
    SERVICES.contains(&command.as_str()).then_some(command)
}

/// What stands after the program's name: state, parent, …
fn stat(pid: u32) -> Vec<String> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The name stands in brackets and may hold anything.
    let rest = text.rsplit_once(')').map_or("", |(_, rest)| rest);
    rest.split_whitespace().map(str::to_owned).collect()
}

fn cpu_s(pid: u32) -> f64 {
    let stat = stat(pid);
    let ticks = |n: usize| {
        stat.get(n)
            .and_then(|t| t.parse::<f64>().ok())
            .unwrap_or_default()
    };
    (ticks(11) + ticks(12)) / TICKS
}
