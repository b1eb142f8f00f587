//! Reaching a session-binding: the Unix socket of a single machine, or an address.

use crate::error::{ErrorCode, WireError};
use crate::proto::clarify_service_client::ClarifyServiceClient;
use crate::proto::turn_service_client::TurnServiceClient;
use hyper_util::rt::TokioIo;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::{Interceptor, interceptor::InterceptedService};
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Status};

/// Where a session-binding listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A Unix socket; survives restarts without port discovery.
    Socket(PathBuf),
    /// `http://host:port`.
    Url(String),
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Socket(path) => write!(f, "{}", path.display()),
            Target::Url(url) => f.write_str(url),
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
            Target::Socket(_) => "http://askbus.invalid".to_owned(),
            Target::Url(url) => url.clone(),
        };
        let endpoint = Endpoint::from_shared(address)
            .map_err(|e| bad(&e))?
            .connect_timeout(CONNECT_TIMEOUT)
            .http2_keep_alive_interval(Duration::from_secs(10))
            .keep_alive_timeout(Duration::from_secs(10))
            .keep_alive_while_idle(true)
            .tcp_nodelay(true);
        Ok(match self {
            Target::Url(_) => endpoint.connect_lazy(),
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

/// Both services over one channel.
#[derive(Clone)]
pub struct Client {
    /// Turns.
    pub turns: TurnServiceClient<Authorized>,
    /// Clarifications.
    pub clarify: ClarifyServiceClient<Authorized>,
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
            clarify: ClarifyServiceClient::with_interceptor(channel, bearer),
        }
    }
}
