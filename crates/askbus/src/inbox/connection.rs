//! The person's connection to the service: opened again when it is lost, from where it was lost.

use crate::exit::{Failure, NOT_ALLOWED, UNAVAILABLE};
use crate::panel::{Panel, Place};
use futures::{SinkExt as _, StreamExt as _};
use serde_json::Value;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::http::{HeaderValue, StatusCode};
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

/// Objects that wait to be taken, and objects that wait to leave.
const WAITING: usize = 256;
/// The shortest and the longest pause before another try.
const PAUSES: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(5));
/// How long a connection may take to come about.
const PATIENCE: Duration = Duration::from_secs(10);
/// The service pings every twenty seconds; longer silence is an end, whatever the network says.
const SILENCE: Duration = Duration::from_secs(50);
/// How long the last words may take.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// What comes over it.
#[derive(Debug)]
pub(super) enum News {
    /// An object.
    Object(Value),
    /// The connection is lost, or does not come about; it is tried again.
    Lost,
    /// The service does not let this person in: nothing is tried again.
    Refused(Failure),
}

/// The two ends of the conversation, and the task in between.
pub(super) struct Connection {
    heard: mpsc::Receiver<News>,
    say: mpsc::Sender<Value>,
    task: JoinHandle<()>,
}

impl Connection {
    /// Begins to open one.
    pub(super) fn open(panel: &Panel) -> Self {
        let (place, token) = panel.socket();
        let (tell, heard) = mpsc::channel(WAITING);
        let (say, to_say) = mpsc::channel(WAITING);
        let line = Line {
            place,
            token: token.to_owned(),
            after: None,
            tell,
            to_say,
        };
        Self {
            heard,
            say,
            task: tokio::spawn(line.run()),
        }
    }

    /// What comes next; none when nothing can come any more.
    pub(super) async fn next(&mut self) -> Option<News> {
        self.heard.recv().await
    }

    /// What is here already.
    pub(super) fn next_here(&mut self) -> Option<News> {
        self.heard.try_recv().ok()
    }

    /// Sends an object, or drops it when there is no connection: whoever says something that matters
    /// says it again.
    pub(super) fn say(&self, object: Value) {
        if self.say.try_send(object).is_err() {
            tracing::debug!("an object was not sent: too many wait already");
        }
    }

    /// Lets what was said leave, and ends.
    pub(super) async fn close(self) {
        let Self {
            mut heard,
            say,
            mut task,
        } = self;
        drop(say);
        let ended = async {
            // Whoever tells something would wait for it to be taken.
            while heard.recv().await.is_some() {}
            // It only fails when the task was broken off.
            let _ = (&mut task).await;
        };
        if timeout(LAST_WORDS, ended).await.is_err() {
            task.abort();
            let _ = task.await;
        }
    }
}

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

struct Line {
    place: Place,
    token: String,
    /// The last place of the log that was told.
    after: Option<u64>,
    tell: mpsc::Sender<News>,
    to_say: mpsc::Receiver<Value>,
}

/// Why a connection ended.
enum End {
    Lost,
    /// Nobody listens or speaks here any more.
    Done,
}

impl Line {
    async fn run(mut self) {
        let mut pause = PAUSES.0;
        loop {
            match timeout(PATIENCE, self.connect()).await {
                Ok(Ok(socket)) => {
                    pause = PAUSES.0;
                    if matches!(self.speak(socket).await, End::Done) {
                        return;
                    }
                }
                Ok(Err(Error::Http(response))) if is_refusal(response.status()) => {
                    let failure = Failure::new(
                        NOT_ALLOWED,
                        "the service does not accept this credential; \
                        sign in anew (see `askbus credential issue`)",
                    );
                    // Nobody may be there to hear it.
                    let _ = self.tell.send(News::Refused(failure)).await;
                    return;
                }
                Ok(Err(Error::Url(_) | Error::HttpFormat(_))) => {
                    let failure = Failure::new(
                        UNAVAILABLE,
                        format!("{} is not an address", self.place.socket()),
                    );
                    let _ = self.tell.send(News::Refused(failure)).await;
                    return;
                }
                Ok(Err(_)) | Err(_) => {}
            }
            if self.tell.send(News::Lost).await.is_err() {
                return;
            }
            // What was said into the void is said again by who said it.
            let void = async { while self.to_say.recv().await.is_some() {} };
            tokio::select! {
                () = void => return,
                () = sleep(pause) => pause = (pause * 2).min(PAUSES.1),
            }
        }
    }

    async fn connect(&self) -> Result<Socket, Error> {
        let after = self
            .after
            .map_or_else(String::new, |seq| format!("?after={seq}"));
        let mut request = format!("{}{after}", self.place.socket()).into_client_request()?;
        let bearer = HeaderValue::from_str(&format!("Bearer {}", self.token));
        let bearer = bearer.map_err(|e| Error::HttpFormat(e.into()))?;
        request.headers_mut().insert("authorization", bearer);
        Ok(tokio_tungstenite::connect_async(request).await?.0)
    }

    async fn speak(&mut self, socket: Socket) -> End {
        let (mut sink, mut stream) = socket.split();
        let mut heard = Instant::now();
        loop {
            tokio::select! {
                object = self.to_say.recv() => {
                    let Some(object) = object else {
                        // The end of the conversation; the other side reads what was said before it.
                        let _ = sink.send(Message::Close(None)).await;
                        while stream.next().await.is_some_and(|m| m.is_ok()) {}
                        return End::Done;
                    };
                    if sink.send(Message::Text(object.to_string().into())).await.is_err() {
                        return End::Lost;
                    }
                }
                message = stream.next() => {
                    heard = Instant::now();
                    let Some(Ok(message)) = message else { return End::Lost };
                    let Ok(object) = serde_json::from_str::<Value>(message.to_text().unwrap_or_default()) else {
                        continue;
                    };
                    if let Some(seq) = object.get("seq").and_then(Value::as_u64) {
                        // A log that ends before what is known here is another one.
                        let begins = object.get("event").is_some_and(|event| event == "hello");
                        self.after = if begins { Some(seq) } else { self.after.max(Some(seq)) };
                    }
                    if self.tell.send(News::Object(object)).await.is_err() {
                        return End::Done;
                    }
                }
                () = tokio::time::sleep_until(heard + SILENCE) => return End::Lost,
            }
        }
    }
}

fn is_refusal(status: StatusCode) -> bool {
    matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN)
}
