//! Open attachments: one long stream per asking process.

use crate::projection::Progress;
use askbus_credential::Credential;
use askbus_domain::{AskerId, Clarification, ProfileId, SessionId, TenantId};
use askbus_wire::{convert, proto};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tonic::Status;

/// What an attachment's stream carries.
pub(crate) type AttachItem = Result<proto::AttachEvent, Status>;

/// Messages an attachment may fall behind before it is closed; it re-attaches and loses nothing.
pub(crate) const ATTACH_BUFFER: usize = 1_024;

struct Stream {
    /// An asker id is the caller's own choice; what it hears is bounded by its credential.
    profiles: Vec<ProfileId>,
    sender: mpsc::Sender<AttachItem>,
    /// Cancelled when the stream has to end. Whoever serves it holds a sender too, so that dropping
    /// this one would leave it open and deaf.
    end: CancellationToken,
}

impl Stream {
    /// Sends, or ends the stream of a reader that fell behind; false if it ended.
    fn tell(&self, event: proto::AttachEvent) -> bool {
        let told = self.sender.try_send(Ok(event)).is_ok();
        if !told {
            self.end.cancel();
        }
        told
    }
}

type Streams = BTreeMap<(TenantId, AskerId), Vec<Stream>>;

/// The streams by tenant and asker; several may be open while one replaces another.
#[derive(Default)]
pub(crate) struct Attachments {
    streams: Mutex<Streams>,
}

impl Attachments {
    /// Registers a stream. Whoever serves it ends it when the token is cancelled.
    pub(crate) fn add(
        &self,
        credential: &Credential,
        asker: AskerId,
        sender: mpsc::Sender<AttachItem>,
    ) -> CancellationToken {
        let end = CancellationToken::new();
        let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (credential.tenant.clone(), asker);
        let list = streams.entry(key).or_default();
        list.retain(|s| !s.sender.is_closed());
        list.push(Stream {
            profiles: credential.profiles.clone(),
            sender,
            end: end.clone(),
        });
        end
    }

    /// Forgets streams that are closed.
    pub(crate) fn sweep(&self, tenant: &TenantId, asker: &AskerId) {
        let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (tenant.clone(), asker.clone());
        if let Some(list) = streams.get_mut(&key) {
            list.retain(|s| !s.sender.is_closed());
            if list.is_empty() {
                streams.remove(&key);
            }
        }
    }

    /// Tells an asker what became of its clarification. A stream that is full is ended: what it
    /// missed is told to the next one, which brings its open ids along.
    pub(crate) fn tell(&self, progress: &Progress) {
        let (tenant, session) = &progress.key;
        let asker = &progress.clarification.asker_id;
        let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(list) = streams.get_mut(&(tenant.clone(), asker.clone())) {
            let event = event_of(session, &progress.clarification);
            let may_hear = |s: &Stream| {
                progress
                    .profile
                    .as_ref()
                    .is_some_and(|p| s.profiles.contains(p))
            };
            list.retain(|s| !may_hear(s) || s.tell(event.clone()));
        }
    }

    /// How many streams are open, by tenant.
    pub(crate) fn open(&self) -> BTreeMap<TenantId, usize> {
        let streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        let mut open = BTreeMap::new();
        for ((tenant, _), list) in streams.iter() {
            let standing = list.iter().filter(|s| !s.sender.is_closed()).count();
            *open.entry(tenant.clone()).or_default() += standing;
        }
        open
    }

    /// Ends every stream, so that askers attach elsewhere.
    pub(crate) fn close_all(&self) {
        let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        for stream in streams.values().flatten() {
            stream.end.cancel();
        }
        streams.clear();
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
