//! One message of the embedded inbox, as it arrives and as a row.

use super::frame::{self, Frame};
use askbus_domain::{SessionId, TenantId, Timestamp};
use askbus_wire::messages::InboxReply;
use bytes::Bytes;
use tokio::sync::oneshot;

/// A message on its way into the inbox.
pub(super) struct Arrival {
    pub seq: u64,
    pub stored_at: Timestamp,
    pub tenant: TenantId,
    pub session: SessionId,
    pub clarify_token: String,
    pub payload: Bytes,
    pub trace: Option<String>,
    pub waiters: Vec<oneshot::Sender<InboxReply>>,
}

impl Arrival {
    /// Its row.
    pub fn row(&self, message_id: &str) -> Vec<u8> {
        let trace = self.trace.as_deref().unwrap_or_default();
        let texts = [
            self.tenant.as_str(),
            self.session.as_str(),
            &self.clarify_token,
            message_id,
            trace,
        ];
        frame::encode(0, self.stored_at, &texts, &self.payload)
    }

    /// Reads a row, with its message id; none when it is damaged.
    pub fn from_row(seq: u64, row: &[u8]) -> Option<(String, Self)> {
        let Frame {
            stored_at,
            texts: [tenant, session, clarification, id, trace],
            payload,
            ..
        } = frame::parse::<5>(row)?;
        let arrival = Self {
            seq,
            stored_at,
            tenant: TenantId::new(tenant).ok()?,
            session: SessionId::new(session).ok()?,
            clarify_token: clarification.to_owned(),
            payload: Bytes::copy_from_slice(payload),
            trace: (!trace.is_empty()).then(|| trace.to_owned()),
            waiters: Vec::new(),
        };
        Some((id.to_owned(), arrival))
    }

    /// The clarification it speaks to.
    pub fn clarification(&self) -> Clarification {
        (
            self.tenant.clone(),
            self.session.clone(),
            self.clarify_token.clone(),
        )
    }
}

/// Tenant, session and the clarification as the subject names it.
pub(super) type Clarification = (TenantId, SessionId, String);
