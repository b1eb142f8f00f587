//! Request bodies: read whole within limits, and never left half read behind a response, because a
//! connection closed on unread data loses the response on its way.

use crate::reply::Refusal;
use askbus_wire::error::ErrorCode;
use askbus_wire::surrogates;
use axum::body::{Body, HttpBody};
use bytes::{Buf as _, Bytes, BytesMut};
use futures::StreamExt as _;
use http::{HeaderMap, HeaderValue, Version, header};
use hyper::body::{Frame, SizeHint};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

/// A body larger than this is refused.
pub(crate) const MAX_BYTES: usize = 1024 * 1024;
/// A body that takes longer than this is given up.
const TIMEOUT: Duration = Duration::from_secs(15);
/// Of a refused body, this much is still read and thrown away, within this time.
const LINGER_BYTES: usize = 8 * 1024 * 1024;
const LINGER: Duration = Duration::from_secs(2);

/// A body that remembers how far it was read.
struct Watched {
    inner: Body,
    ended: Ended,
}

/// How far a request's body was read.
#[derive(Clone)]
pub(crate) struct Ended(Arc<End>);

#[derive(Default)]
struct End {
    /// To its end.
    whole: AtomicBool,
    /// Until its sender broke it off, or sent something that is none.
    broken: AtomicBool,
}

impl HttpBody for Watched {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = Pin::new(&mut self.inner).poll_frame(context);
        if matches!(frame, Poll::Ready(Some(Err(_)))) {
            self.ended.0.broken.store(true, Ordering::Relaxed);
        } else if matches!(frame, Poll::Ready(None)) || self.inner.is_end_stream() {
            self.ended.0.whole.store(true, Ordering::Relaxed);
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

/// Watches how far `body` is read.
pub(crate) fn watch(body: Body) -> (Body, Ended) {
    let ended = Ended(Arc::new(End {
        whole: AtomicBool::new(body.is_end_stream()),
        broken: AtomicBool::default(),
    }));
    (
        Body::new(Watched {
            inner: body,
            ended: ended.clone(),
        }),
        ended,
    )
}

impl Ended {
    /// Whether its sender broke it off.
    pub(crate) fn is_broken(&self) -> bool {
        self.0.broken.load(Ordering::Relaxed)
    }

    /// Tells an HTTP/1 client not to reuse a connection on which part of its body is unread.
    pub(crate) fn close_if_unread(&self, version: Version, response: &mut HeaderMap) {
        if version < Version::HTTP_2 && !self.0.whole.load(Ordering::Relaxed) {
            response.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
    }
}

/// Throws the rest of a body away, within bounds.
pub(crate) async fn linger(body: Body) {
    let mut chunks = body.into_data_stream();
    let drain = async {
        let mut read = 0;
        while let Some(Ok(chunk)) = chunks.next().await {
            read += chunk.remaining();
            if read > LINGER_BYTES {
                return;
            }
        }
    };
    // Out of patience: the response goes out all the same.
    let _ = tokio::time::timeout(LINGER, drain).await;
}

/// The whole body, at most 1 MiB and within 15 seconds.
pub(crate) async fn read(body: Body) -> Result<Bytes, Refusal> {
    read_within(body, MAX_BYTES).await
}

async fn read_within(body: Body, most: usize) -> Result<Bytes, Refusal> {
    let mut chunks = body.into_data_stream();
    let mut whole = BytesMut::new();
    let collect = async {
        while let Some(chunk) = chunks.next().await {
            let chunk = chunk.map_err(|_| {
                let message = "the body broke off; nothing was done; send it again";
                Refusal::new(ErrorCode::InvalidRequest, message)
            })?;
            if whole.len() + chunk.len() > most {
                let most = most / 1024;
                let message =
                    format!("the body is larger than {most} KiB; nothing was done; shorten it");
                return Err(Refusal::new(ErrorCode::TooLarge, message));
            }
            whole.extend_from_slice(&chunk);
        }
        Ok(())
    };
    match tokio::time::timeout(TIMEOUT, collect).await {
        Ok(Ok(())) => Ok(whole.freeze()),
        Ok(Err(refused)) => {
            linger(Body::from_stream(chunks)).await;
            Err(refused)
        }
        Err(_) => {
            let message = "the body took too long; nothing was done; send it again";
            Err(Refusal::new(ErrorCode::InvalidRequest, message))
        }
    }
}

/// A body as a JSON object of a known form.
pub(crate) async fn read_json<T: DeserializeOwned>(body: Body) -> Result<T, Refusal> {
    read_json_within(body, MAX_BYTES).await
}

/// The same of at most so many bytes.
pub(crate) async fn read_json_within<T: DeserializeOwned>(
    body: Body,
    most: usize,
) -> Result<T, Refusal> {
    let bytes = read_within(body, most).await?;
    // An empty body is an empty object: every field of ours that may be left out has a default.
    let bytes = if bytes.is_empty() {
        Bytes::from_static(b"{}")
    } else {
        bytes
    };
    let invalid = |error: &serde_json::Error| {
        // Nothing of the message of an error: it may quote what a person wrote.
        tracing::debug!(
            line = error.line(),
            column = error.column(),
            "a body was refused"
        );
        let what = "the body is not the JSON object expected here; nothing was done";
        Refusal::new(ErrorCode::InvalidRequest, what)
    };
    // A list would be taken for an object's fields in their order.
    let object: Map<String, Value> = surrogates::from_slice(&bytes).map_err(|e| invalid(&e))?;
    serde_json::from_value(Value::Object(object)).map_err(|e| invalid(&e))
}
