//! MCP over Streamable HTTP: one endpoint for both eras of the protocol, `/mcp`, and one for each other
//! toolset below it.

mod admission;
mod body;
mod open_calls;
mod opening;
mod sessions;

use super::callers::{Bearer, Callers, Template};
use super::handler::Handler;
use super::offered::Offered;
use super::{AdapterError, Panel};
use crate::asker::{AskerInfo, Token};
use crate::metrics::Figures;
use crate::toolset::{Gate, Toolset};
use admission::Admission;
use askbus_credential::Verifier;
use askbus_wire::client::Target;
pub use askbus_wire::listener::Listen;
use askbus_wire::listener::{Limits, Listener};
use askbus_wire::tenants::Tenants;
use axum::Router;
use axum::body::Body;
use axum::routing::{any_service, get};
use open_calls::OpenCalls;
use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, Extensions, GetExtensions as _, JsonRpcMessage, RequestId,
};
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use sessions::Sessions;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

/// The largest request, in bytes.
const MAX_BODY: usize = 1024 * 1024;
/// Connections to the service that the calls share.
const CHANNELS: usize = 16;
/// A gateway brings the calls of all its clients on one connection; open calls are handed back before it
/// is cut.
const LIMITS: Limits = Limits {
    streams: 10_000,
    drain: Duration::from_secs(3),
};
/// How often a stream that says nothing says that it stands.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// What an HTTP server is made of.
pub struct HttpOptions {
    /// Where it listens.
    pub listen: Listen,
    /// Where session-binding is.
    pub target: Target,
    /// Checks credentials.
    pub verifier: Verifier,
    /// The tenants it serves.
    pub tenants: Tenants,
    /// Names under which it is reached, loopback's apart.
    pub host_names: Vec<String>,
    /// The gate of the studio tools.
    pub gate: Gate,
    /// Where a person answers, for progress messages.
    pub panel: Panel,
    /// The client's hard limit for a call, where it is known.
    pub budget: Option<Duration>,
    /// How long a call waits for a service that cannot be reached.
    pub patience: Duration,
    /// Where its calls are counted.
    pub figures: Arc<Figures>,
    /// How long a question outlives the connection of its call, as the service has it.
    pub lease: Duration,
}

/// The connection behind a call, and what came with it.
#[derive(Clone)]
pub(super) struct Line {
    pub(super) bearer: Bearer,
    /// Cancelled when the connection is gone before the reply was taken.
    pub(super) lost: CancellationToken,
    /// The session of a client of the older era.
    pub(super) session: Option<String>,
    /// The context of a host's turn.
    pub(super) context: Option<String>,
    /// The id under which its request was refused, as another one under it is open.
    same_id: Arc<OnceLock<RequestId>>,
}

impl Line {
    pub(super) fn of(context: &RequestContext<RoleServer>) -> Option<Self> {
        Self::among(&context.extensions)
    }

    /// That of a request which nobody has taken yet.
    fn of_message(message: &ClientJsonRpcMessage) -> Option<Self> {
        let JsonRpcMessage::Request(request) = message else {
            return None;
        };
        Self::among(request.request.extensions())
    }

    fn among(extensions: &Extensions) -> Option<Self> {
        let parts = extensions.get::<http::request::Parts>()?;
        parts.extensions.get::<Line>().cloned()
    }

    /// Says that the request is not done, as another one under its id is open.
    fn refuse(&self, id: RequestId) {
        // One connection brings one request.
        let _ = self.same_id.set(id);
    }
}

/// A running HTTP server.
pub struct Serving {
    address: Option<SocketAddr>,
    task: JoinHandle<()>,
}

impl Serving {
    /// Where it listens, if on TCP.
    pub fn address(&self) -> Option<SocketAddr> {
        self.address
    }

    /// Waits until it has stopped, after its shutdown.
    pub async fn join(self) {
        if let Err(error) = self.task.await {
            tracing::error!(%error, "the MCP server ended abnormally");
        }
    }
}

/// Serves until `shutdown`; then open calls are handed back, and nothing is withdrawn.
///
/// # Errors
/// [`AdapterError::Listen`] when it cannot listen there, [`AdapterError::Internal`] when the target
/// cannot be spoken to.
pub async fn serve_http(
    options: HttpOptions,
    shutdown: CancellationToken,
) -> Result<Serving, AdapterError> {
    let bad = |e: &dyn std::fmt::Display| AdapterError::Internal(e.to_string());
    let channels = (0..CHANNELS).map(|_| options.target.channel());
    let channels = channels
        .collect::<Result<Vec<_>, _>>()
        .map_err(|e| bad(&e))?;
    let template = Template {
        target: options.target,
        token: Token::Value(String::new()),
        channels,
        profile: None,
        info: AskerInfo::default(),
        patience: options.patience,
        figures: Some(options.figures),
    };
    let callers = Callers::many(template, options.lease);
    let mut hosts: Vec<String> = ["localhost", "127.0.0.1", "::1", "askbus.invalid"]
        .map(str::to_owned)
        .into();
    hosts.extend(options.host_names);
    let mut admissions = Vec::new();
    // For whoever looks after it; it says nothing that is not known from the connection itself.
    let mut router = Router::new().route("/health", get(|| async { "ok" }));
    for (path, toolset) in [
        ("/mcp", Toolset::Ask),
        ("/mcp/studio", Toolset::Studio),
        ("/mcp/interaction", Toolset::Interaction),
        #[cfg(feature = "conformance")]
        ("/mcp/conformance", Toolset::Conformance),
    ] {
        let handler = Handler {
            callers: Arc::clone(&callers),
            offered: Offered {
                toolset,
                gate: options.gate,
            },
            panel: Arc::clone(&options.panel),
            has_context: false,
            budget: options.budget,
        };
        let calls = Arc::new(OpenCalls::new());
        let config = StreamableHttpServerConfig::default()
            .with_sse_keep_alive(Some(KEEP_ALIVE))
            .with_max_request_body_bytes(MAX_BODY)
            .with_allowed_hosts(hosts.clone())
            .enforce_origin_validation()
            .with_cancellation_token(CancellationToken::new());
        let ending = config.cancellation_token.clone();
        let service =
            StreamableHttpService::new(move || Ok(handler.clone()), Arc::clone(&calls), config);
        let admission = Admission::new(
            service,
            options.verifier.clone(),
            options.tenants.clone(),
            Sessions::new(calls),
            shutdown.clone(),
        );
        admissions.push(ending);
        router = router.route_service(path, any_service(admission));
    }
    let listener = Listener::bind(&options.listen).await?;
    let address = listener.address();
    let task = tokio::spawn(async move {
        let answer = move |_, request: http::Request<_>| {
            let answering = router.clone().oneshot(request.map(Body::new));
            async move {
                match answering.await {
                    Ok(response) => response,
                    Err(never) => match never {},
                }
            }
        };
        listener.serve(LIMITS, shutdown, answer).await;
        for ending in admissions {
            ending.cancel();
        }
        callers.leave().await;
    });
    Ok(Serving { address, task })
}
