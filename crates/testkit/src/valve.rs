//! A way from a service to its bus over which, from a moment on, nothing comes back: what goes out
//! arrives, and its sender does not learn of it.

use crate::bound::within;
use anyhow::{Context as _, Result};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

/// Bytes passed on at once.
const AT_ONCE: usize = 64 * 1024;

struct Shared {
    shut: watch::Sender<bool>,
    /// What shuts it when it is about to go out.
    words: Mutex<Vec<u8>>,
}

/// A TCP forwarder on a loopback port; gone on drop, with its connections.
pub struct Valve {
    address: SocketAddr,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

impl Valve {
    /// Forwards both ways to this `nats://host:port`.
    ///
    /// # Errors
    /// When it cannot listen.
    pub async fn start(to: &str) -> Result<Self> {
        let to = to.strip_prefix("nats://").context("not of a bus")?;
        let to = to.to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            shut: watch::Sender::new(false),
            words: Mutex::default(),
        });
        let known = Arc::clone(&shared);
        let task = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                connections.spawn(forward(stream, to.clone(), Arc::clone(&known)));
                while connections.try_join_next().is_some() {}
            }
        });
        Ok(Self {
            address,
            shared,
            task,
        })
    }

    /// `nats://host:port` of the forwarder.
    pub fn url(&self) -> String {
        format!("nats://{}", self.address)
    }

    /// From now on nothing comes back.
    pub fn shut(&self) {
        self.shared.shut.send_replace(true);
    }

    /// The same from the moment on at which these words are about to go out.
    pub fn shut_at(&self, words: &str) {
        let mut known = self.shared.words();
        *known = words.as_bytes().to_vec();
    }

    /// Waits until it is shut.
    ///
    /// # Errors
    /// When it is not within the limit.
    pub async fn is_shut(&self) -> Result<()> {
        let mut shut = self.shared.shut.subscribe();
        within("the words to go out", shut.wait_for(|shut| *shut)).await??;
        Ok(())
    }

    /// What was held back comes, and all that follows.
    pub fn open(&self) {
        self.shared.words().clear();
        self.shared.shut.send_replace(false);
    }
}

impl Drop for Valve {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Shared {
    fn words(&self) -> std::sync::MutexGuard<'_, Vec<u8>> {
        self.words.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn forward(stream: TcpStream, to: String, shared: Arc<Shared>) -> Result<()> {
    let behind = TcpStream::connect(to).await?;
    stream.set_nodelay(true)?;
    behind.set_nodelay(true)?;
    let ((from_here, to_here), (from_there, to_there)) = (stream.into_split(), behind.into_split());
    // The end of one direction is the end of the connection.
    tokio::select! {
        ended = out(from_here, to_there, &shared) => ended,
        ended = back(from_there, to_here, &shared) => ended,
    }
}

async fn out(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, shared: &Shared) -> Result<()> {
    let mut bytes = vec![0; AT_ONCE];
    // The end of what went out before: words may come in pieces.
    let mut last = Vec::new();
    loop {
        let count = from.read(&mut bytes).await?;
        let new = bytes.get(..count).unwrap_or_default();
        if new.is_empty() {
            return Ok(());
        }
        last.extend_from_slice(new);
        let words = shared.words().clone();
        if !words.is_empty() && last.windows(words.len()).any(|part| part == words) {
            shared.shut.send_replace(true);
        }
        let kept = last.len().saturating_sub(words.len());
        last.drain(..kept);
        to.write_all(new).await?;
    }
}

async fn back(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, shared: &Shared) -> Result<()> {
    let mut bytes = vec![0; AT_ONCE];
    let mut shut = shared.shut.subscribe();
    loop {
        let count = from.read(&mut bytes).await?;
        let new = bytes.get(..count).unwrap_or_default();
        if new.is_empty() {
            return Ok(());
        }
        shut.wait_for(|shut| !*shut).await?;
        to.write_all(new).await?;
    }
}
