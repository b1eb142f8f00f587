//! The figures of a gateway, and the route that shows them to operators.

use crate::caller::{Shown, served};
use crate::gateway::{Gateway, Handle};
use crate::projection::Card;
use crate::reply::Refusal;
use crate::submit::Judged;
use askbus_domain::{TenantId, Timestamp};
use askbus_telemetry::{
    Audience, CONTENT_TYPE, Family, Histogram, Kind, Labels, PerTenant, Source, Span, exposition,
    service_time,
};
use askbus_wire::error::{ErrorCode, WireError};
use askbus_wire::messages::InboxReply;
use async_trait::async_trait;
use axum::extract::{Extension, State};
use axum::response::{IntoResponse as _, Response};
use http::{StatusCode, header};
use std::array;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

/// The name of this service in traces.
pub(crate) const SERVICE: &str = "askbus-gateway";
/// How long the log may take to say how long it is.
const PATIENCE: Duration = Duration::from_secs(2);
/// What may become of what a person sends.
const VERDICTS: [&str; 8] = [
    "settled",
    "conflict",
    "late",
    "held",
    "passed_on",
    "refused",
    "unjudged",
    "not_sent",
];
/// Statuses of replies, by their first digit.
const CLASSES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];

/// What a gateway did since it started.
#[derive(Default)]
pub(crate) struct Figures {
    tenants: PerTenant<OfTenant>,
    replies: [AtomicU64; CLASSES.len()],
    also: RwLock<Vec<Arc<dyn Source>>>,
}

struct OfTenant {
    verdicts: [AtomicU64; VERDICTS.len()],
    verdict_time: Histogram,
    drafts: AtomicU64,
    drafts_lost: AtomicU64,
}

impl Default for OfTenant {
    fn default() -> Self {
        Self {
            verdicts: array::from_fn(|_| AtomicU64::default()),
            verdict_time: service_time(),
            drafts: AtomicU64::default(),
            drafts_lost: AtomicU64::default(),
        }
    }
}

/// The word for what became of what a person sent.
pub(crate) fn verdict_word(judged: &Result<Judged, WireError>) -> &'static str {
    match judged {
        Ok(Judged::Reply(InboxReply::Settled { .. })) => "settled",
        Ok(Judged::Reply(InboxReply::Conflict { .. })) => "conflict",
        Ok(Judged::Reply(InboxReply::Late { .. })) => "late",
        Ok(Judged::Reply(InboxReply::Held)) => "held",
        Ok(Judged::Reply(InboxReply::PassedOn { .. })) => "passed_on",
        Ok(Judged::Reply(InboxReply::Refused { .. }) | Judged::Refused { .. }) => "refused",
        Ok(Judged::Unjudged) => "unjudged",
        Err(_) => "not_sent",
    }
}

/// Begins a piece of work on a question's behalf.
pub(crate) fn span(name: &'static str, kind: Kind, card: &Card, parent: Option<&str>) -> Span {
    let mut span = Span::begin(SERVICE, name, kind, parent);
    span.note("askbus.clarify_id", || card.id().to_string());
    span.note("askbus.session", || card.session.to_string());
    span
}

impl Figures {
    /// What a person sent was judged, or not, after so long.
    pub(crate) fn count_verdict(&self, tenant: &TenantId, word: &str, took: Duration) {
        let tenant = self.tenants.of(tenant);
        let slots = VERDICTS.into_iter().zip(&tenant.verdicts);
        for (_, count) in slots.filter(|(known, _)| *known == word) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        tenant.verdict_time.observe(took.as_secs_f64());
    }

    /// A draft was saved, or not.
    pub(crate) fn count_draft(&self, tenant: &TenantId, saved: bool) {
        let tenant = self.tenants.of(tenant);
        let count = if saved {
            &tenant.drafts
        } else {
            &tenant.drafts_lost
        };
        count.fetch_add(1, Ordering::Relaxed);
    }

    /// A request was replied to.
    pub(crate) fn count_reply(&self, status: StatusCode) {
        let class = usize::from(status.as_u16() / 100).saturating_sub(1);
        if let Some(count) = self.replies.get(class) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Handle {
    /// The figures of this gateway.
    pub fn figures(&self) -> Arc<dyn Source> {
        Arc::new(Shared(Arc::clone(&self.gateway)))
    }

    /// Shows the figures of another service of this process at `/metrics` as well.
    pub fn show_also(&self, source: Arc<dyn Source>) {
        let also = &self.gateway.figures.also;
        also.write()
            .unwrap_or_else(PoisonError::into_inner)
            .push(source);
    }
}

/// `GET /metrics`, for operators: the figures of their tenant and of the process.
pub(crate) async fn show(
    State(gateway): State<Arc<Gateway>>,
    Extension(shown): Extension<Shown>,
) -> Result<Response, Refusal> {
    let caller = shown.caller()?;
    let Some(audience) = Audience::of(&caller.credential) else {
        let role = caller.credential.role.as_str();
        let message = format!(
            "a credential of role {role} may not see figures; make one with \
             `askbus credential issue --role operator`"
        );
        return Err(Refusal::new(ErrorCode::Forbidden, message));
    };
    if audience != Audience::All {
        served(&gateway, caller)?;
    }
    let mut sources: Vec<Arc<dyn Source>> = vec![Arc::new(Shared(Arc::clone(&gateway)))];
    {
        let also = &gateway.figures.also;
        let also = also.read().unwrap_or_else(PoisonError::into_inner);
        sources.extend(also.iter().map(Arc::clone));
    }
    let text = exposition(&sources, &audience)
        .await
        .map_err(|e| Refusal::new(ErrorCode::Internal, e.to_string()))?;
    Ok(([(header::CONTENT_TYPE, CONTENT_TYPE)], text).into_response())
}

struct Shared(Arc<Gateway>);

#[async_trait]
impl Source for Shared {
    async fn log_end(&self) -> Option<u64> {
        let asked = tokio::time::timeout(PATIENCE, self.0.bus.ledger.last_seq());
        asked.await.ok()?.ok()
    }

    fn figures(&self, log_end: Option<u64>) -> Vec<Family> {
        // Every tenant has its figures, 0 or not, from when it is first seen.
        for tenant in self.0.feed.tenants() {
            self.0.figures.tenants.of(&tenant);
        }
        let mut all = self.of_tenants();
        all.extend(self.now());
        all.extend(self.0.channels.figures());
        all.extend(self.of_process(log_end));
        all
    }
}

type PerTenantCount = fn(&OfTenant) -> &AtomicU64;

impl Shared {
    fn of_tenants(&self) -> Vec<Family> {
        let tenants = self.0.figures.tenants.all();
        let counts = |of: PerTenantCount| {
            tenants
                .iter()
                .map(move |(name, t)| (Labels::tenant(name), of(t).load(Ordering::Relaxed)))
        };
        let verdicts = tenants.iter().flat_map(|(name, t)| {
            VERDICTS.into_iter().zip(&t.verdicts).map(move |(word, n)| {
                let labels = Labels::tenant(name).which("verdict", word);
                (labels, n.load(Ordering::Relaxed))
            })
        });
        vec![
            Family::counters(
                "askbus_gateway_sent",
                "What people sent, by what became of it.",
                verdicts,
            ),
            Family::histograms(
                "askbus_gateway_verdict_seconds",
                "From what a person sent until what became of it was known.",
                tenants
                    .iter()
                    .map(|(name, t)| (Labels::tenant(name), t.verdict_time.clone())),
            ),
            Family::counters(
                "askbus_gateway_drafts",
                "Drafts that were saved.",
                counts(|t| &t.drafts),
            ),
            Family::counters(
                "askbus_gateway_drafts_lost",
                "Drafts that could not be saved.",
                counts(|t| &t.drafts_lost),
            ),
        ]
    }

    fn now(&self) -> Vec<Family> {
        let (gateway, now) = (&self.0, self.0.now());
        let label = |tenant: &TenantId| gateway.figures.tenants.label(tenant);
        let mut waiting: BTreeMap<String, (usize, Option<Timestamp>)> = BTreeMap::new();
        for (tenant, count, since) in gateway.feed.waiting() {
            let (sum, oldest) = waiting.entry(label(&tenant)).or_default();
            *sum += count;
            *oldest = Some(oldest.map_or(since, |o| o.min(since)));
        }
        let mut sockets: BTreeMap<String, usize> = BTreeMap::new();
        for (tenant, count) in gateway.presence.open() {
            *sockets.entry(label(&tenant)).or_default() += count;
        }
        let tenants = gateway.figures.tenants.all();
        let names = || tenants.iter().map(|(name, _)| name);
        vec![
            Family::gauges(
                "askbus_gateway_waiting",
                "Questions that wait for an answer.",
                names().map(|t| {
                    let (count, _) = waiting.get(t).copied().unwrap_or_default();
                    (Labels::tenant(t), number(count as u64))
                }),
            ),
            Family::gauges(
                "askbus_gateway_oldest_waiting_seconds",
                "How long the oldest of them has waited, 0 when none waits.",
                names().map(|t| {
                    let oldest = waiting.get(t).and_then(|(_, oldest)| *oldest);
                    let ms = oldest.map_or(0, |since| since.until(now).0);
                    (Labels::tenant(t), number(ms) / 1_000.0)
                }),
            ),
            Family::gauges(
                "askbus_gateway_sockets",
                "Open connections of people.",
                names().map(|t| {
                    let count = sockets.get(t).copied().unwrap_or_default();
                    (Labels::tenant(t), number(count as u64))
                }),
            ),
        ]
    }

    fn of_process(&self, log_end: Option<u64>) -> Vec<Family> {
        let (gateway, ledger) = (&self.0, &self.0.bus.ledger);
        let shown = gateway.feed.seq();
        let replies = CLASSES.into_iter().zip(&gateway.figures.replies);
        let replies = replies.map(|(class, n)| {
            let labels = Labels::default().which("status", class);
            (labels, n.load(Ordering::Relaxed))
        });
        #[allow(clippy::cast_precision_loss, reason = "exact up to 2^53")]
        let skew = ledger.clock_offset_ms() as f64 / 1_000.0;
        let mut all = vec![
            Family::counters(
                "askbus_gateway_replies",
                "Replies to requests, by the first digit of their status.",
                replies,
            ),
            Family::gauge(
                "askbus_gateway_log_applied",
                "The sequence of the log up to which it was read.",
                number(shown),
            ),
            Family::gauge(
                "askbus_gateway_clock_skew_seconds",
                "How far the log's clock is ahead of this machine's.",
                skew,
            ),
            Family::counter(
                "askbus_gateway_slow_consumers",
                "How often the client of the bus dropped a message because it was read too slowly.",
                ledger.slow_consumers(),
            ),
        ];
        if let Some(end) = log_end {
            all.push(Family::gauge(
                "askbus_gateway_log_lag",
                "Messages of the log that are not shown yet.",
                number(end.saturating_sub(shown)),
            ));
        }
        all
    }
}

#[allow(clippy::cast_precision_loss, reason = "exact up to 2^53")]
fn number(count: u64) -> f64 {
    count as f64
}
