//! The gRPC face: reads requests, runs commands, writes replies.

mod ask;
mod begin;
mod caller;
mod clarify;
mod plan;
mod turn;

use crate::options::{Listen, StartError};
use crate::service::Core;
use askbus_wire::proto::clarify_service_server::ClarifyServiceServer;
use askbus_wire::proto::plan_service_server::PlanServiceServer;
use askbus_wire::proto::turn_service_server::TurnServiceServer;
use futures::stream;
use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::watch;
use tokio_stream::wrappers::UnixListenerStream;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tonic::server::NamedService as _;
use tonic::transport::Server;
use tonic::transport::server::{Router, TcpIncoming};
use tonic_health::ServingStatus;
use tonic_health::server::HealthReporter;

/// The largest request, in bytes; the questions of one call fit several times over.
const MAX_REQUEST: usize = 512 * 1024;
/// Streams of one connection at the same time.
const MAX_STREAMS: u32 = 16_000;
/// How long open calls may go on after shutdown was asked for.
const DRAIN: Duration = Duration::from_secs(3);

/// Starts listening and serving; returns the TCP address if there is one.
pub(crate) async fn listen(
    core: &Arc<Core>,
    listen: &Listen,
    shutdown: &CancellationToken,
    tasks: &TaskTracker,
) -> Result<Option<SocketAddr>, StartError> {
    let failed = |address: String| move |error| StartError::Listen { address, error };
    // Who lives in the same process has the types, and need not wait until they are described.
    let reflects = !matches!(listen, Listen::Memory(_));
    let router = router(core, shutdown, reflects).await;
    let stop = shutdown.clone();
    match listen {
        Listen::Socket(path) => {
            let listener = bind_socket(path).map_err(failed(path.display().to_string()))?;
            let incoming = UnixListenerStream::new(listener);
            let path = path.clone();
            tasks.spawn(async move {
                drained(
                    router.serve_with_incoming_shutdown(incoming, stop.clone().cancelled_owned()),
                    &stop,
                )
                .await;
                let _ = fs::remove_file(path);
            });
            Ok(None)
        }
        Listen::Memory(address) => {
            let incoming = stream::unfold(address.bind(), |mut listener| async {
                let connection = listener.accept().await?;
                Some((Ok::<_, std::io::Error>(connection), listener))
            });
            tasks.spawn(async move {
                drained(
                    router.serve_with_incoming_shutdown(incoming, stop.clone().cancelled_owned()),
                    &stop,
                )
                .await;
            });
            Ok(None)
        }
        Listen::Tcp(address) => {
            let listener = TcpListener::bind(address)
                .await
                .map_err(failed(address.to_string()))?;
            let bound = listener.local_addr().map_err(failed(address.to_string()))?;
            // The server's own switch does not reach connections that it did not accept itself;
            // without it an outcome waits up to 40 ms for the peer's acknowledgement.
            let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
            tasks.spawn(async move {
                drained(
                    router.serve_with_incoming_shutdown(incoming, stop.clone().cancelled_owned()),
                    &stop,
                )
                .await;
            });
            Ok(Some(bound))
        }
    }
}

/// Runs a server to its end, and not longer than [`DRAIN`] after shutdown was asked for.
async fn drained(
    serving: impl Future<Output = Result<(), tonic::transport::Error>>,
    stop: &CancellationToken,
) {
    let overdue = async {
        stop.cancelled().await;
        tokio::time::sleep(DRAIN).await;
    };
    tokio::select! {
        biased;
        result = serving => if let Err(error) = result {
            tracing::error!(%error, "the gRPC server ended");
        },
        () = overdue => tracing::info!("calls still open were cut off; they go on elsewhere"),
    }
}

/// A socket file left by a process that is gone is removed; one that answers is not.
fn bind_socket(path: &Path) -> std::io::Result<UnixListener> {
    if path.exists() {
        if std::os::unix::net::UnixStream::connect(path).is_ok() {
            return Err(std::io::Error::new(
                std::io::ErrorKind::AddrInUse,
                "another askbus is running on this socket",
            ));
        }
        fs::remove_file(path)?;
    }
    let listener = UnixListener::bind(path)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

async fn router(core: &Arc<Core>, shutdown: &CancellationToken, reflects: bool) -> Router {
    let (reporter, health) = tonic_health::server::health_reporter();
    let turns = TurnServiceServer::new(turn::Turns::new(Arc::clone(core), shutdown.clone()))
        .max_decoding_message_size(MAX_REQUEST);
    let clarify = ClarifyServiceServer::new(clarify::Clarifications::new(
        Arc::clone(core),
        shutdown.clone(),
    ))
    .max_decoding_message_size(MAX_REQUEST);
    let plans = PlanServiceServer::new(plan::Plans::new(Arc::clone(core)))
        .max_decoding_message_size(MAX_REQUEST);
    let reachable = core.bus.ledger.reachable();
    let served = *reachable.borrow();
    tell_health(&reporter, served).await;
    let health_follows = follow_log(reporter, reachable, served, shutdown.clone());
    core.tasks.spawn(health_follows);
    let auth = caller::Authenticate::new(core);
    let mut router = Server::builder()
        .max_concurrent_streams(MAX_STREAMS)
        .http2_keepalive_interval(Some(Duration::from_secs(20)))
        .http2_keepalive_timeout(Some(Duration::from_secs(20)))
        .add_service(health)
        .add_service(tonic::service::interceptor::InterceptedService::new(
            turns,
            auth.clone(),
        ))
        .add_service(tonic::service::interceptor::InterceptedService::new(
            plans,
            auth.clone(),
        ))
        .add_service(tonic::service::interceptor::InterceptedService::new(
            clarify, auth,
        ));
    if !reflects {
        return router;
    }
    let reflection = described().build_v1();
    match reflection {
        Ok(reflection) => router = router.add_service(reflection),
        Err(error) => tracing::warn!(%error, "reflection is off"),
    }
    // Tools that are older speak this one only.
    let older = described().build_v1alpha();
    match older {
        Ok(older) => router = router.add_service(older),
        Err(error) => tracing::warn!(%error, "reflection for older tools is off"),
    }
    router
}

fn described<'a>() -> tonic_reflection::server::Builder<'a> {
    tonic_reflection::server::Builder::configure()
        .register_encoded_file_descriptor_set(askbus_wire::DESCRIPTORS)
        .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
}

/// Keeps the health of the services that of the log: who cannot write cannot take a question, and calls
/// are better sent elsewhere. That of the process as a whole stays as it is.
async fn follow_log(
    reporter: HealthReporter,
    mut reachable: watch::Receiver<bool>,
    mut told: bool,
    shutdown: CancellationToken,
) {
    loop {
        let served = *reachable.borrow_and_update();
        if served != told {
            tell_health(&reporter, served).await;
            told = served;
        }
        tokio::select! {
            () = shutdown.cancelled() => return,
            changed = reachable.changed() => if changed.is_err() { return },
        }
    }
}

async fn tell_health(reporter: &HealthReporter, served: bool) {
    let status = if served {
        ServingStatus::Serving
    } else {
        ServingStatus::NotServing
    };
    for service in [
        TurnServiceServer::<turn::Turns>::NAME,
        ClarifyServiceServer::<clarify::Clarifications>::NAME,
        PlanServiceServer::<plan::Plans>::NAME,
    ] {
        reporter.set_service_status(service, status).await;
    }
}
