//! MCP over HTTP: a service of its own, and a part of `askbus up`.

use crate::cli::McpAdapterArgs;
use crate::config::Config;
use crate::exit::{CONFIG, Failure, UNAVAILABLE};
use crate::mcp::{ADAPTER, PATIENCE, budget};
use crate::{identity, micro, services, signals, telemetry};
use askbus_credential::Verifier;
use askbus_domain::Millis;
use askbus_mcp_adapter::{AdapterError, Figures, Gate, HttpOptions, Listen, Serving, serve_http};
use askbus_telemetry::Source;
use askbus_wire::client::Target;
use askbus_wire::tenants::Tenants;
use serde_json::json;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// What an HTTP server of MCP is started with.
pub(crate) struct Start<'a> {
    pub config: &'a Config,
    pub listen: Listen,
    pub target: Target,
    pub verifier: Verifier,
    pub tenants: Tenants,
    pub lease: Millis,
    /// Whether people answer where `config` says that the service is.
    pub shows_panel: bool,
    pub figures: Arc<Figures>,
}

/// Starts it.
pub(crate) async fn start(
    start: Start<'_>,
    shutdown: &CancellationToken,
) -> Result<Serving, Failure> {
    let config = start.config;
    let panel = start.shows_panel.then(|| config.clone());
    let options = HttpOptions {
        listen: start.listen,
        target: start.target,
        verifier: start.verifier,
        tenants: start.tenants,
        host_names: services::host_names(config),
        gate: Gate::read(|name| std::env::var(name).ok()),
        panel: Arc::new(move || identity::gateway_url(panel.as_ref()?).ok()),
        budget: budget(config),
        patience: PATIENCE,
        lease: Duration::from_millis(start.lease.0),
        figures: start.figures,
    };
    let started = serve_http(options, shutdown.clone()).await;
    started.map_err(|error| match error {
        AdapterError::Listen(_) => Failure::new(UNAVAILABLE, error),
        AdapterError::Handshake(_) | AdapterError::Internal(_) => Failure::new(CONFIG, error),
    })
}

/// Runs as a service until told to stop.
pub(crate) async fn run(
    config: &Config,
    args: &McpAdapterArgs,
    listen: &str,
) -> Result<ExitCode, Failure> {
    let shutdown = signals::shutdown()?;
    let (tenants, verifier) = (services::tenants(config)?, services::verifier(config)?);
    let listen = Listen::Tcp(services::parse_listen(listen)?);
    let instance = services::instance(config);
    let exporting = telemetry::export(config, ADAPTER, &instance)?;
    let lease = config
        .lease_ms
        .map_or(askbus_session_binding::Options::REMOTE_LEASE, Millis);
    let figures = Arc::new(Figures::new(None));
    let how = Start {
        config,
        listen,
        target: identity::target(config)?,
        verifier: verifier.clone(),
        tenants,
        lease,
        shows_panel: false,
        figures: Arc::clone(&figures),
    };
    let serving = start(how, &shutdown).await?;
    let counted: Arc<dyn Source> = figures;
    let metrics = services::show_figures(config, verifier, Arc::clone(&counted), &shutdown).await?;
    let on_bus = match &config.nats {
        Some(_) => Some(services::connect(config, "mcp-adapter", &instance).await?),
        None => None,
    };
    let registered = on_bus.as_ref().map(|(_, nats)| {
        micro::register(&nats.client, ADAPTER, &instance, &config.tenants, counted)
    });
    if let Some(address) = serving.address() {
        let url = format!("http://{address}/mcp");
        let mut line = json!({"service": "mcp-adapter", "mcp_url": url, "instance": instance});
        if let (Some(metrics), Some(said)) = (&metrics, line.as_object_mut()) {
            let url = format!("http://{}/metrics", metrics.address);
            said.insert("metrics_url".to_owned(), url.into());
        }
        services::announce(args.json, "mcp-adapter", &line);
    }
    shutdown.cancelled().await;
    tracing::info!("stopping; open calls are handed back, and nothing is withdrawn");
    drop(registered);
    serving.join().await;
    if let Some(metrics) = metrics {
        metrics.join().await;
    }
    if let Some((_, nats)) = on_bus {
        nats.handle.close().await;
    }
    exporting.end(telemetry::AT_EXIT).await;
    Ok(ExitCode::SUCCESS)
}
