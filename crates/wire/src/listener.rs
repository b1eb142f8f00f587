//! Where a service hears HTTP/1.1 and HTTP/2 without TLS, told apart by their first bytes. Nobody keeps
//! a connection that says nothing, and a stop takes no longer than it may.

use crate::memory::{MemoryAddress, MemoryListener};
use http::{Request, Response};
use hyper::body::{Body, Incoming};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use std::convert::Infallible;
use std::error::Error;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Connections at most; more wait in the kernel's queue.
const MAX_CONNECTIONS: usize = 4_096;
/// A head, or the first request at all, takes no longer than this.
const HEAD_TIMEOUT: Duration = Duration::from_secs(15);
/// How often a silent HTTP/2 connection is looked at, and how long it may take to say something then.
const PING: Duration = Duration::from_secs(20);
/// Both ends of a connection within this process.
pub const WITHIN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// Where a service listens.
#[derive(Debug, Clone)]
pub enum Listen {
    /// A TCP address; port 0 takes a free one.
    Tcp(SocketAddr),
    /// An address within this process. Whoever connects to it counts as somebody on this machine.
    Memory(MemoryAddress),
}

impl From<SocketAddr> for Listen {
    fn from(address: SocketAddr) -> Self {
        Self::Tcp(address)
    }
}

/// Why a service does not listen.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {address}: {error}")]
pub struct NotListening {
    /// Where it was to.
    pub address: SocketAddr,
    /// Why not.
    pub error: std::io::Error,
}

/// What a service allows.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Requests in flight on one HTTP/2 connection; more wait in the client.
    pub streams: u32,
    /// How long requests may go on after the shutdown.
    pub drain: Duration,
}

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

enum Source {
    Tcp(TcpListener),
    Memory(MemoryListener),
}

/// A connection, its peer, and its place among those that there may be.
type Accepted = (Box<dyn Stream>, SocketAddr, OwnedSemaphorePermit);

/// Listens.
pub struct Listener {
    source: Source,
    address: Option<SocketAddr>,
}

impl Listener {
    /// Listens from now on; nothing is accepted yet.
    ///
    /// # Errors
    /// [`NotListening`] when the address cannot be had.
    pub async fn bind(listen: &Listen) -> Result<Self, NotListening> {
        match listen {
            Listen::Tcp(address) => {
                let failed = |error| NotListening {
                    address: *address,
                    error,
                };
                let listener = TcpListener::bind(address).await.map_err(failed)?;
                let bound = listener.local_addr().map_err(failed)?;
                Ok(Self {
                    source: Source::Tcp(listener),
                    address: Some(bound),
                })
            }
            Listen::Memory(address) => Ok(Self {
                source: Source::Memory(address.bind()),
                address: None,
            }),
        }
    }

    /// Where it listens, if on TCP.
    pub const fn address(&self) -> Option<SocketAddr> {
        self.address
    }

    /// Answers what comes, each request with its peer, until `shutdown`; then lets what is open end.
    pub async fn serve<H, F, B>(mut self, limits: Limits, shutdown: CancellationToken, answer: H)
    where
        H: Fn(SocketAddr, Request<Incoming>) -> F + Clone + Send + 'static,
        F: Future<Output = Response<B>> + Send + 'static,
        B: Body + Send + 'static,
        B::Data: Send,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        let slots = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        let connections = TaskTracker::new();
        let cut = CancellationToken::new();
        loop {
            let accepted = tokio::select! {
                biased;
                () = shutdown.cancelled() => break,
                accepted = self.accept(&slots) => accepted,
            };
            let Some((stream, peer, slot)) = accepted else {
                // Somebody else listens at this address now; what is open here goes on.
                shutdown.cancelled().await;
                break;
            };
            let serving = serve(stream, peer, limits, shutdown.clone(), answer.clone());
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
        drop(self);
        connections.close();
        if tokio::time::timeout(limits.drain, connections.wait())
            .await
            .is_err()
        {
            cut.cancel();
            connections.wait().await;
        }
    }

    /// The next connection; none when there will be no more.
    async fn accept(&mut self, slots: &Arc<Semaphore>) -> Option<Accepted> {
        // Closed never: the semaphore lives as long as the listener.
        let slot = Arc::clone(slots).acquire_owned().await.ok()?;
        match &mut self.source {
            Source::Tcp(listener) => loop {
                match listener.accept().await {
                    Ok((stream, peer)) => {
                        if let Err(error) = stream.set_nodelay(true) {
                            tracing::debug!(%error, "no-delay was not set");
                        }
                        return Some((Box::new(stream), peer, slot));
                    }
                    Err(error) => {
                        // Out of files, mostly: existing connections must end before another fits.
                        tracing::warn!(%error, "a connection could not be accepted");
                        tokio::time::sleep(Duration::from_millis(100)).await;
                    }
                }
            },
            Source::Memory(listener) => {
                let stream = listener.accept().await?;
                Some((Box::new(stream), WITHIN, slot))
            }
        }
    }
}

async fn serve<H, F, B>(
    stream: Box<dyn Stream>,
    peer: SocketAddr,
    limits: Limits,
    shutdown: CancellationToken,
    answer: H,
) where
    H: Fn(SocketAddr, Request<Incoming>) -> F + Send + 'static,
    F: Future<Output = Response<B>> + Send + 'static,
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(limits.streams)
        .keep_alive_interval(PING)
        .keep_alive_timeout(PING);
    let begun = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&begun);
    let service = hyper::service::service_fn(move |request: Request<Incoming>| {
        seen.store(true, Ordering::Relaxed);
        let answering = answer(peer, request);
        async move { Ok::<_, Infallible>(answering.await) }
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};
    use tokio::task::JoinHandle;
    use tokio::time::Instant;

    const LIMITS: Limits = Limits {
        streams: 10,
        drain: Duration::from_secs(4),
    };
    const ASKED: &[u8] = b"GET / HTTP/1.1\r\nhost: here\r\n\r\n";

    /// A service that never answers, and how many requests it has.
    async fn silent(
        address: &MemoryAddress,
        shutdown: &CancellationToken,
    ) -> (JoinHandle<()>, Arc<AtomicUsize>) {
        let listener = Listener::bind(&Listen::Memory(address.clone())).await;
        let asked = Arc::new(AtomicUsize::new(0));
        let seen = Arc::clone(&asked);
        let answer = move |peer, _: Request<Incoming>| {
            assert_eq!(peer, WITHIN);
            seen.fetch_add(1, Ordering::Relaxed);
            std::future::pending::<Response<String>>()
        };
        let serving = listener.unwrap().serve(LIMITS, shutdown.clone(), answer);
        (tokio::spawn(serving), asked)
    }

    async fn closed(stream: &mut DuplexStream) {
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn who_sends_no_request_is_cut_and_who_does_is_not() {
        let (address, shutdown) = (MemoryAddress::new(), CancellationToken::new());
        let (_serving, asked) = silent(&address, &shutdown).await;
        for begun in [
            &b""[..],
            b"G",
            b"PRI * HTTP/2.0\r\n",
            b"GET / HTTP/1.1\r\nhost:",
        ] {
            let since = Instant::now();
            let mut stream = address.connect().await.unwrap();
            stream.write_all(begun).await.unwrap();
            closed(&mut stream).await;
            assert_eq!(
                since.elapsed().as_secs(),
                HEAD_TIMEOUT.as_secs(),
                "{begun:?}"
            );
        }
        assert_eq!(asked.load(Ordering::Relaxed), 0);
        let mut stream = address.connect().await.unwrap();
        stream.write_all(ASKED).await.unwrap();
        let cut = tokio::time::timeout(HEAD_TIMEOUT * 4, closed(&mut stream));
        assert!(cut.await.is_err(), "it waits for its answer");
        assert_eq!(asked.load(Ordering::Relaxed), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_stop_takes_no_longer_than_it_may() {
        let (address, shutdown) = (MemoryAddress::new(), CancellationToken::new());
        let (serving, asked) = silent(&address, &shutdown).await;
        let mut stream = address.connect().await.unwrap();
        stream.write_all(ASKED).await.unwrap();
        while asked.load(Ordering::Relaxed) == 0 {
            tokio::task::yield_now().await;
        }
        let since = Instant::now();
        shutdown.cancel();
        serving.await.unwrap();
        assert_eq!(since.elapsed(), LIMITS.drain);
        closed(&mut stream).await;
        assert!(address.connect().await.is_err(), "nobody listens any more");
    }
}
