//! How a process learns how its questions end.

use super::Inner;
use super::attachment::Attached;
use super::on_bus::{BusOptions, OnBus};
use crate::metrics::Figures;
use askbus_wire::error::WireError;
use async_trait::async_trait;
use std::sync::Arc;

/// Where a process hears how its questions end.
pub enum Outcomes {
    /// On a stream that it keeps open to the service.
    Attached,
    /// The same, where several processes are counted together.
    Counted(Arc<Figures>),
    /// On the bus, as a service of its own.
    OnBus(Box<BusOptions>),
}

impl Outcomes {
    /// Where the process counts what it does.
    pub(super) fn figures(&self) -> Arc<Figures> {
        match self {
            Outcomes::Attached => Arc::new(Figures::new(None)),
            Outcomes::Counted(figures) => Arc::clone(figures),
            Outcomes::OnBus(options) => Arc::clone(&options.figures),
        }
    }

    pub(super) fn open(self) -> Box<dyn Resolutions> {
        match self {
            Outcomes::Attached | Outcomes::Counted(_) => Box::new(Attached),
            Outcomes::OnBus(options) => Box::new(OnBus::new(*options)),
        }
    }
}

/// Whether outcomes are heard.
#[derive(Debug, Clone)]
pub(super) enum Link {
    /// Not yet.
    Connecting,
    /// Every outcome is heard from now on, and this process counts as alive.
    Ready,
    /// The last attempt failed; another one follows.
    Failed(WireError),
}

/// One way to hear how questions end.
#[async_trait]
pub(super) trait Resolutions: Send + Sync {
    /// Tells the table of `inner` what is heard, and its link whether anything is; keeps the process
    /// alive meanwhile. Recovers from every outage, and ends only when the process closes.
    async fn keep(&self, inner: &Inner);
}
