//! Whether a reply was taken to its end, or its connection went before.

use super::sessions::Used;
use axum::body::{Body, Bytes, HttpBody};
use axum::response::Response;
use http_body::{Frame, SizeHint};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio_util::sync::{CancellationToken, DropGuard};

struct Watched {
    /// Armed until the end is reached. Dropped before the reply's own body, so that whoever ends with
    /// that one knows why.
    lost: Option<DropGuard>,
    body: Body,
    /// A session counts as used as long as a reply is open.
    _used: Option<Used>,
}

impl HttpBody for Watched {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        if frame.is_none()
            && let Some(lost) = self.lost.take()
        {
            lost.disarm();
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A reply on its way: cancels `lost` when it is dropped before it has begun.
struct Guarded<F> {
    /// Dropped before what answers, as above.
    lost: Option<DropGuard>,
    answering: F,
}

impl<F: Future<Output = Response> + Unpin> Future for Guarded<F> {
    type Output = Response;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Response> {
        let response = ready!(Pin::new(&mut self.answering).poll(cx));
        if let Some(lost) = self.lost.take() {
            lost.disarm();
        }
        Poll::Ready(response)
    }
}

/// Cancels `lost` when the connection goes before the reply has begun.
pub(super) fn guarded(
    answering: impl Future<Output = Response> + Send + 'static,
    lost: CancellationToken,
) -> impl Future<Output = Response> + Send + 'static {
    Guarded {
        lost: Some(lost.drop_guard()),
        answering: Box::pin(answering) as Pin<Box<dyn Future<Output = Response> + Send>>,
    }
}

/// Cancels `lost` when the reply is dropped before its end.
pub(super) fn watched(response: Response, lost: CancellationToken, used: Option<Used>) -> Response {
    response.map(|body| {
        Body::new(Watched {
            lost: Some(lost.drop_guard()),
            body,
            _used: used,
        })
    })
}
