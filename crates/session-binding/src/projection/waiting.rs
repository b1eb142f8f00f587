//! What waits: how many questions, since when, and in which traces they were asked.

use super::{Key, Projection, State};
use askbus_domain::{Clarification, ClarifyId, Event, TenantId, Timestamp};
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

    /// The trace in which a question that waits was asked, if it was asked in one.
    pub(crate) fn trace_of(&self, id: ClarifyId) -> Option<TraceContext> {
        self.lock().waiting.traces.get(&id).copied()
    }
}
