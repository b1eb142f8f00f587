//! People: on a live connection, as the panel is, and by single requests, as a script is.

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use futures::{SinkExt as _, StreamExt as _};
use serde::Deserialize;
use serde_json::json;
use std::collections::{HashSet, VecDeque};
use std::time::{Duration, Instant};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async_with_config};

/// How long anything is waited for.
const PATIENCE: Duration = Duration::from_mins(1);
/// The option that everybody chooses; see the question of `asking`.
const OPTION: &str = "o2";
/// Answers that wait for their replies on one live connection: as many as it takes.
const IN_FLIGHT: usize = 32;

/// What matters of an object that the gateway sends.
#[derive(Debug, Default, Deserialize)]
struct Object {
    #[serde(default)]
    event: String,
    clarify_id: Option<String>,
    session_id: Option<String>,
    resolved: Option<bool>,
    /// Only in what its author is told.
    verdict: Option<String>,
    error: Option<String>,
    #[serde(default)]
    pending: Vec<serde::de::IgnoredAny>,
}

/// A question as it came to a person.
#[derive(Debug, Clone)]
pub(crate) struct Shown {
    pub clarify_id: String,
    pub session_id: String,
    pub at: Instant,
}

/// A person with an open connection.
pub(crate) struct LivePerson {
    stream: WebSocketStream<MaybeTlsStream<TcpStream>>,
}

impl LivePerson {
    /// Opens one and reads what waits; how many that was. Only of one session, if one is named.
    pub(crate) async fn connect(
        url: &str,
        token: &str,
        session: Option<&str>,
    ) -> Result<(Self, usize)> {
        let place = url.replacen("http", "ws", 1);
        let filter = session.map(|s| format!("?session={s}")).unwrap_or_default();
        let mut request = format!("{place}/ws{filter}").into_client_request()?;
        let bearer = format!("Bearer {token}").parse()?;
        request.headers_mut().insert("authorization", bearer);
        // Objects are small and wait for nothing; the list of all that waits may be large.
        let config = tokio_tungstenite::tungstenite::protocol::WebSocketConfig::default()
            .max_message_size(None)
            .max_frame_size(None);
        let (stream, _) = connect_async_with_config(request, Some(config), true).await?;
        let mut this = Self { stream };
        loop {
            let object = this.next().await?;
            if object.event == "ready" {
                return Ok((this, object.pending.len()));
            }
        }
    }

    /// The next question.
    pub(crate) async fn question(&mut self) -> Result<Shown> {
        loop {
            let object = self.next().await?;
            if object.event == "clarify.requested" {
                return Ok(Shown {
                    at: Instant::now(),
                    clarify_id: object.clarify_id.context("no id")?,
                    session_id: object.session_id.context("no session")?,
                });
            }
        }
    }

    /// The next question with this id.
    pub(crate) async fn question_with(&mut self, clarify_id: &str) -> Result<Shown> {
        loop {
            let shown = self.question().await?;
            if shown.clarify_id == clarify_id {
                return Ok(shown);
            }
        }
    }

    /// Answers; when that was, which is before it went out.
    pub(crate) async fn answer(&mut self, clarify_id: &str, session_id: &str) -> Result<Instant> {
        let object = json!({"event": "clarify.respond", "session_id": session_id,
            "clarify_id": clarify_id, "answer_id": clarify_id,
            "answers": [{"question_id": "q1", "option_ids": [OPTION]}]});
        let text = Message::text(object.to_string());
        let begun = Instant::now();
        self.stream.send(text).await?;
        Ok(begun)
    }

    /// Answers every question that comes, until told what became of so many.
    pub(crate) async fn answer_all(&mut self, questions: usize) -> Result<()> {
        // By their ids: an answer that a busy service judges late has no verdict of its own, and its
        // author hears the outcome as everybody does.
        let (mut open, mut told) = (HashSet::new(), 0);
        let (mut shown, mut in_flight) = (VecDeque::new(), 0_usize);
        while told < questions {
            let object = self.next().await?;
            let id = object.clarify_id.clone().unwrap_or_default();
            // Everything that was sent gets one reply of its own.
            let own = object.verdict.is_some() || object.event == "clarify.sent";
            in_flight = in_flight.saturating_sub(usize::from(own));
            match object.event.as_str() {
                "clarify.requested" => {
                    shown.push_back((id, object.session_id.unwrap_or_default()));
                }
                "clarify.resolved" if open.remove(&id) => {
                    let taken = object.verdict.is_none() || object.resolved == Some(true);
                    ensure!(taken, "not taken: {object:?}");
                    told += 1;
                }
                _ => {}
            }
            while in_flight < IN_FLIGHT
                && let Some((id, session)) = shown.pop_front()
            {
                self.answer(&id, &session).await?;
                open.insert(id);
                in_flight += 1;
            }
        }
        Ok(())
    }

    async fn next(&mut self) -> Result<Object> {
        loop {
            let message = tokio::time::timeout(PATIENCE, self.stream.next()).await;
            let message = message.context("nothing came on the connection")?;
            match message.ok_or_else(|| anyhow!("the connection was closed"))?? {
                Message::Text(text) => {
                    let object: Object = serde_json::from_str(&text)?;
                    if object.event == "error" || object.resolved == Some(false) {
                        bail!("refused: {}", object.error.unwrap_or_default());
                    }
                    return Ok(object);
                }
                Message::Close(why) => bail!("the connection was closed: {why:?}"),
                _ => {}
            }
        }
    }
}

/// A person who answers by single requests over connections that are kept.
#[derive(Clone)]
pub(crate) struct PostingPerson {
    http: reqwest::Client,
    base: String,
    token: String,
}

impl PostingPerson {
    pub(crate) fn new(url: &str, token: &str) -> Result<Self> {
        Ok(Self {
            http: reqwest::Client::builder().tcp_nodelay(true).build()?,
            base: url.to_owned(),
            token: token.to_owned(),
        })
    }

    /// Answers; when that was, which is before it went out.
    pub(crate) async fn answer(&self, clarify_id: &str) -> Result<Instant> {
        let place = format!("{}/api/clarifications/{clarify_id}/answer", self.base);
        let body = json!({"answer_id": clarify_id,
            "answers": [{"question_id": "q1", "option_ids": [OPTION]}]});
        let request = self.http.post(place).bearer_auth(&self.token);
        let request = request.timeout(PATIENCE).json(&body).build()?;
        let begun = Instant::now();
        let response = self.http.execute(request).await?;
        let status = response.status();
        // Read to its end, or the connection is not used again.
        let said = response.text().await?;
        ensure!(status.is_success(), "{clarify_id}: {status}: {said}");
        Ok(begun)
    }
}
