//! Connections within one process: the same calls without sockets, so that a whole bus can run on
//! one thread and on time that is made up.

use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::io::DuplexStream;
use tokio::sync::mpsc;

/// What a connection holds that was not read yet, in bytes.
const BUFFER: usize = 64 * 1024;
/// Connections waiting to be accepted.
const BACKLOG: usize = 64;

/// Where something may listen, one at a time; clones are the same address.
#[derive(Clone, Default)]
pub struct MemoryAddress(Arc<Mutex<Option<mpsc::Sender<DuplexStream>>>>);

impl PartialEq for MemoryAddress {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for MemoryAddress {}

impl fmt::Debug for MemoryAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("memory")
    }
}

impl MemoryAddress {
    /// An address at which nobody listens yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Listens here from now on; whoever listened before hears of no more connections.
    pub fn bind(&self) -> MemoryListener {
        let (sender, receiver) = mpsc::channel(BACKLOG);
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(sender);
        MemoryListener(receiver)
    }

    /// Connects to whoever listens here.
    ///
    /// # Errors
    /// [`io::ErrorKind::ConnectionRefused`] when nobody does.
    pub async fn connect(&self) -> io::Result<DuplexStream> {
        let refused = || io::Error::from(io::ErrorKind::ConnectionRefused);
        let listener = self
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let (near, far) = tokio::io::duplex(BUFFER);
        listener
            .ok_or_else(refused)?
            .send(far)
            .await
            .map_err(|_| refused())?;
        Ok(near)
    }
}

/// Hears of connections to a [`MemoryAddress`]; when dropped, they are refused.
#[derive(Debug)]
pub struct MemoryListener(mpsc::Receiver<DuplexStream>);

impl MemoryListener {
    /// The next connection; none once somebody else listens at the address.
    pub async fn accept(&mut self) -> Option<DuplexStream> {
        self.0.recv().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    #[tokio::test]
    async fn the_latest_listener_is_connected_to() {
        let address = MemoryAddress::new();
        let refused = || async { address.connect().await.map_err(|e| e.kind()).err() };
        assert_eq!(refused().await, Some(io::ErrorKind::ConnectionRefused));
        let mut first = address.bind();
        let mut second = address.clone().bind();
        let mut near = address.connect().await.unwrap();
        near.write_all(b"hello").await.unwrap();
        drop(near);
        let mut text = String::new();
        let mut far = second.accept().await.unwrap();
        far.read_to_string(&mut text).await.unwrap();
        assert_eq!(text, "hello");
        assert!(first.accept().await.is_none());
        drop(second);
        assert_eq!(refused().await, Some(io::ErrorKind::ConnectionRefused));
    }
}
