//! Sessions of clients of the older era: each belongs to the credential that began it, and none is kept
//! for ever.

use super::open_calls::OpenCalls;
use rmcp::model::RequestId;
use rmcp::transport::streamable_http_server::session::SessionManager as _;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// Sessions of one owner at most; the one that was used least recently goes.
const MAX_PER_OWNER: usize = 256;
/// A session that nobody has used for so long is over.
const IDLE: Duration = Duration::from_hours(12);

struct Known {
    owner: String,
    used: Instant,
    /// Replies that are open.
    open: usize,
}

type Map = HashMap<String, Known>;

/// The sessions of one endpoint.
#[derive(Clone)]
pub(super) struct Sessions {
    calls: Arc<OpenCalls>,
    known: Arc<Mutex<Map>>,
}

/// An open use of a session.
pub(super) struct Used {
    known: Arc<Mutex<Map>>,
    session: String,
}

fn lock(known: &Mutex<Map>) -> MutexGuard<'_, Map> {
    known.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for Used {
    fn drop(&mut self) {
        if let Some(known) = lock(&self.known).get_mut(&self.session) {
            known.open = known.open.saturating_sub(1);
            known.used = Instant::now();
        }
    }
}

impl Sessions {
    pub(super) fn new(calls: Arc<OpenCalls>) -> Self {
        Self {
            calls,
            known: Arc::default(),
        }
    }

    /// A use of a session by its owner; none when there is no such session of this owner.
    pub(super) fn use_by(&self, owner: &str, session: &str) -> Option<Used> {
        let mut all = lock(&self.known);
        let known = all.get_mut(session).filter(|known| known.owner == owner)?;
        known.open += 1;
        known.used = Instant::now();
        Some(Used {
            known: Arc::clone(&self.known),
            session: session.to_owned(),
        })
    }

    /// Whether a request under this id is open in a session.
    pub(super) fn is_open(&self, session: &str, id: &RequestId) -> bool {
        self.calls.has(session, id)
    }

    /// A session has begun, or was used. Those that have outlived their use are closed.
    pub(super) async fn begun(&self, owner: &str, session: &str) {
        let over = {
            let mut all = lock(&self.known);
            let now = Instant::now();
            all.entry(session.to_owned()).or_insert_with(|| Known {
                owner: owner.to_owned(),
                used: now,
                open: 0,
            });
            let over = Self::outlived(&all, owner, session, now);
            for session in &over {
                all.remove(session);
            }
            over
        };
        for session in over {
            // It may have ended by itself.
            let _ = self.calls.close_session(&session.into()).await;
        }
    }

    fn outlived(all: &Map, owner: &str, newest: &str, now: Instant) -> Vec<String> {
        let idle = |known: &Known| known.open == 0 && now.duration_since(known.used) > IDLE;
        let mut over: Vec<String> = all
            .iter()
            .filter(|(_, known)| idle(known))
            .map(|(session, _)| session.clone())
            .collect();
        let mut own: Vec<_> = all
            .iter()
            .filter(|(session, known)| known.owner == owner && *session != newest)
            .collect();
        let owned = all.values().filter(|known| known.owner == owner).count();
        // Those with an open stream go last, but they go: a client may hold one open for ever.
        own.sort_by_key(|(_, known)| (known.open > 0, known.used));
        let surplus = owned.saturating_sub(MAX_PER_OWNER);
        let oldest = own.into_iter().take(surplus);
        over.extend(oldest.map(|(session, _)| session.clone()));
        over
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sessions() -> Sessions {
        Sessions::new(Arc::new(OpenCalls::new()))
    }

    // contract: E5
    #[tokio::test(start_paused = true)]
    async fn a_session_is_its_owners_alone() {
        let sessions = sessions();
        sessions.begun("a", "s1").await;
        assert!(sessions.use_by("a", "s1").is_some());
        assert!(sessions.use_by("b", "s1").is_none());
        assert!(sessions.use_by("a", "s2").is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn what_nobody_uses_is_closed_and_what_is_open_stays() {
        let sessions = sessions();
        sessions.begun("a", "idle").await;
        sessions.begun("a", "open").await;
        let _open = sessions.use_by("a", "open");
        tokio::time::advance(IDLE + Duration::from_secs(1)).await;
        sessions.begun("b", "new").await;
        assert!(sessions.use_by("a", "idle").is_none());
        assert!(sessions.use_by("a", "open").is_some());
        for n in 0..MAX_PER_OWNER + 10 {
            tokio::time::advance(Duration::from_secs(1)).await;
            sessions.begun("b", &format!("b{n}")).await;
        }
        assert!(sessions.use_by("b", "new").is_none());
        let last = format!("b{}", MAX_PER_OWNER + 9);
        assert!(sessions.use_by("b", &last).is_some());
        let mut open = Vec::new();
        for n in 0..MAX_PER_OWNER + 5 {
            tokio::time::advance(Duration::from_secs(1)).await;
            let name = format!("c{n}");
            sessions.begun("c", &name).await;
            open.extend(sessions.use_by("c", &name));
        }
        assert!(sessions.use_by("c", "c0").is_none(), "open for ever");
        assert!(sessions.use_by("c", "c5").is_some());
        let kept = lock(&sessions.known);
        assert_eq!(
            kept.values().filter(|k| k.owner == "b").count(),
            MAX_PER_OWNER
        );
    }
}
