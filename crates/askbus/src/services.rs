//! The services one by one, over NATS.

use crate::cli::{GatewayArgs, ServiceArgs, SessionBindingArgs};
use crate::config::Config;
use crate::exit::{CONFIG, Failure, UNAVAILABLE};
use crate::{identity, micro, output, signals, telemetry};
use askbus_credential::Verifier;
use askbus_domain::{Millis, PolicyTable};
use askbus_gateway::GatewayError;
use askbus_ledger::jetstream::{self, JetStreamHandle, JetStreamOptions};
use askbus_ledger::{Bus, LedgerError};
use askbus_session_binding::{Listen, StartError};
use askbus_telemetry::Source;
use askbus_wire::client::Target;
use askbus_wire::tenants::Tenants;
use serde_json::json;
use std::fmt::Display;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// A connection to the bus.
pub(crate) struct OnNats {
    pub client: async_nats::Client,
    pub handle: JetStreamHandle,
    options: JetStreamOptions,
}

/// The name of this process on the bus.
pub(crate) fn instance(config: &Config) -> String {
    config
        .instance
        .clone()
        .unwrap_or_else(|| uuid::Uuid::now_v7().simple().to_string())
}

/// Connects in the background; a server that is not there is waited for.
pub(crate) async fn connect(
    config: &Config,
    service: &str,
    instance: &str,
) -> Result<(Bus, OnNats), Failure> {
    let url = config.nats.as_ref().ok_or_else(|| {
        Failure::new(
            CONFIG,
            "setting nats is missing: give --nats nats://host:4222 or ASKBUS_NATS",
        )
    })?;
    let mut options = JetStreamOptions::new(url, format!("{service}@{instance}"));
    options.user.clone_from(&config.nats_user);
    if let Some(path) = &config.nats_pass_file {
        let text = std::fs::read_to_string(path).map_err(|e| {
            Failure::new(
                CONFIG,
                format!("setting nats_pass_file {}: {e}", path.display()),
            )
        })?;
        options.password = Some(text.trim().to_owned());
    }
    options.credentials.clone_from(&config.nats_creds);
    options.replicas = config.nats_replicas;
    options.log_max_bytes = config.log_max_bytes;
    if let Some(lease) = config.lease_ms {
        // What a service held that died is missed no later than an asker that died.
        options.ack_wait = options.ack_wait.min(Duration::from_millis(lease.max(300)));
    }
    let (bus, client, handle) = jetstream::connect(options.clone())
        .await
        .map_err(ledger_failure)?;
    Ok((
        bus,
        OnNats {
            client,
            handle,
            options,
        },
    ))
}

/// Makes the streams that are absent; stops with the difference when one is not as needed.
pub(crate) async fn ensure_streams(
    _config: &Config,
    nats: &OnNats,
    shutdown: &CancellationToken,
) -> Result<(), Failure> {
    tokio::select! {
        () = shutdown.cancelled() => Err(Failure::new(UNAVAILABLE, "stopped while waiting for the bus")),
        made = jetstream::ensure_streams(&nats.client, &nats.options) => made.map_err(ledger_failure),
    }
}

fn ledger_failure(error: LedgerError) -> Failure {
    let code = match error {
        LedgerError::Misconfigured(_) => CONFIG,
        _ => UNAVAILABLE,
    };
    Failure::new(code, error)
}

pub(crate) fn start_failure(error: StartError) -> Failure {
    match error {
        StartError::Ledger(error) => ledger_failure(error),
        StartError::Listen { .. } | StartError::Stopped => Failure::new(UNAVAILABLE, error),
    }
}

pub(crate) fn gateway_failure(error: GatewayError) -> Failure {
    match error {
        GatewayError::Ledger(error) => ledger_failure(error),
        GatewayError::Target(error) => Failure::new(CONFIG, error),
        GatewayError::Channel(error) => Failure::new(CONFIG, error),
        GatewayError::Listen(_) => Failure::new(
            UNAVAILABLE,
            format!(
                "{error}; end what listens there, or give another address with --listen \
                 (127.0.0.1:0 is any free port)"
            ),
        ),
        GatewayError::Stopped => Failure::new(UNAVAILABLE, error),
    }
}

/// `host:port`, or a bare port on loopback.
pub(crate) fn parse_listen(text: &str) -> Result<SocketAddr, Failure> {
    let address = text
        .parse()
        .or_else(|_| format!("127.0.0.1:{text}").parse());
    address.map_err(|_| {
        Failure::new(
            CONFIG,
            format!("setting listen: {text:?} is not an address such as 127.0.0.1:8080"),
        )
    })
}

pub(crate) fn host_names(config: &Config) -> Vec<String> {
    let names = config.host_names.split(',').map(str::trim);
    names.filter(|n| !n.is_empty()).map(str::to_owned).collect()
}

pub(crate) fn channels(config: &Config) -> Result<Vec<askbus_gateway::ChannelOptions>, Failure> {
    crate::channels::options(&config.channels, &config.home).map_err(|e| Failure::new(CONFIG, e))
}

pub(crate) fn tenants(config: &Config) -> Result<Tenants, Failure> {
    Tenants::parse(&config.tenants)
        .map_err(|e| Failure::new(CONFIG, format!("setting tenants: {e}")))
}

pub(crate) fn policy(config: &Config) -> Result<PolicyTable, Failure> {
    let table = config.policy.table();
    table.map_err(|e| Failure::new(CONFIG, e))
}

pub(crate) fn verifier(config: &Config) -> Result<Verifier, Failure> {
    let dir: PathBuf = config
        .signing_dir
        .clone()
        .unwrap_or_else(|| crate::home::Home::new(&config.home).keys());
    Verifier::open(&dir).map_err(|e| {
        Failure::new(
            CONFIG,
            format!("{e}; make keys with `askbus credential init`, or set signing_dir"),
        )
    })
}

fn ready(args: &ServiceArgs, service: &str, line: &serde_json::Value) {
    announce(args.json, service, line);
}

/// Says that a service is ready.
pub(crate) fn announce(as_json: bool, service: &str, line: &serde_json::Value) {
    if as_json {
        greet(line);
    } else {
        tracing::info!(service, %line, "ready");
    }
}

/// Says what a service has to say once it is there. It serves all the same where that cannot be written.
pub(crate) fn greet(words: impl Display) {
    if let Err(failure) = output::line(words) {
        failure.report();
    }
}

/// `askbus session-binding`.
pub(crate) async fn session_binding(
    config: &Config,
    args: &SessionBindingArgs,
) -> Result<ExitCode, Failure> {
    let shutdown = signals::shutdown()?;
    let (tenants, verifier) = (tenants(config)?, verifier(config)?);
    let listen = match config.listen.as_deref() {
        Some(text) if text.contains('/') => Listen::Socket(text.into()),
        Some(text) => Listen::Tcp(parse_listen(text)?),
        None => Listen::Tcp(SocketAddr::from(([127, 0, 0, 1], 7411))),
    };
    let instance = instance(config);
    let exporting = telemetry::export(config, "askbus-session-binding", &instance)?;
    let (bus, nats) = connect(config, "session-binding", &instance).await?;
    ensure_streams(config, &nats, &shutdown).await?;
    let lease = config
        .lease_ms
        .map_or(askbus_session_binding::Options::REMOTE_LEASE, Millis);
    let options = askbus_session_binding::Options {
        bus,
        clock: askbus_session_binding::Clock::system(),
        verifier: verifier.clone(),
        listen: listen.clone(),
        tenants,
        instance: instance.clone(),
        lease,
        heartbeat: askbus_session_binding::Options::heartbeat_for(lease),
        policy: policy(config)?,
        people: None,
        waiting: askbus_domain::WaitingLimits::default(),
    };
    let running = askbus_session_binding::start(options, shutdown.clone())
        .await
        .map_err(start_failure)?;
    let service = micro::register(
        &nats.client,
        "askbus-session-binding",
        &instance,
        &config.tenants,
        running.figures(),
    );
    let metrics = show_figures(config, verifier, running.figures(), &shutdown).await?;
    let address = match (&listen, running.address()) {
        (Listen::Socket(path), _) => path.display().to_string(),
        (_, Some(address)) => address.to_string(),
        (Listen::Tcp(address), None) => address.to_string(),
        (Listen::Memory(_), None) => "this process".to_owned(),
    };
    let mut line = json!({"service": "session-binding", "address": address, "instance": instance});
    if let (Some(metrics), Some(said)) = (&metrics, line.as_object_mut()) {
        let url = format!("http://{}/metrics", metrics.address);
        said.insert("metrics_url".to_owned(), url.into());
    }
    ready(&args.service, "session-binding", &line);
    shutdown.cancelled().await;
    tracing::info!("stopping; callers go on at another instance");
    drop(service);
    running.join().await;
    if let Some(metrics) = metrics {
        metrics.join().await;
    }
    nats.handle.close().await;
    exporting.end(telemetry::AT_EXIT).await;
    Ok(ExitCode::SUCCESS)
}

/// Shows figures on a listener of their own, if there is to be one.
pub(crate) async fn show_figures(
    config: &Config,
    verifier: Verifier,
    figures: Arc<dyn Source>,
    shutdown: &CancellationToken,
) -> Result<Option<telemetry::Listening>, Failure> {
    let Some(address) = &config.metrics else {
        return Ok(None);
    };
    let listening = telemetry::listen(address, verifier, figures, shutdown.clone()).await?;
    Ok(Some(listening))
}

/// `askbus gateway`.
pub(crate) async fn gateway(config: &Config, args: &GatewayArgs) -> Result<ExitCode, Failure> {
    let shutdown = signals::shutdown()?;
    let (tenants, verifier) = (tenants(config)?, verifier(config)?);
    let listen = match config.listen.as_deref() {
        Some(text) => parse_listen(text)?,
        None => SocketAddr::from(([127, 0, 0, 1], 7410)),
    };
    let session_binding = match &config.session_binding {
        Some(text) => identity::parse_targets(text)?,
        None => Target::Url("http://127.0.0.1:7411".to_owned()).into(),
    };
    let instance = instance(config);
    let exporting = telemetry::export(config, "askbus-gateway", &instance)?;
    let (bus, nats) = connect(config, "gateway", &instance).await?;
    let options = askbus_gateway::Options {
        bus,
        verifier,
        listen: listen.into(),
        clock: askbus_wire::clock::Clock::system(),
        tenants,
        session_binding,
        mcp: config
            .mcp_adapter
            .as_deref()
            .map(identity::parse_target)
            .transpose()?,
        sign_in: None,
        single_machine: false,
        host_names: host_names(config),
        channels: channels(config)?,
        instance: instance.clone(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    let running = askbus_gateway::start(options, shutdown.clone())
        .await
        .map_err(gateway_failure)?;
    let service = micro::register(
        &nats.client,
        "askbus-gateway",
        &instance,
        &config.tenants,
        running.figures(),
    );
    let panel = format!("http://{}/", running.address());
    let line = json!({"service": "gateway", "panel_url": panel, "instance": instance});
    ready(&args.service, "gateway", &line);
    shutdown.cancelled().await;
    tracing::info!("stopping; surfaces reconnect elsewhere");
    drop(service);
    running.join().await;
    nats.handle.close().await;
    exporting.end(telemetry::AT_EXIT).await;
    Ok(ExitCode::SUCCESS)
}
