//! A collector of spans, as small as one can be.

use anyhow::{Context as _, Result};
use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::{
    TraceService, TraceServiceServer,
};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value::Value};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tonic::transport::server::TcpIncoming;
use tonic::{Request, Response, Status};

/// A span as it was received.
#[derive(Debug, Clone)]
pub struct Received {
    /// `service.name` of the process.
    pub process: String,
    /// The service within the process.
    pub service: String,
    pub name: String,
    pub trace: String,
    pub span: String,
    /// Empty when it is the first.
    pub parent: String,
    pub attributes: BTreeMap<String, String>,
    /// Other traces that it belongs to.
    pub links: Vec<String>,
}

#[derive(Clone, Default)]
struct Store(Arc<Mutex<Vec<ExportTraceServiceRequest>>>);

#[tonic::async_trait]
impl TraceService for Store {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(request.into_inner());
        Ok(Response::new(ExportTraceServiceResponse::default()))
    }
}

/// Collects until it is dropped.
pub struct Collector {
    url: String,
    store: Store,
    serving: JoinHandle<()>,
}

impl Drop for Collector {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Collector {
    pub async fn start() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}", listener.local_addr()?);
        let store = Store::default();
        let serving = tonic::transport::Server::builder()
            .add_service(TraceServiceServer::new(store.clone()))
            .serve_with_incoming(TcpIncoming::from(listener));
        let serving = tokio::spawn(async move { drop(serving.await) });
        Ok(Self {
            url,
            store,
            serving,
        })
    }

    /// Where spans are taken.
    pub fn url(&self) -> &str {
        &self.url
    }

    fn all(&self) -> Vec<ExportTraceServiceRequest> {
        let all = self.store.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.clone()
    }

    /// Everything that was received, as text.
    pub fn everything(&self) -> String {
        format!("{:?}", self.all())
    }

    pub fn spans(&self) -> Vec<Received> {
        let mut spans = Vec::new();
        for of_process in self.all().into_iter().flat_map(|r| r.resource_spans) {
            let resource = of_process.resource.unwrap_or_default().attributes;
            let process = text(&resource).remove("service.name").unwrap_or_default();
            for of_service in of_process.scope_spans {
                let service = of_service.scope.unwrap_or_default().name;
                spans.extend(of_service.spans.into_iter().map(|span| Received {
                    process: process.clone(),
                    service: service.clone(),
                    name: span.name,
                    trace: hex(&span.trace_id),
                    span: hex(&span.span_id),
                    parent: hex(&span.parent_span_id),
                    attributes: text(&span.attributes),
                    links: span.links.iter().map(|l| hex(&l.trace_id)).collect(),
                }));
            }
        }
        spans
    }

    /// The spans of one trace, in no order.
    pub fn trace(&self, trace: &str) -> Vec<Received> {
        let mut spans = self.spans();
        spans.retain(|span| span.trace == trace);
        spans
    }

    /// The first span of this service and name that carries this attribute.
    pub fn first(&self, service: &str, name: &str, attribute: (&str, &str)) -> Result<Received> {
        let wanted = |s: &Received| {
            let value = s.attributes.get(attribute.0);
            s.service == service && s.name == name && value.is_some_and(|v| v == attribute.1)
        };
        let found = self.spans().into_iter().find(wanted);
        found.with_context(|| format!("no {service} {name} of {attribute:?}: {:#?}", self.spans()))
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn text(attributes: &[KeyValue]) -> BTreeMap<String, String> {
    let value = |kv: &KeyValue| match kv.value.as_ref().and_then(|v| v.value.as_ref()) {
        Some(Value::StringValue(text)) => text.clone(),
        Some(Value::IntValue(number)) => number.to_string(),
        other => format!("{other:?}"),
    };
    attributes
        .iter()
        .map(|kv| (kv.key.clone(), value(kv)))
        .collect()
}
