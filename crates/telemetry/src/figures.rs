//! Figures as a service hands them out: the one source of `/metrics` and of `$SRV.STATS`.

use async_trait::async_trait;
use prometheus_client::metrics::histogram::Histogram;
use std::borrow::Cow;

/// Whose and which of several a figure is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Labels {
    /// The tenant it belongs to; none: the whole process.
    pub tenant: Option<String>,
    /// A name and one of a few values, such as a reason or the name of something configured.
    pub which: Option<(&'static str, Cow<'static, str>)>,
}

impl Labels {
    /// Of a tenant.
    pub fn tenant(name: impl Into<String>) -> Self {
        Self {
            tenant: Some(name.into()),
            which: None,
        }
    }

    /// The same, and which of several.
    #[must_use]
    pub fn which(mut self, name: &'static str, value: impl Into<Cow<'static, str>>) -> Self {
        self.which = Some((name, value.into()));
        self
    }
}

/// The values of a family.
#[derive(Debug, Clone)]
pub enum Values {
    /// Counts since the process started; shown with `_total` behind the name.
    Counter(Vec<(Labels, u64)>),
    /// As it is now.
    Gauge(Vec<(Labels, f64)>),
    /// How long things took, in seconds.
    Histogram(Vec<(Labels, Histogram)>),
}

/// All figures of one name.
#[derive(Debug, Clone)]
pub struct Family {
    /// Unique among the figures of a process.
    pub name: &'static str,
    /// What it says, for the operator.
    pub help: &'static str,
    /// The figures.
    pub values: Values,
}

impl Family {
    /// A family of counters.
    pub fn counters(
        name: &'static str,
        help: &'static str,
        values: impl IntoIterator<Item = (Labels, u64)>,
    ) -> Self {
        Self {
            name,
            help,
            values: Values::Counter(values.into_iter().collect()),
        }
    }

    /// One counter of the whole process.
    pub fn counter(name: &'static str, help: &'static str, value: u64) -> Self {
        Self::counters(name, help, [(Labels::default(), value)])
    }

    /// A family of gauges.
    pub fn gauges(
        name: &'static str,
        help: &'static str,
        values: impl IntoIterator<Item = (Labels, f64)>,
    ) -> Self {
        Self {
            name,
            help,
            values: Values::Gauge(values.into_iter().collect()),
        }
    }

    /// One gauge of the whole process.
    pub fn gauge(name: &'static str, help: &'static str, value: f64) -> Self {
        Self::gauges(name, help, [(Labels::default(), value)])
    }

    /// A family of histograms.
    pub fn histograms(
        name: &'static str,
        help: &'static str,
        values: impl IntoIterator<Item = (Labels, Histogram)>,
    ) -> Self {
        Self {
            name,
            help,
            values: Values::Histogram(values.into_iter().collect()),
        }
    }
}

/// A service that has figures.
#[async_trait]
pub trait Source: Send + Sync {
    /// The last sequence of the log, as the bus has it now; none where there is no log or it cannot
    /// be asked. Bounded.
    async fn log_end(&self) -> Option<u64> {
        None
    }

    /// The figures now. How far the service is behind the log is left out without `log_end`.
    fn figures(&self, log_end: Option<u64>) -> Vec<Family>;
}

/// How long people take: from a second to a week.
pub fn human_time() -> Histogram {
    Histogram::new([
        1.0, 5.0, 15.0, 30.0, 60.0, 300.0, 900.0, 3_600.0, 14_400.0, 86_400.0, 604_800.0,
    ])
}

/// How long services take: from half a millisecond to half a minute.
pub fn service_time() -> Histogram {
    Histogram::new([
        0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 30.0,
    ])
}
