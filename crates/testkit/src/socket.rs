//! A WebSocket of the gateway, JSON in text frames.

use crate::bound::within;
use anyhow::{Context as _, Result, anyhow, bail};
use futures::{SinkExt as _, StreamExt as _};
use http::HeaderMap;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

/// An open WebSocket.
pub struct Socket {
    stream: WebSocketStream<MaybeTlsStream<TcpStream>>,
    heard: Vec<Value>,
}

impl Socket {
    /// Opens one with these headers.
    ///
    /// # Errors
    /// When the handshake is refused; the HTTP status is named.
    pub async fn connect(url: &str, headers: &HeaderMap) -> Result<Self> {
        match Self::try_connect(url, headers).await? {
            Ok(socket) => Ok(socket),
            Err(status) => bail!("{url}: the handshake was refused with {status}"),
        }
    }

    /// Tries to open one; a refusal gives its HTTP status.
    ///
    /// # Errors
    /// When there is no HTTP answer at all.
    pub async fn try_connect(url: &str, headers: &HeaderMap) -> Result<Result<Self, u16>> {
        let mut request = url.into_client_request()?;
        for (name, value) in headers {
            request.headers_mut().insert(name, value.clone());
        }
        match within("the handshake", connect_async(request)).await? {
            Ok((stream, _)) => Ok(Ok(Self {
                stream,
                heard: Vec::new(),
            })),
            Err(Error::Http(response)) => Ok(Err(response.status().as_u16())),
            Err(error) => Err(error).with_context(|| url.to_owned()),
        }
    }

    /// Sends an object.
    ///
    /// # Errors
    /// When the socket is closed.
    pub async fn send(&mut self, message: &Value) -> Result<()> {
        self.send_raw(Message::text(message.to_string())).await
    }

    /// Sends a text as it is.
    ///
    /// # Errors
    /// When the socket is closed.
    pub async fn send_text(&mut self, text: &str) -> Result<()> {
        self.send_raw(Message::text(text)).await
    }

    /// Sends bytes in a binary frame.
    ///
    /// # Errors
    /// When the socket is closed.
    pub async fn send_binary(&mut self, bytes: Vec<u8>) -> Result<()> {
        self.send_raw(Message::binary(bytes)).await
    }

    async fn send_raw(&mut self, message: Message) -> Result<()> {
        Ok(within("the socket to take a message", self.stream.send(message)).await??)
    }

    /// The next object; none when the socket was closed.
    ///
    /// # Errors
    /// When nothing comes within the limit.
    pub async fn next(&mut self) -> Result<Option<Value>> {
        let heard = self.last();
        within("a message on the socket", self.receive())
            .await
            .context(heard)
    }

    /// The next object that `wanted` takes; those before it are passed over.
    ///
    /// # Errors
    /// When none comes within the limit, or the socket is closed.
    pub async fn find(&mut self, wanted: impl Fn(&Value) -> bool) -> Result<Value> {
        let found = async {
            while let Some(message) = self.receive().await {
                if wanted(&message) {
                    return Some(message);
                }
            }
            None
        };
        let found = within("the expected message on the socket", found).await;
        let found = found.with_context(|| self.last())?;
        found.ok_or_else(|| anyhow!("the socket was closed first; {}", self.last()))
    }

    /// Everything heard so far.
    pub fn heard(&self) -> &[Value] {
        &self.heard
    }

    async fn receive(&mut self) -> Option<Value> {
        loop {
            match self.stream.next().await? {
                Ok(Message::Text(text)) => {
                    let value =
                        serde_json::from_str(&text).unwrap_or(Value::String(text.to_string()));
                    self.heard.push(value.clone());
                    return Some(value);
                }
                Ok(Message::Close(_)) | Err(_) => return None,
                Ok(_) => {}
            }
        }
    }

    fn last(&self) -> String {
        let from = self.heard.len().saturating_sub(10);
        format!(
            "last heard: {:?}",
            self.heard.get(from..).unwrap_or_default()
        )
    }
}
