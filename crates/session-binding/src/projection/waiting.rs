//! What waits: how many questions, since when, and in which traces they were asked.

use super::{Key, Projection, State};
use askbus_domain::{Clarification, ClarifyId, Event, Session, TenantId, Timestamp};
use askbus_wire::trace::TraceContext;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The waiting questions of all tenants.
#[derive(Default)]
pub(super) struct Waiting {
    since: BTreeMap<TenantId, BTreeSet<(Timestamp, ClarifyId)>>,
    traces: HashMap<ClarifyId, TraceContext>,
}

impl Waiting {
    pub(super) fn enter(
        &mut self,
        tenant: &TenantId,
        asked: &Clarification,
        trace: Option<TraceContext>,
    ) {
        let since = self.since.entry(tenant.clone()).or_default();
        since.insert((asked.requested_at, asked.id));
        if let Some(trace) = trace {
            self.traces.insert(asked.id, trace);
        }
    }

    pub(super) fn leave(&mut self, tenant: &TenantId, gone: &Clarification) {
        self.traces.remove(&gone.id);
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
        before: &Session,
        after: &Session,
        trace: Option<TraceContext>,
    ) {
        let id = event.clarify_id();
        let found = id.and_then(|id| after.clarification(id).or_else(|| before.clarification(id)));
        match (event, found) {
            // What was asked and settled in one commit never waited: its resolution follows.
            (Event::Requested { .. }, Some(asked)) => self.waiting.enter(&key.0, asked, trace),
            (Event::Resolved { .. }, Some(gone)) => self.waiting.leave(&key.0, gone),
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

    /// The trace in which a question that waits was asked, if it was asked in one.
    pub(crate) fn trace_of(&self, id: ClarifyId) -> Option<TraceContext> {
        self.lock().waiting.traces.get(&id).copied()
    }
}
