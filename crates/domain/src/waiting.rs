//! How much may wait for people at once, whichever sessions it is of.

use crate::{Event, Rejection};
use std::fmt;

/// How many clarifications may wait at once, beyond what a policy says of each session: whoever asks
/// each one in a session of its own would else leave people nothing to see but theirs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitingLimits {
    /// Of one asking credential: a name and a role within a tenant.
    pub credential: usize,
    /// Of one tenant.
    pub tenant: usize,
}

impl Default for WaitingLimits {
    fn default() -> Self {
        Self {
            // All agents of one machine share a credential, and ten thousand questions are to wait at ease;
            // this only keeps one of them from having the whole tenant, and memory, to itself.
            credential: 150_000,
            tenant: 200_000,
        }
    }
}

/// How many clarifications wait already, as far as it is known where one more is decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Waiting {
    /// Of the credential that asks.
    pub of_credential: usize,
    /// Of its tenant.
    pub of_tenant: usize,
}

/// Whose clarifications a limit counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    /// Those of one credential.
    Credential,
    /// Those of all in the tenant.
    Tenant,
}

impl fmt::Display for Whose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Whose::Credential => "this credential",
            Whose::Tenant => "this tenant",
        })
    }
}

impl WaitingLimits {
    /// Whether what was decided about a question may be written while so many wait. What makes none
    /// wait may always be: one that was asked before, or is settled at once.
    ///
    /// # Errors
    /// [`Rejection::TooManyWaiting`] when one more would wait than may.
    pub fn check(self, decided: &[Event], waiting: Waiting) -> Result<(), Rejection> {
        let asks = decided.iter().any(|e| matches!(e, Event::Requested { .. }));
        let settles = decided.iter().any(|e| matches!(e, Event::Resolved { .. }));
        if !asks || settles {
            return Ok(());
        }
        let refused = |limit, whose| Err(Rejection::TooManyWaiting { limit, whose });
        if waiting.of_credential >= self.credential {
            return refused(self.credential, Whose::Credential);
        }
        if waiting.of_tenant >= self.tenant {
            return refused(self.tenant, Whose::Tenant);
        }
        Ok(())
    }
}
