//! The figures of a session-binding.

use crate::service::{Core, Handle};
use crate::stats::{OfTenant, seconds};
use askbus_domain::Timestamp;
use askbus_telemetry::{Family, Labels, Source};
use async_trait::async_trait;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How long the log may take to say how long it is.
const PATIENCE: Duration = Duration::from_secs(2);

impl Handle {
    /// The figures of this session-binding.
    pub fn figures(&self) -> Arc<dyn Source> {
        Arc::new(Figures(Arc::clone(&self.core)))
    }
}

struct Figures(Arc<Core>);

#[async_trait]
impl Source for Figures {
    async fn log_end(&self) -> Option<u64> {
        let asked = tokio::time::timeout(PATIENCE, self.0.bus.ledger.last_seq());
        asked.await.ok()?.ok()
    }

    fn figures(&self, log_end: Option<u64>) -> Vec<Family> {
        // Every tenant has its figures, 0 or not, from when it is first seen.
        for tenant in self.0.projection.tenants().borrow().iter() {
            self.0.stats.tenants.of(tenant);
        }
        let mut all = self.of_tenants();
        all.extend(self.waiting());
        all.extend(self.of_process(log_end));
        all
    }
}

type PerTenantCount = fn(&OfTenant) -> &AtomicU64;

impl Figures {
    fn of_tenants(&self) -> Vec<Family> {
        let tenants = self.0.stats.tenants.all();
        let counts = |of: PerTenantCount| {
            tenants
                .iter()
                .map(move |(name, t)| (Labels::tenant(name), of(t).load(Ordering::Relaxed)))
        };
        let resolved = tenants.iter().flat_map(|(name, t)| {
            t.resolved().map(move |(reason, count)| {
                let labels = Labels::tenant(name).which("reason", reason.as_str());
                (labels, count)
            })
        });
        vec![
            Family::counters(
                "askbus_session_binding_asked",
                "Questions that this process wrote to the log.",
                counts(|t| &t.asked),
            ),
            Family::counters(
                "askbus_session_binding_resolved",
                "Questions that this process settled, by how they ended.",
                resolved,
            ),
            Family::counters(
                "askbus_session_binding_late",
                "Answers to questions that were settled already; they are kept.",
                counts(|t| &t.late),
            ),
            Family::counters(
                "askbus_session_binding_plans_updated",
                "Revisions of plans that this process wrote to the log.",
                counts(|t| &t.plans_updated),
            ),
            Family::counters(
                "askbus_session_binding_plans_refused",
                "Updates of plans that this process did not take.",
                counts(|t| &t.plans_refused),
            ),
            Family::histograms(
                "askbus_session_binding_human_seconds",
                "From asking until the inbox had the person's answer.",
                tenants
                    .iter()
                    .map(|(name, t)| (Labels::tenant(name), t.human.clone())),
            ),
            Family::histograms(
                "askbus_session_binding_service_seconds",
                "From there until the log had the resolution.",
                tenants
                    .iter()
                    .map(|(name, t)| (Labels::tenant(name), t.service.clone())),
            ),
        ]
    }

    /// What waits in the log, whoever wrote it.
    fn waiting(&self) -> Vec<Family> {
        let (core, now) = (&self.0, self.0.now());
        let mut waiting: BTreeMap<String, (usize, Option<Timestamp>)> = BTreeMap::new();
        for (tenant, count, since) in core.projection.waiting() {
            let label = core.stats.tenants.label(&tenant);
            let (sum, oldest) = waiting.entry(label).or_default();
            *sum += count;
            *oldest = Some(oldest.map_or(since, |o| o.min(since)));
        }
        let mut attached: BTreeMap<String, usize> = BTreeMap::new();
        for (tenant, count) in core.attachments.open() {
            *attached
                .entry(core.stats.tenants.label(&tenant))
                .or_default() += count;
        }
        let tenants: Vec<String> = core.stats.tenants.all().into_iter().map(|t| t.0).collect();
        let of = |name: &String| waiting.get(name).copied().unwrap_or_default();
        vec![
            Family::gauges(
                "askbus_session_binding_waiting",
                "Questions that wait for an answer.",
                tenants
                    .iter()
                    .map(|t| (Labels::tenant(t), number(of(t).0 as u64))),
            ),
            Family::gauges(
                "askbus_session_binding_oldest_waiting_seconds",
                "How long the oldest of them has waited, 0 when none waits.",
                tenants.iter().map(|t| {
                    let age = of(t).1.map_or(0.0, |since| seconds(since, now));
                    (Labels::tenant(t), age)
                }),
            ),
            Family::gauges(
                "askbus_session_binding_attachments",
                "Streams of asking processes that are open here.",
                tenants.iter().map(|t| {
                    let count = attached.get(t).copied().unwrap_or_default();
                    (Labels::tenant(t), number(count as u64))
                }),
            ),
        ]
    }

    fn of_process(&self, log_end: Option<u64>) -> Vec<Family> {
        let core = &self.0;
        let (stats, ledger) = (&core.stats, &core.bus.ledger);
        let applied = core.projection.applied().get();
        let (sessions, clarifications) = core.projection.kept();
        let skew = ledger.clock_offset_ms();
        let mut all = vec![
            Family::counter(
                "askbus_session_binding_commits",
                "Commits that this process wrote.",
                stats.commits(),
            ),
            Family::counter(
                "askbus_session_binding_append_conflicts",
                "Appends that another writer beat; they were decided anew.",
                stats.conflicts(),
            ),
            Family::counter(
                "askbus_session_binding_answers_judged",
                "Messages of the inbox that were judged here.",
                stats.answers(),
            ),
            Family::counter(
                "askbus_session_binding_answers_refused",
                "Messages of the inbox that were refused; the log keeps them.",
                stats.refused(),
            ),
            Family::counter(
                "askbus_session_binding_leases_lost",
                "Sessions in which questions or the turn ended because nobody kept them alive.",
                stats.leases_lost(),
            ),
            Family::counter(
                "askbus_session_binding_deadlines_left",
                "Deadlines left to other processes because this machine's clock is off.",
                stats.skewed(),
            ),
            Family::gauge(
                "askbus_session_binding_sessions",
                "Sessions kept in memory.",
                number(sessions as u64),
            ),
            Family::gauge(
                "askbus_session_binding_clarifications",
                "Questions kept in memory, settled ones included.",
                number(clarifications as u64),
            ),
            Family::gauge(
                "askbus_session_binding_log_applied",
                "The sequence of the log up to which it was read.",
                number(applied),
            ),
            Family::gauge(
                "askbus_session_binding_clock_skew_seconds",
                "How far the log's clock is ahead of this machine's.",
                milliseconds(skew),
            ),
            Family::counter(
                "askbus_session_binding_slow_consumers",
                "How often the client of the bus dropped a message because it was read too slowly.",
                ledger.slow_consumers(),
            ),
        ];
        if let Some(end) = log_end {
            all.push(Family::gauge(
                "askbus_session_binding_log_lag",
                "Messages of the log that are not read yet.",
                number(end.saturating_sub(applied)),
            ));
        }
        all
    }
}

#[allow(clippy::cast_precision_loss, reason = "exact up to 2^53")]
fn number(count: u64) -> f64 {
    count as f64
}

#[allow(clippy::cast_precision_loss, reason = "exact up to 2^53")]
fn milliseconds(ms: i64) -> f64 {
    ms as f64 / 1_000.0
}
