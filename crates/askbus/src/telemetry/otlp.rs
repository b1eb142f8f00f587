//! Spans for an OpenTelemetry collector, over OTLP/gRPC. Off unless an endpoint is set: by the setting
//! `otlp_endpoint`, or by the variables that OpenTelemetry itself defines.

use crate::config::Config;
use crate::exit::{CONFIG, Failure};
use opentelemetry::global;
use opentelemetry_otlp::{ExporterBuildError, SpanExporter, WithExportConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::resource::EnvResourceDetector;
use opentelemetry_sdk::trace::SdkTracerProvider;
use std::env;
use std::time::Duration;
use tokio::sync::oneshot;

/// How long the last spans of a service may take at its end.
pub(crate) const AT_EXIT: Duration = Duration::from_secs(1);
/// How long one transfer may take.
const TRANSFER: Duration = Duration::from_secs(5);

/// Exports until it is ended.
#[must_use = "the last spans are sent when it is ended"]
pub(crate) struct Exporting(Option<SdkTracerProvider>);

/// What the environment says about exporting.
#[derive(Debug, PartialEq, Eq)]
enum Wanted {
    No,
    /// To this endpoint, or where the variables say.
    To(Option<String>),
    /// In a way that is not spoken here.
    Otherwise(String),
}

fn wanted(setting: Option<&str>, variable: impl Fn(&str) -> Option<String>) -> Wanted {
    let is =
        |name: &str, value: &str| variable(name).is_some_and(|v| v.eq_ignore_ascii_case(value));
    if is("OTEL_SDK_DISABLED", "true") || is("OTEL_TRACES_EXPORTER", "none") {
        return Wanted::No;
    }
    if let Some(endpoint) = setting {
        return Wanted::To(Some(endpoint.to_owned()));
    }
    let first = |names: [&str; 2]| {
        names
            .iter()
            .find_map(|n| variable(n).filter(|v| !v.is_empty()))
    };
    if first([
        "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
        "OTEL_EXPORTER_OTLP_ENDPOINT",
    ])
    .is_none()
    {
        return Wanted::No;
    }
    match first([
        "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL",
        "OTEL_EXPORTER_OTLP_PROTOCOL",
    ]) {
        Some(protocol) if protocol != "grpc" => Wanted::Otherwise(protocol),
        _ => Wanted::To(None),
    }
}

/// Starts exporting as `service` if it is wanted. To be called within the runtime.
pub(crate) fn export(
    config: &Config,
    service: &'static str,
    instance: &str,
) -> Result<Exporting, Failure> {
    let variable = |name: &str| env::var(name).ok();
    let endpoint = match wanted(config.otlp_endpoint.as_deref(), variable) {
        Wanted::No => return Ok(Exporting(None)),
        Wanted::Otherwise(protocol) => {
            tracing::warn!(
                protocol,
                "traces are not exported: only OTLP over grpc is spoken here; set otlp_endpoint \
                 (ASKBUS_OTLP_ENDPOINT) to a collector that takes it"
            );
            return Ok(Exporting(None));
        }
        Wanted::To(endpoint) => endpoint,
    };
    let provider = SdkTracerProvider::builder()
        .with_batch_exporter(
            exporter(endpoint)
                .map_err(|e| Failure::new(CONFIG, format!("setting otlp_endpoint: {e}")))?,
        )
        .with_resource(resource(service, instance))
        .build();
    global::set_tracer_provider(provider.clone());
    askbus_telemetry::start_exporting();
    Ok(Exporting(Some(provider)))
}

fn exporter(endpoint: Option<String>) -> Result<SpanExporter, ExporterBuildError> {
    let mut builder = SpanExporter::builder().with_tonic();
    if let Some(endpoint) = endpoint {
        builder = builder.with_endpoint(endpoint);
    }
    if env::var_os("OTEL_EXPORTER_OTLP_TIMEOUT").is_none() {
        builder = builder.with_timeout(TRANSFER);
    }
    builder.build()
}

/// Who exports. What the environment says goes before what the program says.
fn resource(service: &'static str, instance: &str) -> Resource {
    use opentelemetry::KeyValue;
    let mut own = vec![
        KeyValue::new("service.instance.id", instance.to_owned()),
        KeyValue::new("service.version", env!("CARGO_PKG_VERSION")),
        KeyValue::new("service.name", service),
    ];
    if let Ok(name) = env::var("OTEL_SERVICE_NAME")
        && !name.is_empty()
    {
        own.push(KeyValue::new("service.name", name));
    }
    Resource::builder_empty()
        .with_attributes(own)
        .with_detector(Box::new(EnvResourceDetector::new()))
        .build()
}

impl Exporting {
    /// Sends the last spans, for so long at most.
    pub(crate) async fn end(self, limit: Duration) {
        let Some(provider) = self.0 else { return };
        let (ended, end) = oneshot::channel();
        // A thread of its own: it blocks, while the connection needs this runtime.
        std::thread::spawn(move || {
            let result = provider.shutdown_with_timeout(limit);
            // Nobody waits any more when it took too long.
            let _ = ended.send(result);
        });
        match tokio::time::timeout(limit, end).await {
            Ok(Ok(Ok(()))) => {}
            Ok(Ok(Err(error))) => tracing::warn!(%error, "the last spans were not sent"),
            Ok(Err(_)) | Err(_) => tracing::warn!("the last spans were not sent in time"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(setting: Option<&str>, variables: &[(&str, &str)]) -> Wanted {
        wanted(setting, |name| {
            let found = variables.iter().find(|(n, _)| *n == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn nothing_is_exported_unless_somebody_says_where() {
        const ENDPOINT: (&str, &str) = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4317");
        const TRACES: (&str, &str) = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://127.0.0.1:1");
        assert_eq!(judge(None, &[]), Wanted::No);
        assert_eq!(
            judge(None, &[("OTEL_EXPORTER_OTLP_ENDPOINT", "")]),
            Wanted::No
        );
        assert_eq!(judge(None, &[ENDPOINT]), Wanted::To(None));
        assert_eq!(judge(None, &[TRACES]), Wanted::To(None));
        let own = Wanted::To(Some("http://own:1".to_owned()));
        assert_eq!(judge(Some("http://own:1"), &[ENDPOINT]), own);
        for off in [
            ("OTEL_SDK_DISABLED", "true"),
            ("OTEL_TRACES_EXPORTER", "none"),
        ] {
            assert_eq!(judge(Some("http://own:1"), &[ENDPOINT, off]), Wanted::No);
        }
        // Other programs on this machine may speak another protocol to the same collector.
        let other = ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf");
        let refused = Wanted::Otherwise("http/protobuf".to_owned());
        assert_eq!(judge(None, &[ENDPOINT, other]), refused);
        assert_eq!(judge(Some("http://own:1"), &[ENDPOINT, other]), own);
        let traces = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "grpc");
        assert_eq!(judge(None, &[ENDPOINT, other, traces]), Wanted::To(None));
    }
}
