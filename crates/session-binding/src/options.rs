//! What a session-binding needs to start.

use askbus_credential::Verifier;
use askbus_domain::{Millis, PolicyTable, Roster, WaitingLimits};
use askbus_ledger::{Bus, LedgerError};
use askbus_wire::clock::Clock;
use askbus_wire::memory::MemoryAddress;
use askbus_wire::tenants::Tenants;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Where it listens for gRPC.
#[derive(Debug, Clone)]
pub enum Listen {
    /// A Unix socket of mode 0600, for one machine.
    Socket(PathBuf),
    /// A TCP address.
    Tcp(SocketAddr),
    /// An address within this process, for simulations.
    Memory(MemoryAddress),
}

/// Says who can answer at the moment; none when that is not known. It may read files.
pub type KnownPeople = Arc<dyn Fn() -> Option<Roster> + Send + Sync>;

/// Everything it needs.
#[derive(Clone)]
pub struct Options {
    /// Log, inbox and heartbeats.
    pub bus: Bus,
    /// Checks credentials.
    pub verifier: Verifier,
    /// Where to listen.
    pub listen: Listen,
    /// Where it takes the time and its ids from.
    pub clock: Clock,
    /// Which tenants it serves.
    pub tenants: Tenants,
    /// Unique name of this process.
    pub instance: String,
    /// How long an asker or the holder of a turn may be missing.
    pub lease: Millis,
    /// How often it says that it is alive; a third of the lease at most.
    pub heartbeat: Duration,
    /// What the operator set for people who do not answer or are not there.
    pub policy: PolicyTable,
    /// Who can answer, where all of them are known: on a single machine. None: anybody may come.
    pub people: Option<KnownPeople>,
    /// How much may wait for people at once.
    pub waiting: WaitingLimits,
}

impl Options {
    /// The lease of callers on the same machine.
    pub const LOCAL_LEASE: Millis = Millis(15_000);
    /// The lease of callers across a network.
    pub const REMOTE_LEASE: Millis = Millis(120_000);

    /// Heartbeats at least three times a lease, at most every five seconds.
    pub fn heartbeat_for(lease: Millis) -> Duration {
        Duration::from_millis((lease.0 / 3).clamp(100, 5_000))
    }
}

/// Why it could not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The log cannot be read or is not set up as needed.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// It cannot listen there.
    #[error("cannot listen on {address}: {error}")]
    Listen {
        /// Where.
        address: String,
        /// Why.
        error: std::io::Error,
    },
    /// It was told to stop before it was ready.
    #[error("stopped before it was ready")]
    Stopped,
}
