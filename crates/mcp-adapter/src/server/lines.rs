//! JSON-RPC lines between standard input and rmcp.
//!
//! rmcp drops what is not JSON without a word and ends when a notification comes before the
//! handshake. Here every line is judged before rmcp sees it: what cannot be read gets an error,
//! what comes too early is dropped, and the process goes on.

use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorData, GetMeta as _, JsonRpcMessage, ProtocolVersion,
    RequestId, ServerJsonRpcMessage,
};
use rmcp::transport::Transport;
use serde_json::Value;
use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// The longest line taken, in bytes without its end.
pub const MAX_LINE: usize = 1024 * 1024;
/// What is kept of the read buffer once a long line has gone through it.
const KEPT_BUFFER: usize = 64 * 1024;
/// Room made for one read.
const READ_SIZE: usize = 8 * 1024;
/// Lines on their way out.
const OUTGOING: usize = 16;
/// How long the last lines may take to be written at the end.
const FLUSH_LIMIT: Duration = Duration::from_millis(100);

/// The transport that rmcp serves on.
pub(super) struct Lines<R> {
    reader: R,
    buffer: Vec<u8>,
    /// How much of `buffer` is known to hold no line end.
    scanned: usize,
    /// Within a line that was refused for its length.
    skipping: bool,
    /// Whether rmcp has seen the request that decides the protocol's era.
    era_known: bool,
    refusals: VecDeque<Vec<u8>>,
    outgoing: Option<mpsc::Sender<Vec<u8>>>,
    writer: Option<JoinHandle<()>>,
    gone: CancellationToken,
}

impl<R: AsyncRead + Unpin + Send> Lines<R> {
    /// `gone` is cancelled when the other side is: at the end of input, or when nothing can be
    /// written any more.
    pub(super) fn new<W>(reader: R, writer: W, gone: CancellationToken) -> Self
    where
        W: AsyncWrite + Unpin + Send + 'static,
    {
        let (outgoing, lines) = mpsc::channel(OUTGOING);
        let writer = tokio::spawn(write_lines(writer, lines, gone.clone()));
        Self {
            reader,
            buffer: Vec::new(),
            scanned: 0,
            skipping: false,
            era_known: false,
            refusals: VecDeque::new(),
            outgoing: Some(outgoing),
            writer: Some(writer),
            gone,
        }
    }

    /// The next whole line in the buffer, or the refusal of one that is too long.
    fn next_line(&mut self) -> Option<Result<Vec<u8>, ErrorData>> {
        loop {
            let end = self
                .buffer
                .iter()
                .skip(self.scanned)
                .position(|b| *b == b'\n');
            let Some(end) = end.map(|i| i + self.scanned) else {
                let too_long = self.buffer.len() > MAX_LINE;
                if self.skipping || too_long {
                    self.buffer = Vec::new();
                }
                self.scanned = self.buffer.len();
                let first = too_long && !self.skipping;
                self.skipping |= too_long;
                return first.then(|| Err(too_long_line()));
            };
            let mut line: Vec<u8> = self.buffer.drain(..=end).collect();
            line.pop();
            self.scanned = 0;
            if self.buffer.capacity() > KEPT_BUFFER {
                self.buffer.shrink_to(KEPT_BUFFER);
            }
            if std::mem::take(&mut self.skipping) {
                continue;
            }
            return Some(if line.len() > MAX_LINE {
                Err(too_long_line())
            } else {
                Ok(line)
            });
        }
    }

    async fn next_message(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            // A refusal stays in the queue until it has its place among the outgoing lines: this
            // future is dropped whenever rmcp has something else to do.
            while !self.refusals.is_empty() {
                let permit = self.outgoing.as_ref()?.reserve().await.ok()?;
                if let Some(refusal) = self.refusals.pop_front() {
                    permit.send(refusal);
                }
            }
            while let Some(line) = self.next_line() {
                let verdict = match line {
                    Ok(line) => judge(&line, self.era_known),
                    Err(error) => Verdict::Refuse(error, None),
                };
                match verdict {
                    Verdict::Take(message) => {
                        self.era_known |= decides_era(&message);
                        return Some(*message);
                    }
                    Verdict::Drop => {}
                    Verdict::Refuse(error, id) => {
                        let message = ServerJsonRpcMessage::error(error, id);
                        self.refusals.extend(encode(&message).ok());
                        break;
                    }
                }
            }
            if !self.refusals.is_empty() {
                continue;
            }
            self.buffer.reserve(READ_SIZE);
            match self.reader.read_buf(&mut self.buffer).await {
                Ok(0) | Err(_) => return None,
                Ok(_) => {}
            }
        }
    }
}

impl<R: AsyncRead + Unpin + Send> Transport<RoleServer> for Lines<R> {
    type Error = io::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let outgoing = self.outgoing.clone();
        let line = encode(&message);
        let gone = self.gone.clone();
        async move {
            let closed = || io::Error::from(io::ErrorKind::BrokenPipe);
            let line = line?;
            let outgoing = outgoing.ok_or_else(closed)?;
            let too_late = async {
                gone.cancelled().await;
                tokio::time::sleep(FLUSH_LIMIT).await;
            };
            tokio::select! {
                biased;
                sent = outgoing.send(line) => sent.map_err(|_| closed()),
                // A client that left without reading must not hold up the end.
                () = too_late => Err(closed()),
            }
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        let message = self.next_message().await;
        if message.is_none() {
            self.gone.cancel();
        }
        message
    }

    async fn close(&mut self) -> io::Result<()> {
        self.outgoing = None;
        if let Some(mut writer) = self.writer.take()
            && tokio::time::timeout(FLUSH_LIMIT, &mut writer)
                .await
                .is_err()
        {
            // A client that reads no more.
            writer.abort();
        }
        Ok(())
    }
}

async fn write_lines<W: AsyncWrite + Unpin>(
    mut writer: W,
    mut lines: mpsc::Receiver<Vec<u8>>,
    gone: CancellationToken,
) {
    while let Some(line) = lines.recv().await {
        let written = async {
            writer.write_all(&line).await?;
            writer.flush().await
        };
        if let Err(error) = written.await {
            tracing::debug!(%error, "the client reads no more");
            break;
        }
    }
    gone.cancel();
    // Streams that are not closed by being dropped.
    let _ = writer.shutdown().await;
}

fn encode(message: &ServerJsonRpcMessage) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    Ok(line)
}

fn too_long_line() -> ErrorData {
    ErrorData::parse_error(format!("a line may be at most {MAX_LINE} bytes long"), None)
}

pub(super) enum Verdict {
    Take(Box<ClientJsonRpcMessage>),
    /// Needs no answer.
    Drop,
    Refuse(ErrorData, Option<RequestId>),
}

/// Whether rmcp settles on a protocol era with this message; until then it ends on anything that
/// is not a request.
pub(super) fn decides_era(message: &ClientJsonRpcMessage) -> bool {
    let JsonRpcMessage::Request(request) = message else {
        return false;
    };
    match &request.request {
        ClientRequest::InitializeRequest(_) => true,
        ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_) => false,
        other => {
            let meta = other.get_meta();
            let known = |v: ProtocolVersion| ProtocolVersion::KNOWN_VERSIONS.contains(&v);
            meta.protocol_version().is_some_and(known)
                && meta
                    .missing_required_keys(&ProtocolVersion::V_2026_07_28)
                    .is_empty()
        }
    }
}

/// Judges one line. serde_json refuses nesting beyond 128 levels.
pub(super) fn judge(line: &[u8], era_known: bool) -> Verdict {
    let line = line
        .strip_prefix(b"\xEF\xBB\xBF")
        .unwrap_or(line)
        .trim_ascii();
    if line.is_empty() {
        return Verdict::Drop;
    }
    let value: Value = match serde_json::from_slice(line) {
        Ok(value) => value,
        Err(error) => {
            return Verdict::Refuse(ErrorData::parse_error(error.to_string(), None), None);
        }
    };
    let Some(object) = value.as_object() else {
        let error =
            ErrorData::invalid_request("a message is one JSON object; batches are not taken", None);
        return Verdict::Refuse(error, None);
    };
    let id = object
        .get("id")
        .map(|id| serde_json::from_value::<RequestId>(id.clone()).ok());
    let method = object
        .get("method")
        .and_then(Value::as_str)
        .map(str::to_owned);
    let invalid = |problem: &'static str| ErrorData::invalid_request(problem, None);
    let id = match (id, &method) {
        (Some(None), _) if method.is_some() => {
            return Verdict::Refuse(invalid("an id is a string or an integer"), None);
        }
        // An error that answers nothing of ours.
        (Some(None), _) => return Verdict::Drop,
        (id, _) => id.flatten(),
    };
    if object.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return match (&id, &method) {
            (None, Some(_)) => Verdict::Drop,
            _ => Verdict::Refuse(invalid("jsonrpc must be \"2.0\""), id),
        };
    }
    let is_response = object.contains_key("result") || object.contains_key("error");
    match serde_json::from_value::<ClientJsonRpcMessage>(value) {
        Ok(JsonRpcMessage::Request(request)) => {
            Verdict::Take(Box::new(JsonRpcMessage::Request(request)))
        }
        Ok(_) if !era_known => Verdict::Drop,
        Ok(message) => Verdict::Take(Box::new(message)),
        Err(error) => match (id, method) {
            (Some(id), Some(method)) => {
                let problem = format!("the params of {method} cannot be read: {error}");
                Verdict::Refuse(ErrorData::invalid_params(problem, None), Some(id))
            }
            // Notifications are never answered, nor are responses.
            (None, Some(_)) => Verdict::Drop,
            _ if is_response => Verdict::Drop,
            (id, None) => Verdict::Refuse(invalid("method is missing"), id),
        },
    }
}
