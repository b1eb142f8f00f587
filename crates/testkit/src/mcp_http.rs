//! A plain MCP client over Streamable HTTP, in either era of the protocol.

use crate::bound::within;
use anyhow::{Context as _, Result, anyhow, ensure};
use http::header;
use reqwest::{Client, RequestBuilder, Response};
use serde_json::{Value, json};
use std::time::Duration;

/// How a client of HTTP speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Era {
    /// With a handshake and a session (2025-11-25).
    Handshake,
    /// Every request by itself (2026-07-28).
    Stateless,
}

/// A client with one credential.
#[derive(Clone)]
pub struct McpHttp {
    http: Client,
    url: String,
    token: String,
    era: Era,
    name: String,
    session: Option<String>,
}

/// A call whose reply streams in.
pub struct HttpCall {
    response: Response,
    buffer: String,
    id: u64,
    /// Comments seen so far.
    pub comments: usize,
    /// Notifications seen so far.
    pub notifications: Vec<Value>,
}

impl McpHttp {
    /// Connects, with a handshake where the era has one. `name` is what the client calls itself.
    ///
    /// # Errors
    /// When the handshake fails.
    pub async fn connect(url: &str, token: &str, era: Era, name: &str) -> Result<Self> {
        Self::with(Client::builder(), url, token, era, name).await
    }

    /// The same with an HTTP client of one's own making.
    ///
    /// # Errors
    /// When the handshake fails.
    pub async fn with(
        http: reqwest::ClientBuilder,
        url: &str,
        token: &str,
        era: Era,
        name: &str,
    ) -> Result<Self> {
        let mut client = Self {
            http: http.build()?,
            url: url.to_owned(),
            token: token.trim().to_owned(),
            era,
            name: name.to_owned(),
            session: None,
        };
        if era == Era::Handshake {
            client.shake_hands().await?;
        }
        Ok(client)
    }

    async fn shake_hands(&mut self) -> Result<()> {
        let params = json!({
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": self.name, "version": "1"},
        });
        let body = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
        let response = self.post("initialize", None).body(body.to_string()).send();
        let response = within("the handshake", response).await??;
        ensure!(response.status() == 200, "{}", response.status());
        let session = response.headers().get("mcp-session-id");
        let session = session.context("no session")?.to_str()?.to_owned();
        let mut call = HttpCall::new(response, 0);
        call.result().await?;
        self.session = Some(session);
        let body = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        let accepted = self.notify(&body).await?;
        ensure!(accepted == 202, "{accepted}");
        Ok(())
    }

    /// Its session, in the era that has some.
    pub fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    fn post(&self, method: &str, name: Option<&str>) -> RequestBuilder {
        let mut request = self
            .http
            .post(&self.url)
            .bearer_auth(&self.token)
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::ACCEPT, "application/json, text/event-stream");
        match self.era {
            Era::Stateless => {
                request = request
                    .header("mcp-protocol-version", "2026-07-28")
                    .header("mcp-method", method);
                if let Some(name) = name {
                    request = request.header("mcp-name", name);
                }
            }
            Era::Handshake => {
                if let Some(session) = &self.session {
                    request = request
                        .header("mcp-protocol-version", "2025-11-25")
                        .header("mcp-session-id", session);
                }
            }
        }
        request
    }

    /// What the service answers to a notification.
    ///
    /// # Errors
    /// When it answers nothing.
    pub async fn notify(&self, body: &Value) -> Result<u16> {
        let method = body["method"].as_str().unwrap_or_default();
        let response = self.post(method, None).body(body.to_string()).send();
        let response = within("a notification to be taken", response).await??;
        Ok(response.status().as_u16())
    }

    fn params(&self, mut params: Value, progress: Option<u64>) -> Value {
        let mut meta = match params["_meta"].take() {
            Value::Object(meta) => Value::Object(meta),
            _ => json!({}),
        };
        if self.era == Era::Stateless {
            meta["io.modelcontextprotocol/protocolVersion"] = "2026-07-28".into();
            meta["io.modelcontextprotocol/clientCapabilities"] = json!({});
            meta["io.modelcontextprotocol/clientInfo"] = json!({"name": self.name, "version": "1"});
        }
        if let Some(token) = progress {
            meta["progressToken"] = token.into();
        }
        if meta != json!({}) {
            params["_meta"] = meta;
        } else if let Some(params) = params.as_object_mut() {
            params.remove("_meta");
        }
        params
    }

    /// Sends a request and returns once its reply has begun.
    ///
    /// # Errors
    /// When no reply begins within the limit, or its status is not 200.
    pub async fn request(&self, id: u64, method: &str, params: Value) -> Result<HttpCall> {
        self.begin(id, method, params, None).await
    }

    async fn begin(
        &self,
        id: u64,
        method: &str,
        params: Value,
        progress: Option<u64>,
    ) -> Result<HttpCall> {
        let name = params["name"].as_str().map(str::to_owned);
        let params = self.params(params, progress);
        let body = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let request = self.post(method, name.as_deref()).body(body.to_string());
        let response = within("a reply to begin", request.send()).await??;
        let status = response.status();
        if status != 200 {
            return Err(anyhow!("{status}: {}", response.text().await?));
        }
        Ok(HttpCall::new(response, id))
    }

    /// Calls a tool without asking for progress.
    ///
    /// # Errors
    /// As for [`Self::request`].
    pub async fn call(&self, id: u64, tool: &str, arguments: Value) -> Result<HttpCall> {
        let params = json!({"name": tool, "arguments": arguments});
        self.begin(id, "tools/call", params, None).await
    }

    /// Calls a tool with more in `_meta`.
    ///
    /// # Errors
    /// As for [`Self::request`].
    pub async fn call_with_meta(
        &self,
        id: u64,
        tool: &str,
        arguments: Value,
        meta: Value,
    ) -> Result<HttpCall> {
        let params = json!({"name": tool, "arguments": arguments, "_meta": meta});
        self.begin(id, "tools/call", params, None).await
    }

    /// Calls a tool and asks for progress.
    ///
    /// # Errors
    /// As for [`Self::request`].
    pub async fn call_with_progress(
        &self,
        id: u64,
        tool: &str,
        arguments: Value,
    ) -> Result<HttpCall> {
        let params = json!({"name": tool, "arguments": arguments});
        self.begin(id, "tools/call", params, Some(id)).await
    }
}

impl HttpCall {
    fn new(response: Response, id: u64) -> Self {
        Self {
            response,
            buffer: String::new(),
            id,
            comments: 0,
            notifications: Vec::new(),
        }
    }

    /// A header of the reply.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.response.headers().get(name)?.to_str().ok()
    }

    /// The result of the call, within the usual limit.
    ///
    /// # Errors
    /// When it does not come, or is an error.
    pub async fn result(&mut self) -> Result<Value> {
        within("a result", self.read()).await?
    }

    /// The same, for waits that are longer.
    ///
    /// # Errors
    /// When it does not come by then, or is an error.
    pub async fn result_within(&mut self, limit: Duration) -> Result<Value> {
        let read = tokio::time::timeout(limit, self.read()).await;
        read.map_err(|_| anyhow!("no result within {limit:?}"))?
    }

    async fn read(&mut self) -> Result<Value> {
        loop {
            while let Some((event, rest)) = self.buffer.split_once("\n\n") {
                let (event, rest) = (event.to_owned(), rest.to_owned());
                self.buffer = rest;
                if let Some(result) = self.take(&event)? {
                    return Ok(result);
                }
            }
            let chunk = self.response.chunk().await?;
            let Some(chunk) = chunk else {
                // A reply that is no stream.
                let whole = std::mem::take(&mut self.buffer);
                return self.take(&format!("data: {whole}"))?.context("no result");
            };
            let text = String::from_utf8_lossy(&chunk).replace('\r', "");
            self.buffer.push_str(&text);
        }
    }

    fn take(&mut self, event: &str) -> Result<Option<Value>> {
        let lines = event.lines().filter_map(|l| l.strip_prefix("data:"));
        let data = lines.map(str::trim_start).collect::<String>();
        if data.trim().is_empty() {
            self.comments += usize::from(event.starts_with(':'));
            return Ok(None);
        }
        let message: Value = serde_json::from_str(&data).with_context(|| data.clone())?;
        if message["id"] == self.id && message.get("method").is_none() {
            ensure!(message.get("error").is_none(), "{message}");
            return Ok(Some(message["result"].clone()));
        }
        self.notifications.push(message);
        Ok(None)
    }
}
