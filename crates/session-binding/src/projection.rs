//! The sessions as the log leaves them: a cache that any replica rebuilds from the log.

mod applied;
mod forgetting;
mod kept_alive;
mod waiting;

pub(crate) use applied::Applied;
pub(crate) use waiting::Asking;

use askbus_domain::{
    AskerId, Clarification, ClarifyId, Commit, ContextId, Due, Event, Holder, LeaseName, Millis,
    ProfileId, SCHEMA, Session, SessionId, TenantId, Timestamp,
};
use askbus_ledger::Stored;
use askbus_wire::codec::Decoded;
use askbus_wire::trace::TraceContext;
use forgetting::Fading;
use kept_alive::Leases;
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard};
use tokio::sync::{oneshot, watch};
use waiting::Waiting;

/// A session within its tenant.
pub(crate) type Key = (TenantId, SessionId);

/// A name whose heartbeat keeps something alive.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum LeaseKey {
    Asker(TenantId, AskerId),
    Holder(TenantId, LeaseName),
}

/// What a commit changed, for those who wait.
pub(crate) enum Change {
    /// Something is due at a moment.
    Due(Timestamp, Key, Due),
    /// A clarification was held or settled; its asker wants to know.
    Progress(Box<Progress>),
    /// It is not due any more.
    Done(Due),
    /// Asking and beginning are signs of life.
    Present(LeaseKey),
}

/// What became of a clarification, and whose it is.
pub(crate) struct Progress {
    pub key: Key,
    pub profile: Option<ProfileId>,
    pub clarification: Arc<Clarification>,
}

#[derive(Clone, Default)]
struct Entry {
    session: Arc<Session>,
    last_seq: u64,
    /// What keeps it alive, as the leases know it.
    leases: Vec<LeaseKey>,
    /// Since when no turn is active.
    ended_at: Option<Timestamp>,
}

#[derive(Default)]
struct State {
    sessions: HashMap<Key, Entry>,
    contexts: HashMap<ContextId, Key>,
    clarifications: HashMap<ClarifyId, Key>,
    leases: Leases,
    tenants: BTreeSet<TenantId>,
    settled: HashMap<ClarifyId, Vec<oneshot::Sender<()>>>,
    ended: HashMap<ContextId, Vec<oneshot::Sender<()>>>,
    fading: Fading,
    waiting: Waiting,
}

/// The cache. Locks are held for a moment, never across an await.
pub(crate) struct Projection {
    state: Mutex<State>,
    applied: Applied,
    tenants: watch::Sender<BTreeSet<TenantId>>,
}

impl Projection {
    pub(crate) fn new() -> Self {
        Self {
            state: Mutex::default(),
            applied: Applied::default(),
            tenants: watch::Sender::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic while the lock was held cannot leave the maps half changed in a way that matters
        // more than going on: everything in them is rebuilt from the log.
        self.state
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Applies what the tail read. Own commits that were applied ahead of the tail are skipped.
    pub(crate) fn apply_tail(&self, stored: &Stored) -> Vec<Change> {
        let key = (stored.tenant.clone(), stored.session.clone());
        let changes = self.apply(&key, stored.seq, &stored.decoded, trace_of(stored));
        self.applied.set(stored.seq);
        changes
    }

    /// Notes that the tail passed a message of a tenant that is not served here.
    pub(crate) fn skip(&self, seq: u64) {
        self.applied.set(seq);
    }

    /// Applies a message of one session if it is newer than what is known of it.
    pub(crate) fn apply(
        &self,
        key: &Key,
        seq: u64,
        decoded: &Decoded,
        trace: Option<TraceContext>,
    ) -> Vec<Change> {
        let mut changes = Vec::new();
        let new_tenants = {
            let state = &mut *self.lock();
            // Of a session that was forgotten only its next turn is taken: what comes between says
            // too little. Whoever needs it all the same loads it.
            if state.sessions.contains_key(key) || stands_alone(decoded) {
                state.apply(key, seq, decoded, trace, &mut changes);
            }
            state.note_tenant(&key.0)
        };
        if let Some(tenants) = new_tenants {
            self.tenants.send_replace(tenants);
        }
        changes
    }

    /// How far the tail has come.
    pub(crate) fn applied(&self) -> &Applied {
        &self.applied
    }

    /// Tenants seen in the log so far.
    pub(crate) fn tenants(&self) -> watch::Receiver<BTreeSet<TenantId>> {
        self.tenants.subscribe()
    }

    /// A session's state and the sequence it stands on; an unknown session is new and stands on 0.
    pub(crate) fn session(&self, key: &Key) -> (Arc<Session>, u64) {
        self.lock()
            .sessions
            .get(key)
            .map_or_else(Default::default, |e| (Arc::clone(&e.session), e.last_seq))
    }

    pub(crate) fn key_of_context(&self, context: ContextId) -> Option<Key> {
        self.lock().contexts.get(&context).cloned()
    }

    /// The clarification and its session, if it belongs to a session's latest turn.
    pub(crate) fn find(&self, id: ClarifyId) -> Option<(Key, Arc<Session>)> {
        let state = self.lock();
        let key = state.clarifications.get(&id)?;
        let entry = state.sessions.get(key)?;
        Some((key.clone(), Arc::clone(&entry.session)))
    }

    /// All sessions of a tenant in which something waits.
    pub(crate) fn pending_of(&self, tenant: &TenantId) -> Vec<(Key, Arc<Session>)> {
        let state = self.lock();
        let waiting = |e: &Entry| e.session.pending().next().is_some();
        state
            .sessions
            .iter()
            .filter(|(key, entry)| key.0 == *tenant && waiting(entry))
            .map(|(key, entry)| (key.clone(), Arc::clone(&entry.session)))
            .collect()
    }

    /// Every lease that keeps something alive, how long it may be missing, and for which sessions.
    pub(crate) fn leases(&self) -> Vec<(LeaseKey, Millis, Vec<Key>)> {
        let state = self.lock();
        let leases = state.leases.iter();
        leases
            .map(|(lease, ttl, keys)| (lease.clone(), ttl, keys.iter().cloned().collect()))
            .collect()
    }

    /// Resolves when the clarification is settled; at once if it is, or is not known here.
    pub(crate) fn settled(&self, id: ClarifyId) -> oneshot::Receiver<()> {
        let (tx, rx) = oneshot::channel();
        let state = &mut *self.lock();
        let pending = state
            .clarifications
            .get(&id)
            .and_then(|key| state.sessions.get(key))
            .and_then(|e| e.session.clarification(id))
            .is_some_and(Clarification::is_pending);
        if pending {
            let waiters = state.settled.entry(id).or_default();
            waiters.retain(|w| !w.is_closed());
            waiters.push(tx);
        }
        rx
    }

    /// Resolves when the turn is over; at once if it is, or is not known here.
    pub(crate) fn turn_ended(&self, context: ContextId) -> oneshot::Receiver<()> {
        let (tx, rx) = oneshot::channel();
        let state = &mut *self.lock();
        let active = state
            .contexts
            .get(&context)
            .and_then(|key| state.sessions.get(key))
            .and_then(|e| e.session.active_turn())
            .is_some_and(|t| t.context_id == context);
        if active {
            let waiters = state.ended.entry(context).or_default();
            waiters.retain(|w| !w.is_closed());
            waiters.push(tx);
        }
        rx
    }
}

/// The trace that a message belongs to.
pub(crate) fn trace_of(stored: &Stored) -> Option<TraceContext> {
    stored.trace.as_deref()?.parse().ok()
}

/// Whether a message says all there is to know of its session.
fn stands_alone(decoded: &Decoded) -> bool {
    match decoded {
        Decoded::Unreadable { .. } => true,
        Decoded::Commit(commit) => commit.schema > SCHEMA || begins(commit),
    }
}

fn begins(commit: &Commit) -> bool {
    let begun = |e: &Event| matches!(e, Event::Begun { .. });
    commit.events.iter().any(begun)
}

impl State {
    /// The tenants, when this is a new one.
    fn note_tenant(&mut self, tenant: &TenantId) -> Option<BTreeSet<TenantId>> {
        if self.tenants.contains(tenant) {
            return None;
        }
        self.tenants.insert(tenant.clone());
        Some(self.tenants.clone())
    }

    fn apply(
        &mut self,
        key: &Key,
        seq: u64,
        decoded: &Decoded,
        trace: Option<TraceContext>,
        changes: &mut Vec<Change>,
    ) {
        if !self.sessions.contains_key(key) {
            self.sessions.insert(key.clone(), Entry::default());
        }
        let Some(entry) = self.sessions.get_mut(key) else {
            return;
        };
        if seq <= entry.last_seq {
            return;
        }
        entry.last_seq = seq;
        match decoded {
            Decoded::Unreadable { problem } => {
                tracing::error!(tenant = %key.0, session = %key.1, seq, problem,
                    "the log holds something this version cannot read; the session is left alone");
                Arc::make_mut(&mut entry.session).mark_unreadable();
            }
            Decoded::Commit(commit) => self.apply_commit(key, commit, trace, changes),
        }
    }

    fn apply_commit(
        &mut self,
        key: &Key,
        commit: &Commit,
        trace: Option<TraceContext>,
        changes: &mut Vec<Change>,
    ) {
        let Some(entry) = self.sessions.get_mut(key) else {
            return;
        };
        // What was there before is looked at again only where a turn begins, which ends it; a copy for
        // every commit would be most of the work of reading a long log.
        let before = begins(commit).then(|| Arc::clone(&entry.session));
        Arc::make_mut(&mut entry.session).apply(commit);
        let after = Arc::clone(&entry.session);
        if after.is_unreadable() {
            return;
        }
        self.note_end(key, commit.at, &after);
        if let Some(before) = &before {
            for old in before.clarifications() {
                self.clarifications.remove(&old.id);
                self.waiting.leave(&key.0, old);
            }
            if let Some((old, _)) = before.latest_turn() {
                self.contexts.remove(&old.context_id);
            }
            if let Some((turn, _)) = after.latest_turn() {
                self.contexts.insert(turn.context_id, key.clone());
                changes.push(Change::Due(
                    turn.cap(),
                    key.clone(),
                    Due::Turn(turn.context_id),
                ));
                if let Holder::Lease { name, .. } = &turn.holder {
                    let lease = LeaseKey::Holder(key.0.clone(), name.clone());
                    changes.push(Change::Present(lease));
                }
            }
        }
        for event in &commit.events {
            if let Event::Ended { context_id, .. } = event {
                self.ended.remove(context_id);
                changes.push(Change::Done(Due::Turn(*context_id)));
            }
            if let Some(spoken_of) = spoken_of(event, before.as_deref(), &after) {
                self.index_waiting(key, event, &spoken_of, trace);
                self.index_event(key, event, spoken_of, after.profile(), changes);
            }
        }
        self.index_leases(key, &after);
    }

    fn index_event(
        &mut self,
        key: &Key,
        event: &Event,
        clarification: Arc<Clarification>,
        profile: Option<&ProfileId>,
        changes: &mut Vec<Change>,
    ) {
        let id = clarification.id;
        let due = |at| Change::Due(at, key.clone(), Due::Clarification(id));
        // A session never changes its profile.
        let progress = |clarification| {
            Change::Progress(Box::new(Progress {
                key: key.clone(),
                profile: profile.cloned(),
                clarification,
            }))
        };
        match event {
            Event::Requested { .. } => {
                self.clarifications.insert(id, key.clone());
                changes.push(due(clarification.expires_at()));
                let lease = LeaseKey::Asker(key.0.clone(), clarification.asker_id.clone());
                changes.push(Change::Present(lease));
            }
            Event::Held { .. } => {
                changes.push(due(clarification.expires_at()));
                changes.push(progress(clarification));
            }
            Event::Resolved { .. } => {
                self.settled.remove(&id);
                changes.push(Change::Done(Due::Clarification(id)));
                changes.push(progress(clarification));
            }
            _ => {}
        }
    }
}

/// The clarification that an event speaks of, as the event left it or what followed in its commit.
fn spoken_of(
    event: &Event,
    before: Option<&Session>,
    after: &Session,
) -> Option<Arc<Clarification>> {
    let id = event.clarify_id()?;
    if let Some(clarification) = after.shared_clarification(id) {
        return Some(Arc::clone(clarification));
    }
    // After a commit that settles and begins anew, the settled one is known from before only.
    let mut clarification = Arc::clone(before?.shared_clarification(id)?);
    if matches!(event, Event::Held { .. } | Event::Resolved { .. }) {
        Arc::make_mut(&mut clarification).evolve(event);
    }
    Some(clarification)
}
