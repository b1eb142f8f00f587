//! The way in of every request: fence, credential, pace; then gRPC goes through to session-binding
//! and everything else to the routes. Every response leaves with the security headers.

use crate::caller::{LocalScript, Shown};
use crate::gateway::Gateway;
use crate::page::Text;
use crate::reply::Refusal;
use crate::trace;
use crate::{body, fence, mcp, page, passthrough};
use askbus_wire::error::ErrorCode;
use axum::Router;
use axum::body::Body;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, header};
use std::net::SocketAddr;
use std::sync::Arc;
use tower::ServiceExt as _;

/// Lets a request in or refuses it.
pub(crate) async fn admit(
    gateway: &Arc<Gateway>,
    router: Router,
    peer: SocketAddr,
    request: Request<Body>,
) -> Response {
    let version = request.version();
    let (parts, body) = request.into_parts();
    let (body, ended) = body::watch(body);
    let mut request = Request::from_parts(parts, body);
    let path = request.uri().path().to_owned();
    let (method, uri) = (request.method().clone(), request.uri().clone());
    let headers = request.headers().clone();
    let trace = trace::of(request.headers());
    let traced = trace.as_str().to_owned();
    let mut response = match gate(gateway, peer, &request) {
        Err(refused) => {
            let grpc = passthrough::is_grpc(request.headers());
            body::linger(request.into_body()).await;
            if grpc {
                // A client of gRPC cannot read anything else.
                return refused.0.to_status().into_http();
            }
            if page::is_wanted(&method, &headers) {
                page::refused(&uri, &headers, &refused.0)
            } else {
                refused.into_response()
            }
        }
        Ok(Entry::SignInPage) => page::to_sign_in(&headers, Text::Stranger),
        Ok(Entry::In(shown, script)) => {
            if passthrough::is_grpc(request.headers()) {
                return passthrough::forward(gateway, &shown, &trace, request).await;
            }
            if mcp::is_mcp(&path) {
                let mut response = mcp::forward(gateway, &shown, &ended, request).await;
                harden(response.headers_mut(), true);
                gateway.figures.count_reply(response.status());
                return response;
            }
            let extensions = request.extensions_mut();
            extensions.insert(shown);
            extensions.insert(LocalScript(script));
            extensions.insert(trace);
            match router.oneshot(request).await {
                Ok(response) => response,
                Err(never) => match never {},
            }
        }
    };
    ended.close_if_unread(version, response.headers_mut());
    harden(response.headers_mut(), !is_static(&path));
    gateway.figures.count_reply(response.status());
    // The path only: a query may hold a sign-in code.
    tracing::debug!(%method, path, status = response.status().as_u16(), trace = traced, "served");
    response
}

fn is_static(path: &str) -> bool {
    path == "/" || path.starts_with("/assets/")
}

enum Entry {
    /// Into the handlers, with what was shown and whether it is a script's request (D14).
    In(Shown, bool),
    /// A window of a stranger's browser: 401 as a page on which one can sign in.
    SignInPage,
}

fn gate(gateway: &Gateway, peer: SocketAddr, request: &Request<Body>) -> Result<Entry, Refusal> {
    let (method, uri, headers) = (request.method(), request.uri(), request.headers());
    fence::check(&gateway.host_names, method, uri, headers)?;
    let shown = Shown::by(gateway, headers);
    let local = fence::is_local(peer, headers);
    let caller = match &shown {
        Shown::Good(caller) => caller.credential.id.clone(),
        Shown::Nothing | Shown::Bad(_) => peer.ip().to_string(),
    };
    if let Err(wait) = gateway.pace.take(&caller) {
        let wait = wait.as_millis();
        let message = format!("too many requests; nothing was done; try again in {wait} ms");
        return Err(Refusal::new(ErrorCode::RateLimited, message));
    }
    if !local && !matches!(shown, Shown::Good(_)) {
        // These two bring their proof with them, in the address or the body.
        let signing_in = matches!(
            (method.as_str(), uri.path()),
            ("GET", "/sign-in") | ("POST", "/api/sign-in")
        );
        if *method == Method::GET && uri.path() == "/" {
            return Ok(Entry::SignInPage);
        }
        if !signing_in && !is_signed(method, uri.path()) {
            shown.caller()?;
        }
    }
    Ok(Entry::In(shown, local && fence::is_script(headers)))
}

/// What a webhook sends is signed instead, and carries no credential.
fn is_signed(method: &Method, path: &str) -> bool {
    let name = path.strip_prefix("/api/channels/");
    let name = name.and_then(|rest| rest.strip_suffix("/reply"));
    *method == Method::POST && name.is_some_and(|n| !n.is_empty() && !n.contains('/'))
}

const POLICY: &str = "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
    connect-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; \
    require-trusted-types-for 'script'; trusted-types askbus";

/// Whether a response can only be part of a page. What holds for a page is not said with each of its
/// many parts: it was a third of what a browser loads at first.
fn is_part(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).map(HeaderValue::as_bytes);
    kind.is_some_and(|kind| {
        [&b"text/javascript"[..], b"text/css"]
            .iter()
            .any(|part| kind.starts_with(part))
    })
}

fn harden(headers: &mut HeaderMap, api: bool) {
    let part = is_part(headers);
    let mut put = |name: HeaderName, value: &'static str| {
        headers
            .entry(name)
            .or_insert(HeaderValue::from_static(value));
    };
    put(header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    if !part {
        put(header::CONTENT_SECURITY_POLICY, POLICY);
        put(header::X_FRAME_OPTIONS, "DENY");
        put(header::REFERRER_POLICY, "no-referrer");
        put(
            HeaderName::from_static("cross-origin-opener-policy"),
            "same-origin",
        );
    }
    put(
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    );
    put(
        header::CACHE_CONTROL,
        if api { "no-store" } else { "no-cache" },
    );
}
