//! One call of a tool that asks: what it says, and what its caller hears while it waits.

use super::Inner;
use askbus_domain::Dialect;
use askbus_wire::error::ErrorCode;
use askbus_wire::proto;
use askbus_wire::trace::Trace;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// Which agent asks, as far as its client says so.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Origin {
    /// The client's own id of the conversation; names the session of a process that was given none.
    pub session: Option<String>,
    /// The client's own marker of its turn.
    pub turn: Option<String>,
    /// The conversation above, when a sub-agent asks.
    pub parent: Option<String>,
    /// What the sub-agent is called.
    pub name: String,
}

/// One call of a tool that asks.
#[derive(Debug, Clone)]
pub struct AskCall {
    /// How the caller speaks.
    pub dialect: Dialect,
    /// The arguments as they came; the service reads them.
    pub arguments: Value,
    /// A context of the call's own, stronger than [`AskerOptions::context`].
    pub context: Option<String>,
    /// The client behind this call, stronger than [`AskerInfo::client`].
    pub client: Option<String>,
    /// What the client says of the agent behind this call.
    pub origin: Origin,
    /// How long the caller can wait from `started` on, when its call cannot be resumed.
    pub limit: Option<Duration>,
    /// When the call came.
    pub started: Instant,
    /// The trace it belongs to.
    pub trace: Trace,
}

impl AskCall {
    /// A call that came now, in a new trace, without a limit or a context of its own.
    pub fn new(dialect: Dialect, arguments: Value) -> Self {
        Self {
            dialect,
            arguments,
            context: None,
            client: None,
            origin: Origin::default(),
            limit: None,
            started: Instant::now(),
            trace: Trace::begin(),
        }
    }

    /// Who calls, for people to read; `branch` is the git branch that the caller works on.
    pub(super) fn asker(&self, inner: &Inner, branch: &str) -> proto::AskerInfo {
        let client = self.client.as_ref().unwrap_or(&inner.info.client);
        proto::AskerInfo {
            client: client.clone(),
            host: inner.info.host.clone(),
            cwd: inner.info.cwd.clone(),
            branch: branch.to_owned(),
        }
    }

    /// What the service is sent.
    pub(super) fn request(
        &self,
        inner: &Inner,
        ask_id: &str,
        context_id: &str,
        branch: &str,
    ) -> proto::AskRequest {
        let limit = self.limit.map(|limit| {
            let left = limit.saturating_sub(self.started.elapsed());
            u64::try_from(left.as_millis()).unwrap_or(u64::MAX).max(1)
        });
        proto::AskRequest {
            ask_id: ask_id.to_owned(),
            context_id: context_id.to_owned(),
            profile: inner.profile.clone(),
            asker_id: inner.asker_id.clone(),
            asker: Some(self.asker(inner, branch)),
            dialect: self.dialect.as_str().to_owned(),
            input: Some(proto::ask_request::Input::ArgumentsJson(
                self.arguments.to_string(),
            )),
            call_limit_ms: limit,
            client_turn: self.origin.turn.clone().unwrap_or_default(),
            parent: self.origin.parent.clone().map(|session_id| proto::Parent {
                session_id,
                name: self.origin.name.clone(),
            }),
            ..Default::default()
        }
    }
}

/// What a caller may want to know while it waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// The service, or its log, cannot be reached; attempts go on.
    Unreachable {
        /// Which of the two: [`ErrorCode::LogUnavailable`] where it is the log.
        code: ErrorCode,
    },
    /// The question is before the person.
    Asked {
        /// Its id.
        clarify_id: String,
    },
    /// A person works on it: the deadline no longer counts.
    Held {
        /// Who.
        person: String,
    },
}

/// Hears notices; must return at once.
pub type Notices = Arc<dyn Fn(Notice) + Send + Sync>;

/// Notices to nobody.
pub fn silent() -> Notices {
    Arc::new(|_| {})
}
