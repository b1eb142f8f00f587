//! Figures as text for Prometheus, and as one object for the bus.

use crate::audience::Audience;
use crate::figures::{Family, Labels, Source, Values};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, MetricEncoder, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;
use serde_json::{Map, Value};
use std::fmt;
use std::sync::Arc;

/// What the text is.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// All figures of these services that the audience may see, as OpenMetrics text.
///
/// # Errors
/// None that memory does not cause.
pub async fn exposition(
    sources: &[Arc<dyn Source>],
    audience: &Audience,
) -> Result<String, fmt::Error> {
    let mut page = Page {
        audience: audience.clone(),
        families: Vec::new(),
    };
    for source in sources {
        let end = source.log_end().await;
        page.families.extend(source.figures(end));
    }
    let mut registry = Registry::default();
    registry.register_collector(Box::new(page));
    let mut written = String::new();
    text::encode(&mut written, &registry)?;
    Ok(written)
}

/// The counters and gauges of a service as one object, all tenants added up: what `$SRV.STATS`
/// shows. Times and what is the oldest of several cannot be added up and are left out.
pub fn totals(source: &dyn Source) -> Value {
    let mut object = Map::new();
    for family in source.figures(None) {
        let total = match family.values {
            Values::Counter(values) => Value::from(values.iter().map(|(_, v)| v).sum::<u64>()),
            Values::Gauge(values) if !family.name.ends_with("_seconds") => {
                Value::from(values.iter().map(|(_, v)| v).sum::<f64>())
            }
            Values::Gauge(_) | Values::Histogram(_) => continue,
        };
        object.insert(family.name.to_owned(), total);
    }
    Value::Object(object)
}

#[derive(Debug)]
struct Page {
    audience: Audience,
    families: Vec<Family>,
}

impl Collector for Page {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        for family in &self.families {
            let kind = match &family.values {
                Values::Counter(_) => MetricType::Counter,
                Values::Gauge(_) => MetricType::Gauge,
                Values::Histogram(_) => MetricType::Histogram,
            };
            let mut encoder = encoder.encode_descriptor(family.name, family.help, None, kind)?;
            match &family.values {
                Values::Counter(values) => {
                    for (labels, value) in values {
                        self.put(&mut encoder, labels, &ConstCounter::new(*value))?;
                    }
                }
                Values::Gauge(values) => {
                    for (labels, value) in values {
                        self.put(&mut encoder, labels, &ConstGauge::new(*value))?;
                    }
                }
                Values::Histogram(values) => {
                    for (labels, value) in values {
                        self.put(&mut encoder, labels, value)?;
                    }
                }
            }
        }
        Ok(())
    }
}

impl Page {
    fn put(
        &self,
        encoder: &mut MetricEncoder<'_>,
        labels: &Labels,
        value: &impl EncodeMetric,
    ) -> Result<(), fmt::Error> {
        if !self.audience.sees(labels.tenant.as_deref()) {
            return Ok(());
        }
        let tenant = labels.tenant.as_deref().map(|name| ("tenant", name));
        let which = labels.which.as_ref().map(|(name, value)| (*name, &**value));
        let pairs: Vec<(&str, &str)> = tenant.into_iter().chain(which).collect();
        value.encode(encoder.encode_family(&pairs)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::service_time;
    use askbus_domain::TenantId;
    use serde_json::json;

    struct Some;

    impl Source for Some {
        fn figures(&self, log_end: Option<u64>) -> Vec<Family> {
            let took = service_time();
            took.observe(0.004);
            let of = |name: &str| Labels::tenant(name);
            let mut all = vec![
                Family::counters("asked", "Asked.", [(of("a\"b"), 2), (of("acme"), 3)]),
                Family::gauges("waiting", "Waiting.", [(of("acme"), 1.0)]),
                Family::gauges("oldest_seconds", "Oldest.", [(of("acme"), 9.5)]),
                Family::histograms("took_seconds", "Took.", [(of("acme"), took)]),
                Family::counter("conflicts", "Conflicts.", 7),
                Family::counters(
                    "resolved",
                    "Resolved.",
                    [(of("acme").which("reason", "timeout"), 4)],
                ),
            ];
            if let std::option::Option::Some(end) = log_end {
                #[allow(clippy::cast_precision_loss)]
                all.push(Family::gauge("lag", "Lag.", end as f64));
            }
            all
        }
    }

    async fn page(audience: Audience) -> String {
        exposition(&[Arc::new(Some)], &audience).await.unwrap()
    }

    // Every future here is ready at once.
    fn now<T>(future: impl Future<Output = T>) -> T {
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        match std::pin::pin!(future).poll(&mut context) {
            std::task::Poll::Ready(done) => done,
            std::task::Poll::Pending => panic!("it waits"),
        }
    }

    #[test]
    fn an_operator_of_a_tenant_sees_its_figures_and_the_process_and_nobody_elses() {
        let acme = Audience::Tenant(TenantId::new("acme").unwrap());
        let text = now(page(acme));
        for line in [
            "# HELP asked Asked.",
            "# TYPE asked counter",
            "asked_total{tenant=\"acme\"} 3",
            "waiting{tenant=\"acme\"} 1.0",
            "oldest_seconds{tenant=\"acme\"} 9.5",
            "took_seconds_sum{tenant=\"acme\"} 0.004",
            "took_seconds_count{tenant=\"acme\"} 1",
            "took_seconds_bucket{le=\"0.002\",tenant=\"acme\"} 0",
            "took_seconds_bucket{le=\"0.005\",tenant=\"acme\"} 1",
            "conflicts_total 7",
            "resolved_total{tenant=\"acme\",reason=\"timeout\"} 4",
            "# EOF",
        ] {
            assert!(text.lines().any(|l| l == line), "{line}\n{text}");
        }
        assert!(!text.contains("a\\\"b") && !text.contains("lag"), "{text}");
    }

    #[test]
    fn the_operator_of_all_sees_all_and_labels_are_escaped() {
        let text = now(page(Audience::All));
        let escaped = "asked_total{tenant=\"a\\\"b\"} 2";
        assert!(text.lines().any(|l| l == escaped), "{text}");
    }

    #[test]
    fn totals_add_up_what_can_be_added_up() {
        let expected = json!({"asked": 5, "waiting": 1.0, "conflicts": 7, "resolved": 4});
        assert_eq!(totals(&Some), expected);
    }
}
