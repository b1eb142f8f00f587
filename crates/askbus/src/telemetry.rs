//! What an operator sees of a process: spans sent to a collector, figures on a listener of their own.

mod listener;
mod otlp;

pub(crate) use listener::{Listening, listen};
pub(crate) use otlp::{AT_EXIT, export};
