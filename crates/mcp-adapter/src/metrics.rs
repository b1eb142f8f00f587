//! The figures of an asking process.

use askbus_domain::Reason;
use askbus_telemetry::{Family, Histogram, Labels, Source, human_time};
use std::array;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::watch;
use tokio::time::Instant;

/// What an asking process did since it started.
#[derive(Debug)]
pub struct Figures {
    asked: AtomicU64,
    asked_again: AtomicU64,
    failed: AtomicU64,
    withdrawn: AtomicU64,
    handed_back: AtomicU64,
    waiting: AtomicU64,
    delivered: [AtomicU64; Reason::ALL.len()],
    waited: Histogram,
    slow_consumers: Option<watch::Receiver<u64>>,
}

impl Figures {
    /// Of a process that has done nothing yet; `slow_consumers` counts messages that its connection
    /// to the bus lost.
    pub fn new(slow_consumers: Option<watch::Receiver<u64>>) -> Self {
        Self {
            asked: AtomicU64::default(),
            asked_again: AtomicU64::default(),
            failed: AtomicU64::default(),
            withdrawn: AtomicU64::default(),
            handed_back: AtomicU64::default(),
            waiting: AtomicU64::default(),
            delivered: array::from_fn(|_| AtomicU64::default()),
            waited: human_time(),
            slow_consumers,
        }
    }

    /// A question was asked again after an outage.
    pub(crate) fn count_again(&self) {
        self.asked_again.fetch_add(1, Ordering::Relaxed);
    }

    /// A call that asks begins.
    pub(crate) fn call(self: &Arc<Self>) -> Call {
        self.asked.fetch_add(1, Ordering::Relaxed);
        self.waiting.fetch_add(1, Ordering::Relaxed);
        Call {
            figures: Arc::clone(self),
            begun: Instant::now(),
            over: false,
        }
    }
}

/// A call that asks, until it is dropped; without a result it counts as withdrawn.
pub(crate) struct Call {
    figures: Arc<Figures>,
    begun: Instant,
    over: bool,
}

impl Call {
    /// It has a result.
    pub(crate) fn delivered(mut self, reason: Reason) {
        self.over = true;
        let slots = Reason::ALL.into_iter().zip(&self.figures.delivered);
        for (_, count) in slots.filter(|(known, _)| *known == reason) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        let waited = self.begun.elapsed().as_secs_f64();
        self.figures.waited.observe(waited);
    }

    /// It ends without a result; its question goes on waiting.
    pub(crate) fn handed_back(mut self) {
        self.over = true;
        self.figures.handed_back.fetch_add(1, Ordering::Relaxed);
    }

    /// It ends with an error.
    pub(crate) fn failed(mut self) {
        self.over = true;
        self.figures.failed.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        self.figures.waiting.fetch_sub(1, Ordering::Relaxed);
        if !self.over {
            self.figures.withdrawn.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Source for Figures {
    fn figures(&self, _: Option<u64>) -> Vec<Family> {
        let count = |n: &AtomicU64| n.load(Ordering::Relaxed);
        let delivered = Reason::ALL.into_iter().zip(&self.delivered);
        let delivered = delivered.map(|(reason, n)| {
            let labels = Labels::default().which("reason", reason.as_str());
            (labels, count(n))
        });
        #[allow(clippy::cast_precision_loss, reason = "exact up to 2^53")]
        let waiting = count(&self.waiting) as f64;
        let slow = self.slow_consumers.as_ref().map_or(0, |n| *n.borrow());
        vec![
            Family::counter(
                "askbus_mcp_adapter_asked",
                "Calls that ask.",
                count(&self.asked),
            ),
            Family::counter(
                "askbus_mcp_adapter_asked_again",
                "Questions asked again because an outage had cost them.",
                count(&self.asked_again),
            ),
            Family::counters(
                "askbus_mcp_adapter_delivered",
                "Results given to the client, by how the question ended.",
                delivered,
            ),
            Family::counter(
                "askbus_mcp_adapter_failed",
                "Calls that ended with an error.",
                count(&self.failed),
            ),
            Family::counter(
                "askbus_mcp_adapter_withdrawn",
                "Calls that the client gave up.",
                count(&self.withdrawn),
            ),
            Family::counter(
                "askbus_mcp_adapter_handed_back",
                "Calls that ended before their question did, which goes on waiting.",
                count(&self.handed_back),
            ),
            Family::gauge("askbus_mcp_adapter_waiting", "Calls that wait.", waiting),
            Family::histograms(
                "askbus_mcp_adapter_call_seconds",
                "From the call to its result.",
                [(Labels::default(), self.waited.clone())],
            ),
            Family::counter(
                "askbus_mcp_adapter_slow_consumers",
                "How often the client of the bus dropped a message because it was read too slowly.",
                slow,
            ),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use askbus_telemetry::{Audience, exposition, totals};
    use serde_json::json;
    use std::time::Duration;

    #[tokio::test(start_paused = true)]
    async fn the_figures_after_a_known_story() {
        let slow = watch::Sender::new(0);
        let figures = Arc::new(Figures::new(Some(slow.subscribe())));
        let (first, second) = (figures.call(), figures.call());
        let (third, waits) = (figures.call(), figures.call());
        tokio::time::sleep(Duration::from_secs(42)).await;
        first.delivered(Reason::Response);
        second.failed();
        drop(third);
        figures.count_again();
        slow.send_replace(3);
        let text = exposition(&[Arc::<Figures>::clone(&figures) as _], &Audience::All).await;
        let text = text.unwrap();
        for line in [
            "askbus_mcp_adapter_asked_total 4",
            "askbus_mcp_adapter_asked_again_total 1",
            "askbus_mcp_adapter_delivered_total{reason=\"response\"} 1",
            "askbus_mcp_adapter_delivered_total{reason=\"timeout\"} 0",
            "askbus_mcp_adapter_failed_total 1",
            "askbus_mcp_adapter_withdrawn_total 1",
            "askbus_mcp_adapter_waiting 1.0",
            "askbus_mcp_adapter_call_seconds_sum 42.0",
            "askbus_mcp_adapter_call_seconds_count 1",
            "askbus_mcp_adapter_slow_consumers_total 3",
        ] {
            assert!(text.lines().any(|l| l == line), "{line} is not in\n{text}");
        }
        let docs = include_str!("../../../docs/observability.md");
        for family in figures.figures(None) {
            assert!(
                docs.contains(&format!("| `{}` |", family.name)),
                "{}",
                family.name
            );
        }
        drop(waits);
        assert_eq!(totals(&*figures)["askbus_mcp_adapter_withdrawn"], json!(2));
    }
}
