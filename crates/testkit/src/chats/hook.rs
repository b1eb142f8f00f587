//! A place that takes webhooks, checks what signs them, and answers as it is told to.

use crate::bound::within;
use anyhow::{Context as _, Result, ensure};
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::IntoResponse as _;
use axum::routing::post;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::hmac;
use serde_json::{Value, json};
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// How long a key is, in bytes.
const KEY_BYTES: usize = 32;

/// How a message is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookAnswer {
    /// With this status.
    Status(u16),
    /// Not at all: the message is read, and nothing comes back.
    Never,
    /// Not yet: once it is told how.
    Hold,
    /// With this status, and a part of the body that it promises.
    HeadOf(u16),
}

/// A message that came.
#[derive(Debug, Clone)]
pub struct HookMessage {
    /// The same in every attempt.
    pub id: String,
    /// What it says.
    pub body: Value,
    /// Whether it was answered with a success.
    pub taken: bool,
}

struct Shared {
    key: Mutex<Vec<u8>>,
    answer: watch::Sender<HookAnswer>,
    seen: Mutex<Vec<HookMessage>>,
    problem: Mutex<Option<String>>,
    moved: watch::Sender<usize>,
}

/// A running place; gone on drop.
pub struct Hook {
    address: String,
    credential: PathBuf,
    shared: Arc<Shared>,
    server: JoinHandle<()>,
    _folder: TempDir,
}

impl Drop for Hook {
    fn drop(&mut self) {
        self.server.abort();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Hook {
    /// Starts one on a free port; it takes everything.
    ///
    /// # Errors
    /// When it cannot listen, or its key cannot be written down.
    pub async fn start() -> Result<Self> {
        let folder = crate::places::folder()?;
        let credential = folder.path().join("signing");
        // One of its own: no channel takes what is signed for another.
        let key = [u8::try_from(next() % 256)?; KEY_BYTES];
        private(&credential, &written(&key))?;
        let shared = Arc::new(Shared {
            key: Mutex::new(key.to_vec()),
            answer: watch::Sender::new(HookAnswer::Status(204)),
            seen: Mutex::default(),
            problem: Mutex::default(),
            moved: watch::Sender::new(0),
        });
        let router = Router::new()
            .route("/hook", post(take))
            .with_state(Arc::clone(&shared));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = format!("http://{}/hook", listener.local_addr()?);
        let server = tokio::spawn(async move {
            // Ends with the handle.
            drop(axum::serve(listener, router).await);
        });
        Ok(Self {
            address,
            credential,
            shared,
            server,
            _folder: folder,
        })
    }

    /// The table of a configuration for a channel of this name, with these people as TOML.
    pub fn table(&self, name: &str, more: &str) -> String {
        format!(
            "[[channels]]\nname = \"{name}\"\nkind = \"webhook\"\nurl = \"{}\"\n\
             credential_file = \"{}\"\n{more}\n",
            self.address,
            self.credential.display()
        )
    }

    /// The address that messages go to.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The key that signs both ways, as it is written down.
    pub fn key(&self) -> String {
        written(&lock(&self.shared.key))
    }

    /// From now on signs and checks with the key written down here.
    ///
    /// # Errors
    /// When it is not one.
    pub fn trust(&self, key: &str) -> Result<()> {
        let key = key.trim().strip_prefix("whsec_").context("no key")?;
        *lock(&self.shared.key) = STANDARD.decode(key)?;
        Ok(())
    }

    /// From now on answers like this.
    pub fn answer(&self, answer: HookAnswer) {
        self.shared.answer.send_replace(answer);
    }

    /// All that came, every attempt.
    pub fn seen(&self) -> Vec<HookMessage> {
        lock(&self.shared.seen).clone()
    }

    /// Waits until something that came satisfies `wanted`.
    ///
    /// # Errors
    /// When nothing does within the limit, or something came that was not signed.
    pub async fn until(
        &self,
        what: &str,
        wanted: impl Fn(&[HookMessage]) -> bool,
    ) -> Result<Vec<HookMessage>> {
        let mut moved = self.shared.moved.subscribe();
        let waiting = async {
            loop {
                if let Some(problem) = lock(&self.shared.problem).clone() {
                    anyhow::bail!(problem);
                }
                let found = {
                    let seen = lock(&self.shared.seen);
                    wanted(&seen).then(|| seen.clone())
                };
                if let Some(seen) = found {
                    return Ok(seen);
                }
                moved.changed().await?;
            }
        };
        let waited = within(what, waiting).await;
        waited.with_context(|| format!("seen: {:#?}", self.seen()))?
    }

    /// Waits for the message of this kind about a question with this text, taken.
    ///
    /// # Errors
    /// When none comes within the limit.
    pub async fn told(&self, kind: &str, question: &str) -> Result<HookMessage> {
        let is = |m: &&HookMessage| {
            m.taken && m.body["type"] == kind && m.body["questions"][0]["question"] == question
        };
        let seen = self
            .until(&format!("{kind}: {question}"), |seen| {
                seen.iter().any(|m| is(&m))
            })
            .await?;
        let found = seen.iter().find(is).cloned();
        found.context("it was there")
    }

    /// Sends a reply to a gateway and returns what it answers.
    ///
    /// # Errors
    /// When the gateway does not answer.
    pub async fn reply(
        &self,
        gateway: &str,
        channel: &str,
        id: &str,
        body: &Value,
    ) -> Result<(u16, Value)> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
        let body = body.to_string();
        let signature = self.shared.sign(id, &now.to_string(), body.as_bytes());
        self.send(gateway, channel, [id, &now.to_string(), &signature], body)
            .await
    }

    /// Sends a reply with these three headers, whatever they say.
    ///
    /// # Errors
    /// When the gateway does not answer.
    pub async fn send(
        &self,
        gateway: &str,
        channel: &str,
        [id, at, signature]: [&str; 3],
        body: String,
    ) -> Result<(u16, Value)> {
        let url = format!("{gateway}/api/channels/{channel}/reply");
        let sending = reqwest::Client::new()
            .post(url)
            .header("webhook-id", id)
            .header("webhook-timestamp", at)
            .header("webhook-signature", signature)
            .body(body)
            .send();
        let reply = within("what becomes of a reply", sending).await??;
        let status = reply.status().as_u16();
        let body = within("what becomes of a reply", reply.json()).await??;
        Ok((status, body))
    }

    /// Says `text` in the chat.
    ///
    /// # Errors
    /// When the gateway does not take the message.
    pub async fn say(&self, gateway: &str, channel: &str, text: &str) -> Result<Value> {
        let id = format!("say-{}", next());
        let (status, body) = self
            .reply(gateway, channel, &id, &json!({"text": text}))
            .await?;
        ensure!(status == 200, "{status}: {body}");
        Ok(body)
    }
}

fn written(key: &[u8]) -> String {
    format!("whsec_{}", STANDARD.encode(key))
}

/// A number that no other message has.
fn next() -> usize {
    use std::sync::atomic::{AtomicUsize, Ordering};
    static NEXT: AtomicUsize = AtomicUsize::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Writes a file that nobody else may read.
pub(super) fn private(path: &std::path::Path, text: &str) -> Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::write(path, text)?;
    Ok(std::fs::set_permissions(
        path,
        std::fs::Permissions::from_mode(0o600),
    )?)
}

impl Shared {
    fn sign(&self, id: &str, at: &str, body: &[u8]) -> String {
        let mut message = format!("{id}.{at}.").into_bytes();
        message.extend_from_slice(body);
        let key = hmac::Key::new(hmac::HMAC_SHA256, &lock(&self.key));
        format!("v1,{}", STANDARD.encode(hmac::sign(&key, &message)))
    }
}

async fn take(
    State(shared): State<Arc<Shared>>,
    headers: HeaderMap,
    body: Bytes,
) -> axum::response::Response {
    let header = |name: &str| {
        headers
            .get(name)
            .and_then(|v| v.to_str().ok())
            .unwrap_or_default()
    };
    let (id, at) = (header("webhook-id"), header("webhook-timestamp"));
    let parsed: Result<Value, _> = serde_json::from_slice(&body);
    if header("webhook-signature") != shared.sign(id, at, &body) || parsed.is_err() {
        *lock(&shared.problem) = Some(format!("not signed, or no JSON: {headers:?} {body:?}"));
    }
    let mut answers = shared.answer.subscribe();
    let at = {
        let mut seen = lock(&shared.seen);
        seen.push(HookMessage {
            id: id.to_owned(),
            body: parsed.unwrap_or_default(),
            taken: false,
        });
        seen.len() - 1
    };
    shared.moved.send_modify(|count| *count += 1);
    let answered = answers.wait_for(|answer| *answer != HookAnswer::Hold).await;
    let answer = answered.map_or(HookAnswer::Never, |answer| *answer);
    let (HookAnswer::Status(status) | HookAnswer::HeadOf(status)) = answer else {
        return std::future::pending().await;
    };
    if (200..300).contains(&status)
        && let Some(message) = lock(&shared.seen).get_mut(at)
    {
        message.taken = true;
    }
    shared.moved.send_modify(|count| *count += 1);
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    match answer {
        HookAnswer::HeadOf(_) => (status, Body::from_stream(never_whole())).into_response(),
        _ => status.into_response(),
    }
}

/// A body that begins and goes no further.
fn never_whole() -> impl futures::Stream<Item = std::io::Result<&'static str>> + Send {
    use futures::StreamExt as _;
    futures::stream::iter([Ok("{")]).chain(futures::stream::pending())
}
