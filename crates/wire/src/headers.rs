//! Names of bus headers and of gRPC metadata.

/// The events of a commit, in order, comma separated.
pub const EVENT: &str = "Askbus-Event";
/// The schema of the writer.
pub const SCHEMA: &str = "Askbus-Schema";
/// The person behind an answer.
pub const ACTOR: &str = "Askbus-Actor";
/// The subject on which the author of an answer awaits the verdict.
pub const REPLY: &str = "Askbus-Reply";
/// W3C trace context, on the bus and in gRPC metadata.
pub const TRACEPARENT: &str = "traceparent";
