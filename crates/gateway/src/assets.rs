//! The panel's files, inside the binary.

use crate::reply::{Refusal, ok};
use askbus_wire::error::ErrorCode;
use axum::Router;
use axum::body::Body;
use axum::extract::Path;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use rust_embed::{EmbeddedFile, RustEmbed};
use tower_http::CompressionLevel;
use tower_http::compression::CompressionLayer;

#[derive(RustEmbed)]
#[folder = "panel"]
#[allow_missing = true]
struct Panel;

/// The panel's own routes. Only they are compressed: what they send is the same for everybody.
pub(crate) fn router<S: Clone + Send + Sync + 'static>() -> Router<S> {
    Router::new()
        .route("/", get(index))
        .route("/assets/languages.json", get(languages))
        .route("/assets/{*path}", get(asset))
        .layer(CompressionLayer::new().quality(CompressionLevel::Best))
}

/// `GET /`.
async fn index(headers: HeaderMap) -> Response {
    serve("index.html", Panel::get("index.html"), &headers)
}

/// `GET /assets/languages.json`: the tags of the languages there are, one for each file.
async fn languages() -> Response {
    let tag = |path: &str| Some(path.strip_prefix("i18n/")?.strip_suffix(".js")?.to_owned());
    let mut tags: Vec<String> = Panel::iter().filter_map(|path| tag(&path)).collect();
    tags.sort();
    ok(&serde_json::json!(tags))
}

/// `GET /assets/…`.
async fn asset(Path(path): Path<String>, headers: HeaderMap) -> Response {
    serve(&path, Panel::get(&path), &headers)
}

fn serve(path: &str, file: Option<EmbeddedFile>, headers: &HeaderMap) -> Response {
    let Some(file) = file else {
        return Refusal::new(ErrorCode::NotFound, "there is no such file in the panel")
            .into_response();
    };
    let hash = file.metadata.sha256_hash();
    let half = u128::from_be_bytes(std::array::from_fn(|i| hash.get(i).copied().unwrap_or(0)));
    // Weak: the same file goes out compressed and not.
    let tag = format!("W/\"{half:032x}\"");
    let known = headers
        .get(header::IF_NONE_MATCH)
        .is_some_and(|v| v.as_bytes() == tag.as_bytes());
    let mut response = if known {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        response
    } else {
        Response::new(Body::from(file.data.into_owned()))
    };
    let kind = HeaderValue::from_static(media_type(path));
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        response.headers_mut().insert(header::ETAG, tag);
    }
    response
}

fn media_type(path: &str) -> &'static str {
    match path.rsplit('.').next() {
        Some("html") => "text/html; charset=utf-8",
        Some("js" | "mjs") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("json" | "webmanifest") => "application/json",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("ico") => "image/x-icon",
        Some("woff2") => "font/woff2",
        _ => "application/octet-stream",
    }
}
