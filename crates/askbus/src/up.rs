//! `askbus up`: everything on this machine in one process, the same code as in production.

use crate::cli::UpArgs;
use crate::config::Config;
use crate::exit::{CONFIG, Failure, UNAVAILABLE};
use crate::home::{self, Home};
use crate::{agent_guard, mcp_http, micro, services, signals, telemetry};
use askbus_credential::Verifier;
use askbus_domain::{Millis, PersonId, ProfileId, TenantId};
use askbus_gateway::{GatewayError, SignIn};
use askbus_ledger::embedded::EmbeddedOptions;
use askbus_ledger::{Bus, LedgerError};
use askbus_mcp_adapter::{Figures, Serving};
use askbus_session_binding::Listen;
use askbus_wire::client::Target;
use askbus_wire::listener::NotListening;
use askbus_wire::memory::MemoryAddress;
use askbus_wire::tenants::Tenants;
use serde_json::json;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// How long a browser stays signed in.
const BROWSER_LIFE: Duration = Duration::from_hours(30 * 24);

/// What keeps the bus, closed last.
enum Backing {
    File(askbus_ledger::embedded::EmbeddedHandle),
    Nats(Box<services::OnNats>),
}

/// Runs until told to stop.
pub(crate) async fn run(config: &Config, args: &UpArgs) -> Result<ExitCode, Failure> {
    let shutdown = signals::shutdown()?;
    let home = Home::new(&config.home);
    let issuer = home.prepare()?;
    let verifier = Verifier::open(&home.keys())?;
    let instance = services::instance(config);
    let exporting = telemetry::export(config, "askbus-up", &instance)?;
    let (bus, backing) = open(config, &home, &instance, &shutdown).await?;
    let lease = lease(config);
    let binding = session_binding(config, &home, &bus, &verifier, &instance, lease, &shutdown);
    let gateway = gateway(
        config,
        &home,
        &bus,
        verifier.clone(),
        issuer,
        &instance,
        &shutdown,
    );
    // Both read the whole log first. Side by side, each old message is decoded once for both.
    // What did start ends in order, before the log closes under it.
    let (binding, (gateway, mcp)) = match tokio::join!(binding, gateway) {
        (Ok(binding), Ok(both)) => (binding, both),
        (Ok(binding), Err(failure)) => {
            shutdown.cancel();
            binding.join().await;
            close(backing).await;
            return Err(failure);
        }
        (Err(failure), both) => {
            shutdown.cancel();
            if let Ok((gateway, mcp)) = both {
                mcp.join().await;
                gateway.join().await;
            }
            close(backing).await;
            return Err(failure);
        }
    };
    gateway.show_also(binding.figures());
    home.keep_address(&reachable(gateway.address()).to_string())?;
    let registered = match &backing {
        Backing::Nats(nats) => [
            ("askbus-session-binding", binding.figures()),
            ("askbus-gateway", gateway.figures()),
        ]
        .map(|(name, figures)| micro::register(&nats.client, name, &instance, "all", figures))
        .into(),
        Backing::File(_) => Vec::new(),
    };
    announce(&gateway, config, args.json);

    shutdown.cancelled().await;
    tracing::info!("stopping; whatever waits goes on waiting");
    drop(registered);
    mcp.join().await;
    gateway.join().await;
    binding.join().await;
    close(backing).await;
    exporting.end(telemetry::AT_EXIT).await;
    Ok(ExitCode::SUCCESS)
}

async fn close(backing: Backing) {
    match backing {
        Backing::File(handle) => handle.close().await,
        Backing::Nats(nats) => nats.handle.close().await,
    }
}

async fn open(
    config: &Config,
    home: &Home,
    instance: &str,
    shutdown: &CancellationToken,
) -> Result<(Bus, Backing), Failure> {
    if config.nats.is_some() {
        let (bus, nats) = services::connect(config, "up", instance).await?;
        services::ensure_streams(config, &nats, shutdown).await?;
        return Ok((bus, Backing::Nats(Box::new(nats))));
    }
    let options = EmbeddedOptions {
        max_bytes: config.log_max_bytes,
        ..EmbeddedOptions::default()
    };
    match askbus_ledger::embedded::open_with(home.path(), options) {
        Ok((bus, handle)) => Ok((bus, Backing::File(handle))),
        Err(error @ LedgerError::Misconfigured(_)) => Err(Failure::new(CONFIG, error)),
        Err(error) => Err(Failure::new(
            UNAVAILABLE,
            running_already(config, &error).await,
        )),
    }
}

/// What to say when the log cannot be opened: most likely because Askbus runs already.
async fn running_already(config: &Config, error: &LedgerError) -> String {
    if agent_guard::refuse_agents().is_ok()
        && let Ok(link) = crate::panel::fresh_link(config).await
    {
        let home = config.home.display();
        return format!("Askbus runs already in {home}. To sign a browser in, open\n\n  {link}\n");
    }
    error.to_string()
}

async fn session_binding(
    config: &Config,
    home: &Home,
    bus: &Bus,
    verifier: &Verifier,
    instance: &str,
    lease: Millis,
    shutdown: &CancellationToken,
) -> Result<askbus_session_binding::Handle, Failure> {
    let options = askbus_session_binding::Options {
        bus: bus.clone(),
        clock: askbus_session_binding::Clock::system(),
        verifier: verifier.clone(),
        listen: Listen::Socket(home.socket()),
        tenants: Tenants::default(),
        instance: instance.to_owned(),
        lease,
        heartbeat: askbus_session_binding::Options::heartbeat_for(lease),
        policy: services::policy(config)?,
        people: Some(crate::roster::known(home, services::channels(config)?)),
        waiting: askbus_domain::WaitingLimits::default(),
    };
    let started = askbus_session_binding::start(options, shutdown.clone()).await;
    started.map_err(services::start_failure)
}

/// Listens where it was told to, else where it did last time, else anywhere.
async fn gateway(
    config: &Config,
    home: &Home,
    bus: &Bus,
    verifier: Verifier,
    issuer: askbus_credential::Issuer,
    instance: &str,
    shutdown: &CancellationToken,
) -> Result<(askbus_gateway::Handle, Serving), Failure> {
    let mcp = MemoryAddress::new();
    let figures = Arc::new(Figures::new(None));
    let how = mcp_http::Start {
        config,
        listen: askbus_mcp_adapter::Listen::Memory(mcp.clone()),
        target: Target::Socket(home.socket()),
        verifier: verifier.clone(),
        tenants: Tenants::default(),
        lease: lease(config),
        shows_panel: true,
        figures: Arc::clone(&figures),
    };
    let serving = mcp_http::start(how, shutdown).await?;
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    let told = config
        .listen
        .as_deref()
        .map(services::parse_listen)
        .transpose()?;
    let last = home
        .last_address()
        .and_then(|l| l.address.parse::<SocketAddr>().ok());
    let listen = told.or(last).unwrap_or(any);
    let bad = |e: askbus_domain::IdError| Failure::new(CONFIG, e);
    let sign_in = |issuer| -> Result<SignIn, Failure> {
        Ok(SignIn {
            issuer,
            tenant: TenantId::new(home::TENANT).map_err(bad)?,
            profiles: vec![ProfileId::new(home::PROFILE).map_err(bad)?],
            person: PersonId::new(home::PERSON).map_err(bad)?,
            life: BROWSER_LIFE,
        })
    };
    let options = |listen, issuer| -> Result<askbus_gateway::Options, Failure> {
        Ok(askbus_gateway::Options {
            bus: bus.clone(),
            verifier: verifier.clone(),
            listen: SocketAddr::into(listen),
            clock: askbus_wire::clock::Clock::system(),
            tenants: Tenants::default(),
            session_binding: Target::Socket(home.socket()).into(),
            mcp: Some(Target::Memory(vec![mcp.clone()])),
            sign_in: Some(sign_in(issuer)?),
            single_machine: true,
            host_names: services::host_names(config),
            channels: services::channels(config)?,
            instance: format!("{instance}-gateway"),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        })
    };
    let started = match askbus_gateway::start(options(listen, issuer)?, shutdown.clone()).await {
        // The port of the last start is a convenience; another program may have it now.
        Err(GatewayError::Listen(NotListening { address, .. }))
            if told.is_none() && address.port() != 0 =>
        {
            tracing::warn!(%address, "the port of the last start is taken; using another one");
            let issuer = askbus_credential::Issuer::open(&home.keys())?;
            askbus_gateway::start(options(any, issuer)?, shutdown.clone()).await
        }
        other => other,
    };
    let gateway = started.map_err(services::gateway_failure)?;
    gateway.show_also(figures);
    Ok((gateway, serving))
}

fn lease(config: &Config) -> Millis {
    config
        .lease_ms
        .map_or(askbus_session_binding::Options::LOCAL_LEASE, Millis)
}

/// The address as a browser on this machine reaches it.
fn reachable(mut address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() {
        address.set_ip(std::net::Ipv4Addr::LOCALHOST.into());
    }
    address
}

fn announce(gateway: &askbus_gateway::Handle, config: &Config, as_json: bool) {
    let panel = format!("http://{}/", reachable(gateway.address()));
    let sign_in = gateway.sign_in_url().unwrap_or_else(|| panel.clone());
    if as_json {
        let line =
            json!({"panel_url": panel, "sign_in_url": sign_in, "mcp_url": format!("{panel}mcp")});
        services::greet(line);
        return;
    }
    let mut lines = vec![
        "Askbus is running. Questions of your agents appear in the panel:\n".to_owned(),
        format!("  {sign_in}\n"),
        format!("The link signs one browser in, once; after that it is {panel}"),
    ];
    for link in services::host_names(config)
        .iter()
        .filter_map(|name| link_by(gateway, name))
    {
        lines.push(format!("From elsewhere: {link}"));
    }
    for channel in &config.channels {
        lines.push(format!(
            "Channel {}: people are told and answer there as well.",
            channel.name()
        ));
    }
    lines.extend([
        "An agent asks through the MCP server `askbus mcp`, a script through `askbus ask`."
            .to_owned(),
        format!("Agents that speak HTTP find it at {panel}mcp, with a credential."),
        "Stop with Ctrl-C; whatever waits goes on waiting.".to_owned(),
    ]);
    services::greet(lines.join("\n"));
}

/// A link of its own for a browser that reaches this machine by another name; none where nobody else
/// reaches it, as behind a proxy, whose scheme and port are not known here.
fn link_by(gateway: &askbus_gateway::Handle, name: &str) -> Option<String> {
    if gateway.address().ip().is_loopback() {
        return None;
    }
    let link = gateway.sign_in_url()?;
    let (_, query) = link.split_once("/sign-in")?;
    let port = gateway.address().port();
    Some(format!("http://{name}:{port}/sign-in{query}"))
}
