//! What tests, and `askbus bench`, start and talk to: real processes on free loopback ports with
//! folders of their own, and the clients of people and agents. Nothing here knows how a question is
//! decided; it only starts, speaks, waits with a bound, and cleans up, also when the test fails.

#![allow(
    clippy::indexing_slicing,
    reason = "JSON is indexed by name, which gives null, not a panic"
)]

mod balancer;
mod bound;
#[cfg(feature = "browser")]
mod browser;
#[cfg(feature = "chats")]
mod chats;
#[cfg(feature = "clis")]
pub mod clis;
mod cluster;
#[cfg(feature = "clis")]
pub mod conformance;
mod connect_proxy;
mod mcp_http;
mod mcp_python;
mod mcp_stdio;
#[cfg(feature = "clis")]
pub mod model;
mod nats;
mod nginx;
mod output;
mod person;
mod places;
mod process;
mod program;
mod reaper;
mod socket;
mod team;
mod tmux;
mod up;
mod valve;

pub use balancer::Balancer;
pub use bound::{LIMIT, within};
#[cfg(feature = "browser")]
pub use browser::Browser;
#[cfg(feature = "chats")]
pub use chats::{FakeILink, Hook, HookAnswer, HookMessage};
pub use cluster::{Host, NatsCluster, Network};
pub use connect_proxy::ConnectProxy;
pub use mcp_http::{Era, HttpCall, McpHttp};
pub use mcp_python::McpPython;
pub use mcp_stdio::McpStdio;
pub use nats::NatsServer;
pub use nginx::Nginx;
pub use output::Lines;
pub use person::{Person, Reply};
pub use places::{Askbus, folder, nats_server, python, workspace};
pub use process::{Finished, Process};
pub use program::Program;
pub use socket::Socket;
pub use team::{Service, Team};
pub use tmux::Tmux;
pub use up::{Announcement, AskbusUp};
pub use valve::Valve;

/// The browser client's own names, for selectors.
#[cfg(feature = "browser")]
pub use fantoccini;
/// The signals a test sends.
pub use rustix::process::Signal;
