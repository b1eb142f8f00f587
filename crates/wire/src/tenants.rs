//! Which tenants an instance serves: `a,b` or `all,!acme`.

use askbus_domain::{IdError, TenantId};
use std::collections::BTreeSet;

/// A set of tenants, named or all but some.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tenants {
    /// These.
    Only(BTreeSet<TenantId>),
    /// All but these.
    AllBut(BTreeSet<TenantId>),
}

impl Default for Tenants {
    fn default() -> Self {
        Tenants::AllBut(BTreeSet::new())
    }
}

/// Why a selection cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TenantsError {
    /// `!x` without `all`, or names beside `all`.
    #[error("write either names (a,b) or all with exceptions (all,!a)")]
    Mixed,
    /// A name that is not a tenant id.
    #[error(transparent)]
    Name(#[from] IdError),
}

impl Tenants {
    /// Reads `a,b` or `all,!acme`.
    pub fn parse(text: &str) -> Result<Self, TenantsError> {
        let words: Vec<&str> = text
            .split(',')
            .map(str::trim)
            .filter(|w| !w.is_empty())
            .collect();
        let id = |w: &&str| TenantId::new(w.trim_start_matches('!'));
        let (all, rest): (Vec<&str>, Vec<&str>) = words.into_iter().partition(|w| *w == "all");
        if all.is_empty() {
            if rest.is_empty() || rest.iter().any(|w| w.starts_with('!')) {
                return Err(TenantsError::Mixed);
            }
            return Ok(Tenants::Only(
                rest.iter().map(id).collect::<Result<_, _>>()?,
            ));
        }
        if rest.iter().any(|w| !w.starts_with('!')) {
            return Err(TenantsError::Mixed);
        }
        Ok(Tenants::AllBut(
            rest.iter().map(id).collect::<Result<_, _>>()?,
        ))
    }

    /// Whether the tenant is served.
    pub fn serves(&self, tenant: &TenantId) -> bool {
        match self {
            Tenants::Only(names) => names.contains(tenant),
            Tenants::AllBut(names) => !names.contains(tenant),
        }
    }

    /// The tenants that are named outright; an all instance learns its tenants from the log.
    pub fn named(&self) -> impl Iterator<Item = &TenantId> {
        match self {
            Tenants::Only(names) => names.iter().collect::<Vec<_>>().into_iter(),
            Tenants::AllBut(_) => Vec::new().into_iter(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selections() {
        let serves = |text: &str, name: &str| {
            Tenants::parse(text).map(|t| t.serves(&TenantId::new(name).unwrap()))
        };
        assert_eq!(serves("a,b", "a"), Ok(true));
        assert_eq!(serves("a,b", "c"), Ok(false));
        assert_eq!(serves("all", "c"), Ok(true));
        assert_eq!(serves("all,!acme", "acme"), Ok(false));
        assert_eq!(serves("all,!acme", "c"), Ok(true));
        for bad in ["", "!a", "all,a", "a,!b"] {
            assert_eq!(serves(bad, "a"), Err(TenantsError::Mixed), "{bad}");
        }
    }
}
