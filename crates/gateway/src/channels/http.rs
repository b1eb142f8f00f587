//! Requests that a channel makes: to one place, over TLS unless it is this machine, without following
//! anybody elsewhere, and bounded in time and size.

use bytes::Bytes;
use http::uri::Scheme;
use http::{HeaderMap, Request, Response, StatusCode, Uri, header};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use std::fmt;
use std::time::Duration;

/// What is read of a response at most, in bytes.
const MAX_RESPONSE: usize = 8 * 1024 * 1024;
/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(5);

/// One place to which a channel sends.
#[derive(Clone)]
pub struct Target {
    base: Uri,
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
}

/// Why a place cannot be sent to.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// Not an address.
    #[error("is not an address such as https://host/path")]
    NotAnAddress,
    /// What people are asked would go over the network for everybody to read.
    #[error("must begin with https:// unless it names this machine")]
    Plain,
    /// A name or password stands in it.
    #[error("must not hold a user name")]
    WithUser,
    /// The certificates of this machine cannot be read.
    #[error("the certificates of this machine cannot be read: {0}")]
    Certificates(std::io::Error),
}

/// Why a request came to nothing, in words that hold nothing of what was sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NoResponse {
    #[error("it could not be reached")]
    Unreachable,
    #[error("it did not answer within {} s", .0.as_secs_f32())]
    Silent(Duration),
    #[error("its answer could not be read")]
    Unreadable,
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A path may hold what only the two of them know.
        let host = self.base.host().unwrap_or_default();
        write!(f, "Target({host})")
    }
}

impl Target {
    /// Reads an address: `https`, or `http` on this machine.
    ///
    /// # Errors
    /// What is wrong with it, or that no certificate can be trusted here.
    pub fn parse(text: &str) -> Result<Self, TargetError> {
        let base: Uri = text.trim().parse().map_err(|_| TargetError::NotAnAddress)?;
        let host = base.host().ok_or(TargetError::NotAnAddress)?;
        let local = matches!(host, "127.0.0.1" | "[::1]" | "localhost");
        match base.scheme() {
            Some(scheme) if *scheme == Scheme::HTTPS => {}
            Some(scheme) if *scheme == Scheme::HTTP && local => {}
            Some(scheme) if *scheme == Scheme::HTTP => return Err(TargetError::Plain),
            _ => return Err(TargetError::NotAnAddress),
        }
        if base.authority().is_some_and(|a| a.as_str().contains('@')) {
            return Err(TargetError::WithUser);
        }
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_connect_timeout(Some(CONNECT));
        tcp.set_nodelay(true);
        let provider = rustls::crypto::ring::default_provider();
        let connector = HttpsConnectorBuilder::new()
            .with_provider_and_native_roots(provider)
            .map_err(TargetError::Certificates)?
            .https_or_http()
            .enable_http1()
            .wrap_connector(tcp);
        let client = Client::builder(TokioExecutor::new())
            .pool_idle_timeout(Duration::from_secs(30))
            .pool_max_idle_per_host(4)
            .pool_timer(TokioTimer::new())
            .build(connector);
        Ok(Self { base, client })
    }

    /// Posts JSON to the address itself, or to `path` below it, and reads what comes back.
    pub(crate) async fn post(
        &self,
        path: &str,
        headers: HeaderMap,
        body: Bytes,
        patience: Duration,
    ) -> Result<(StatusCode, Bytes), NoResponse> {
        let exchange = async {
            let response = self.send(path, headers, body).await?;
            let status = response.status();
            let body = Limited::new(response.into_body(), MAX_RESPONSE);
            let body = body.collect().await.map_err(|_| NoResponse::Unreadable)?;
            Ok((status, body.to_bytes()))
        };
        let done = tokio::time::timeout(patience, exchange).await;
        done.unwrap_or(Err(NoResponse::Silent(patience)))
    }

    /// Posts JSON to `path` below the address, and returns what comes back once it begins to. How long it
    /// takes from then on is for the caller to bound.
    pub(crate) async fn begin(
        &self,
        path: &str,
        headers: HeaderMap,
        body: Bytes,
        patience: Duration,
    ) -> Result<Response<Incoming>, NoResponse> {
        let begun = tokio::time::timeout(patience, self.send(path, headers, body)).await;
        begun.unwrap_or(Err(NoResponse::Silent(patience)))
    }

    /// The same where the status says it all: whatever comes after it, it was said.
    pub(crate) async fn tell(
        &self,
        headers: HeaderMap,
        body: Bytes,
        patience: Duration,
    ) -> Result<StatusCode, NoResponse> {
        let begun = self.begin("", headers, body, patience).await?;
        Ok(begun.status())
    }

    async fn send(
        &self,
        path: &str,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<Response<Incoming>, NoResponse> {
        let uri = self.below(path).ok_or(NoResponse::Unreachable)?;
        let mut request = Request::post(uri)
            .body(Full::new(body))
            .map_err(|_| NoResponse::Unreachable)?;
        *request.headers_mut() = headers;
        let json = http::HeaderValue::from_static("application/json");
        request.headers_mut().insert(header::CONTENT_TYPE, json);
        let response = self.client.request(request).await;
        response.map_err(|_| NoResponse::Unreachable)
    }

    fn below(&self, path: &str) -> Option<Uri> {
        if path.is_empty() {
            return Some(self.base.clone());
        }
        let base = self.base.to_string();
        format!("{}/{path}", base.trim_end_matches('/'))
            .parse()
            .ok()
    }
}

/// The next part of what comes back; none at its end.
pub(super) async fn next_part(
    response: &mut Response<Incoming>,
) -> Result<Option<Bytes>, NoResponse> {
    while let Some(frame) = response.body_mut().frame().await {
        let frame = frame.map_err(|_| NoResponse::Unreadable)?;
        if let Ok(data) = frame.into_data() {
            return Ok(Some(data));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_reached_without_tls() {
        for (text, expected) in [
            ("https://hooks.example/askbus?team=1", None),
            ("http://127.0.0.1:9000/hook", None),
            ("http://localhost:9000", None),
            ("http://[::1]:9000/", None),
            ("http://hooks.example/askbus", Some("must begin")),
            ("http://127.0.0.1.example/", Some("must begin")),
            ("http://10.0.0.1/", Some("must begin")),
            ("https://ann:pw@hooks.example/", Some("user name")),
            ("ftp://127.0.0.1/", Some("not an address")),
            ("hooks.example", Some("not an address")),
            ("", Some("not an address")),
        ] {
            let problem = Target::parse(text).err().map(|e| e.to_string());
            match (problem, expected) {
                (None, None) => {}
                (Some(problem), Some(words)) => {
                    assert!(problem.contains(words), "{text}: {problem}");
                }
                (problem, _) => panic!("{text}: {problem:?}"),
            }
        }
        let target = Target::parse("https://hooks.example/secret-path").unwrap();
        assert_eq!(format!("{target:?}"), "Target(hooks.example)");
        let below = target.below("ilink/bot/getupdates").unwrap();
        assert_eq!(
            below,
            "https://hooks.example/secret-path/ilink/bot/getupdates"
        );
    }
}
