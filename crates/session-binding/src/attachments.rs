//! Open attachments: one long stream per asking process.

use askbus_domain::{AskerId, Clarification, SessionId, TenantId};
use askbus_wire::{convert, proto};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use tokio::sync::mpsc;
use tonic::Status;

/// What an attachment's stream carries.
pub(crate) type AttachItem = Result<proto::AttachEvent, Status>;

/// Messages an attachment may fall behind before it is closed; it re-attaches and loses nothing.
pub(crate) const ATTACH_BUFFER: usize = 1_024;

type Streams = HashMap<(TenantId, AskerId), Vec<mpsc::Sender<AttachItem>>>;

/// The streams by tenant and asker; several may be open while one replaces another.
#[derive(Default)]
pub(crate) struct Attachments {
    streams: Mutex<Streams>,
}

impl Attachments {
    pub(crate) fn add(&self, tenant: TenantId, asker: AskerId, stream: mpsc::Sender<AttachItem>) {
        let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        let list = streams.entry((tenant, asker)).or_default();
        list.retain(|s| !s.is_closed());
        list.push(stream);
    }

    /// Forgets streams that are closed.
    pub(crate) fn sweep(&self, tenant: &TenantId, asker: &AskerId) {
        let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (tenant.clone(), asker.clone());
        if let Some(list) = streams.get_mut(&key) {
            list.retain(|s| !s.is_closed());
            if list.is_empty() {
                streams.remove(&key);
            }
        }
    }

    /// Tells an asker what became of its clarification. A stream that is full is closed.
    pub(crate) fn tell(
        &self,
        tenant: &TenantId,
        asker: &AskerId,
        session: &SessionId,
        clarification: &Clarification,
    ) {
        let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(list) = streams.get_mut(&(tenant.clone(), asker.clone())) {
            let event = event_of(session, clarification);
            list.retain(|stream| stream.try_send(Ok(event.clone())).is_ok());
        }
    }

    /// Closes every stream, so that askers attach elsewhere.
    pub(crate) fn close_all(&self) {
        self.streams
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clear();
    }
}

/// The message about a clarification's present state.
pub(crate) fn event_of(session: &SessionId, clarification: &Clarification) -> proto::AttachEvent {
    use proto::attach_event::Event;
    let event = if clarification.is_pending() {
        Event::Held(proto::Held {
            clarify_id: clarification.id.to_string(),
            actor: clarification.held_by.as_ref().map(Into::into),
        })
    } else {
        Event::Resolved(convert::clarification(session.as_str(), clarification))
    };
    proto::AttachEvent { event: Some(event) }
}
