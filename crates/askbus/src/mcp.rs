//! `askbus mcp`: the stdio MCP server that an agent starts, and the same as a service on the bus.

use crate::cli::{McpAdapterArgs, McpArgs};
use crate::config::Config;
use crate::exit::{CONFIG, Failure, USAGE};
use crate::{identity, micro, services, signals};
use askbus_credential::Role;
use askbus_mcp_adapter::asker::{AskerInfo, AskerOptions};
use askbus_mcp_adapter::{AdapterOptions, BusOptions, Gate, Outcomes, Toolset, serve_stdio};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

/// How long a call waits for a service that is not running.
const PATIENCE: Duration = Duration::from_secs(30);

fn options(config: &Config) -> Result<AdapterOptions, Failure> {
    let toolset = match &config.toolset {
        Some(name) => name
            .parse::<Toolset>()
            .map_err(|e| Failure::new(USAGE, e))?,
        None => Toolset::default(),
    };
    let panel = config.clone();
    Ok(AdapterOptions {
        asker: asker_options(config, Role::Agent, PATIENCE)?,
        toolset,
        gate: Gate::read(|name| std::env::var(name).ok()),
        panel: Arc::new(move || identity::gateway_url(&panel).ok()),
    })
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
    })
}

fn host_name() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname")
        .or_else(|_| std::env::var("HOSTNAME"))
        .unwrap_or_default()
        .trim()
        .to_owned()
}

/// Serves one client until its input ends.
pub(crate) async fn run(config: &Config, _args: &McpArgs) -> Result<ExitCode, Failure> {
    let shutdown = signals::shutdown()?;
    serve_stdio(options(config)?, shutdown)
        .await
        .map_err(|e| Failure::new(CONFIG, e))?;
    Ok(ExitCode::SUCCESS)
}

/// The same, known to the bus as a service.
pub(crate) async fn run_on_bus(
    config: &Config,
    _args: &McpAdapterArgs,
) -> Result<ExitCode, Failure> {
    let shutdown = signals::shutdown()?;
    let mut options = options(config)?;
    let instance = services::instance(config);
    let (bus, nats) = services::connect(config, "mcp-adapter", &instance).await?;
    let on_bus = BusOptions::new(&bus, nats.client.clone(), &nats.handle, instance.clone());
    options.asker.outcomes = Outcomes::OnBus(Box::new(on_bus));
    let service = micro::register(
        &nats.client,
        "askbus-mcp-adapter",
        &instance,
        &config.tenants,
    );
    let served = serve_stdio(options, shutdown).await;
    drop(service);
    nats.handle.close().await;
    served.map_err(|e| Failure::new(CONFIG, e))?;
    Ok(ExitCode::SUCCESS)
}
