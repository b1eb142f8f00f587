//! Agents ask here: the Model Context Protocol over standard input and output, and the asking
//! process behind it.
//!
//! [`asker`] keeps one asking process alive towards the service: its own turn, its questions, and
//! how it learns how they end, on a stream of the service's or on the bus. [`server`] puts it behind MCP tools, one [`toolset`] per
//! dialect. Both run on a current-thread runtime as well as on a multi-threaded one.

pub mod asker;
mod metrics;
pub mod server;
pub mod toolset;

pub use asker::{
    AskCall, Asked, Asker, AskerOptions, BusOptions, Notice, Notices, Origin, Outcomes, Settled,
    Token,
};
pub use metrics::Figures;
pub use server::http::{HttpOptions, Listen, Serving, serve_http};
pub use server::{AdapterError, AdapterOptions, Panel, serve, serve_stdio};
pub use toolset::{Gate, Toolset, UnknownToolset};
