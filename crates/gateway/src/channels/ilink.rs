//! The iLink bot interface of WeChat, as far as this project uses it: everything that is known of it
//! stands in this file.
//!
//! From what its users have published: two calls, both POST with JSON under `ilink/bot/`, with the
//! bot's credential as a bearer and a fixed kind of authorization. `getupdates` holds the call for
//! about 35 seconds and returns messages and a cursor, `get_updates_buf`, to be sent with the next
//! call. Every message of a person carries a `context_token`, which goes along with what is sent to
//! them. A response without `ret`, or with 0, is a success; `errcode` -14 says that the bot has to be
//! signed in anew.
//!
//! Not settled by what is public, and decided here on the safe side:
//! - how long one text may be: see [`MAX_TEXT`];
//! - how long a `context_token` is good for: the newest one is used for as long as none comes after it,
//!   and what is refused (`ret` -2 is also said to mean too many messages) waits and is tried again;
//! - whether a repeated `client_id` is shown once: it is the same in every attempt, so that it may be;
//! - whether `create_time_ms` is always there: where it is not, a message counts as written now;
//! - how many messages one answer may hold: each is read as it comes, up to half a gigabyte of them, and
//!   one of more than a megabyte is left out.

mod parts;

use super::http::{self, NoResponse, Target};
use ::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use parts::{Parts, Reading};
use ring::digest;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::time::Duration;

/// How long one text is at most, in characters; nobody has published the real limit.
pub(super) const MAX_TEXT: usize = 2_000;
/// How long a cursor may be, and a `context_token`, in bytes: both are written down.
const MAX_CURSOR: usize = 16 * 1024;
const MAX_CONTEXT: usize = 4 * 1024;
/// How long the interface may hold a call for messages.
const HOLD: Duration = Duration::from_secs(50);
/// How long it may take for one that is sent.
const PATIENCE: Duration = Duration::from_secs(15);
/// How long an answer with messages may take from its beginning to its end.
const WHOLE: Duration = Duration::from_mins(2);
/// A message of a person, and one of a bot.
const FROM_PERSON: i64 = 1;
const FROM_BOT: i64 = 2;
/// A message that is whole.
const FINISHED: i64 = 2;
/// An item that is text.
const TEXT: i64 = 1;
/// The bot has to be signed in anew.
const SIGNED_OUT: i64 = -14;
/// The version of the interface that is spoken, as a number and as text.
const CLIENT_VERSION: &str = "65536";
const CHANNEL_VERSION: &str = "1.0.0";

/// A text that a person sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Received {
    pub id: String,
    pub from: String,
    pub text: String,
    /// The message that it quotes.
    pub quotes: Option<String>,
    pub context: String,
    /// Unix milliseconds.
    pub written_at: Option<i64>,
}

/// What came, and where to go on.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Updates {
    pub messages: Vec<Received>,
    pub cursor: String,
    /// Messages that were too large to be read.
    pub left_out: usize,
}

/// Why a call came to nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Failed {
    #[error(transparent)]
    NoResponse(#[from] NoResponse),
    #[error("it answered {0}")]
    Status(u16),
    #[error("the bot has to be signed in anew")]
    SignedOut,
    #[error("it answered ret {0}")]
    Ret(i64),
    #[error("its answer is not the JSON that was expected")]
    Unreadable,
    #[error("its answer is larger than is read")]
    TooLarge,
}

impl Failed {
    /// Whether it says that nothing was done.
    pub(super) const fn is_refusal(&self) -> bool {
        match self {
            Failed::SignedOut | Failed::Ret(_) => true,
            Failed::Status(status) => *status >= 300 && *status < 500,
            Failed::NoResponse(_) | Failed::Unreadable | Failed::TooLarge => false,
        }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Response {
    ret: i64,
    errcode: i64,
    msgs: Vec<Value>,
    get_updates_buf: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Message {
    message_id: Value,
    from_user_id: String,
    message_type: i64,
    create_time_ms: Option<i64>,
    context_token: String,
    item_list: Vec<Item>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Item {
    text_item: Option<Text>,
    ref_msg: Option<Quoted>,
}

#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(default)]
struct Text {
    text: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Quoted {
    title: String,
    message_item: Option<Box<Item>>,
}

/// Waits for messages after `cursor`.
pub(super) async fn updates(target: &Target, bot: &str, cursor: &str) -> Result<Updates, Failed> {
    let body = json!({"get_updates_buf": cursor, "base_info": base_info()});
    let headers = headers(bot).ok_or(Failed::SignedOut)?;
    let body = Bytes::from(body.to_string());
    let path = "ilink/bot/getupdates";
    let mut answer = match target.begin(path, headers, body, HOLD).await {
        // Nothing came while it held the call.
        Err(NoResponse::Silent(_)) => return new(Reading::default(), cursor),
        other => other?,
    };
    if answer.status() != StatusCode::OK {
        return Err(Failed::Status(answer.status().as_u16()));
    }
    let mut reading = Reading::default();
    let whole = async {
        while let Some(part) = http::next_part(&mut answer).await? {
            if !reading.push(&part) {
                break;
            }
        }
        Ok::<_, NoResponse>(())
    };
    let whole = tokio::time::timeout(WHOLE, whole).await;
    whole.unwrap_or(Err(NoResponse::Unreadable))?;
    new(reading, cursor)
}

/// What a response says that came after `cursor`.
fn new(reading: Reading, cursor: &str) -> Result<Updates, Failed> {
    let Parts {
        response,
        mut messages,
        left_out,
    } = reading.done()?;
    if response.get_updates_buf.len() > MAX_CURSOR {
        return Err(Failed::Unreadable);
    }
    let next = Some(response.get_updates_buf).filter(|buf| !buf.is_empty());
    // Those whose list has its name in another spelling of JSON.
    messages.extend(response.msgs.into_iter().filter_map(received));
    Ok(Updates {
        messages,
        cursor: next.unwrap_or_else(|| cursor.to_owned()),
        left_out,
    })
}

/// Reads the body of an answer, as [`updates`] does.
#[cfg(test)]
pub(super) fn read_any_updates(body: &[u8], cursor: &str) -> Result<Updates, Failed> {
    let mut reading = Reading::default();
    reading.push(&Bytes::copy_from_slice(body));
    new(reading, cursor)
}

/// Sends one text to a person.
pub(super) async fn send(
    target: &Target,
    bot: &str,
    to: &str,
    context: &str,
    client_id: &str,
    text: &str,
) -> Result<(), Failed> {
    let body = json!({
        "msg": {
            "from_user_id": "",
            "to_user_id": to,
            "client_id": client_id,
            "message_type": FROM_BOT,
            "message_state": FINISHED,
            "context_token": context,
            "item_list": [{"type": TEXT, "text_item": {"text": text}}],
        },
        "base_info": base_info(),
    });
    call(target, bot, "ilink/bot/sendmessage", &body, PATIENCE).await?;
    Ok(())
}

fn base_info() -> Value {
    json!({"channel_version": CHANNEL_VERSION})
}

async fn call(
    target: &Target,
    bot: &str,
    path: &str,
    body: &Value,
    patience: Duration,
) -> Result<Response, Failed> {
    let headers = headers(bot).ok_or(Failed::SignedOut)?;
    let body = Bytes::from(body.to_string());
    let (status, body) = target.post(path, headers, body, patience).await?;
    if status != StatusCode::OK {
        return Err(Failed::Status(status.as_u16()));
    }
    read(&body)
}

/// What a body says.
fn read(body: &[u8]) -> Result<Response, Failed> {
    let body = if body.is_empty() { b"{}" } else { body };
    let response: Response = serde_json::from_slice(body).map_err(|_| Failed::Unreadable)?;
    match (response.errcode, response.ret) {
        (SIGNED_OUT, _) | (_, SIGNED_OUT) => Err(Failed::SignedOut),
        (0, 0) => Ok(response),
        (0, ret) => Err(Failed::Ret(ret)),
        (code, _) => Err(Failed::Ret(code)),
    }
}

fn headers(bot: &str) -> Option<HeaderMap> {
    // A number of the client's choice, different each time.
    let uin = STANDARD.encode(rand::random::<u32>().to_string());
    let mut headers = HeaderMap::new();
    for (name, value) in [
        ("authorizationtype", "ilink_bot_token"),
        ("x-wechat-uin", uin.as_str()),
        ("ilink-app-id", "bot"),
        ("ilink-app-clientversion", CLIENT_VERSION),
    ] {
        headers.insert(HeaderName::from_static(name), value.parse().ok()?);
    }
    let mut bearer = HeaderValue::from_str(&format!("Bearer {bot}")).ok()?;
    bearer.set_sensitive(true);
    headers.insert(header::AUTHORIZATION, bearer);
    Some(headers)
}

/// A message of a person that has text in it; what cannot be read is left out.
fn received(message: Value) -> Option<Received> {
    let message: Message = serde_json::from_value(message).ok()?;
    let of_person = message.message_type == FROM_PERSON && !message.from_user_id.is_empty();
    if !of_person || message.context_token.len() > MAX_CONTEXT {
        return None;
    }
    let texts = message
        .item_list
        .iter()
        .filter_map(|i| i.text_item.as_ref());
    let texts: Vec<&str> = texts.map(|t| t.text.as_str()).collect();
    let text = texts.join("\n");
    let id = match &message.message_id {
        Value::String(id) if !matches!(id.as_str(), "" | "0") => id.clone(),
        // None is 0 where fields have a value always.
        Value::Number(id) if id.as_u64() != Some(0) => id.to_string(),
        // Without a name only what it says tells it from another.
        _ => unnamed(&message, &text),
    };
    let quotes = message.item_list.iter().find_map(|i| i.ref_msg.as_ref());
    Some(Received {
        id,
        text,
        quotes: quotes.and_then(quoted),
        from: message.from_user_id,
        context: message.context_token,
        written_at: message.create_time_ms,
    })
}

/// The same for the same message, however often it comes.
fn unnamed(message: &Message, text: &str) -> String {
    let all = format!(
        "{:?}\n{}\n{text}",
        message.create_time_ms, message.context_token
    );
    STANDARD.encode(digest::digest(&digest::SHA256, all.as_bytes()))
}

fn quoted(message: &Quoted) -> Option<String> {
    let item = message.message_item.as_ref();
    let text = item.and_then(|i| Some(i.text_item.as_ref()?.text.clone()));
    let text = text.unwrap_or_else(|| message.title.clone());
    Some(text).filter(|t| !t.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fuzz_what_the_interface_answers() {
        let names = askbus_fuzz::Names {
            fields: &[
                "message_id",
                "from_user_id",
                "message_type",
                "create_time_ms",
                "context_token",
                "item_list",
                "text_item",
                "text",
                "ref_msg",
                "title",
                "message_item",
                "msgs",
                "ret",
            ],
            words: &[
                "o9@im.wechat",
                "1",
                "-14",
                "9223372036854775808",
                "null",
                "❓ #b2c2",
            ],
        };
        askbus_fuzz::fuzz_json!(names, |value: Value| {
            for message in [
                value.clone(),
                json!({"from_user_id": "o", "message_type": 1, "item_list": [value]}),
            ] {
                if let Some(read) = received(message) {
                    assert!(!read.from.is_empty() && !read.id.is_empty());
                    assert!(read.quotes.is_none_or(|quoted| !quoted.trim().is_empty()));
                }
            }
        });
    }

    #[test]
    fn a_message_of_a_person_is_read_and_nothing_else() {
        let message = |kind: i64| {
            json!({"message_id": 7, "from_user_id": "o9@im.wechat", "message_type": kind,
                "context_token": "C1", "create_time_ms": 5, "item_list": [
                    {"type": 1, "text_item": {"text": "1"},
                     "ref_msg": {"title": "t", "message_item": {"text_item": {"text": "❓ #b2c2"}}}},
                    {"type": 2, "image_item": {}}]})
        };
        let expected = Received {
            id: "7".into(),
            from: "o9@im.wechat".into(),
            text: "1".into(),
            quotes: Some("❓ #b2c2".into()),
            context: "C1".into(),
            written_at: Some(5),
        };
        assert_eq!(received(message(1)), Some(expected));
        // One without a name is told from another by what it says.
        for none in [Value::Null, json!(0), json!("0"), json!("")] {
            let unnamed = |text: &str| {
                let mut message = message(1);
                message["message_id"] = none.clone();
                message["item_list"][0]["text_item"]["text"] = text.into();
                received(message).unwrap().id
            };
            assert_eq!(unnamed("1"), unnamed("1"));
            assert_ne!(unnamed("1"), unnamed("2"));
        }
        for odd in [
            message(2),
            json!({"message_id": 7, "from_user_id": "o9", "message_type": 1,
                "context_token": "C".repeat(MAX_CONTEXT + 1)}),
            json!({}),
            json!([]),
            json!({"item_list": 3}),
            Value::Null,
        ] {
            assert_eq!(received(odd), None);
        }
    }
}
