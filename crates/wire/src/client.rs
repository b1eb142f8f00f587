//! Reaching a session-binding: the Unix socket of a single machine, or an address.

use crate::error::{ErrorCode, WireError};
use crate::memory::MemoryAddress;
use crate::proto::clarify_service_client::ClarifyServiceClient;
use crate::proto::plan_service_client::PlanServiceClient;
use crate::proto::turn_service_client::TurnServiceClient;
use crate::proxy;
use crate::replicas::Replicas;
use hyper_util::client::proxy::matcher::Matcher;
use hyper_util::rt::TokioIo;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::{Interceptor, interceptor::InterceptedService};
use tonic::transport::{Channel, ClientTlsConfig, Endpoint};
use tonic::{Request, Status};

/// Where a session-binding listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A Unix socket; survives restarts without port discovery.
    Socket(PathBuf),
    /// `http://host:port`.
    Url(String),
    /// Several replicas, `host:port` each: any of them serves any session. A connection goes to
    /// one that accepts it, beginning with a random one; when it breaks, the next one goes on.
    Replicas(Vec<String>),
    /// Within this process: the first of these addresses at which somebody listens.
    Memory(Vec<MemoryAddress>),
}

/// Text that is not a target.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not http://host:port, host:port, a list of those, or the path of a socket")]
pub struct NotATarget(String);

impl std::str::FromStr for Target {
    type Err = NotATarget;

    /// `http://host:port`, `host:port`, a comma separated list of either, or the path of a socket.
    fn from_str(text: &str) -> Result<Self, NotATarget> {
        let text = text.trim();
        if text.contains('/') && !text.contains("://") {
            return Ok(Target::Socket(text.into()));
        }
        let address = |one: &str| {
            one.trim()
                .trim_start_matches("http://")
                .trim_end_matches('/')
                .to_owned()
        };
        let list: Vec<String> = text
            .split(',')
            .map(address)
            .filter(|a| !a.is_empty())
            .collect();
        let odd = |c: char| c.is_whitespace() || c.is_control();
        match list.as_slice() {
            [] => Err(NotATarget(text.to_owned())),
            list if list.iter().any(|a| a.contains(odd)) => Err(NotATarget(text.to_owned())),
            [one] if one.contains("://") => Ok(Target::Url(one.clone())),
            [one] => Ok(Target::Url(format!("http://{one}"))),
            // Neither another scheme nor a path: a replica is a host and a port.
            several if several.iter().any(|a| a.contains('/')) => Err(NotATarget(text.to_owned())),
            _ => Ok(Target::Replicas(list)),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Socket(path) => write!(f, "{}", path.display()),
            Target::Url(url) => f.write_str(url),
            Target::Replicas(list) => f.write_str(&list.join(",")),
            Target::Memory(_) => f.write_str("this process"),
        }
    }
}

/// How long one attempt to connect may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
impl Target {
    /// A channel that connects when first used and again whenever the connection is lost.
    pub fn channel(&self) -> Result<Channel, WireError> {
        let bad = |e: &dyn fmt::Display| {
            WireError::new(ErrorCode::InvalidRequest, format!("{self}: {e}"))
        };
        let address = match self {
            Target::Socket(_) | Target::Replicas(_) | Target::Memory(_) => {
                "http://askbus.invalid".to_owned()
            }
            Target::Url(url) => url.clone(),
        };
        let is_secure = address.starts_with("https://");
        let mut endpoint = Endpoint::from_shared(address)
            .map_err(|e| bad(&e))?
            .connect_timeout(CONNECT_TIMEOUT)
            .http2_keep_alive_interval(Duration::from_secs(10))
            .keep_alive_timeout(Duration::from_secs(10))
            .keep_alive_while_idle(true)
            .tcp_nodelay(true);
        if is_secure {
            // The roots of the system, or those of SSL_CERT_FILE and SSL_CERT_DIR.
            let tls = ClientTlsConfig::new().with_native_roots();
            let no_tls = |error: tonic::transport::Error| {
                let cause = std::error::Error::source(&error).map(ToString::to_string);
                let cause = cause.unwrap_or_else(|| error.to_string());
                WireError::new(
                    ErrorCode::Unavailable,
                    format!(
                        "{self}: TLS needs root certificates, of the system or in SSL_CERT_FILE: {cause}"
                    ),
                )
            };
            endpoint = endpoint.tls_config(tls).map_err(no_tls)?;
        }
        Ok(match self {
            Target::Url(_) if is_secure => {
                let matcher = Arc::new(Matcher::from_env());
                endpoint.connect_with_connector_lazy(tower::service_fn(move |uri| {
                    let matcher = Arc::clone(&matcher);
                    async move { proxy::connect(&matcher, uri).await }
                }))
            }
            Target::Url(_) => endpoint.connect_lazy(),
            Target::Replicas(list) => {
                let replicas = Arc::new(Replicas::new(list.clone()));
                endpoint.connect_with_connector_lazy(tower::service_fn(move |_| {
                    let replicas = Arc::clone(&replicas);
                    async move { replicas.connect().await.map(TokioIo::new) }
                }))
            }
            Target::Memory(list) => {
                let list = list.clone();
                endpoint.connect_with_connector_lazy(tower::service_fn(move |_| {
                    let list = list.clone();
                    async move { connect_within(&list).await.map(TokioIo::new) }
                }))
            }
            Target::Socket(path) => {
                let path = path.clone();
                endpoint.connect_with_connector_lazy(tower::service_fn(move |_| {
                    let path = path.clone();
                    async move {
                        tokio::net::UnixStream::connect(path)
                            .await
                            .map(TokioIo::new)
                    }
                }))
            }
        })
    }
}

async fn connect_within(list: &[MemoryAddress]) -> std::io::Result<tokio::io::DuplexStream> {
    let mut last = std::io::Error::other("no address is named");
    for address in list {
        match address.connect().await {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Adds the caller's credential to every call.
#[derive(Clone)]
pub struct Bearer(MetadataValue<Ascii>);

impl Bearer {
    /// From the credential's token.
    pub fn new(token: &str) -> Result<Self, WireError> {
        let mut value: MetadataValue<Ascii> =
            format!("Bearer {}", token.trim()).parse().map_err(|_| {
                WireError::new(
                    ErrorCode::Unauthenticated,
                    "the credential is not one line of plain text",
                )
            })?;
        value.set_sensitive(true);
        Ok(Self(value))
    }
}

impl Interceptor for Bearer {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        request
            .metadata_mut()
            .insert("authorization", self.0.clone());
        Ok(request)
    }
}

/// A channel that speaks with a credential.
pub type Authorized = InterceptedService<Channel, Bearer>;

/// The services over one channel.
#[derive(Clone)]
pub struct Client {
    /// Turns.
    pub turns: TurnServiceClient<Authorized>,
    /// Clarifications.
    pub clarify: ClarifyServiceClient<Authorized>,
    /// Plans.
    pub plans: PlanServiceClient<Authorized>,
}

impl Client {
    /// A client that connects when first used.
    pub fn new(target: &Target, token: &str) -> Result<Self, WireError> {
        Ok(Self::over(target.channel()?, Bearer::new(token)?))
    }

    /// A client over an existing channel.
    pub fn over(channel: Channel, bearer: Bearer) -> Self {
        Self {
            turns: TurnServiceClient::with_interceptor(channel.clone(), bearer.clone()),
            clarify: ClarifyServiceClient::with_interceptor(channel.clone(), bearer.clone()),
            plans: PlanServiceClient::with_interceptor(channel, bearer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets() {
        let read = |text: &str| text.parse::<Target>();
        assert_eq!(
            read("/run/a.sock"),
            Ok(Target::Socket("/run/a.sock".into()))
        );
        assert_eq!(read("h:1"), Ok(Target::Url("http://h:1".to_owned())));
        assert_eq!(read("https://h"), Ok(Target::Url("https://h".to_owned())));
        let both = Ok(Target::Replicas(vec!["a:1".to_owned(), "b:2".to_owned()]));
        assert_eq!(read("a:1, http://b:2/"), both);
        assert!(read("").is_err());
        assert!(read("a:1,https://b").is_err());
        // Shown, each of these would be read as something else.
        assert!(read("http://a/b,c").is_err());
        assert!(read("http://a/b\t/").is_err());
    }
}
