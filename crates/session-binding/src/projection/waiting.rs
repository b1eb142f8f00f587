//! What waits: how many questions, since when, and in which traces they were asked.

use super::{Key, Projection, State};
use askbus_credential::{Credential, Role};
use askbus_domain::{Clarification, ClarifyId, Event, PersonId, TenantId, Timestamp};
use askbus_wire::trace::TraceContext;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The waiting questions of all tenants.
#[derive(Default)]
pub(super) struct Waiting {
    since: BTreeMap<TenantId, BTreeSet<(Timestamp, ClarifyId)>>,
    traces: HashMap<ClarifyId, TraceContext>,
    /// Who asked those that were asked through this process.
    asked_by: HashMap<ClarifyId, Asking>,
    /// How many of these each has.
    of: HashMap<Asking, usize>,
}

/// Whoever asks: a credential and those that are issued to the same name after it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Asking {
    tenant: TenantId,
    subject: PersonId,
    role: Role,
}

impl Asking {
    pub(crate) fn with(credential: &Credential) -> Self {
        Self {
            tenant: credential.tenant.clone(),
            subject: credential.subject.clone(),
            role: credential.role,
        }
    }
}

impl Waiting {
    pub(super) fn enter(
        &mut self,
        tenant: &TenantId,
        asked: &Clarification,
        trace: Option<TraceContext>,
    ) {
        let since = (asked.requested_at, asked.id);
        if let Some(known) = self.since.get_mut(tenant) {
            known.insert(since);
        } else {
            self.since.insert(tenant.clone(), BTreeSet::from([since]));
        }
        if let Some(trace) = trace {
            self.traces.insert(asked.id, trace);
        }
    }

    pub(super) fn leave(&mut self, tenant: &TenantId, gone: &Clarification) {
        self.traces.remove(&gone.id);
        if let Some(asking) = self.asked_by.remove(&gone.id)
            && let Some(count) = self.of.get_mut(&asking)
        {
            *count -= 1;
            if *count == 0 {
                self.of.remove(&asking);
            }
        }
        if let Some(since) = self.since.get_mut(tenant) {
            since.remove(&(gone.requested_at, gone.id));
            if since.is_empty() {
                self.since.remove(tenant);
            }
        }
    }
}

impl State {
    pub(super) fn index_waiting(
        &mut self,
        key: &Key,
        event: &Event,
        clarification: &Clarification,
        trace: Option<TraceContext>,
    ) {
        match event {
            // What was asked and settled in one commit never waited: its resolution follows.
            Event::Requested { .. } => self.waiting.enter(&key.0, clarification, trace),
            Event::Resolved { .. } => self.waiting.leave(&key.0, clarification),
            _ => {}
        }
    }

    fn waiting_now(&self) -> impl Iterator<Item = (TenantId, usize, Timestamp)> {
        self.waiting.since.iter().filter_map(|(tenant, since)| {
            let (oldest, _) = since.first()?;
            Some((tenant.clone(), since.len(), *oldest))
        })
    }
}

impl Projection {
    /// How many questions of each tenant wait, and since when the oldest does.
    pub(crate) fn waiting(&self) -> Vec<(TenantId, usize, Timestamp)> {
        self.lock().waiting_now().collect()
    }

    /// How many wait of a tenant, and of one that asks there. Of the latter only those count that were
    /// asked through this process since it started: the log does not say whose credential asked, and a
    /// limit on them is a soft one.
    pub(crate) fn waiting_of(&self, tenant: &TenantId, asking: &Asking) -> askbus_domain::Waiting {
        let waiting = &self.lock().waiting;
        askbus_domain::Waiting {
            of_credential: waiting.of.get(asking).copied().unwrap_or_default(),
            of_tenant: waiting.since.get(tenant).map_or(0, BTreeSet::len),
        }
    }

    /// Notes who asked a question, if it waits.
    pub(crate) fn asked_by(&self, id: ClarifyId, asking: &Asking) {
        let state = &mut *self.lock();
        let session = state.clarifications.get(&id);
        let session = session.and_then(|key| state.sessions.get(key));
        let asked = session.and_then(|entry| entry.session.clarification(id));
        if asked.is_some_and(Clarification::is_pending) {
            let waiting = &mut state.waiting;
            if waiting.asked_by.insert(id, asking.clone()).is_none() {
                *waiting.of.entry(asking.clone()).or_default() += 1;
            }
        }
    }

    /// The trace in which a question that waits was asked, if it was asked in one.
    pub(crate) fn trace_of(&self, id: ClarifyId) -> Option<TraceContext> {
        self.lock().waiting.traces.get(&id).copied()
    }
}
