//! Owns sessions: turns commands into commits and keeps deadlines and leases. Any number of replicas
//! serve any session; the guard of the log picks one writer. No rule about a question is written
//! here (that is `domain`), and nothing is kept here that the log does not hold.

mod attachments;
mod clock;
mod commands;
mod deadlines;
mod grpc;
mod inbox;
mod leases;
mod metrics;
mod options;
mod past;
mod presence;
mod projection;
mod service;
mod spans;
mod stats;

pub use askbus_wire::clock::Clock;
pub use options::{KnownPeople, Listen, Options, StartError};
pub use service::{Handle, start};
pub use stats::Stats;
