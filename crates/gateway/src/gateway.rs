//! Starting and stopping, and what all parts share.

use crate::channels::{self, ChannelTable};
use crate::feed::Feed;
use crate::live::Live;
use crate::metrics::Figures;
use crate::options::{GatewayError, Options};
use crate::pace::Pace;
use crate::presence::Presence;
use crate::sign_in::Desk;
use crate::{front, presence, routes};
use askbus_credential::Verifier;
use askbus_domain::{TenantId, Timestamp};
use askbus_ledger::Bus;
use askbus_wire::clock::Clock;
use askbus_wire::listener::{self, Limits, Listener};
use askbus_wire::targets::Channels;
use askbus_wire::tenants::Tenants;
use axum::body::Body;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tonic::transport::Channel;

/// Requests a second of one caller in the long run, and at once.
const PACE: (f64, f64) = (500.0, 2_000.0);
/// Calls in flight on one connection, and how long requests may go on after the shutdown.
const LIMITS: Limits = Limits {
    streams: 1_000,
    drain: Duration::from_secs(4),
};
/// The tenant of a single machine.
const LOCAL_TENANT: &str = "local";

/// What all parts share.
pub(crate) struct Gateway {
    pub bus: Bus,
    pub clock: Clock,
    pub feed: Arc<Feed>,
    pub verifier: Verifier,
    pub tenants: Tenants,
    pub session_binding: Channels,
    pub mcp: Option<Channel>,
    pub desk: Desk,
    /// Ids of credentials with which a browser has just signed out.
    pub signed_out: broadcast::Sender<String>,
    pub single_machine: bool,
    pub local_tenant: TenantId,
    pub host_names: Vec<String>,
    pub instance: String,
    pub version: String,
    pub cookie_name: String,
    pub presence: Presence,
    pub channels: ChannelTable,
    pub figures: Figures,
    pub pace: Pace,
    /// A draft a second per person.
    pub draft_pace: Pace,
    pub live: Arc<Live>,
    pub tasks: TaskTracker,
    pub shutdown: CancellationToken,
}

impl Gateway {
    /// The log's clock as well as it is known here.
    pub(crate) fn now(&self) -> Timestamp {
        let own = self.clock.now().unix_millis();
        Timestamp::from_unix_millis(own.saturating_add(self.bus.ledger.clock_offset_ms()))
    }
}

/// A running gateway.
pub struct Handle {
    address: SocketAddr,
    pub(crate) gateway: Arc<Gateway>,
}

impl std::fmt::Debug for Handle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Handle")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

impl Handle {
    /// Where it listens; within this process that is port 0.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// A fresh link that signs in one browser, once, within 24 hours; none when this gateway was
    /// given nothing to sign with.
    pub fn sign_in_url(&self) -> Option<String> {
        let code = self.gateway.desk.own_code()?;
        let host = match self.address {
            SocketAddr::V6(a) if a.ip().is_loopback() => format!("[::1]:{}", a.port()),
            address => format!("127.0.0.1:{}", address.port()),
        };
        Some(format!("http://{host}/sign-in?code={code}"))
    }

    /// Waits until it has stopped after its shutdown token was cancelled: sockets closed with a
    /// reason, requests drained, at most about five seconds.
    pub async fn join(self) {
        self.gateway.tasks.wait().await;
    }
}

/// Listens, reads the log to its end, then serves until `shutdown`.
///
/// # Errors
/// The address is taken, the log cannot be read, or `shutdown` came first.
pub async fn start(options: Options, shutdown: CancellationToken) -> Result<Handle, GatewayError> {
    let listener = Listener::bind(&options.listen).await?;
    let address = listener.address().unwrap_or(listener::WITHIN);
    // Stops what was started when a later step fails.
    let stop = shutdown.child_token();
    let guard = stop.clone().drop_guard();
    let tasks = TaskTracker::new();
    let local_tenant = TenantId::new(LOCAL_TENANT).map_err(|e| {
        askbus_wire::error::WireError::new(askbus_wire::error::ErrorCode::Internal, e)
    })?;
    let channels = ChannelTable::new(options.channels, &options.tenants)?;
    let gateway = Arc::new(Gateway {
        feed: Arc::new(Feed::new()),
        cookie_name: format!("askbus_{}", options.verifier.fingerprint()),
        session_binding: options.session_binding.channels()?,
        mcp: options.mcp.map(|target| target.channel()).transpose()?,
        desk: Desk::new(options.sign_in),
        signed_out: broadcast::Sender::new(64),
        bus: options.bus,
        clock: options.clock,
        verifier: options.verifier,
        tenants: options.tenants,
        single_machine: options.single_machine,
        local_tenant,
        host_names: options.host_names,
        instance: options.instance,
        version: options.version,
        presence: Presence::new(),
        channels,
        figures: Figures::default(),
        pace: Pace::new(PACE.0, PACE.1),
        draft_pace: Pace::new(1.0, 1.0),
        live: Arc::default(),
        tasks: tasks.clone(),
        shutdown: stop.clone(),
    });
    let tenants = gateway.tenants.clone();
    let ledger = Arc::clone(&gateway.bus.ledger);
    let last = tokio::select! {
        biased;
        () = stop.cancelled() => return Err(GatewayError::Stopped),
        last = askbus_ledger::until_reachable(&*ledger) => last?,
    };
    let follow = Arc::clone(&gateway.feed).follow(ledger, move |t| tenants.serves(t), stop.clone());
    tasks.spawn(follow);
    tokio::select! {
        biased;
        () = stop.cancelled() => return Err(GatewayError::Stopped),
        () = gateway.feed.reach(last) => {}
    }
    gateway.feed.live();
    let (tenants, ledger) = (gateway.tenants.clone(), Arc::clone(&gateway.bus.ledger));
    let older =
        Arc::clone(&gateway.feed).read_older(ledger, move |t| tenants.serves(t), stop.clone());
    tasks.spawn(older);
    tasks.spawn(presence::run(Arc::clone(&gateway)));
    channels::start(&gateway);
    let router = routes::router(Arc::clone(&gateway));
    let admitting = Arc::clone(&gateway);
    tasks.spawn(
        listener.serve(LIMITS, gateway.shutdown.clone(), move |peer, request| {
            let (gateway, router) = (Arc::clone(&admitting), router.clone());
            async move { front::admit(&gateway, router, peer, request.map(Body::new)).await }
        }),
    );
    tasks.close();
    guard.disarm();
    tracing::info!(%address, last, "the gateway listens");
    Ok(Handle { address, gateway })
}
