//! The open requests of every session. rmcp would do a second request under an open id as well, and then
//! send the reply to one of the two down the other's stream.

use super::Line;
use crate::server::open_ids::OpenIds;
use futures::Stream;
use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, JsonRpcMessage, RequestId, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionManager, LocalSessionManagerError,
};
use rmcp::transport::streamable_http_server::session::{
    ServerSseMessage, SessionId, SessionManager,
};
use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

type Shared = Arc<Mutex<OpenIds>>;

/// The sessions of one endpoint, as rmcp keeps them, and what is open in each.
#[derive(Default)]
pub(super) struct OpenCalls {
    sessions: LocalSessionManager,
    open: Mutex<HashMap<SessionId, Shared>>,
}

/// Why a message is not taken.
#[derive(Debug, thiserror::Error)]
pub(super) enum NotTaken {
    /// A request under this id is open. The connection is told through [`Line::refuse`].
    #[error("a request with the id {0} has no reply yet")]
    SameId(RequestId),
    #[error(transparent)]
    Session(#[from] LocalSessionManagerError),
}

/// A session's way to its client: sees every reply.
pub(super) struct Replying<T> {
    inner: T,
    open: Shared,
}

/// A request that was given an id; forgotten again unless it comes as far as its session.
struct Taken {
    open: Shared,
    id: Option<RequestId>,
}

impl Drop for Taken {
    fn drop(&mut self) {
        if let Some(id) = &self.id {
            lock(&self.open).forget(id);
        }
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl OpenCalls {
    /// Whose calls may be silent for as long as they are.
    pub(super) fn new() -> Self {
        let mut sessions = LocalSessionManager::default();
        // A silent call would lose its stream after five minutes.
        sessions.session_config.keep_alive = None;
        Self {
            sessions,
            open: Mutex::default(),
        }
    }

    /// Whether a request under this id is open in a session.
    pub(super) fn has(&self, session: &str, id: &RequestId) -> bool {
        let open = lock(&self.open).get(session).cloned();
        open.is_some_and(|open| lock(&open).has(id))
    }

    fn of(&self, session: &SessionId) -> Result<Shared, NotTaken> {
        let open = lock(&self.open).get(session).cloned();
        open.ok_or_else(|| LocalSessionManagerError::SessionNotFound(Arc::clone(session)).into())
    }

    fn take(&self, session: &SessionId, message: &ClientJsonRpcMessage) -> Result<Taken, NotTaken> {
        let open = self.of(session)?;
        let same = lock(&open).take(message);
        if let Some(id) = same {
            return Err(NotTaken::SameId(id));
        }
        let id = match message {
            JsonRpcMessage::Request(request) => Some(request.id.clone()),
            _ => None,
        };
        Ok(Taken { open, id })
    }
}

impl SessionManager for OpenCalls {
    type Error = NotTaken;
    type Transport = Replying<<LocalSessionManager as SessionManager>::Transport>;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), NotTaken> {
        let (session, inner) = self.sessions.create_session().await?;
        let open = Shared::default();
        lock(&self.open).insert(Arc::clone(&session), Arc::clone(&open));
        Ok((session, Replying { inner, open }))
    }

    async fn initialize_session(
        &self,
        session: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, NotTaken> {
        Ok(self.sessions.initialize_session(session, message).await?)
    }

    async fn has_session(&self, session: &SessionId) -> Result<bool, NotTaken> {
        Ok(self.sessions.has_session(session).await?)
    }

    async fn close_session(&self, session: &SessionId) -> Result<(), NotTaken> {
        lock(&self.open).remove(session);
        Ok(self.sessions.close_session(session).await?)
    }

    async fn create_stream(
        &self,
        session: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, NotTaken> {
        let mut taken = self.take(session, &message).inspect_err(|not_taken| {
            if let NotTaken::SameId(id) = not_taken
                && let Some(line) = Line::of_message(&message)
            {
                line.refuse(id.clone());
            }
        })?;
        let stream = self.sessions.create_stream(session, message).await?;
        taken.id = None;
        Ok(stream)
    }

    async fn accept_message(
        &self,
        session: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<(), NotTaken> {
        self.take(session, &message)?;
        Ok(self.sessions.accept_message(session, message).await?)
    }

    async fn create_standalone_stream(
        &self,
        session: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, NotTaken> {
        Ok(self.sessions.create_standalone_stream(session).await?)
    }

    async fn resume(
        &self,
        session: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, NotTaken> {
        Ok(self.sessions.resume(session, last_event_id).await?)
    }
}

impl<T: Transport<RoleServer>> Transport<RoleServer> for Replying<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), T::Error>> + Send + 'static {
        // rmcp has let go of the request: another one under its id begins anew.
        lock(&self.open).answer(&message);
        self.inner.send(message)
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        self.inner.receive().await
    }

    async fn close(&mut self) -> Result<(), T::Error> {
        self.inner.close().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt as _;
    use serde_json::json;

    // contract: E13
    #[tokio::test]
    async fn a_request_that_its_session_did_not_take_is_not_open() {
        let calls = OpenCalls::new();
        let (session, _transport) = calls.create_session().await.unwrap();
        let request = json!({"jsonrpc": "2.0", "id": 7, "method": "ping"});
        let request: ClientJsonRpcMessage = serde_json::from_value(request).unwrap();
        let id = RequestId::Number(7);
        // Its connection goes before the session has had its turn.
        let taken = calls.create_stream(&session, request.clone());
        assert!(taken.now_or_never().is_none());
        assert!(!calls.has(&session, &id));
        let _kept = calls.take(&session, &request).unwrap();
        assert!(calls.has(&session, &id));
        calls.close_session(&session).await.unwrap();
        assert!(!calls.has(&session, &id));
        let over = calls.take(&session, &request).err();
        assert!(matches!(over, Some(NotTaken::Session(_))));
    }
}
