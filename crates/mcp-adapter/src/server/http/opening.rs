//! Replies begin in time. rmcp says nothing, not even a status, before the first message of a call; a
//! client that waits for the head of a reply would give up long before a person has answered.

use super::KEEP_ALIVE;
use axum::body::{Body, Bytes, HttpBody};
use axum::response::Response;
use http::{HeaderValue, header};
use http_body::Frame;
use http_body_util::BodyExt as _;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::time::{Interval, interval};

/// How long a reply may take to begin by itself, so that errors keep their status.
const PATIENCE: Duration = Duration::from_secs(2);
/// What a client takes for nothing.
const COMMENT: &[u8] = b": waiting\n\n";

type Answering = Pin<Box<dyn Future<Output = Response> + Send>>;
type Collecting = Pin<Box<dyn Future<Output = Option<Bytes>> + Send>>;

/// The reply of `answering`, or an event stream into which it comes later.
pub(super) async fn within(answering: impl Future<Output = Response> + Send + 'static) -> Response {
    let mut answering: Answering = Box::pin(answering);
    match tokio::time::timeout(PATIENCE, &mut answering).await {
        Ok(response) => response,
        Err(_) => opened(answering),
    }
}

fn opened(answering: Answering) -> Response {
    let late = Late::Waiting(answering, interval(KEEP_ALIVE));
    let mut response = Response::new(Body::new(late));
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-cache, no-transform"),
        (header::HeaderName::from_static("x-accel-buffering"), "no"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

/// A reply that has begun before there was anything to say.
enum Late {
    Waiting(Answering, Interval),
    /// A reply that is no event stream, on its way to become one event.
    Collecting(Collecting),
    Piping(Body),
    Over,
}

impl HttpBody for Late {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        loop {
            match &mut *self {
                Late::Waiting(answering, pace) => match answering.as_mut().poll(cx) {
                    Poll::Ready(response) => *self = Late::of(response),
                    Poll::Pending => {
                        ready!(pace.poll_tick(cx));
                        return Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(COMMENT)))));
                    }
                },
                Late::Collecting(collecting) => {
                    let event = ready!(collecting.as_mut().poll(cx));
                    *self = Late::Over;
                    return Poll::Ready(event.map(|event| Ok(Frame::data(event))));
                }
                Late::Piping(body) => return Pin::new(body).poll_frame(cx),
                Late::Over => return Poll::Ready(None),
            }
        }
    }
}

impl Late {
    fn of(response: Response) -> Self {
        let kind = response.headers().get(header::CONTENT_TYPE);
        let is_stream = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
        let body = response.into_body();
        if is_stream {
            return Late::Piping(body);
        }
        Late::Collecting(Box::pin(async move {
            let bytes = body.collect().await.ok()?.to_bytes();
            if bytes.is_empty() {
                return None;
            }
            let mut event = b"data: ".to_vec();
            // JSON has no line ends that mean anything.
            event.extend(bytes.iter().filter(|byte| !matches!(byte, b'\n' | b'\r')));
            event.extend(b"\n\n");
            Some(event.into())
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::response::IntoResponse as _;
    use http::StatusCode;
    use tokio::time::{Instant, sleep};

    async fn frame(body: &mut Body) -> Option<Bytes> {
        let frame = body.frame().await?.unwrap();
        frame.into_data().ok()
    }

    // contract: E13
    #[tokio::test(start_paused = true)]
    async fn a_reply_that_comes_soon_keeps_its_status() {
        let soon = async {
            sleep(Duration::from_millis(1_900)).await;
            (StatusCode::BAD_REQUEST, "no").into_response()
        };
        assert_eq!(within(soon).await.status(), StatusCode::BAD_REQUEST);
    }

    // contract: E13
    #[tokio::test(start_paused = true)]
    async fn a_late_reply_begins_after_two_seconds_and_shows_that_it_stands() {
        let start = Instant::now();
        let late = async {
            sleep(Duration::from_secs(330)).await;
            let events = [(header::CONTENT_TYPE, "text/event-stream")];
            (events, "data: {}\n\n").into_response()
        };
        let response = within(late).await;
        assert_eq!(start.elapsed(), PATIENCE);
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(response.headers()["x-accel-buffering"], "no");
        let mut body = response.into_body();
        let mut comments = 0;
        let event = loop {
            let data = frame(&mut body).await.unwrap();
            if data != COMMENT {
                break data;
            }
            comments += 1;
        };
        assert_eq!(event, "data: {}\n\n");
        assert_eq!(comments, 22);
        assert_eq!(start.elapsed(), Duration::from_secs(330));
        assert_eq!(frame(&mut body).await, None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_late_reply_in_json_becomes_one_event() {
        let late = async {
            sleep(Duration::from_secs(3)).await;
            axum::Json(serde_json::json!({"id": 1})).into_response()
        };
        let mut body = within(late).await.into_body();
        assert_eq!(frame(&mut body).await.unwrap(), COMMENT);
        assert_eq!(frame(&mut body).await.unwrap(), "data: {\"id\":1}\n\n");
        assert_eq!(frame(&mut body).await, None);
    }
}
