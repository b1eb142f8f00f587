//! How the domain travels: protobuf for calls, JSON and subjects for the bus, and one table of
//! error codes for every transport. No service logic enters here.

/// Messages and services compiled from `proto/askbus/v1`.
#[allow(missing_docs, clippy::all, clippy::pedantic)]
pub mod proto {
    tonic::include_proto!("askbus.v1");
}

/// The descriptor set of [`proto`], for reflection.
pub const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/askbus.v1.bin"));

pub mod client;
pub mod clock;
pub mod codec;
pub mod convert;
pub mod error;
pub mod headers;
pub mod listener;
pub mod memory;
pub mod messages;
pub mod plan;
mod proxy;
mod replicas;
pub mod subject;
pub mod surrogates;
pub mod targets;
pub mod tenants;
pub mod trace;
