//! Which of several servers a connection goes to, and when it leaves one.
//!
//! A server that is cut off from the others still talks to its clients, but what they send is never
//! stored, and what others store never reaches them. Nothing on the connection shows that. So the
//! server is asked now and then for what only the leader of the log answers, and left for another one
//! when it has had no answer, or stored nothing, for a while.

use super::{QUICK, Shared, streams};
use async_nats::{ReconnectToServer, Server, ServerAddr};
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// How often the log's leader is asked whether it can be reached from here.
const ASK_EVERY: Duration = Duration::from_secs(5);
/// The same after it did not answer.
const ASK_AGAIN: Duration = Duration::from_secs(1);
/// For how long what is sent to a server may get no acknowledgement before the server is left.
const SILENCE: Duration = Duration::from_secs(4);
/// For how long there may be no leader: the others need four to nine seconds to agree on a new one,
/// and going elsewhere meanwhile only costs time.
const ELECTION: Duration = Duration::from_secs(10);
/// Between two moves at least: where no server has a majority, moving does not help.
const PAUSE: Duration = Duration::from_secs(10);

/// What is known of the servers.
#[derive(Default)]
pub(super) struct Servers {
    last: Mutex<Option<ServerAddr>>,
    failing_since: Mutex<Option<Instant>>,
    failing: Notify,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Servers {
    /// The server to try next: one that failed least; of those rather another than the last.
    pub fn next(&self, pool: &[Server]) -> Option<ReconnectToServer> {
        if pool.len() < 2 {
            return None;
        }
        let random = RandomState::new();
        let mut last = lock(&self.last);
        let order = |server: &&Server| {
            let is_last = last.as_ref() == Some(&server.addr);
            let place = (server.addr.host(), server.addr.port());
            (server.failed_attempts, is_last, random.hash_one(place))
        };
        let addr = pool.iter().min_by_key(order)?.addr.clone();
        *last = Some(addr.clone());
        Some(ReconnectToServer { addr, delay: None })
    }

    /// Something was stored: this server has a majority.
    pub fn stored(&self) {
        *lock(&self.failing_since) = None;
    }

    /// What was sent to the leader was not acknowledged.
    pub fn silent(&self) {
        self.failed(SILENCE);
    }

    /// There is no leader to be seen from this server.
    pub fn leaderless(&self) {
        self.failed(ELECTION);
    }

    fn failed(&self, patience: Duration) {
        let since = *lock(&self.failing_since).get_or_insert_with(Instant::now);
        if since.elapsed() >= patience {
            self.failing.notify_one();
        }
    }
}

/// Leaves servers that do not serve, for as long as the connection is used.
pub(super) async fn watch(shared: &Shared) {
    loop {
        tokio::select! {
            () = shared.stop.cancelled() => return,
            () = ask(shared) => {}
            () = shared.servers.failing.notified() => {
                leave(shared).await;
                tokio::select! {
                    () = shared.stop.cancelled() => return,
                    () = tokio::time::sleep(PAUSE) => {}
                }
            }
        }
    }
}

/// Asks again and again whether the leader of the log can be reached.
async fn ask(shared: &Shared) {
    let mut pause = ASK_EVERY;
    loop {
        tokio::time::sleep(pause).await;
        shared.link.up().await;
        let asked = shared.context.get_stream(streams::LOG);
        let asked = tokio::time::timeout(QUICK, shared.on_connection(asked)).await;
        pause = match asked {
            Ok(Ok(Ok(_))) => ASK_EVERY,
            // Another connection will be asked.
            Ok(Err(_)) => ASK_AGAIN,
            Ok(Ok(Err(_))) | Err(_) => {
                shared.servers.leaderless();
                ASK_AGAIN
            }
        };
    }
}

async fn leave(shared: &Shared) {
    let since = lock(&shared.servers.failing_since).take();
    let pool = shared.client.server_pool().await.unwrap_or_default();
    if since.is_none() || pool.len() < 2 {
        return;
    }
    tracing::warn!(
        "this server of the bus has stored nothing for a while: it may be cut off from the others; \
         going to another one"
    );
    if let Err(error) = shared.client.force_reconnect().await {
        tracing::warn!(%error, "the server could not be left");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_left_for_another_unless_all_others_failed_oftener() {
        let server = |name: &str, failed_attempts| Server {
            addr: format!("nats://{name}:4222").parse().unwrap(),
            failed_attempts,
            did_connect: true,
            is_discovered: false,
            last_error: None,
        };
        let host = |chosen: Option<ReconnectToServer>| chosen.unwrap().addr.host().to_owned();
        let servers = Servers::default();
        assert!(
            servers.next(&[server("a", 0)]).is_none(),
            "there is no choice"
        );
        let first = host(servers.next(&[server("a", 0), server("b", 0)]));
        let second = host(servers.next(&[server("a", 0), server("b", 0)]));
        assert_ne!(first, second);
        assert_eq!(host(servers.next(&[server("a", 1), server("b", 0)])), "b");
        assert_eq!(host(servers.next(&[server("a", 1), server("b", 0)])), "b");
    }

    #[test]
    fn one_failure_is_no_reason_to_leave() {
        let servers = Servers::default();
        servers.silent();
        let since = lock(&servers.failing_since).unwrap();
        servers.leaderless();
        assert_eq!(lock(&servers.failing_since).unwrap(), since);
        servers.stored();
        assert!(lock(&servers.failing_since).is_none());
    }
}
