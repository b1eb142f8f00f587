//! W3C trace context: every request continues the caller's trace or begins one.

use askbus_wire::headers::TRACEPARENT;
use http::HeaderMap;

/// The `traceparent` of one request.
#[derive(Debug, Clone)]
pub(crate) struct Trace {
    text: String,
    /// The caller named it.
    given: bool,
}

impl Trace {
    /// Continues the trace named in `headers`, or begins a new one.
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let given = headers
            .get(TRACEPARENT)
            .and_then(|v| v.to_str().ok())
            .and_then(child_of);
        match given {
            Some(text) => Self { text, given: true },
            None => Self {
                text: begin(),
                given: false,
            },
        }
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    /// What an answer carries: the caller's trace, else the one in which the question was asked.
    pub(crate) fn of_answer(&self, question: Option<&str>) -> String {
        let asked = question.filter(|_| !self.given).and_then(child_of);
        asked.unwrap_or_else(|| self.text.clone())
    }
}

fn begin() -> String {
    let trace: u128 = rand::random::<u128>() | 1;
    let span: u64 = rand::random::<u64>() | 1;
    format!("00-{trace:032x}-{span:016x}-01")
}

/// A new span in the trace of `text`, when that is a valid header.
fn child_of(text: &str) -> Option<String> {
    let (trace, flags) = parse(text)?;
    let span: u64 = rand::random::<u64>() | 1;
    Some(format!("00-{trace}-{span:016x}-{flags}"))
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

    #[test]
    fn a_trace_is_continued_and_a_broken_one_replaced() {
        let mut headers = HeaderMap::new();
        let trace = "0af7651916cd43dd8448eb211c80319c";
        let given = format!("00-{trace}-b7ad6b7169203331-01");
        headers.insert(TRACEPARENT, given.parse().unwrap());
        let continued = Trace::of(&headers);
        assert!(continued.as_str().starts_with(&format!("00-{trace}-")));
        assert_ne!(continued.as_str(), given);
        for broken in [
            "",
            "00-zz-1-1",
            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        ] {
            headers.insert(TRACEPARENT, broken.parse().unwrap());
            let question = format!("00-{trace}-b7ad6b7169203331-00");
            let answer = Trace::of(&headers).of_answer(Some(&question));
            assert!(answer.starts_with(&format!("00-{trace}-")) && answer.ends_with("-00"));
            assert!(parse(Trace::of(&headers).as_str()).is_some_and(|(id, _)| id != trace));
        }
    }
}
