//! Connections to a service behind TLS, through the proxy that the surroundings name.

use http::Uri;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::proxy::matcher::Matcher;
use hyper_util::rt::TokioIo;
use std::io::{Error, Result};
use std::time::Duration;
use tokio::net::TcpStream;
use tower::ServiceExt as _;

/// How long a connection may take, the proxy's part included.
const LIMIT: Duration = Duration::from_secs(10);

/// Connects to the host of `uri`, through the proxy of `HTTPS_PROXY` unless `NO_PROXY` names the host.
pub(crate) async fn connect(matcher: &Matcher, uri: Uri) -> Result<TokioIo<TcpStream>> {
    let mut direct = HttpConnector::new();
    direct.enforce_http(false);
    direct.set_nodelay(true);
    let connecting = async {
        match matcher.intercept(&uri) {
            None => direct.oneshot(uri).await.map_err(Error::other),
            Some(proxy) => {
                let mut tunnel = Tunnel::new(proxy.uri().clone(), direct);
                if let Some(auth) = proxy.basic_auth() {
                    tunnel = tunnel.with_auth(auth.clone());
                }
                tunnel.oneshot(uri).await.map_err(Error::other)
            }
        }
    };
    let late = |_| Error::from(std::io::ErrorKind::TimedOut);
    tokio::time::timeout(LIMIT, connecting)
        .await
        .map_err(late)?
}
