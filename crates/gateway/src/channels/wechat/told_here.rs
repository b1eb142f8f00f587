//! What the person of a chat was told in reply to their own message: that a clarification ended is no
//! news to whoever was told that they settled it.

use askbus_domain::ClarifyId;
use std::collections::VecDeque;
use tokio::sync::watch;

/// Clarifications remembered, the last ones: that they ended is told a moment later.
const MOST: usize = 1_000;

/// Which clarifications the person was told that they settled, and which replies are still to be told.
#[derive(Debug, Default)]
pub(crate) struct ToldHere(watch::Sender<State>);

#[derive(Debug, Default)]
struct State {
    /// Whether a message is being judged: what it settles is not known yet.
    judging: bool,
    /// What a reply that is not sent yet says was settled.
    to_tell: Vec<ClarifyId>,
    told: VecDeque<ClarifyId>,
}

/// A message is being judged, until this is dropped.
pub(super) struct Judging<'a>(&'a ToldHere);

impl Drop for Judging<'_> {
    fn drop(&mut self) {
        self.0.0.send_modify(|state| state.judging = false);
    }
}

impl ToldHere {
    /// From now on it is not known what a message settles.
    pub(super) fn judging(&self) -> Judging<'_> {
        self.0.send_modify(|state| state.judging = true);
        Judging(self)
    }

    /// A reply that says so waits to be sent.
    pub(super) fn to_tell(&self, id: ClarifyId) {
        self.0.send_modify(|state| state.to_tell.push(id));
    }

    /// It was sent, or it will not be.
    pub(super) fn told(&self, id: ClarifyId, sent: bool) {
        self.0.send_modify(|state| {
            state.to_tell.retain(|known| *known != id);
            if sent {
                state.told.push_back(id);
                let surplus = state.told.len().saturating_sub(MOST);
                state.told.drain(..surplus);
            }
        });
    }

    /// Nothing waits any more: nobody is left who would send it.
    pub(super) fn forget(&self) {
        self.0.send_modify(|state| state.to_tell.clear());
    }

    /// Whether the person was told that they settled this one. Waits for a reply that is on its way.
    pub(super) async fn was_told(&self, id: ClarifyId) -> bool {
        let mut state = self.0.subscribe();
        let known = |state: &State| !state.judging && !state.to_tell.contains(&id);
        let settled = state.wait_for(known).await;
        settled.is_ok_and(|state| state.told.contains(&id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt as _;
    use uuid::Uuid;

    #[test]
    fn an_end_waits_for_the_reply_that_says_it() {
        let id = |n| ClarifyId::from_uuid(Uuid::from_u128(n));
        let told = ToldHere::default();
        let now = |n| told.was_told(id(n)).now_or_never();
        assert_eq!(now(1), Some(false));
        let judging = told.judging();
        assert_eq!(now(1), None, "it may be this one");
        told.to_tell(id(1));
        drop(judging);
        assert_eq!((now(1), now(2)), (None, Some(false)));
        told.told(id(1), true);
        assert_eq!((now(1), now(2)), (Some(true), Some(false)));
        told.to_tell(id(2));
        told.told(id(2), false);
        assert_eq!(now(2), Some(false), "nobody told them");
        told.to_tell(id(3));
        told.forget();
        assert_eq!(now(3), Some(false));
    }
}
