//! What operators see of a service: spans, one trace for each question, and figures for Prometheus.
//!
//! Neither ever holds what was asked or answered, nor a credential: an attribute is an id, a number
//! or a word of the vocabulary.

mod audience;
mod exposition;
mod figures;
mod per_tenant;
mod span;

pub use audience::Audience;
pub use exposition::{CONTENT_TYPE, exposition, totals};
pub use figures::{Family, Labels, Source, Values, human_time, service_time};
pub use per_tenant::PerTenant;
pub use prometheus_client::metrics::histogram::Histogram;
pub use span::{Kind, Span, start_exporting};
