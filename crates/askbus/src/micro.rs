//! Services as NATS micro services: `nats micro ls`, `info` and `stats` show them.

use askbus_telemetry::{Source, totals};
use async_nats::Client;
use async_nats::service::{Service, ServiceExt as _};
use futures::StreamExt as _;
use serde_json::json;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;

/// How long to wait before trying to register again.
const RETRY: Duration = Duration::from_secs(2);

/// A registration; it ends when dropped.
pub(crate) struct Registered(JoinHandle<()>);

impl Drop for Registered {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Registers the service under its name, with one endpoint that answers pings with its version; its
/// statistics are the figures of the service.
/// Keeps trying while the bus is away.
pub(crate) fn register(
    client: &Client,
    name: &'static str,
    instance: &str,
    tenants: &str,
    figures: Arc<dyn Source>,
) -> Registered {
    let (client, instance, tenants) = (client.clone(), instance.to_owned(), tenants.to_owned());
    Registered(tokio::spawn(async move {
        loop {
            match serve(&client, name, &instance, &tenants, &figures).await {
                Ok(()) => return,
                Err(error) => {
                    tracing::warn!(%error, "not registered on the bus yet");
                    tokio::time::sleep(RETRY).await;
                }
            }
        }
    }))
}

async fn serve(
    client: &Client,
    name: &'static str,
    instance: &str,
    tenants: &str,
    figures: &Arc<dyn Source>,
) -> Result<(), async_nats::Error> {
    let figures = Arc::clone(figures);
    let metadata = HashMap::from([
        ("instance".to_owned(), instance.to_owned()),
        ("tenants".to_owned(), tenants.to_owned()),
        ("schema".to_owned(), askbus_domain::SCHEMA.to_string()),
    ]);
    let service: Service = client
        .service_builder()
        .description("Askbus: questions between agents and people")
        .metadata(metadata)
        .stats_handler(move |_, _| totals(&*figures))
        .start(name, env!("CARGO_PKG_VERSION"))
        .await?;
    let mut about = service.endpoint(format!("{name}.about")).await?;
    while let Some(request) = about.next().await {
        let reply =
            json!({"service": name, "instance": instance, "version": env!("CARGO_PKG_VERSION")});
        request.respond(Ok(reply.to_string().into())).await?;
    }
    Ok(())
}
