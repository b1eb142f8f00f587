//! Connections of HTTP/1.1 and HTTP/2, told apart by their first bytes.

use super::Listen;
use crate::server::AdapterError;
use askbus_wire::memory::MemoryListener;
use axum::Router;
use axum::body::Body;
use http::Request;
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::ServiceExt as _;

/// Connections at most; more wait in the kernel's queue.
const MAX_CONNECTIONS: usize = 4_096;
/// Calls in flight on one connection: a gateway brings those of all its clients.
const MAX_STREAMS: u32 = 10_000;
/// A head takes no longer than this.
const HEAD_TIMEOUT: Duration = Duration::from_secs(15);
/// How often a silent connection is looked at.
const PING: Duration = Duration::from_secs(20);
/// How long open calls may take to be handed back.
const DRAIN: Duration = Duration::from_secs(3);

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// Where connections come from.
pub(super) enum Listener {
    Tcp(TcpListener),
    Memory(MemoryListener),
}

impl Listener {
    pub(super) async fn bind(listen: &Listen) -> Result<(Self, Option<SocketAddr>), AdapterError> {
        match listen {
            Listen::Tcp(address) => {
                let failed = |error| AdapterError::Listen {
                    address: *address,
                    error,
                };
                let listener = TcpListener::bind(address).await.map_err(failed)?;
                let bound = listener.local_addr().map_err(failed)?;
                Ok((Self::Tcp(listener), Some(bound)))
            }
            Listen::Memory(address) => Ok((Self::Memory(address.bind()), None)),
        }
    }

    /// The next connection; none when there will be no more.
    async fn accept(&mut self) -> Option<Box<dyn Stream>> {
        match self {
            Self::Tcp(listener) => loop {
                match listener.accept().await {
                    Ok((stream, _)) => {
                        // Only a delay would come of it.
                        let _ = stream.set_nodelay(true);
                        return Some(Box::new(stream));
                    }
                    Err(error) => {
                        // Out of files, mostly: connections must end before another one fits.
                        tracing::warn!(%error, "a connection could not be accepted");
                        tokio::time::sleep(Duration::from_millis(100)).await;
                    }
                }
            },
            Self::Memory(listener) => {
                let stream = listener.accept().await?;
                Some(Box::new(stream))
            }
        }
    }
}

/// Serves until the shutdown, then for as long as open calls take to be handed back.
pub(super) async fn run(mut listener: Listener, router: Router, shutdown: CancellationToken) {
    let slots = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let connections = TaskTracker::new();
    let cut = CancellationToken::new();
    loop {
        let accepted = async {
            // Closed never: it lives as long as this.
            let slot = Arc::clone(&slots).acquire_owned().await.ok()?;
            Some((listener.accept().await?, slot))
        };
        let accepted = tokio::select! {
            biased;
            () = shutdown.cancelled() => break,
            accepted = accepted => accepted,
        };
        let Some((stream, slot)) = accepted else {
            shutdown.cancelled().await;
            break;
        };
        let serving = serve(router.clone(), stream, shutdown.clone());
        let cut = cut.clone();
        connections.spawn(async move {
            let _slot = slot;
            tokio::select! {
                biased;
                () = cut.cancelled() => {}
                () = serving => {}
            }
        });
    }
    drop(listener);
    connections.close();
    if tokio::time::timeout(DRAIN, connections.wait())
        .await
        .is_err()
    {
        cut.cancel();
        connections.wait().await;
    }
}

async fn serve(router: Router, stream: Box<dyn Stream>, shutdown: CancellationToken) {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(MAX_STREAMS)
        .keep_alive_interval(PING)
        .keep_alive_timeout(PING);
    let begun = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&begun);
    let service = router.map_request(move |request: Request<Incoming>| {
        seen.store(true, Ordering::Relaxed);
        request.map(Body::new)
    });
    let service = TowerToHyperService::new(service);
    let connection = builder.serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    let mut stopping = false;
    // Nothing bounds the first bytes, by which the protocol is told; this does.
    let mut patience = pin!(tokio::time::sleep(HEAD_TIMEOUT));
    let mut waiting = true;
    loop {
        tokio::select! {
            biased;
            ended = connection.as_mut() => {
                if let Err(error) = ended {
                    tracing::debug!(%error, "a connection ended early");
                }
                return;
            }
            () = shutdown.cancelled(), if !stopping => {
                stopping = true;
                connection.as_mut().graceful_shutdown();
            }
            () = patience.as_mut(), if waiting => {
                waiting = false;
                if !begun.load(Ordering::Relaxed) {
                    return;
                }
            }
        }
    }
}
