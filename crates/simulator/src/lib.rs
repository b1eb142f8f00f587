//! A whole bus on one thread and on time that is made up: real session-bindings, real gateways, real
//! asking processes, real gRPC and WebSockets over a bus that misbehaves, all driven by one seed. For
//! development only; no service depends on it.
//!
//! What goes wrong in a run follows from its seed: processes crash, stop and come back, lose the bus
//! or their connections, and disagree about the time; writes and acknowledgements get lost; people
//! answer late, twice or not at all; agents vanish and turns are replaced. When it is over, the log
//! has to keep every promise of [`invariants`].

mod agent;
mod answering;
mod endings;
mod faulty;
mod hindsight;
mod host;
pub mod invariants;
mod network;
mod panel;
mod person;
mod planning;
mod policy;
mod process;
mod random;
mod run;
mod stranger;
mod tab;
mod world;

pub use run::{Report, run};
