//! A model that does as a script says, for running agents' own programs: an HTTP server on loopback
//! that speaks what the makers of models speak.

mod anthropic;
mod chat;
mod gemini;
mod responses;
mod script;

pub use script::{Access, Asker, Conversation, Next, Script, ToolName};

use anyhow::{Context as _, Result};
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// What a client calls the model; none of its maker's names, so that no client makes anything of it.
pub const NAME: &str = "scripted-model";
/// The largest request read.
const MAX_BODY: usize = 32 << 20;
/// The most requests remembered; a client that goes on for ever fills no memory.
const MAX_SEEN: usize = 200;

/// One request that asked the model what to do next.
#[derive(Debug, Clone)]
pub struct Seen {
    /// Its path.
    pub path: String,
    /// Its body as it came.
    pub body: Value,
    /// What the model could make of it.
    pub conversation: Conversation,
    /// What the model answered.
    pub next: Next,
}

/// A running model; gone on drop.
pub struct Model {
    base: String,
    shared: Arc<Shared>,
    server: JoinHandle<()>,
}

struct Shared {
    script: Script,
    seen: Mutex<Vec<Seen>>,
    moved: watch::Sender<usize>,
}

impl Model {
    /// Starts one on a free port.
    ///
    /// # Errors
    /// When no port can be had.
    pub async fn start(script: Script) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let base = format!("http://{}", listener.local_addr()?);
        let (moved, _) = watch::channel(0);
        let shared = Arc::new(Shared {
            script,
            seen: Mutex::default(),
            moved,
        });
        let router = Router::new()
            .fallback(answer)
            .with_state(Arc::clone(&shared));
        let server = tokio::spawn(async move {
            // It ends with the task.
            let _ = axum::serve(listener, router).await;
        });
        Ok(Self {
            base,
            shared,
            server,
        })
    }

    /// Where it is, without a slash at the end.
    pub fn url(&self) -> &str {
        &self.base
    }

    /// Everything it was asked so far.
    pub fn seen(&self) -> Vec<Seen> {
        self.shared.seen().clone()
    }

    /// Waits for a request that `wanted` takes, one of those before included.
    ///
    /// # Errors
    /// When none comes within `limit`.
    pub async fn until(&self, limit: Duration, wanted: impl Fn(&Seen) -> bool) -> Result<Seen> {
        let mut moved = self.shared.moved.subscribe();
        let found = async {
            loop {
                moved.borrow_and_update();
                if let Some(seen) = self.shared.seen().iter().find(|seen| wanted(seen)) {
                    return Some(seen.clone());
                }
                moved.changed().await.ok()?;
            }
        };
        let found = tokio::time::timeout(limit, found).await.ok().flatten();
        found.with_context(|| format!("the model was not asked that; {}", self.summary()))
    }

    /// What it was asked, for whoever has to find out why a test failed.
    pub fn summary(&self) -> String {
        let mut text = String::from("it was asked:");
        for seen in self.shared.seen().iter() {
            let Conversation { tools, results, .. } = &seen.conversation;
            let tools: Vec<_> = tools.iter().map(|tool| tool.name.as_str()).collect();
            let _ = write!(
                text,
                "\n  {} tools={tools:?} results={results:?} => {:?}",
                seen.path, seen.next
            );
        }
        text
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl Shared {
    fn seen(&self) -> MutexGuard<'_, Vec<Seen>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Decides and remembers; the number tells the calls of a conversation apart.
    fn next(&self, path: &str, body: &Value, conversation: Conversation) -> (Next, usize) {
        let next = self.script.next(&conversation);
        let mut seen = self.seen();
        let number = seen.len();
        if number < MAX_SEEN {
            seen.push(Seen {
                path: path.to_owned(),
                body: body.clone(),
                conversation,
                next: next.clone(),
            });
        }
        drop(seen);
        self.moved.send_modify(|count| *count += 1);
        (next, number)
    }
}

/// An event of a stream: its name, where the protocol gives it one, and its data.
type Event = (Option<&'static str>, String);

/// What goes back to the client.
enum Reply {
    Whole(Value),
    Stream(Vec<Event>),
}

/// An event whose name is its `type`.
fn typed(kind: &'static str, mut event: Value) -> Event {
    if let Value::Object(fields) = &mut event {
        fields.insert("type".to_owned(), kind.into());
    }
    (Some(kind), event.to_string())
}

async fn answer(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let path = request.uri().path().trim_end_matches('/').to_owned();
    if request.method() != Method::POST {
        return other(&path, request.method() == Method::HEAD);
    }
    let Ok(body) = to_bytes(request.into_body(), MAX_BODY).await else {
        return refuse(StatusCode::PAYLOAD_TOO_LARGE);
    };
    let Ok(body) = serde_json::from_slice::<Value>(&body) else {
        return refuse(StatusCode::BAD_REQUEST);
    };
    if path.ends_with("/count_tokens") {
        return json_of(&json!({"input_tokens": 100}));
    }
    let next = |said: Conversation| shared.next(&path, &body, said.told_by(&body));
    let reply = if path.ends_with("/messages") {
        let (next, number) = next(anthropic::read(&body));
        anthropic::write(&body, &next, number)
    } else if path.ends_with("/responses") {
        let (next, number) = next(responses::read(&body));
        responses::write(&body, &next, number)
    } else if path.ends_with("/chat/completions") {
        let (next, number) = next(chat::read(&body));
        chat::write(&body, &next, number)
    } else if path.ends_with(":generateContent") || path.ends_with(":streamGenerateContent") {
        let (next, number) = next(gemini::read(&body));
        gemini::write(&next, number, path.ends_with(":streamGenerateContent"))
    } else {
        return refuse(StatusCode::NOT_FOUND);
    };
    match reply {
        Reply::Whole(value) => json_of(&value),
        Reply::Stream(events) => stream_of(&events),
    }
}

/// The list of models, and signs of life.
fn other(path: &str, only_head: bool) -> Response {
    if only_head {
        StatusCode::OK.into_response()
    } else if path.ends_with("/models") {
        let model = json!({"id": NAME, "object": "model", "type": "model", "display_name": NAME});
        json_of(&json!({"object": "list", "data": [model], "has_more": false}))
    } else {
        refuse(StatusCode::NOT_FOUND)
    }
}

fn refuse(status: StatusCode) -> Response {
    let error = json!({"error": {"type": "invalid_request_error", "message": status.to_string()}});
    (status, json_of(&error)).into_response()
}

fn json_of(value: &Value) -> Response {
    let kind = [(header::CONTENT_TYPE, "application/json")];
    (kind, value.to_string()).into_response()
}

fn stream_of(events: &[Event]) -> Response {
    let mut text = String::new();
    for (name, data) in events {
        if let Some(name) = name {
            let _ = writeln!(text, "event: {name}");
        }
        let _ = writeln!(text, "data: {data}\n");
    }
    let kind = [(header::CONTENT_TYPE, "text/event-stream")];
    (kind, Body::from(text)).into_response()
}

/// The text of any content: a string, or a list of parts.
fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(text_of).collect::<Vec<_>>().join("\n"),
        Value::Object(part) => match part.get("text").or_else(|| part.get("content")) {
            Some(inner) => text_of(inner),
            None => content.to_string(),
        },
        Value::Null => String::new(),
        other => other.to_string(),
    }
}
