//! `askbus healthcheck`: for images without a shell.

use crate::cli::HealthcheckArgs;
use crate::config::Config;
use crate::exit::{Failure, UNAVAILABLE, USAGE};
use crate::{identity, output};
use std::process::ExitCode;
use std::time::Duration;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;

/// How long a healthy service may take to say so.
const PATIENCE: Duration = Duration::from_secs(5);

/// Exits 0 when the service says that it is well, else 69.
pub(crate) async fn run(config: &Config, args: &HealthcheckArgs) -> Result<ExitCode, Failure> {
    let checked = match args.service.as_str() {
        "gateway" => tokio::time::timeout(PATIENCE, gateway(config, args)).await,
        "mcp-adapter" => tokio::time::timeout(PATIENCE, mcp_adapter(args)).await,
        _ => tokio::time::timeout(PATIENCE, session_binding(config, args)).await,
    };
    match checked {
        Ok(Ok(())) => {
            output::line("ok")?;
            Ok(ExitCode::SUCCESS)
        }
        Ok(Err(failure)) => Err(failure),
        Err(_) => Err(Failure::new(UNAVAILABLE, "no reply in time")),
    }
}

async fn gateway(config: &Config, args: &HealthcheckArgs) -> Result<(), Failure> {
    let base = match &args.target {
        Some(target) => base(target),
        None => identity::gateway_url(config)?,
    };
    replies_well("the gateway", &format!("{base}/api/clarify/health")).await
}

async fn mcp_adapter(args: &HealthcheckArgs) -> Result<(), Failure> {
    let target = args.target.as_deref();
    let target = target.ok_or_else(|| Failure::new(USAGE, "say where it listens: --target"))?;
    replies_well("the MCP adapter", &format!("{}/health", base(target))).await
}

fn base(target: &str) -> String {
    if target.contains("://") {
        return target.trim_end_matches('/').to_owned();
    }
    format!("http://{target}")
}

async fn replies_well(who: &str, url: &str) -> Result<(), Failure> {
    let client = reqwest::Client::builder().no_proxy().build();
    let client = client.map_err(|e| Failure::new(UNAVAILABLE, e))?;
    let sent = client.get(url).send().await;
    let reply = sent.map_err(|e| Failure::new(UNAVAILABLE, e))?;
    if reply.status().is_success() {
        return Ok(());
    }
    Err(Failure::new(
        UNAVAILABLE,
        format!("{who} replied {}", reply.status()),
    ))
}

async fn session_binding(config: &Config, args: &HealthcheckArgs) -> Result<(), Failure> {
    let target = match &args.target {
        Some(text) => identity::parse_target(text)?,
        None => identity::target(config)?,
    };
    let mut client = HealthClient::new(target.channel()?);
    let request = HealthCheckRequest {
        service: "askbus.v1.ClarifyService".to_owned(),
    };
    let reply = client
        .check(request)
        .await
        .map_err(|e| Failure::new(UNAVAILABLE, e.message()))?;
    if reply.into_inner().status() == ServingStatus::Serving {
        return Ok(());
    }
    Err(Failure::new(UNAVAILABLE, "it is not serving"))
}
