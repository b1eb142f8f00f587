//! `askbus mcp`: the stdio MCP server that an agent starts, and the same as a service on the bus.

use crate::cli::{McpAdapterArgs, McpArgs};
use crate::config::Config;
use crate::exit::{CONFIG, Failure, USAGE};
use crate::{agent_guard, identity, mcp_http, micro, parent, services, signals, telemetry};
use askbus_credential::Role;
use askbus_domain::Millis;
use askbus_mcp_adapter::asker::{AskerInfo, AskerOptions};
use askbus_mcp_adapter::{
    AdapterError, AdapterOptions, BusOptions, Figures, Gate, Outcomes, Toolset, serve_stdio,
};
use askbus_telemetry::Source;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// How long a call waits for a service that is not running.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// The name of the adapter in traces and on the bus.
pub(crate) const ADAPTER: &str = "askbus-mcp-adapter";
/// How long the last spans may take once the client is gone.
const LAST_SPANS: Duration = Duration::from_millis(250);

fn options(config: &Config) -> Result<AdapterOptions, Failure> {
    let toolset = match &config.toolset {
        Some(name) => name
            .parse::<Toolset>()
            .map_err(|e| Failure::new(USAGE, e))?,
        None => Toolset::default(),
    };
    let panel = config.clone();
    let mut asker = asker_options(config, Role::Agent, PATIENCE)?;
    // Beside another server of the same conversation it takes a name of its own.
    asker.session = asker.session.or_else(agent_guard::session);
    Ok(AdapterOptions {
        asker,
        toolset,
        gate: Gate::read(|name| std::env::var(name).ok()),
        panel: Arc::new(move || identity::gateway_url(&panel).ok()),
        budget: budget(config),
    })
}

/// How long the client waits for a call, where whoever configured it says so.
pub(crate) fn budget(config: &Config) -> Option<Duration> {
    config.call_budget_ms.map(Duration::from_millis)
}

/// The asking process that this command is.
pub(crate) fn asker_options(
    config: &Config,
    role: Role,
    patience: Duration,
) -> Result<AskerOptions, Failure> {
    Ok(AskerOptions {
        target: identity::target(config)?,
        token: identity::source(config, role),
        profile: config.profile.clone(),
        session: config.session.clone(),
        context: config.context.clone(),
        info: AskerInfo {
            client: String::new(),
            host: host_name(),
            cwd: std::env::current_dir()
                .map(|d| d.display().to_string())
                .unwrap_or_default(),
        },
        patience,
        outcomes: Outcomes::Attached,
        asker_id: None,
        channel: None,
    })
}

fn host_name() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname")
        .or_else(|_| std::env::var("HOSTNAME"))
        .unwrap_or_default()
        .trim()
        .to_owned()
}

/// Serves until the input ends, and no longer than the client that started this process.
async fn serve(options: AdapterOptions, shutdown: &CancellationToken) -> Result<(), AdapterError> {
    let mut serving = Box::pin(serve_stdio(options, shutdown.clone()));
    tokio::select! {
        biased;
        served = &mut serving => served,
        () = parent::gone() => {
            shutdown.cancel();
            serving.await
        }
    }
}

/// Serves one client until it is gone.
pub(crate) async fn run(config: &Config, _args: &McpArgs) -> Result<ExitCode, Failure> {
    let shutdown = signals::shutdown()?;
    let exporting = telemetry::export(config, ADAPTER, &services::instance(config))?;
    let served = serve(options(config)?, &shutdown).await;
    exporting.end(LAST_SPANS).await;
    served.map_err(|e| Failure::new(CONFIG, e))?;
    Ok(ExitCode::SUCCESS)
}

/// The same, known to the bus as a service.
pub(crate) async fn run_on_bus(
    config: &Config,
    args: &McpAdapterArgs,
) -> Result<ExitCode, Failure> {
    if let Some(listen) = &args.listen {
        return mcp_http::run(config, args, listen).await;
    }
    let shutdown = signals::shutdown()?;
    let mut options = options(config)?;
    let instance = services::instance(config);
    let exporting = telemetry::export(config, ADAPTER, &instance)?;
    let (bus, nats) = services::connect(config, "mcp-adapter", &instance).await?;
    let mut on_bus = BusOptions::new(&bus, nats.client.clone(), &nats.handle, instance.clone());
    if let Some(lease) = config.lease_ms {
        // Where session-binding waits less long for a sign of life, there have to be more of them.
        on_bus.heartbeat_every = askbus_session_binding::Options::heartbeat_for(Millis(lease));
    }
    let figures: Arc<dyn Source> = Arc::<Figures>::clone(&on_bus.figures);
    // Only whoever shows figures needs the key that credentials are checked with.
    let metrics = match &config.metrics {
        Some(_) => {
            let verifier = services::verifier(config)?;
            services::show_figures(config, verifier, Arc::clone(&figures), &shutdown).await?
        }
        None => None,
    };
    if let Some(metrics) = &metrics {
        tracing::info!(address = %metrics.address, "figures are shown");
    }
    options.asker.outcomes = Outcomes::OnBus(Box::new(on_bus));
    let service = micro::register(&nats.client, ADAPTER, &instance, &config.tenants, figures);
    let served = serve(options, &shutdown).await;
    drop(service);
    shutdown.cancel();
    if let Some(metrics) = metrics {
        metrics.join().await;
    }
    nats.handle.close().await;
    exporting.end(LAST_SPANS).await;
    served.map_err(|e| Failure::new(CONFIG, e))?;
    Ok(ExitCode::SUCCESS)
}
