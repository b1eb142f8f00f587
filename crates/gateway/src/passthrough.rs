//! gRPC on the public listener, passed on to session-binding. A credential is needed to get this
//! far; session-binding checks it again and decides what it allows.

use crate::caller::{Shown, served};
use crate::gateway::Gateway;
use crate::metrics::SERVICE;
use crate::trace::Trace;
use askbus_telemetry::{Kind, Span};
use askbus_wire::error::{ErrorCode, WireError};
use askbus_wire::headers::TRACEPARENT;
use axum::body::Body;
use axum::response::Response;
use http::{HeaderMap, HeaderValue, Request, header};
use tower::ServiceExt as _;

/// Whether a request is gRPC.
pub(crate) fn is_grpc(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).map(HeaderValue::as_bytes);
    kind.is_some_and(|kind| {
        kind.starts_with(b"application/grpc") && !kind.starts_with(b"application/grpc-web")
    })
}

/// Passes a call on and its answer back; both may stream.
pub(crate) async fn forward(
    gateway: &Gateway,
    shown: &Shown,
    trace: &Trace,
    request: Request<Body>,
) -> Response {
    let channel = shown.caller().and_then(|caller| {
        // A browser's cookie never turns into a call.
        if caller.browser {
            return Err(
                WireError::new(ErrorCode::Unauthenticated, "send Authorization: Bearer").into(),
            );
        }
        Ok(gateway.session_binding.of(served(gateway, caller)?)?)
    });
    let channel = match channel {
        Ok(channel) => channel,
        Err(refused) => return refused.0.to_status().into_http(),
    };
    let (mut parts, body) = request.into_parts();
    parts.extensions = http::Extensions::new();
    for name in [
        header::HOST,
        header::COOKIE,
        header::ORIGIN,
        header::CONNECTION,
    ] {
        parts.headers.remove(name);
    }
    let span = Span::begin(SERVICE, "forward", Kind::Server, trace.caller());
    let trace = span.traceparent(Some(trace.as_str())).unwrap_or_default();
    if let Ok(value) = HeaderValue::from_str(trace) {
        parts.headers.insert(TRACEPARENT, value);
    }
    let call = Request::from_parts(parts, tonic::body::Body::new(body));
    match channel.oneshot(call).await {
        Ok(response) => response.map(Body::new),
        Err(error) => {
            tracing::warn!(%error, "session-binding cannot be reached");
            unreachable().to_status().into_http()
        }
    }
}

/// Session-binding did not answer.
pub(crate) fn unreachable() -> WireError {
    let message = "session-binding cannot be reached; nothing was asked or changed; try again";
    WireError::new(ErrorCode::Unavailable, message)
}
