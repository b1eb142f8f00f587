//! JSON-RPC lines between standard input and rmcp.
//!
//! rmcp drops what is not JSON without a word and ends when a notification comes before the
//! handshake. Here every line is judged before rmcp sees it: what cannot be read gets an error, under
//! its id if that can be found, what comes too early is dropped, and the process goes on.

mod envelope;
pub(super) mod surrogates;
mod verdict;

use super::open_ids::{self, OpenIds};
use envelope::Envelope;
use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, ErrorData, RequestId, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
#[cfg(test)]
pub(super) use verdict::MAX_ID;
pub(super) use verdict::{Verdict, decides_era, judge, named, no_tool};

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
    /// What is known of a line that is too long, until its end.
    too_long: Option<Envelope>,
    /// Requests without a reply yet.
    open: OpenIds,
    /// Whether rmcp has seen the request that decides the protocol's era.
    era_known: bool,
    refusals: VecDeque<Vec<u8>>,
    outgoing: Option<mpsc::Sender<Vec<u8>>>,
    writer: Option<JoinHandle<()>>,
    gone: CancellationToken,
}

enum Line {
    Whole(Vec<u8>),
    /// Longer than it may be, and the request that it is.
    TooLong(Option<RequestId>),
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
            too_long: None,
            open: OpenIds::default(),
            era_known: false,
            refusals: VecDeque::new(),
            outgoing: Some(outgoing),
            writer: Some(writer),
            gone,
        }
    }

    /// The next line in the buffer that is whole.
    fn next_line(&mut self) -> Option<Line> {
        let end = self
            .buffer
            .iter()
            .skip(self.scanned)
            .position(|b| *b == b'\n');
        let Some(end) = end.map(|i| i + self.scanned) else {
            if self.too_long.is_some() || self.buffer.len() > MAX_LINE {
                let part = std::mem::take(&mut self.buffer);
                self.too_long.get_or_insert_default().read(&part);
            }
            self.scanned = self.buffer.len();
            return None;
        };
        let mut line: Vec<u8> = self.buffer.drain(..=end).collect();
        line.pop();
        self.scanned = 0;
        if self.buffer.capacity() > KEPT_BUFFER {
            self.buffer.shrink_to(KEPT_BUFFER);
        }
        if line.len() > MAX_LINE {
            self.too_long.get_or_insert_default();
        }
        Some(match self.too_long.take() {
            Some(mut envelope) => {
                envelope.read(&line);
                Line::TooLong(envelope.request_id())
            }
            None => Line::Whole(line),
        })
    }

    fn judge(&mut self, line: Line) -> Verdict {
        let verdict = match line {
            Line::Whole(line) => judge(&line, self.era_known),
            Line::TooLong(id) => Verdict::Refuse(too_long_line(), id),
        };
        match verdict {
            Verdict::Take(message) => match self.open.take(&message) {
                // Under the id, the reply would end the request that is open.
                Some(id) => Verdict::Refuse(open_ids::refusal(&id), None),
                None => Verdict::Take(message),
            },
            Verdict::Refuse(_, Some(id)) if self.open.has(&id) => {
                Verdict::Refuse(open_ids::refusal(&id), None)
            }
            other => other,
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
                match self.judge(line) {
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
        self.open.answer(&message);
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
