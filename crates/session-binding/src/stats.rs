//! Counts of what a process did, for operators: the source of `/metrics` and of `$SRV.STATS`.

use askbus_domain::{Commit, DecidedBy, Event, Outcome, Reason, Session, TenantId, Timestamp};
use askbus_telemetry::{Histogram, PerTenant, human_time, service_time};
use std::array;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counters since the process started.
#[derive(Debug, Default)]
pub struct Stats {
    commits: AtomicU64,
    conflicts: AtomicU64,
    answers: AtomicU64,
    refused: AtomicU64,
    skewed: AtomicU64,
    leases_lost: AtomicU64,
    sessions: AtomicU64,
    clarifications: AtomicU64,
    pub(crate) tenants: PerTenant<OfTenant>,
}

/// What this process wrote to the log for one tenant. Another process counts what it wrote itself,
/// so the counts of all of them add up.
#[derive(Debug)]
pub(crate) struct OfTenant {
    pub asked: AtomicU64,
    pub late: AtomicU64,
    pub plans_updated: AtomicU64,
    pub plans_refused: AtomicU64,
    resolved: [AtomicU64; Reason::ALL.len()],
    /// From asking to the moment the inbox stored the answer that settled it.
    pub human: Histogram,
    /// From that moment until the log had the resolution.
    pub service: Histogram,
}

impl Default for OfTenant {
    fn default() -> Self {
        Self {
            asked: AtomicU64::default(),
            late: AtomicU64::default(),
            plans_updated: AtomicU64::default(),
            plans_refused: AtomicU64::default(),
            resolved: array::from_fn(|_| AtomicU64::default()),
            human: human_time(),
            service: service_time(),
        }
    }
}

impl OfTenant {
    /// How often questions ended for each reason.
    pub(crate) fn resolved(&self) -> impl Iterator<Item = (Reason, u64)> {
        let counts = self.resolved.iter().map(|n| n.load(Ordering::Relaxed));
        Reason::ALL.into_iter().zip(counts)
    }

    fn count_resolved(&self, outcome: &Outcome, asked: Option<Timestamp>, now: Timestamp) {
        let slots = Reason::ALL.into_iter().zip(&self.resolved);
        for (_, count) in slots.filter(|(reason, _)| *reason == outcome.reason) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        if outcome.decided_by() != DecidedBy::Person {
            return;
        }
        if let Some(asked) = asked {
            self.human.observe(seconds(asked, outcome.resolved_at));
        }
        self.service.observe(seconds(outcome.resolved_at, now));
    }
}

/// From one moment to another, 0 when that was earlier.
#[allow(clippy::cast_precision_loss, reason = "no wait is that long")]
pub(crate) fn seconds(from: Timestamp, to: Timestamp) -> f64 {
    from.until(to).0 as f64 / 1_000.0
}

impl Stats {
    /// Sessions kept in memory, as of half a minute ago at most.
    pub fn sessions(&self) -> u64 {
        self.sessions.load(Ordering::Relaxed)
    }

    /// Clarifications kept in memory, settled ones included, as of half a minute ago at most.
    pub fn clarifications(&self) -> u64 {
        self.clarifications.load(Ordering::Relaxed)
    }

    pub(crate) fn set_kept(&self, (sessions, clarifications): (usize, usize)) {
        self.sessions.store(sessions as u64, Ordering::Relaxed);
        self.clarifications
            .store(clarifications as u64, Ordering::Relaxed);
    }

    /// A commit of this process is in the log at `now`; the session was `before`.
    pub(crate) fn count_commit(&self, commit: &Commit, before: &Session, now: Timestamp) {
        self.commits.fetch_add(1, Ordering::Relaxed);
        let tenant = self.tenants.of(&commit.tenant);
        for event in &commit.events {
            match event {
                Event::Requested { .. } => {
                    tenant.asked.fetch_add(1, Ordering::Relaxed);
                }
                Event::Resolved {
                    clarify_id,
                    outcome,
                } => {
                    let asked = before.clarification(*clarify_id).map(|c| c.requested_at);
                    tenant.count_resolved(outcome, asked, now);
                }
                Event::Late { .. } => {
                    tenant.late.fetch_add(1, Ordering::Relaxed);
                }
                Event::Plan { .. } => {
                    tenant.plans_updated.fetch_add(1, Ordering::Relaxed);
                }
                Event::Begun { .. }
                | Event::Ended { .. }
                | Event::Held { .. }
                | Event::PassedOn { .. }
                | Event::Worked { .. }
                | Event::Refused { .. } => {}
            }
        }
    }
}

impl Stats {
    /// A tenant's plan was not taken.
    pub(crate) fn count_plan_refused(&self, tenant: &TenantId) {
        let tenant = self.tenants.of(tenant);
        tenant.plans_refused.fetch_add(1, Ordering::Relaxed);
    }
}

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident, $count:ident;)*) => {
        impl Stats {
            $($(#[$doc])* pub fn $name(&self) -> u64 { self.$name.load(Ordering::Relaxed) }
              pub(crate) fn $count(&self) { self.$name.fetch_add(1, Ordering::Relaxed); })*
        }
    };
}

counters! {
    /// Appends that another writer beat.
    conflicts, count_conflict;
    /// Answers judged.
    answers, count_answer;
    /// Answers refused.
    refused, count_refused;
    /// Deadlines not fired because this machine's clock is off.
    skewed, count_skewed;
    /// Leases that ran out and were settled by this process, counted by session.
    leases_lost, count_lease_lost;
}

impl Stats {
    /// Commits written by this process.
    pub fn commits(&self) -> u64 {
        self.commits.load(Ordering::Relaxed)
    }
}
