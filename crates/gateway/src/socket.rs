//! `/ws`: one live connection of a person. What waits is replayed, then news follow in the order of
//! the log; frames from the person go to the inbox and to drafts.

mod answering;
mod drafting;
mod interaction;
mod rooms;
mod studio;
mod telling;

pub(crate) use studio::{hello, ready};

use crate::body;
use crate::caller::{Person, recheck};
use crate::feed::Behind;
use crate::gateway::Gateway;
use crate::params::Params;
use crate::presence::Seat;
use crate::reply::Refusal;
use crate::submit::Judged;
use crate::trace::Trace;
use askbus_wire::error::{ErrorCode, WireError};
use askbus_wire::surrogates;
use axum::extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket, WebSocketUpgrade, close_code};
use axum::extract::{Extension, State};
use axum::response::{IntoResponse as _, Response};
use drafting::Unsaved;
use futures::future::BoxFuture;
use futures::stream::{FuturesUnordered, SplitSink};
use futures::{SinkExt as _, StreamExt as _};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::Instant;

/// A longer frame ends the connection. Every answer whose texts are short enough fits, however it is
/// written: what is too large to be kept is refused by its name.
pub(crate) const MAX_FRAME_BYTES: usize = body::MAX_BYTES;
/// Room for what is read at once. Every read clears it first, and every socket has one.
const READ_BUFFER: usize = 8 * 1024;
/// How often the other side is asked whether it is there.
const PING: Duration = Duration::from_secs(20);
/// Silence longer than this is an end.
const SILENCE: Duration = Duration::from_secs(50);
/// A client that takes longer to read one frame is closed.
const SEND_TIMEOUT: Duration = Duration::from_secs(10);
/// Messages of one socket waiting for their verdict at most; further ones are not read until then.
const MAX_IN_FLIGHT: usize = 32;
/// How long what a person sent may take after they closed the tab.
const LAST_WORDS: Duration = Duration::from_secs(4);

#[derive(Debug, Deserialize)]
pub(crate) struct SocketQuery {
    dialect: Option<String>,
    after: Option<u64>,
    session: Option<String>,
    /// `panel` for the panel, which shows Markdown and has to know when nobody speaks any more.
    surface: Option<String>,
}

/// Which objects a socket speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Speech {
    /// E9, extended.
    Studio,
    /// N2.
    Interaction,
}

/// `GET /ws`.
pub(crate) async fn open(
    State(gateway): State<Arc<Gateway>>,
    person: Person,
    Extension(trace): Extension<Trace>,
    Params(query): Params<SocketQuery>,
    upgrade: Result<WebSocketUpgrade, axum::extract::ws::rejection::WebSocketUpgradeRejection>,
) -> Result<Response, Refusal> {
    let speech = match query.dialect.as_deref() {
        None | Some("" | "studio") => Speech::Studio,
        Some("interaction") => Speech::Interaction,
        Some(_) => {
            let message = "dialect must be studio or interaction; leave it out for the first";
            return Err(Refusal::new(ErrorCode::InvalidRequest, message));
        }
    };
    let Ok(upgrade) = upgrade else {
        let message = "this route takes WebSocket connections only";
        return Err(Refusal::new(ErrorCode::InvalidRequest, message));
    };
    let place = gateway
        .live
        .open(person.tenant(), &person.0.credential.subject)?;
    // The upgrade runs on a task of the framework's; the token makes shutdown wait for it.
    let token = gateway.tasks.token();
    let upgrade = upgrade
        .read_buffer_size(READ_BUFFER)
        .max_message_size(MAX_FRAME_BYTES)
        .max_frame_size(MAX_FRAME_BYTES);
    let response = upgrade.on_upgrade(move |socket| async move {
        let _held = (place, token);
        Socket::run(gateway, person, trace, speech, &query, socket).await;
    });
    Ok(response.into_response())
}

/// Why a connection ends.
enum End {
    /// The other side is gone.
    Gone,
    /// We close it, with a code and words.
    Close(u16, &'static str),
}

type Step = Result<(), End>;
/// What became of a frame, to be told to its author.
type Done = Vec<Value>;

struct Socket {
    gateway: Arc<Gateway>,
    person: Person,
    trace: Trace,
    speech: Speech,
    panel: bool,
    session: Option<String>,
    seat: Seat,
    sink: SplitSink<WebSocket, Message>,
    unsaved: Unsaved,
    /// One saving at most, which leaves those that could not be saved.
    saving: FuturesUnordered<BoxFuture<'static, Unsaved>>,
    in_flight: FuturesUnordered<BoxFuture<'static, Done>>,
    /// Verdicts that may come after their authors were told that they are still to come.
    following: FuturesUnordered<BoxFuture<'static, Done>>,
    heard: Instant,
}

impl Socket {
    async fn run(
        gateway: Arc<Gateway>,
        person: Person,
        trace: Trace,
        speech: Speech,
        query: &SocketQuery,
        socket: WebSocket,
    ) {
        let (sink, mut stream) = socket.split();
        let mut this = Self {
            seat: Seat::sit(&gateway, &person, query.session.as_deref()),
            gateway,
            person,
            trace,
            speech,
            panel: query.surface.as_deref() == Some("panel"),
            session: query.session.clone().filter(|s| !s.is_empty()),
            sink,
            unsaved: BTreeMap::new(),
            saving: FuturesUnordered::new(),
            in_flight: FuturesUnordered::new(),
            following: FuturesUnordered::new(),
            heard: Instant::now(),
        };
        let end = this.live(query.after, &mut stream).await;
        if let Err(End::Close(code, reason)) = end {
            let frame = CloseFrame {
                code,
                reason: Utf8Bytes::from_static(reason),
            };
            let closing = this.sink.send(Message::Close(Some(frame)));
            // The other side may be gone already.
            let _ = tokio::time::timeout(Duration::from_secs(1), closing).await;
        }
        this.last_words().await;
    }

    /// What a person sent or wrote before the tab closed still counts.
    async fn last_words(&mut self) {
        let finish = async {
            while self.in_flight.next().await.is_some() {}
            while let Some(failed) = self.saving.next().await {
                self.not_saved(failed);
            }
            self.begin_saving();
            while self.saving.next().await.is_some() {}
        };
        if tokio::time::timeout(LAST_WORDS, finish).await.is_err() {
            tracing::warn!(
                "a connection's last messages were not judged in time; the inbox has them"
            );
        }
    }

    async fn live(
        &mut self,
        after: Option<u64>,
        stream: &mut (impl futures::Stream<Item = Result<Message, axum::Error>> + Unpin),
    ) -> Step {
        let mut signed_out = self.gateway.signed_out.subscribe();
        let mut revocations = self.gateway.verifier.revocations();
        let (feed, ledger) = (&self.gateway.feed, &*self.gateway.bus.ledger);
        let caught_up = feed.catches_up(ledger, after).await;
        let after = caught_up.map_err(|Behind| {
            let reason = "this instance is behind; reconnect";
            End::Close(close_code::AGAIN, reason)
        })?;
        let mut seen = after.unwrap_or(u64::MAX);
        let mut snapshot = self.gateway.feed.snapshot(&self.person.viewer(), seen);
        if self.speech == Speech::Studio {
            self.send(&studio::hello(&self.gateway, &self.person, snapshot.seq))
                .await?;
        }
        self.replay(&snapshot, true).await?;
        seen = snapshot.seq;
        // Not kept for as long as the connection lives: everything that waited, as it was.
        snapshot.forget();
        let mut ping = tokio::time::interval_at(Instant::now() + PING, PING);
        let mut save = tokio::time::interval(Duration::from_secs(1));
        save.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                // Verdicts before what is new, and what its own person says before what others did.
                biased;
                () = self.gateway.shutdown.cancelled() => {
                    return Err(End::Close(close_code::AWAY, "the service is stopping; reconnect"));
                }
                signed_out = signed_out.recv() => self.check_on_browser(signed_out)?,
                Ok(()) = revocations.changed() => self.check_on_credential()?,
                frame = stream.next(), if self.in_flight.len() < MAX_IN_FLIGHT => self.hear(frame).await?,
                Some(done) = self.in_flight.next(), if !self.in_flight.is_empty() => {
                    self.send_all(done).await?;
                }
                Some(done) = self.following.next(), if !self.following.is_empty() => {
                    self.send_all(done).await?;
                }
                news = snapshot.news.recv() => match news {
                    Ok(news) => {
                        if let Some(seq) = news.seq() {
                            if seq < seen {
                                continue;
                            }
                            seen = seq;
                        }
                        self.check_on_credential()?;
                        self.tell(&news).await?;
                    }
                    Err(RecvError::Lagged(_)) => {
                        // Too far behind to be told everything: told again what is the case now.
                        snapshot = self.gateway.feed.snapshot(&self.person.viewer(), seen);
                        self.replay(&snapshot, false).await?;
                        seen = snapshot.seq;
                        snapshot.forget();
                    }
                    Err(RecvError::Closed) => return Err(End::Close(close_code::AGAIN, "reconnect")),
                },
                Some(failed) = self.saving.next(), if !self.saving.is_empty() => self.not_saved(failed),
                _ = save.tick(), if !self.unsaved.is_empty() => self.save_drafts(),
                _ = ping.tick() => self.check_on_client().await?,
            }
        }
    }

    /// A tab of a browser from which somebody signed out looks on no longer.
    fn check_on_browser(&self, signed_out: Result<String, RecvError>) -> Step {
        let caller = &self.person.0;
        // Too many at once to know: who is still signed in connects again.
        let own = signed_out.map_or(true, |id| id == caller.credential.id);
        if caller.browser && own {
            let reason = "signed out in this browser; sign in";
            return Err(End::Close(close_code::POLICY, reason));
        }
        Ok(())
    }

    /// Nothing is done for somebody, and nothing told, whose credential has come to its end since.
    fn check_on_credential(&self) -> Step {
        if recheck(&self.gateway, &self.person.0).is_some() {
            let reason = "the credential no longer holds; sign in";
            return Err(End::Close(close_code::POLICY, reason));
        }
        Ok(())
    }

    async fn check_on_client(&mut self) -> Step {
        if self.heard.elapsed() > SILENCE {
            return Err(End::Close(close_code::AGAIN, "no sign of life; reconnect"));
        }
        self.check_on_credential()?;
        if self.panel {
            // A page does not see pings.
            self.send(&studio::alive(&self.gateway)).await?;
        }
        self.send_message(Message::Ping(bytes::Bytes::new())).await
    }

    async fn send(&mut self, object: &Value) -> Step {
        self.send_message(Message::Text(object.to_string().into()))
            .await
    }

    async fn send_message(&mut self, message: Message) -> Step {
        let shutdown = self.gateway.shutdown.clone();
        let sending = tokio::time::timeout(SEND_TIMEOUT, self.sink.send(message));
        tokio::select! {
            biased;
            sent = sending => match sent {
                Ok(Ok(())) => Ok(()),
                Ok(Err(_)) => Err(End::Gone),
                Err(_) => Err(End::Close(close_code::AGAIN, "too slow to keep up; reconnect")),
            },
            // Only what does not go out at once is given up.
            () = shutdown.cancelled() => Err(End::Gone),
        }
    }

    async fn hear(&mut self, frame: Option<Result<Message, axum::Error>>) -> Step {
        self.heard = Instant::now();
        match frame {
            None | Some(Ok(Message::Close(_))) => Err(End::Gone),
            Some(Err(_)) => Err(End::Close(
                close_code::SIZE,
                "frames are at most 1 MiB of text",
            )),
            Some(Ok(Message::Ping(_) | Message::Pong(_))) => Ok(()),
            Some(Ok(Message::Binary(_))) => {
                self.refuse(WireError::new(
                    ErrorCode::InvalidRequest,
                    "frames are JSON text",
                ))
                .await
            }
            Some(Ok(Message::Text(text))) => {
                self.check_on_credential()?;
                let paced = self.gateway.pace.take(&self.person.0.credential.id);
                let paced = paced.map_err(|_| {
                    let message = "too many messages; this one was not sent; try again in a moment";
                    WireError::new(ErrorCode::RateLimited, message)
                });
                match (
                    surrogates::from_slice::<Value>(text.as_bytes()),
                    self.speech,
                ) {
                    (Ok(object @ Value::Object(_)), Speech::Studio) => {
                        self.hear_studio(object, paced).await
                    }
                    (_, Speech::Interaction) if paced.is_err() => match paced {
                        Err(error) => self.refuse(error).await,
                        Ok(()) => Ok(()),
                    },
                    (Ok(object @ Value::Object(_)), Speech::Interaction) => {
                        self.hear_interaction(object).await
                    }
                    (Ok(_) | Err(_), _) => {
                        let message = "the frame is not a JSON object; nothing was done";
                        self.refuse(WireError::new(ErrorCode::InvalidRequest, message))
                            .await
                    }
                }
            }
        }
    }

    async fn refuse(&mut self, error: WireError) -> Step {
        let object = match self.speech {
            Speech::Studio => studio::error(&error),
            Speech::Interaction => interaction::error(&error, None, None, false),
        };
        self.send(&object).await
    }

    /// Lets work go on beside the conversation; its objects are sent when it is done.
    async fn send_all(&mut self, objects: Done) -> Step {
        for object in objects {
            self.send(&object).await?;
        }
        Ok(())
    }

    fn begin(&self, work: BoxFuture<'static, Done>) {
        self.in_flight.push(work);
    }
}

/// Whether the author was told that the clarification is over.
fn is_over(judged: &Judged) -> bool {
    use askbus_wire::messages::InboxReply as Reply;
    matches!(
        judged,
        Judged::Reply(Reply::Conflict { .. } | Reply::Late { .. })
    )
}

/// Reads a frame as each dialect does, whatever it is.
#[cfg(test)]
pub(crate) fn read_any_frame(value: &Value) {
    studio::read_any(value);
    interaction::read_any(value);
}
