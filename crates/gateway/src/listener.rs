//! The one public listener: HTTP/1.1 and HTTP/2 without TLS, told apart by their first bytes.

use crate::front;
use crate::gateway::Gateway;
use crate::options::{GatewayError, Listen};
use askbus_wire::memory::MemoryListener;
use axum::Router;
use axum::body::Body;
use http::Request;
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Connections at most; more wait in the kernel's queue.
const MAX_CONNECTIONS: usize = 4_096;
/// A head, or the first request at all, takes no longer than this.
const HEAD_TIMEOUT: Duration = Duration::from_secs(15);
/// Calls in flight on one HTTP/2 connection; more wait in the client.
const MAX_STREAMS: u32 = 1_000;
/// Both ends of a connection within this process.
const WITHIN: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
/// How long requests may go on after the shutdown.
const DRAIN: Duration = Duration::from_secs(4);

/// Accepts until shutdown, then drains.
pub(crate) async fn run(gateway: Arc<Gateway>, mut listener: Listener, router: Router) {
    let slots = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let connections = TaskTracker::new();
    let cut = CancellationToken::new();
    loop {
        let accepted = tokio::select! {
            biased;
            () = gateway.shutdown.cancelled() => break,
            accepted = accept(&mut listener, &slots) => accepted,
        };
        let Some((stream, peer, slot)) = accepted else {
            break;
        };
        let serving = serve(Arc::clone(&gateway), router.clone(), stream, peer);
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

/// A connection of either kind.
trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// Where connections come from.
pub(crate) enum Listener {
    Tcp(TcpListener),
    Memory(MemoryListener),
}

impl Listener {
    /// Listens, and says where.
    pub(crate) async fn bind(listen: &Listen) -> Result<(Self, SocketAddr), GatewayError> {
        match listen {
            Listen::Tcp(address) => {
                let failed = |error| GatewayError::Listen {
                    address: *address,
                    error,
                };
                let listener = TcpListener::bind(address).await.map_err(failed)?;
                let bound = listener.local_addr().map_err(failed)?;
                Ok((Self::Tcp(listener), bound))
            }
            Listen::Memory(address) => Ok((Self::Memory(address.bind()), WITHIN)),
        }
    }

    /// The next connection and its peer; none when there will be no more.
    async fn accept(&mut self) -> std::io::Result<Option<(Box<dyn Stream>, SocketAddr)>> {
        match self {
            Self::Tcp(listener) => {
                let (stream, peer) = listener.accept().await?;
                if let Err(error) = stream.set_nodelay(true) {
                    tracing::debug!(%error, "no-delay was not set");
                }
                Ok(Some((Box::new(stream), peer)))
            }
            Self::Memory(listener) => {
                let stream = listener.accept().await;
                Ok(stream.map(|stream| -> (Box<dyn Stream>, _) { (Box::new(stream), WITHIN) }))
            }
        }
    }
}

type Accepted = (
    Box<dyn Stream>,
    SocketAddr,
    tokio::sync::OwnedSemaphorePermit,
);

async fn accept(listener: &mut Listener, slots: &Arc<Semaphore>) -> Option<Accepted> {
    // Closed never: the semaphore lives as long as the listener.
    let slot = Arc::clone(slots).acquire_owned().await.ok()?;
    loop {
        match listener.accept().await {
            Ok(accepted) => return accepted.map(|(stream, peer)| (stream, peer, slot)),
            Err(error) => {
                // Out of files, mostly: existing connections must end before another fits.
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

async fn serve(gateway: Arc<Gateway>, router: Router, stream: Box<dyn Stream>, peer: SocketAddr) {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(MAX_STREAMS)
        .keep_alive_interval(Duration::from_secs(20))
        .keep_alive_timeout(Duration::from_secs(20));
    let begun = Arc::new(AtomicBool::new(false));
    let (seen, shutdown) = (Arc::clone(&begun), gateway.shutdown.clone());
    let service = hyper::service::service_fn(move |request: Request<Incoming>| {
        seen.store(true, Ordering::Relaxed);
        let (gateway, router) = (Arc::clone(&gateway), router.clone());
        async move {
            let request = request.map(Body::new);
            Ok::<_, Infallible>(front::admit(&gateway, router, peer, request).await)
        }
    });
    let connection = builder.serve_connection_with_upgrades(TokioIo::new(stream), service);
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
                    tracing::debug!(%peer, %error, "a connection ended early");
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
