//! What `askbus bench` does: it starts the program it stands in as real services on this machine,
//! with a home of their own, and looks at what they do from outside.

#![allow(
    clippy::indexing_slicing,
    reason = "JSON is indexed by name, which gives null, not a panic"
)]

pub mod deployment;
pub mod faults;
pub mod figures;
