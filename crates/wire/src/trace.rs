//! W3C trace context: one trace from the tool call through gRPC and the bus to the answer.
//!
//! What a caller names is handed on as it came: only who exports a span of its own puts that in its
//! place, since a span that nobody can look up would tear the trace apart.

use crate::headers::TRACEPARENT;
use std::fmt;
use std::str::FromStr;
use tonic::Request;
use tonic::metadata::{Ascii, MetadataValue};

/// A valid `traceparent` of version 00, read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceContext {
    /// The trace; never 0.
    pub trace: u128,
    /// The span that leads on; never 0.
    pub span: u64,
    /// Whether it is recorded, among others.
    pub flags: u8,
}

/// A `traceparent` that cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a traceparent of version 00")]
pub struct NotATrace;

/// `len` lower-case hexadecimal digits.
fn hex(text: Option<&str>, len: usize) -> Result<&str, NotATrace> {
    let digit = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
    text.filter(|t| t.len() == len && t.bytes().all(digit))
        .ok_or(NotATrace)
}

impl FromStr for TraceContext {
    type Err = NotATrace;

    fn from_str(text: &str) -> Result<Self, NotATrace> {
        let mut parts = text.split('-');
        let version = hex(parts.next(), 2)?;
        let trace = u128::from_str_radix(hex(parts.next(), 32)?, 16).map_err(|_| NotATrace)?;
        let span = u64::from_str_radix(hex(parts.next(), 16)?, 16).map_err(|_| NotATrace)?;
        let flags = u8::from_str_radix(hex(parts.next(), 2)?, 16).map_err(|_| NotATrace)?;
        if version != "00" || parts.next().is_some() || trace == 0 || span == 0 {
            return Err(NotATrace);
        }
        Ok(Self { trace, span, flags })
    }
}

impl fmt::Display for TraceContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { trace, span, flags } = self;
        write!(f, "00-{trace:032x}-{span:016x}-{flags:02x}")
    }
}

/// The `traceparent` of one piece of work: always a valid header of version 00.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    text: String,
    given: bool,
}

impl Trace {
    /// A new trace.
    pub fn begin() -> Self {
        let context = TraceContext {
            trace: rand::random::<u128>() | 1,
            span: rand::random::<u64>() | 1,
            flags: 1,
        };
        Self {
            text: context.to_string(),
            given: false,
        }
    }

    /// The caller's trace; a new one when the caller names none, or none that can be read.
    pub fn continuing(caller: Option<&str>) -> Self {
        match caller.filter(|text| text.parse::<TraceContext>().is_ok()) {
            Some(text) => Self {
                text: text.to_owned(),
                given: true,
            },
            None => Self::begin(),
        }
    }

    /// The header's value.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// What the caller named, if it named anything.
    pub fn caller(&self) -> Option<&str> {
        self.given.then_some(&*self.text)
    }

    /// What an answer belongs to: the trace its author named, else the one in which the question was
    /// asked.
    pub fn of_answer<'a>(&'a self, question: Option<&'a str>) -> &'a str {
        let asked = question.filter(|text| text.parse::<TraceContext>().is_ok());
        asked.filter(|_| !self.given).unwrap_or(&self.text)
    }

    /// A call to a service within this trace.
    pub fn request<T>(&self, body: T) -> Request<T> {
        let mut request = Request::new(body);
        // Hexadecimal digits and dashes always fit.
        if let Ok(value) = self.text.parse::<MetadataValue<Ascii>>() {
            request.metadata_mut().insert(TRACEPARENT, value);
        }
        request
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";

    #[test]
    fn a_trace_is_continued_as_it_came_and_a_broken_one_replaced() {
        let given = format!("00-{TRACE}-b7ad6b7169203331-01");
        let continued = Trace::continuing(Some(&given));
        assert_eq!(continued.as_str(), given);
        assert_eq!(continued.caller(), Some(&*given));
        let foreign_version = format!("ff-{TRACE}-b7ad6b7169203331-01");
        let no_trace = format!("00-{}-b7ad6b7169203331-01", "0".repeat(32));
        let no_span = format!("00-{TRACE}-0000000000000000-01");
        let shouted = given.to_uppercase();
        let longer = format!("{given}-00");
        for broken in [
            None,
            Some(""),
            Some("00-zz-1-1"),
            Some(&*foreign_version),
            Some(&*no_trace),
            Some(&*no_span),
            Some(&*shouted),
            Some(&*longer),
        ] {
            let begun = Trace::continuing(broken);
            let context = begun.as_str().parse::<TraceContext>().unwrap();
            assert_ne!(format!("{:032x}", context.trace), TRACE, "{broken:?}");
            assert_eq!(begun.caller(), None);
        }
    }

    #[test]
    fn a_context_is_written_as_it_was_read() {
        for text in [
            format!("00-{TRACE}-b7ad6b7169203331-00"),
            "00-00000000000000000000000000000001-0000000000000001-ff".to_owned(),
        ] {
            assert_eq!(text.parse::<TraceContext>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn an_answer_without_a_trace_of_its_own_joins_the_question() {
        let question = format!("00-{TRACE}-b7ad6b7169203331-00");
        assert_eq!(Trace::begin().of_answer(Some(&question)), question);
        let nobody = Trace::begin();
        assert_eq!(nobody.of_answer(Some("nonsense")), nobody.as_str());
        assert_eq!(nobody.of_answer(None), nobody.as_str());
        let own = Trace::continuing(Some(
            "00-00000000000000000000000000000001-b7ad6b7169203331-01",
        ));
        assert_eq!(own.of_answer(Some(&question)), own.as_str());
    }

    #[test]
    fn a_call_carries_it() {
        let trace = Trace::begin();
        let request = trace.request(());
        let sent = request.metadata().get(TRACEPARENT).unwrap();
        assert_eq!(sent.to_str().unwrap(), trace.as_str());
    }
}
