//! The trace of a request: the caller's, continued, or a new one.

pub(crate) use askbus_wire::trace::Trace;

use askbus_wire::headers::TRACEPARENT;
use http::HeaderMap;

/// Continues the trace named in `headers`, or begins a new one.
pub(crate) fn of(headers: &HeaderMap) -> Trace {
    Trace::continuing(headers.get(TRACEPARENT).and_then(|v| v.to_str().ok()))
}
