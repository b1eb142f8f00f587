//! A WeChat that is none: the two calls of the iLink bot interface, for one bot and one person.

use super::hook::private;
use crate::bound::within;
use anyhow::{Context as _, Result};
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::{IntoResponse as _, Json, Response};
use axum::routing::post;
use serde_json::{Value, json};
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

const BOT: &str = "44b9b8ec@im.bot:060000b7";
const PERSON: &str = "o9cq809L@im.wechat";
/// How long a call for messages is held; the real one holds it for about 35 s.
const HOLD: Duration = Duration::from_secs(2);

struct Shared {
    /// What the person wrote, in order; the cursor is how many were handed out.
    written: Mutex<Vec<Value>>,
    /// What the bot sent: client id, context and text.
    sent: Mutex<Vec<[String; 3]>>,
    /// What the bot tried to send: those texts too that were not taken.
    tried: Mutex<Vec<String>>,
    /// What becomes of what the bot sends.
    taking: Mutex<Taking>,
    /// What stands in texts that are refused whatever becomes of others.
    disliked: Mutex<Option<String>>,
    /// Whether a call for messages is answered at once, with nothing.
    hasty: AtomicBool,
    /// Whether it is answered at once, with what is no answer.
    garbled: AtomicBool,
    /// Calls for messages so far.
    calls: AtomicUsize,
    moved: watch::Sender<u64>,
}

/// What becomes of what the bot sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Taking {
    /// It is taken.
    All,
    /// It is refused with this `ret`.
    None(i64),
    /// So many are refused, what follows is taken.
    After(usize),
    /// It is read, and nothing comes back.
    Never,
}

/// A running one; gone on drop.
pub struct FakeILink {
    address: String,
    credential: PathBuf,
    shared: Arc<Shared>,
    server: JoinHandle<()>,
    _folder: TempDir,
}

impl Drop for FakeILink {
    fn drop(&mut self) {
        self.server.abort();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl FakeILink {
    /// Starts one on a free port.
    ///
    /// # Errors
    /// When it cannot listen, or the bot's credential cannot be written down.
    pub async fn start() -> Result<Self> {
        let folder = crate::places::folder()?;
        let credential = folder.path().join("bot");
        private(&credential, BOT)?;
        let shared = Arc::new(Shared {
            written: Mutex::default(),
            sent: Mutex::default(),
            tried: Mutex::default(),
            taking: Mutex::new(Taking::All),
            disliked: Mutex::default(),
            hasty: AtomicBool::new(false),
            garbled: AtomicBool::new(false),
            calls: AtomicUsize::new(0),
            moved: watch::Sender::new(0),
        });
        let router = Router::new()
            .route("/ilink/bot/getupdates", post(updates))
            .route("/ilink/bot/sendmessage", post(send))
            .with_state(Arc::clone(&shared));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = format!("http://{}", listener.local_addr()?);
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

    /// The table of a configuration for a channel of this name, in which the person is `subject`.
    pub fn table(&self, name: &str, subject: &str, more: &str) -> String {
        format!(
            "[[channels]]\nname = \"{name}\"\nkind = \"wechat\"\nurl = \"{}\"\n\
             credential_file = \"{}\"\n\
             people = [{{ from = \"{PERSON}\", subject = \"{subject}\" }}]\n{more}\n",
            self.address,
            self.credential.display()
        )
    }

    /// Where it is.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// What the bot shows.
    pub const fn bot(&self) -> &'static str {
        BOT
    }

    /// How it names its person.
    pub const fn person(&self) -> &'static str {
        PERSON
    }

    /// The person writes to the bot, and so many bytes of what nobody reads come with it.
    pub fn write_with(&self, text: &str, padding: usize) {
        self.push(PERSON, text, |message| {
            message["padding"] = "x".repeat(padding).into();
        });
    }

    /// From now on calls for messages are answered with what is no answer; or as before.
    pub fn garble(&self, garbled: bool) {
        self.shared.garbled.store(garbled, Ordering::Relaxed);
        self.shared.moved.send_modify(|n| *n += 1);
    }

    /// From now on a text in which this stands is refused; none: no text is.
    pub fn dislike(&self, part: Option<&str>) {
        *lock(&self.shared.disliked) = part.map(str::to_owned);
    }

    /// The person writes to the bot.
    pub fn write(&self, text: &str) {
        self.write_as(PERSON, text);
    }

    /// Somebody writes to the bot.
    pub fn write_as(&self, from: &str, text: &str) {
        self.push(from, text, |_| {});
    }

    /// The person replies to a message of the bot.
    pub fn write_about(&self, text: &str, quoted: &str) {
        self.push(PERSON, text, |message| {
            message["item_list"][0]["ref_msg"] =
                json!({"title": "", "message_item": {"text_item": {"text": quoted}}});
        });
    }

    /// A message, with what else is said of it, comes as a whole.
    fn push(&self, from: &str, text: &str, more: impl FnOnce(&mut Value)) {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let mut written = lock(&self.shared.written);
        let n = written.len() + 1;
        let mut message = json!({
            "message_id": n, "from_user_id": from, "message_type": 1, "message_state": 2,
            "create_time_ms": u64::try_from(now.as_millis()).unwrap_or(u64::MAX),
            "context_token": format!("C{n}"),
            "item_list": [{"type": 1, "text_item": {"text": text}}],
        });
        more(&mut message);
        written.push(message);
        drop(written);
        self.shared.moved.send_modify(|n| *n += 1);
    }

    /// The last message comes once more, as the same.
    pub fn repeat_last(&self) {
        let mut written = lock(&self.shared.written);
        let again = written.last().cloned();
        written.extend(again);
        drop(written);
        self.shared.moved.send_modify(|n| *n += 1);
    }

    /// From now on what the bot sends is refused with this `ret`; none: it is taken.
    pub fn refuse(&self, ret: Option<i64>) {
        *lock(&self.shared.taking) = ret.map_or(Taking::All, Taking::None);
    }

    /// So many of what the bot sends next are refused.
    pub fn refuse_next(&self, count: usize) {
        *lock(&self.shared.taking) = Taking::After(count);
    }

    /// From now on what the bot sends is read and not answered.
    pub fn never_answer(&self) {
        *lock(&self.shared.taking) = Taking::Never;
    }

    /// From now on calls for messages are answered at once, with nothing; or held again.
    pub fn hasty(&self, hasty: bool) {
        self.shared.hasty.store(hasty, Ordering::Relaxed);
        self.shared.moved.send_modify(|n| *n += 1);
    }

    /// Calls for messages so far.
    pub fn calls(&self) -> usize {
        self.shared.calls.load(Ordering::Relaxed)
    }

    /// Waits until the bot tried to send a text in which all of these stand so often.
    ///
    /// # Errors
    /// When it does not within the limit.
    pub async fn tries(&self, parts: &[&str], count: usize) -> Result<()> {
        let mut moved = self.shared.moved.subscribe();
        let has = |text: &&String| parts.iter().all(|p| text.contains(p));
        let waiting = async {
            while lock(&self.shared.tried).iter().filter(has).count() < count {
                moved.changed().await?;
            }
            anyhow::Ok(())
        };
        let waited = within(&format!("the bot to try {parts:?}"), waiting).await;
        waited.with_context(|| format!("tried: {:#?}", lock(&self.shared.tried)))?
    }

    /// What the person sees of the bot.
    pub fn sent(&self) -> Vec<[String; 3]> {
        lock(&self.shared.sent).clone()
    }

    /// Waits until the bot sent a text in which all of these stand, and returns it.
    ///
    /// # Errors
    /// When it does not within the limit.
    pub async fn says(&self, parts: &[&str]) -> Result<String> {
        let mut moved = self.shared.moved.subscribe();
        let waiting = async {
            loop {
                let all = self.sent();
                let found = all
                    .iter()
                    .find(|[.., text]| parts.iter().all(|p| text.contains(p)));
                if let Some([.., text]) = found {
                    return anyhow::Ok(text.clone());
                }
                moved.changed().await?;
            }
        };
        let waited = within(&format!("the bot to say {parts:?}"), waiting).await;
        waited.with_context(|| format!("sent: {:#?}", self.sent()))?
    }
}

/// Refused unless all is there that the real one wants.
fn is_bot(headers: &HeaderMap) -> bool {
    let is = |name: &str, value: &str| headers.get(name).is_some_and(|v| v == value);
    is("authorizationtype", "ilink_bot_token")
        && is("authorization", &format!("Bearer {BOT}"))
        && is("ilink-app-id", "bot")
        && headers.contains_key("ilink-app-clientversion")
        && headers.contains_key("x-wechat-uin")
}

fn signed_out() -> Response {
    Json(json!({"ret": -1, "errcode": -14, "errmsg": "session timeout"})).into_response()
}

async fn updates(State(shared): State<Arc<Shared>>, headers: HeaderMap, body: Bytes) -> Response {
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let Some(cursor) = body["get_updates_buf"]
        .as_str()
        .filter(|_| is_bot(&headers))
    else {
        return signed_out();
    };
    let from: usize = cursor
        .strip_prefix("buf-")
        .and_then(|n| n.parse().ok())
        .unwrap_or(0);
    shared.calls.fetch_add(1, Ordering::Relaxed);
    let hasty = || shared.hasty.load(Ordering::Relaxed);
    let garbled = || shared.garbled.load(Ordering::Relaxed);
    let mut moved = shared.moved.subscribe();
    let waiting = async {
        while !hasty()
            && !garbled()
            && lock(&shared.written).len() <= from
            && moved.changed().await.is_ok()
        {}
    };
    // Held until something is there, as long as the real one holds it.
    drop(tokio::time::timeout(HOLD, waiting).await);
    if garbled() {
        return "no answer".into_response();
    }
    if hasty() {
        return Json(json!({})).into_response();
    }
    let written = lock(&shared.written);
    let new: Vec<Value> = written.iter().skip(from).cloned().collect();
    let next = format!("buf-{}", written.len());
    Json(json!({"ret": 0, "msgs": new, "get_updates_buf": next, "longpolling_timeout_ms": 35_000}))
        .into_response()
}

async fn send(State(shared): State<Arc<Shared>>, headers: HeaderMap, body: Bytes) -> Response {
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let message = &body["msg"];
    if !is_bot(&headers) || message["message_type"] != 2 || message["to_user_id"] != PERSON {
        return signed_out();
    }
    let context = message["context_token"].as_str().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    lock(&shared.tried).push(text(&message["item_list"][0]["text_item"]["text"]));
    shared.moved.send_modify(|n| *n += 1);
    let said = message["item_list"][0]["text_item"]["text"].as_str();
    let disliked = lock(&shared.disliked).clone();
    if disliked.is_some_and(|part| said.is_some_and(|said| said.contains(&part))) {
        return Json(json!({"ret": -3})).into_response();
    }
    if let Some(ret) = refusal(&shared).await {
        return Json(json!({"ret": ret})).into_response();
    }
    if !context.starts_with('C') {
        return Json(json!({"ret": -2})).into_response();
    }
    lock(&shared.sent).push([
        text(&message["client_id"]),
        context.to_owned(),
        text(&message["item_list"][0]["text_item"]["text"]),
    ]);
    shared.moved.send_modify(|n| *n += 1);
    Json(json!({})).into_response()
}

/// With what a text is refused, if it is.
async fn refusal(shared: &Shared) -> Option<i64> {
    let taking = {
        let mut taking = lock(&shared.taking);
        let now = *taking;
        match now {
            Taking::After(0) => *taking = Taking::All,
            Taking::After(left) => *taking = Taking::After(left - 1),
            Taking::All | Taking::None(_) | Taking::Never => {}
        }
        now
    };
    match taking {
        Taking::All | Taking::After(0) => None,
        Taking::None(ret) => Some(ret),
        Taking::After(_) => Some(-2),
        Taking::Never => std::future::pending().await,
    }
}
