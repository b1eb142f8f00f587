//! W3C trace context: one trace from the tool call through gRPC and the bus to the answer.

use crate::headers::TRACEPARENT;
use tonic::Request;
use tonic::metadata::{Ascii, MetadataValue};

/// The `traceparent` of one piece of work: always a valid header of version 00.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    text: String,
    given: bool,
}

impl Trace {
    /// The first span of a new trace.
    pub fn begin() -> Self {
        let trace: u128 = rand::random::<u128>() | 1;
        Self {
            text: format!("00-{trace:032x}-{:016x}-01", span()),
            given: false,
        }
    }

    /// A new span in the caller's trace; the first of a new trace when the caller names none, or
    /// none that can be read.
    pub fn continuing(caller: Option<&str>) -> Self {
        match caller.and_then(child_of) {
            Some(text) => Self { text, given: true },
            None => Self::begin(),
        }
    }

    /// The header's value.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// What an answer carries: the trace its author named, else the one in which the question was
    /// asked.
    pub fn of_answer(&self, question: Option<&str>) -> String {
        let asked = question.filter(|_| !self.given).and_then(child_of);
        asked.unwrap_or_else(|| self.text.clone())
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

fn span() -> u64 {
    rand::random::<u64>() | 1
}

/// A new span in the trace of `text`, when that is a valid header.
fn child_of(text: &str) -> Option<String> {
    let (trace, flags) = parse(text)?;
    Some(format!("00-{trace}-{:016x}-{flags}", span()))
}

/// Trace id and flags of a valid version 00 header.
fn parse(text: &str) -> Option<(&str, &str)> {
    let mut parts = text.split('-');
    let (version, trace) = (parts.next()?, parts.next()?);
    let (span, flags) = (parts.next()?, parts.next()?);
    let hex = |text: &str, len| {
        text.len() == len
            && text
                .bytes()
                .all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
    };
    let zero = |text: &str| text.bytes().all(|b| b == b'0');
    let valid = version == "00"
        && parts.next().is_none()
        && hex(trace, 32)
        && hex(span, 16)
        && hex(flags, 2)
        && !zero(trace)
        && !zero(span);
    valid.then_some((trace, flags))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";

    #[test]
    fn a_trace_is_continued_and_a_broken_one_replaced() {
        let given = format!("00-{TRACE}-b7ad6b7169203331-01");
        let continued = Trace::continuing(Some(&given));
        assert!(continued.as_str().starts_with(&format!("00-{TRACE}-")));
        assert_ne!(continued.as_str(), given);
        let foreign_version = format!("ff-{TRACE}-b7ad6b7169203331-01");
        let no_trace = format!("00-{}-b7ad6b7169203331-01", "0".repeat(32));
        for broken in [
            None,
            Some(""),
            Some("00-zz-1-1"),
            Some(&*foreign_version),
            Some(&*no_trace),
        ] {
            let begun = Trace::continuing(broken);
            assert!(parse(begun.as_str()).is_some_and(|(id, _)| id != TRACE));
        }
    }

    #[test]
    fn an_answer_without_a_trace_of_its_own_joins_the_question() {
        let question = format!("00-{TRACE}-b7ad6b7169203331-00");
        let answer = Trace::begin().of_answer(Some(&question));
        assert!(answer.starts_with(&format!("00-{TRACE}-")) && answer.ends_with("-00"));
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
