//! Pieces of work as a tracing system shows them. Nothing is made or kept while nothing is exported.

use askbus_wire::trace::TraceContext;
use opentelemetry::global::{self, BoxedSpan};
use opentelemetry::trace::{
    Span as _, SpanBuilder, SpanContext, SpanId, SpanKind, Status, TraceContextExt as _,
    TraceFlags, TraceId, TraceState,
};
use opentelemetry::{Context, KeyValue, Value};
use std::sync::atomic::{AtomicBool, Ordering};

static EXPORTING: AtomicBool = AtomicBool::new(false);

/// From now on spans are made; to be called once the process has its exporter.
pub fn start_exporting() {
    EXPORTING.store(true, Ordering::Release);
}

/// What a piece of work is to those around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It answers a call.
    Server,
    /// It is a step within this process.
    Internal,
    /// It hands something on that is taken up later.
    Producer,
    /// It takes up what was handed on.
    Consumer,
}

impl From<Kind> for SpanKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Server => SpanKind::Server,
            Kind::Internal => SpanKind::Internal,
            Kind::Producer => SpanKind::Producer,
            Kind::Consumer => SpanKind::Consumer,
        }
    }
}

/// A piece of work from [`Span::begin`] until it is dropped.
#[derive(Debug, Default)]
#[must_use = "it ends when it is dropped"]
pub struct Span(Option<Box<Exported>>);

#[derive(Debug)]
struct Exported {
    span: BoxedSpan,
    traceparent: String,
}

impl Span {
    /// Begins work of `service` within the trace that `parent` (a `traceparent`) names; the first of
    /// a new trace where it names none that can be read.
    pub fn begin(
        service: &'static str,
        name: &'static str,
        kind: Kind,
        parent: Option<&str>,
    ) -> Self {
        if !EXPORTING.load(Ordering::Acquire) {
            return Self(None);
        }
        let tracer = global::tracer(service);
        let builder = SpanBuilder::from_name(name).with_kind(kind.into());
        let span = builder.start_with_context(&tracer, &within(parent));
        let context = span.span_context();
        let traceparent = TraceContext {
            trace: u128::from_be_bytes(context.trace_id().to_bytes()),
            span: u64::from_be_bytes(context.span_id().to_bytes()),
            flags: context.trace_flags().to_u8(),
        }
        .to_string();
        Self(Some(Box::new(Exported { span, traceparent })))
    }

    /// The `traceparent` for what this work leads to; without an exporter the one it came with.
    pub fn traceparent<'a>(&'a self, came_with: Option<&'a str>) -> Option<&'a str> {
        match &self.0 {
            Some(exported) => Some(&exported.traceparent),
            None => came_with,
        }
    }

    /// Notes an id, a number or a word of the vocabulary; `value` is asked only when exported.
    /// Never what people or agents wrote.
    pub fn note<V: Into<Value>>(&mut self, name: &'static str, value: impl FnOnce() -> V) {
        if let Some(exported) = &mut self.0 {
            exported.span.set_attribute(KeyValue::new(name, value()));
        }
    }

    /// It belongs to another trace as well: the one that this `traceparent` names, if it can be read
    /// and is another one.
    pub fn link(&mut self, other: Option<&str>) {
        if let (Some(exported), Some(other)) = (&mut self.0, other.and_then(read))
            && other.trace_id() != exported.span.span_context().trace_id()
        {
            exported.span.add_link(other, Vec::new());
        }
    }

    /// It did not succeed, for a reason out of the table of codes.
    pub fn failed(&mut self, code: &'static str) {
        if let Some(exported) = &mut self.0 {
            exported.span.set_status(Status::error(code));
        }
    }
}

fn within(parent: Option<&str>) -> Context {
    match parent.and_then(read) {
        Some(parent) => Context::new().with_remote_span_context(parent),
        None => Context::new(),
    }
}

fn read(traceparent: &str) -> Option<SpanContext> {
    let named = traceparent.parse::<TraceContext>().ok()?;
    Some(SpanContext::new(
        TraceId::from(named.trace),
        SpanId::from(named.span),
        TraceFlags::new(named.flags),
        true,
        TraceState::default(),
    ))
}
