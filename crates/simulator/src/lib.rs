//! A whole bus on one thread and on time that is made up: real session-bindings, real asking
//! processes and real gRPC over a bus that misbehaves, all driven by one seed. For development only;
//! no service depends on it.
//!
//! What goes wrong in a run follows from its seed: replicas crash, stop and come back, lose the bus
//! or their connections, and disagree about the time; writes and acknowledgements get lost; people
//! answer late, twice or not at all; agents vanish and turns are replaced. When it is over, the log
//! has to keep every promise of [`invariants`].

mod agent;
mod faulty;
mod host;
pub mod invariants;
mod network;
mod person;
mod random;
mod replica;
mod run;
mod world;

pub use run::{Report, run};
