//! Several replicas behind one channel.

use std::hash::{BuildHasher as _, RandomState};
use std::io::{Error, ErrorKind, Result};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::net::TcpStream;

/// How long one replica of several may take to accept.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(1);

/// The replicas of a channel, and whose turn it is. The first is a random one. Whoever connects again
/// lost the replica it had: a stopped one still accepts connections, so it is the last to be tried.
pub(crate) struct Replicas {
    addresses: Vec<String>,
    next: AtomicUsize,
}

impl Replicas {
    /// From `host:port`s.
    pub(crate) fn new(addresses: Vec<String>) -> Self {
        let start = usize::try_from(RandomState::new().hash_one(0_u8)).unwrap_or_default();
        let next = AtomicUsize::new(start % addresses.len().max(1));
        Self { addresses, next }
    }

    /// Connects to the first that accepts.
    pub(crate) async fn connect(&self) -> Result<TcpStream> {
        let mut last = Error::other("no replica is named");
        let start = self.next.load(Ordering::Relaxed);
        let turns = self.addresses.iter().enumerate().cycle();
        for (place, address) in turns.skip(start).take(self.addresses.len()) {
            let attempt = TcpStream::connect(address.as_str());
            match tokio::time::timeout(ATTEMPT_TIMEOUT, attempt).await {
                Ok(Ok(stream)) => {
                    let next = (place + 1) % self.addresses.len();
                    self.next.store(next, Ordering::Relaxed);
                    stream.set_nodelay(true)?;
                    return Ok(stream);
                }
                Ok(Err(error)) => last = error,
                Err(_) => last = ErrorKind::TimedOut.into(),
            }
        }
        Err(last)
    }
}

#[cfg(test)]
mod tests {
    use super::Replicas;
    use std::collections::BTreeSet;
    use tokio::net::TcpListener;

    // contract: E11
    #[tokio::test]
    async fn who_connects_again_tries_the_lost_replica_last() -> std::io::Result<()> {
        let mut listeners = Vec::new();
        for _ in 0..4 {
            listeners.push(TcpListener::bind("127.0.0.1:0").await?);
        }
        let addresses: Vec<_> = listeners.iter().map(TcpListener::local_addr).collect();
        let addresses = addresses.into_iter().collect::<Result<Vec<_>, _>>()?;
        // The last one refuses.
        listeners.pop();
        let replicas = Replicas::new(addresses.iter().map(ToString::to_string).collect());
        for _ in 0..3 {
            let mut met = BTreeSet::new();
            for _ in 0..3 {
                met.insert(replicas.connect().await?.peer_addr()?);
            }
            assert_eq!(met, addresses[..3].iter().copied().collect());
        }
        Ok(())
    }
}
