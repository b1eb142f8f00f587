//! Who may see figures, and of whom.

use askbus_credential::{Credential, Role};
use askbus_domain::TenantId;

/// The tenant whose operators see the figures of every tenant.
const EVERY_TENANT: &str = "*";

/// Whose figures somebody may see. What belongs to no tenant is for every audience.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Audience {
    /// Everybody's.
    All,
    /// Those of one tenant.
    Tenant(TenantId),
}

impl Audience {
    /// What a credential lets its bearer see; none unless it is an operator's.
    pub fn of(credential: &Credential) -> Option<Self> {
        if credential.role != Role::Operator {
            return None;
        }
        Some(if credential.tenant.as_str() == EVERY_TENANT {
            Audience::All
        } else {
            Audience::Tenant(credential.tenant.clone())
        })
    }

    /// Whether a figure of this tenant is to be seen; `None` belongs to no tenant.
    pub(crate) fn sees(&self, tenant: Option<&str>) -> bool {
        match (self, tenant) {
            (Audience::All, _) | (_, None) => true,
            (Audience::Tenant(own), Some(tenant)) => own.as_str() == tenant,
        }
    }
}
