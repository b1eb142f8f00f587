//! The five stores together, as services take them.

use crate::{Alive, Drafts, Inbox, Ledger, Positions};
use std::sync::Arc;

/// One bus: log, inbox, drafts, positions and heartbeats over the same backing.
#[derive(Clone)]
pub struct Bus {
    /// The log.
    pub ledger: Arc<dyn Ledger>,
    /// What people send.
    pub inbox: Arc<dyn Inbox>,
    /// Unsent answers.
    pub drafts: Arc<dyn Drafts>,
    /// How far channels have come with telling people.
    pub positions: Arc<dyn Positions>,
    /// Heartbeats.
    pub alive: Arc<dyn Alive>,
}
