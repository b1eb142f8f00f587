//! What a gateway is started with.

use crate::channels::{ChannelError, ChannelOptions};
use askbus_credential::{Issuer, Verifier};
use askbus_domain::{PersonId, ProfileId, TenantId};
use askbus_ledger::{Bus, LedgerError};
use askbus_wire::client::Target;
use askbus_wire::clock::Clock;
use askbus_wire::error::WireError;
pub use askbus_wire::listener::Listen;
use askbus_wire::listener::NotListening;
use askbus_wire::targets::Targets;
use askbus_wire::tenants::Tenants;
use std::time::Duration;

/// Everything a gateway needs.
pub struct Options {
    /// Log, inbox, drafts and heartbeats.
    pub bus: Bus,
    /// Checks credentials.
    pub verifier: Verifier,
    /// Where to listen.
    pub listen: Listen,
    /// Where it takes the time from.
    pub clock: Clock,
    /// Tenants this instance serves.
    pub tenants: Tenants,
    /// Where gRPC calls go, by tenant.
    pub session_binding: Targets,
    /// Where MCP over HTTP goes; none: such requests find nothing.
    pub mcp: Option<Target>,
    /// Makes browser credentials from one-time codes; none: no links are made.
    pub sign_in: Option<SignIn>,
    /// Scripts on this machine may read what waits in tenant `local` without a credential (D14).
    pub single_machine: bool,
    /// Names besides the loopback ones that a Host header may carry, without port.
    pub host_names: Vec<String>,
    /// Chats through which people are told and answer.
    pub channels: Vec<ChannelOptions>,
    /// Unique per process.
    pub instance: String,
    /// Shown by the health route.
    pub version: String,
}

/// Who a one-time link of the service itself signs in, and how.
pub struct SignIn {
    /// Signs the browser's credential.
    pub issuer: Issuer,
    /// For this tenant.
    pub tenant: TenantId,
    /// With these profiles, at least one.
    pub profiles: Vec<ProfileId>,
    /// As this person.
    pub person: PersonId,
    /// For this long.
    pub life: Duration,
}

/// Why a gateway did not start.
#[derive(Debug, thiserror::Error)]
pub enum GatewayError {
    /// The address cannot be listened on.
    #[error(transparent)]
    Listen(#[from] NotListening),
    /// The log cannot be read.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The address of session-binding cannot be read.
    #[error("session-binding: {0}")]
    Target(#[from] WireError),
    /// The channels cannot be what they are configured to be.
    #[error(transparent)]
    Channel(#[from] ChannelError),
    /// Shut down before it was ready.
    #[error("stopped before the log was read")]
    Stopped,
}
