//! What a person's screen knows: the objects a gateway sent over one socket after another.

use crate::random::Random;
use crate::world::World;
use askbus_domain::ClarifyId;
use futures::{SinkExt as _, StreamExt as _};
use serde_json::Value;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{ClientRequestBuilder, Message};
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

/// How long a gateway may take to open a socket or to answer a request: everything it asks the bus
/// for may hang, and it has to give up on it.
const OPENS_WITHIN: Duration = Duration::from_secs(30);
/// How long one HTTP response may be, in bytes.
const LONGEST: u64 = 8 * 1024 * 1024;

/// Room for what is read at once; it is cleared for every read.
const READ_BUFFER: usize = 4 * 1024;

/// One open socket.
pub(crate) struct Socket(WebSocketStream<DuplexStream>);

impl Socket {
    /// Opens one at some gateway, to be told what was settled after `seen`; none when that fails.
    pub(crate) async fn open(
        world: &World,
        token: &str,
        seen: Option<u64>,
        random: &mut Random,
    ) -> Option<Self> {
        let stream = connect(world, random).await?;
        let after = seen.map_or_else(String::new, |seq| format!("?after={seq}"));
        let uri = format!("ws://localhost/ws{after}").parse().ok()?;
        let request =
            ClientRequestBuilder::new(uri).with_header("Authorization", format!("Bearer {token}"));
        let config = WebSocketConfig::default().read_buffer_size(READ_BUFFER);
        let opening = client_async_with_config(request, stream, Some(config));
        let Ok(opened) = tokio::time::timeout(OPENS_WITHIN, opening).await else {
            world.broken("a gateway neither opens a socket nor refuses it");
            return None;
        };
        opened.ok().map(|(socket, _)| Self(socket))
    }

    /// The next object; none when the connection is over.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        loop {
            match self.0.next().await? {
                Ok(Message::Text(text)) => return serde_json::from_str(&text).ok(),
                Ok(Message::Close(_)) | Err(_) => return None,
                Ok(_) => {}
            }
        }
    }

    /// Sends an object; false when the connection is over.
    pub(crate) async fn send(&mut self, object: &Value) -> bool {
        let message = Message::Text(object.to_string().into());
        self.0.send(message).await.is_ok()
    }
}

async fn connect(world: &World, random: &mut Random) -> Option<DuplexStream> {
    let last = world.gateways.len().checked_sub(1)?;
    let chosen = usize::try_from(random.between(0, last as u64)).ok()?;
    world.gateways.get(chosen)?.connect().await.ok()
}

/// One `GET` at some gateway; none when it cannot be reached or says that it cannot tell.
pub(crate) async fn get(
    world: &World,
    token: &str,
    path: &str,
    random: &mut Random,
) -> Option<Value> {
    let mut stream = connect(world, random).await?;
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\
         Connection: close\r\n\r\n"
    );
    let exchange = async {
        stream.write_all(request.as_bytes()).await.ok()?;
        let mut response = String::new();
        let mut limited = stream.take(LONGEST);
        limited.read_to_string(&mut response).await.ok()?;
        let (head, body) = response.split_once("\r\n\r\n")?;
        head.starts_with("HTTP/1.1 200 ")
            .then(|| serde_json::from_str(body).ok())?
    };
    tokio::time::timeout(OPENS_WITHIN, exchange).await.ok()?
}

/// The question an object speaks of.
pub(crate) fn question(object: &Value) -> Option<ClarifyId> {
    ClarifyId::parse(object.get("clarify_id")?.as_str()?).ok()
}
