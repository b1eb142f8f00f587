//! The whole program from outside: real processes, a real broker, a real browser, real MCP clients.

#![allow(missing_docs, clippy::indexing_slicing, reason = "tests")]

mod asking;
mod bad_input;
mod behind_proxy;
mod bench;
mod channels;
mod cluster;
mod crash;
mod fence;
mod figures;
mod guarantees;
mod history;
mod hosts;
mod identity;
mod kill_matrix;
mod left_alone;
mod mcp_conversations;
mod mcp_http;
mod observed;
mod on_bus;
mod outage;
mod output;
mod panel;
mod pass_on;
mod people;
mod plan;
mod policies;
mod race;
mod readme;
mod restarts;
mod scripts;
mod settings;
mod shared_sessions;
mod sockets;
mod strays;
mod studio_http;
mod support;
mod team;
mod tenants;
mod terminal_leaving;
mod terminal_view;
mod vocabulary;
