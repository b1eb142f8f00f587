//! MCP over HTTP on the public listener, passed on to an MCP adapter, which checks the credential again.

use crate::body::Ended;
use crate::caller::Shown;
use crate::gateway::Gateway;
use crate::reply::Refusal;
use askbus_wire::error::{ErrorCode, WireError};
use axum::body::Body;
use axum::response::{IntoResponse as _, Response};
use http::{HeaderValue, Request, StatusCode, header};
use tower::ServiceExt as _;

/// JSON-RPC's code for what is no JSON.
const PARSE_ERROR: i32 = -32700;

/// Whether a request is for the MCP adapter.
pub(crate) fn is_mcp(path: &str) -> bool {
    path == "/mcp" || path.starts_with("/mcp/")
}

/// Passes a request on and its answer back; both may stream. When the client goes, so does the request.
/// `ended` watches its body.
pub(crate) async fn forward(
    gateway: &Gateway,
    shown: &Shown,
    ended: &Ended,
    request: Request<Body>,
) -> Response {
    if let Err(refused) = admitted(shown) {
        let mut response = refused.into_response();
        let challenge = HeaderValue::from_static("Bearer");
        response
            .headers_mut()
            .insert(header::WWW_AUTHENTICATE, challenge);
        return response;
    }
    let Some(channel) = gateway.mcp.clone() else {
        let text =
            "this gateway knows no MCP adapter; set mcp_adapter, or let agents run `askbus mcp`";
        return Refusal::new(ErrorCode::NotFound, text).into_response();
    };
    let (mut parts, body) = request.into_parts();
    parts.extensions = http::Extensions::new();
    for name in [
        header::HOST,
        header::COOKIE,
        // The fence has judged it, by the name that the client knows.
        header::ORIGIN,
        header::CONNECTION,
        header::TRANSFER_ENCODING,
    ] {
        parts.headers.remove(name);
    }
    let call = Request::from_parts(parts, tonic::body::Body::new(body));
    match channel.oneshot(call).await {
        Ok(response) => response.map(Body::new),
        Err(_) if ended.is_broken() => broken_off(),
        Err(error) => {
            tracing::warn!(%error, "the MCP adapter cannot be reached");
            let text =
                "the MCP adapter cannot be reached; try again, or wait by the id if you have one";
            Refusal::new(ErrorCode::Unavailable, text).into_response()
        }
    }
}

/// As the adapter says it, which did not see the whole of the request and so did nothing.
fn broken_off() -> Response {
    let text = "the body broke off; nothing was done; send it again";
    let error = serde_json::json!({"code": PARSE_ERROR, "message": text});
    let body = serde_json::json!({"jsonrpc": "2.0", "id": null, "error": error});
    (StatusCode::BAD_REQUEST, axum::Json(body)).into_response()
}

/// A browser's cookie never turns into a call.
fn admitted(shown: &Shown) -> Result<(), Refusal> {
    if shown.caller()?.browser {
        return Err(
            WireError::new(ErrorCode::Unauthenticated, "send Authorization: Bearer").into(),
        );
    }
    Ok(())
}
