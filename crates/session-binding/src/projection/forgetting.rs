//! What a session whose turn is over still needs, and for how long; and how it comes back.

use super::{Change, Entry, Key, Projection, State, begins, trace_of};
use askbus_domain::{Millis, SCHEMA, Session, Timestamp};
use askbus_ledger::Stored;
use askbus_wire::codec::Decoded;
use std::collections::VecDeque;
use std::sync::Arc;

/// How long the questions of a turn that is over are kept: somebody may still repeat a call. After
/// that whoever speaks of them reads the log.
const KEEP_QUESTIONS: Millis = Millis(5 * 60_000);
/// Sessions of which they are kept at most: in a busy service five minutes are many.
const KEPT_WHOLE: usize = 4_096;
/// How long after its last turn a session is kept at all. What is kept of it until then spares
/// its next turn a look at the log.
const KEEP_SESSION: Millis = Millis(6 * 3_600_000);
/// Sessions forgotten under one lock.
const AT_ONCE: usize = 1_000;

/// Sessions without an active turn, in about the order in which their turns ended.
#[derive(Default)]
pub(super) struct Fading {
    whole: VecDeque<(Timestamp, Key)>,
    bare: VecDeque<(Timestamp, Key)>,
}

impl Fading {
    /// The next session whose questions are not kept any longer.
    fn next_whole(&mut self, now: Timestamp) -> Option<(Timestamp, Key)> {
        let too_many = self.whole.len() > KEPT_WHOLE;
        let is_old = |ended_at: Timestamp| ended_at.plus(KEEP_QUESTIONS) <= now;
        self.whole
            .pop_front_if(|(ended_at, _)| too_many || is_old(*ended_at))
    }

    /// The next session that is not kept any longer.
    fn next_bare(&mut self, now: Timestamp) -> Option<(Timestamp, Key)> {
        self.bare
            .pop_front_if(|(ended_at, _)| ended_at.plus(KEEP_SESSION) <= now)
    }
}

impl Projection {
    /// Forgets what nobody needs any more at `now`.
    pub(crate) fn forget(&self, now: Timestamp) {
        while self.lock().forget(now) {}
    }

    /// How many sessions and clarifications are kept.
    pub(crate) fn kept(&self) -> (usize, usize) {
        let state = self.lock();
        (state.sessions.len(), state.clarifications.len())
    }

    /// Takes a session that is not known here from all that the log holds of it.
    pub(crate) fn load(&self, key: &Key, stored: &[Arc<Stored>]) -> Vec<Change> {
        let mut changes = Vec::new();
        let state = &mut *self.lock();
        let last_begun = stored
            .iter()
            .rposition(|s| matches!(&s.decoded, Decoded::Commit(c) if begins(c)))
            .unwrap_or_default();
        for (at, message) in stored.iter().enumerate() {
            let unreadable = match &message.decoded {
                Decoded::Unreadable { .. } => true,
                Decoded::Commit(commit) => commit.schema > SCHEMA,
            };
            if at >= last_begun || unreadable {
                let trace = trace_of(message);
                state.apply(key, message.seq, &message.decoded, trace, &mut changes);
            }
        }
        changes
    }

    /// Drops a session of which the log holds nothing any more, unless more was heard of it since.
    pub(crate) fn remove(&self, key: &Key, last_seq: u64) {
        let state = &mut *self.lock();
        if state
            .sessions
            .get(key)
            .is_some_and(|e| e.last_seq == last_seq)
        {
            state.remove(key);
        }
    }
}

impl State {
    /// Notes whether a turn is active after a commit of `at`.
    pub(super) fn note_end(&mut self, key: &Key, at: Timestamp, after: &Session) {
        let Some(entry) = self.sessions.get_mut(key) else {
            return;
        };
        if after.active_turn().is_some() {
            entry.ended_at = None;
        } else if entry.ended_at.is_none() {
            entry.ended_at = Some(at);
            self.fading.whole.push_back((at, key.clone()));
        }
    }

    /// Forgets as much as one lock is worth; true if there is more.
    fn forget(&mut self, now: Timestamp) -> bool {
        for _ in 0..AT_ONCE {
            if let Some((ended_at, key)) = self.fading.next_whole(now) {
                if self.is_over_since(&key, ended_at) {
                    self.strip(&key);
                    self.fading.bare.push_back((ended_at, key));
                }
            } else if let Some((ended_at, key)) = self.fading.next_bare(now) {
                if self.is_over_since(&key, ended_at) {
                    self.remove(&key);
                }
            } else {
                return false;
            }
        }
        true
    }

    /// Whether the turn that ended at this moment was the session's last. What cannot be read is
    /// kept, as a warning.
    fn is_over_since(&self, key: &Key, ended_at: Timestamp) -> bool {
        let same = |e: &Entry| e.ended_at == Some(ended_at) && !e.session.is_unreadable();
        self.sessions.get(key).is_some_and(same)
    }

    fn strip(&mut self, key: &Key) {
        if let Some(entry) = self.sessions.get_mut(key) {
            for clarification in entry.session.clarifications() {
                self.clarifications.remove(&clarification.id);
            }
            Arc::make_mut(&mut entry.session).forget_clarifications();
        }
    }

    fn remove(&mut self, key: &Key) {
        let Some(entry) = self.sessions.remove(key) else {
            return;
        };
        self.leases.leave_all(key, &entry);
        let session = entry.session;
        for clarification in session.clarifications() {
            self.clarifications.remove(&clarification.id);
            self.settled.remove(&clarification.id);
            self.waiting.leave(&key.0, clarification);
        }
        if let Some((turn, _)) = session.latest_turn() {
            self.contexts.remove(&turn.context_id);
            self.ended.remove(&turn.context_id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use askbus_domain::{SessionId, TenantId};

    #[test]
    fn few_sessions_that_are_over_are_kept_whole_however_young() {
        let tenant = TenantId::new("t").unwrap();
        let now = Timestamp::from_unix_millis(1_800_000_000_000);
        let mut fading = Fading::default();
        for number in 0..KEPT_WHOLE + 3 {
            let session = SessionId::new(format!("s{number}")).unwrap();
            fading.whole.push_back((now, (tenant.clone(), session)));
        }
        let gone: Vec<_> = std::iter::from_fn(|| fading.next_whole(now)).collect();
        let names: Vec<&str> = gone.iter().map(|(_, key)| key.1.as_str()).collect();
        assert_eq!(names, ["s0", "s1", "s2"]);
        assert_eq!(fading.whole.len(), KEPT_WHOLE);
        let later = now.plus(KEEP_QUESTIONS);
        assert!(fading.next_whole(later).is_some());
        assert_eq!(fading.next_bare(later), None);
    }
}
