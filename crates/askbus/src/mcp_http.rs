//! MCP over HTTP: a service of its own, and a part of `askbus up`.

use crate::cli::McpAdapterArgs;
use crate::config::Config;
use crate::exit::{CONFIG, Failure, UNAVAILABLE};
use crate::mcp::{ADAPTER, PATIENCE, budget};
use crate::{identity, micro, services, signals, telemetry};
use askbus_credential::Verifier;
use askbus_domain::Millis;
use askbus_mcp_adapter::{AdapterError, Figures, Gate, HttpOptions, Listen, Serving, serve_http};
use askbus_wire::client::Target;
use askbus_wire::tenants::Tenants;
use serde_json::json;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Starts it.
pub(crate) async fn start(
    config: &Config,
    listen: Listen,
    target: Target,
    verifier: Verifier,
    tenants: Tenants,
    lease: Millis,
    shutdown: &CancellationToken,
) -> Result<Serving, Failure> {
    let panel = config.clone();
    let options = HttpOptions {
        listen,
        target,
        verifier,
        tenants,
        host_names: services::host_names(config),
        gate: Gate::read(|name| std::env::var(name).ok()),
        panel: Arc::new(move || identity::gateway_url(&panel).ok()),
        budget: budget(config),
        patience: PATIENCE,
        lease: Duration::from_millis(lease.0),
    };
    let started = serve_http(options, shutdown.clone()).await;
    started.map_err(|error| match error {
        AdapterError::Listen { .. } => Failure::new(UNAVAILABLE, error),
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
    let target = identity::target(config)?;
    let serving = start(config, listen, target, verifier, tenants, lease, &shutdown).await?;
    let on_bus = match &config.nats {
        Some(_) => Some(services::connect(config, "mcp-adapter", &instance).await?),
        None => None,
    };
    let registered = on_bus.as_ref().map(|(_, nats)| {
        let figures = Arc::new(Figures::new(Some(nats.handle.slow_consumers())));
        micro::register(&nats.client, ADAPTER, &instance, &config.tenants, figures)
    });
    if let Some(address) = serving.address() {
        let url = format!("http://{address}/mcp");
        let line = json!({"service": "mcp-adapter", "mcp_url": url, "instance": instance});
        services::announce(args.json, "mcp-adapter", &line);
    }
    shutdown.cancelled().await;
    tracing::info!("stopping; open calls are handed back, and nothing is withdrawn");
    drop(registered);
    serving.join().await;
    if let Some((_, nats)) = on_bus {
        nats.handle.close().await;
    }
    exporting.end(telemetry::AT_EXIT).await;
    Ok(ExitCode::SUCCESS)
}
