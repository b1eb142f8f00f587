//! `askbus healthcheck`: for images without a shell.

use crate::cli::HealthcheckArgs;
use crate::config::Config;
use crate::exit::{Failure, UNAVAILABLE};
use crate::identity;
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
        _ => tokio::time::timeout(PATIENCE, session_binding(config, args)).await,
    };
    match checked {
        Ok(Ok(())) => {
            println!("ok");
            Ok(ExitCode::SUCCESS)
        }
        Ok(Err(failure)) => Err(failure),
        Err(_) => Err(Failure::new(UNAVAILABLE, "no reply in time")),
    }
}

async fn gateway(config: &Config, args: &HealthcheckArgs) -> Result<(), Failure> {
    let base = match &args.target {
        Some(target) if target.contains("://") => target.trim_end_matches('/').to_owned(),
        Some(target) => format!("http://{target}"),
        None => identity::gateway_url(config)?,
    };
    let client = reqwest::Client::builder().no_proxy().build();
    let client = client.map_err(|e| Failure::new(UNAVAILABLE, e))?;
    let sent = client
        .get(format!("{base}/api/clarify/health"))
        .send()
        .await;
    let reply = sent.map_err(|e| Failure::new(UNAVAILABLE, e))?;
    if reply.status().is_success() {
        return Ok(());
    }
    Err(Failure::new(
        UNAVAILABLE,
        format!("the gateway replied {}", reply.status()),
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
