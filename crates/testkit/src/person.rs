//! A person with a browser's cookie or a credential of their own.

use crate::bound::within;
use crate::socket::Socket;
use anyhow::{Context as _, Result, bail};
use http::{HeaderMap, HeaderName, HeaderValue, header};
use reqwest::{Client, Method};
use serde_json::Value;

/// What the service said to a request.
#[derive(Debug, Clone)]
pub struct Reply {
    /// The HTTP status.
    pub status: u16,
    /// The body: JSON, or a JSON string of whatever else it was.
    pub body: Value,
}

/// A client of the gateway with one identity, or none.
#[derive(Clone)]
pub struct Person {
    http: Client,
    base: String,
    identity: HeaderMap,
}

impl Person {
    /// Nobody: no credential at all.
    ///
    /// # Errors
    /// When no client can be made.
    pub fn nobody(base: &str) -> Result<Self> {
        // A connection for each request: tests kill services and send bodies that are not read,
        // and a kept connection may be closing just when the next request takes it.
        let http = Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .pool_max_idle_per_host(0)
            .build()?;
        let base = base.trim_end_matches('/').to_owned();
        Ok(Self {
            http,
            base,
            identity: HeaderMap::new(),
        })
    }

    /// The bearer of a credential.
    ///
    /// # Errors
    /// When the token cannot stand in a header.
    pub fn bearer(base: &str, token: &str) -> Result<Self> {
        Self::nobody(base)?.with_header("authorization", &format!("Bearer {}", token.trim()))
    }

    /// Whoever a one-time link signs in.
    ///
    /// # Errors
    /// When the link gives no cookie.
    pub async fn sign_in(base: &str, link: &str) -> Result<Self> {
        let nobody = Self::nobody(base)?;
        let response = within("the sign-in", nobody.http.get(link).send()).await??;
        let status = response.status();
        let cookies = response.headers().get_all(header::SET_COOKIE).iter();
        let cookies = cookies.filter_map(|c| c.to_str().ok()?.split(';').next());
        let cookie = cookies.collect::<Vec<_>>().join("; ");
        if cookie.is_empty() {
            bail!("the sign-in link answered {status} without a cookie");
        }
        nobody.with_header("cookie", &cookie)
    }

    /// With one more header on every request, in place of one of the same name.
    ///
    /// # Errors
    /// When it is not one.
    pub fn with_header(mut self, name: &str, value: &str) -> Result<Self> {
        let name = HeaderName::from_bytes(name.as_bytes())?;
        self.identity.insert(name, HeaderValue::from_str(value)?);
        Ok(self)
    }

    /// Where it speaks to.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// A request with a body as it is.
    ///
    /// # Errors
    /// When no response comes.
    pub async fn send(&self, method: Method, path: &str, body: Vec<u8>) -> Result<Reply> {
        self.send_as(method, path, body, "application/json").await
    }

    /// A request with a body of any type.
    ///
    /// # Errors
    /// When no response comes.
    pub async fn send_as(
        &self,
        method: Method,
        path: &str,
        body: Vec<u8>,
        content_type: &str,
    ) -> Result<Reply> {
        let request = self.http.request(method, format!("{}{path}", self.base));
        let request = request.headers(self.identity.clone());
        let request = request
            .header(header::CONTENT_TYPE, content_type)
            .body(body);
        let answered = async {
            let response = request.send().await?;
            let status = response.status().as_u16();
            let text = response.text().await?;
            let body = serde_json::from_str(&text).unwrap_or(Value::String(text));
            anyhow::Ok(Reply { status, body })
        };
        within(path, answered)
            .await?
            .with_context(|| path.to_owned())
    }

    /// `GET path`.
    ///
    /// # Errors
    /// When no response comes.
    pub async fn get(&self, path: &str) -> Result<Reply> {
        self.send(Method::GET, path, Vec::new()).await
    }

    /// `POST path` with a JSON body.
    ///
    /// # Errors
    /// When no response comes.
    pub async fn post(&self, path: &str, body: &Value) -> Result<Reply> {
        self.send(Method::POST, path, body.to_string().into_bytes())
            .await
    }

    /// What waits.
    ///
    /// # Errors
    /// When the list is refused.
    pub async fn pending(&self) -> Result<Vec<Value>> {
        self.list("/api/clarifications?status=pending").await
    }

    /// What was settled.
    ///
    /// # Errors
    /// When the list is refused.
    pub async fn settled(&self) -> Result<Vec<Value>> {
        self.list("/api/clarifications?status=settled").await
    }

    async fn list(&self, path: &str) -> Result<Vec<Value>> {
        let reply = self.get(path).await?;
        match reply.body.get("clarifications") {
            Some(Value::Array(all)) if reply.status == 200 => Ok(all.clone()),
            _ => bail!("{path}: {reply:?}"),
        }
    }

    /// Answers over HTTP.
    ///
    /// # Errors
    /// When no response comes.
    pub async fn answer(&self, clarify_id: &str, answer: &Value) -> Result<Reply> {
        self.post(&format!("/api/clarifications/{clarify_id}/answer"), answer)
            .await
    }

    /// Stops the countdown.
    ///
    /// # Errors
    /// When no response comes.
    pub async fn hold(&self, clarify_id: &str) -> Result<Reply> {
        let empty = Value::Object(serde_json::Map::new());
        self.post(&format!("/api/clarifications/{clarify_id}/hold"), &empty)
            .await
    }

    /// Opens `/ws`.
    ///
    /// # Errors
    /// When the handshake fails.
    pub async fn socket(&self) -> Result<Socket> {
        self.socket_at("/ws").await
    }

    /// Opens a WebSocket at `path`.
    ///
    /// # Errors
    /// When the handshake fails.
    pub async fn socket_at(&self, path: &str) -> Result<Socket> {
        let place = self.base.replacen("http", "ws", 1);
        Socket::connect(&format!("{place}{path}"), &self.identity).await
    }

    /// Waits on a socket of its own for a question that `wanted` takes, waiting or new.
    ///
    /// # Errors
    /// When none comes within the limit.
    pub async fn question(&self, wanted: impl Fn(&Value) -> bool) -> Result<Value> {
        let mut socket = self.socket().await?;
        socket
            .find(|m| m["event"] == "clarify.requested" && wanted(m))
            .await
    }

    /// Waits until the clarification is settled, and returns it as the HTTP route shows it.
    ///
    /// # Errors
    /// When it is not settled within the limit.
    pub async fn until_settled(&self, clarify_id: &str) -> Result<Value> {
        let path = format!("/api/clarifications/{clarify_id}");
        // Opened first: whatever happens after the look below is heard.
        let mut socket = self.socket().await?;
        let now = self.get(&path).await?;
        if now.body["clarification"]["status"] != "settled" && now.body["status"] != "settled" {
            socket
                .find(|m| m["event"] == "clarify.resolved" && m["clarify_id"] == clarify_id)
                .await?;
        }
        let reply = self.get(&path).await?;
        Ok(reply
            .body
            .get("clarification")
            .unwrap_or(&reply.body)
            .clone())
    }
}
