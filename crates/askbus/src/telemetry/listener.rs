//! `/metrics` of a service that has no public listener: HTTP on an address of its own, for operators.

use crate::exit::{Failure, UNAVAILABLE};
use crate::services::parse_listen;
use askbus_credential::Verifier;
use askbus_telemetry::{Audience, CONTENT_TYPE, Source, exposition};
use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Connections at most; more wait in the kernel's queue.
const MAX_CONNECTIONS: usize = 16;
/// A connection is for one look and takes no longer.
const WHOLE: Duration = Duration::from_secs(10);

/// A listener; it ends with the token it was started with.
pub(crate) struct Listening {
    /// Where it listens.
    pub address: SocketAddr,
    tasks: TaskTracker,
}

impl Listening {
    /// Waits until it has ended.
    pub(crate) async fn join(self) {
        self.tasks.wait().await;
    }
}

/// Shows the figures of a service at `address` to whoever presents an operator's credential.
pub(crate) async fn listen(
    address: &str,
    verifier: Verifier,
    source: Arc<dyn Source>,
    shutdown: CancellationToken,
) -> Result<Listening, Failure> {
    let address = parse_listen(address)?;
    let failed = |e| {
        Failure::new(
            UNAVAILABLE,
            format!("cannot listen on {address} for figures: {e}"),
        )
    };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    let tasks = TaskTracker::new();
    let door = Arc::new(Door { verifier, source });
    tasks.spawn(accept(listener, door, tasks.clone(), shutdown));
    tasks.close();
    Ok(Listening { address, tasks })
}

struct Door {
    verifier: Verifier,
    source: Arc<dyn Source>,
}

async fn accept(
    listener: TcpListener,
    door: Arc<Door>,
    tasks: TaskTracker,
    shutdown: CancellationToken,
) {
    let slots = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let Ok(slot) = Arc::clone(&slots).acquire_owned().await else {
            return;
        };
        let accepted = tokio::select! {
            () = shutdown.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                // Out of files, mostly: others must end before another fits.
                tracing::warn!(%error, "a connection for figures could not be accepted");
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let (door, shutdown) = (Arc::clone(&door), shutdown.clone());
        tasks.spawn(async move {
            tokio::select! {
                () = shutdown.cancelled() => {}
                // Whoever takes longer looks again.
                _ = tokio::time::timeout(WHOLE, serve(door, stream)) => {}
            }
            drop(slot);
        });
    }
}

async fn serve(door: Arc<Door>, stream: TcpStream) {
    let mut builder = auto::Builder::new(TokioExecutor::new()).http1_only();
    builder.http1().keep_alive(false);
    let service = service_fn(move |request: Request<Incoming>| {
        let door = Arc::clone(&door);
        async move { Ok::<_, Infallible>(door.answer(&request).await) }
    });
    if let Err(error) = builder
        .serve_connection(TokioIo::new(stream), service)
        .await
    {
        tracing::debug!(%error, "a connection for figures ended early");
    }
}

impl Door {
    async fn answer(&self, request: &Request<Incoming>) -> Response<Full<Bytes>> {
        let audience = match self.audience(request) {
            Ok(audience) => audience,
            Err((status, text)) => return plain(status, text),
        };
        if request.method() != Method::GET || request.uri().path() != "/metrics" {
            return plain(StatusCode::NOT_FOUND, "figures are at GET /metrics\n");
        }
        match exposition(&[Arc::clone(&self.source)], &audience).await {
            Ok(text) => {
                let mut response = Response::new(Full::from(text));
                let kind = HeaderValue::from_static(CONTENT_TYPE);
                response.headers_mut().insert(header::CONTENT_TYPE, kind);
                response
            }
            Err(_) => plain(
                StatusCode::INTERNAL_SERVER_ERROR,
                "they cannot be written\n",
            ),
        }
    }

    fn audience(
        &self,
        request: &Request<Incoming>,
    ) -> Result<Audience, (StatusCode, &'static str)> {
        let token = request
            .headers()
            .get(header::AUTHORIZATION)
            .and_then(|value| value.to_str().ok())
            .and_then(|value| value.split_once(' '))
            .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
            .map(|(_, token)| token.trim());
        let credential = token.and_then(|token| self.verifier.verify(token).ok());
        let unknown = "send Authorization: Bearer with an operator's credential\n";
        let credential = credential.ok_or((StatusCode::UNAUTHORIZED, unknown))?;
        let other = "only operators see figures\n";
        Audience::of(&credential).ok_or((StatusCode::FORBIDDEN, other))
    }
}

fn plain(status: StatusCode, text: &'static str) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(text));
    *response.status_mut() = status;
    response
}
