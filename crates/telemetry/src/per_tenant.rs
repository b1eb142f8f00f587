//! Figures by tenant, with a bound on how many tenants are told apart.

use askbus_domain::TenantId;
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

/// Tenants told apart; the figures of further ones are added up. A monitoring system pays for every
/// value of a label.
const MAX_TENANTS: usize = 256;
/// The label of the further ones.
const FURTHER: &str = "%further";

/// One `T` for each tenant.
#[derive(Debug, Default)]
pub struct PerTenant<T> {
    known: RwLock<BTreeMap<TenantId, Arc<T>>>,
    further: Arc<T>,
}

impl<T: Default> PerTenant<T> {
    /// The figures that this tenant counts towards.
    pub fn of(&self, tenant: &TenantId) -> Arc<T> {
        {
            let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
            if let Some(found) = known.get(tenant) {
                return Arc::clone(found);
            }
        }
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MAX_TENANTS && !known.contains_key(tenant) {
            return Arc::clone(&self.further);
        }
        Arc::clone(known.entry(tenant.clone()).or_default())
    }

    /// The label of this tenant's figures.
    pub fn label(&self, tenant: &TenantId) -> String {
        if Arc::ptr_eq(&self.of(tenant), &self.further) {
            FURTHER.to_owned()
        } else {
            tenant.to_string()
        }
    }

    /// Every tenant told apart and then all further ones, by label.
    pub fn all(&self) -> Vec<(String, Arc<T>)> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let mut all: Vec<_> = known
            .iter()
            .map(|(tenant, of)| (tenant.to_string(), Arc::clone(of)))
            .collect();
        if known.len() >= MAX_TENANTS {
            all.push((FURTHER.to_owned(), Arc::clone(&self.further)));
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    #[test]
    fn tenants_beyond_the_bound_are_added_up() {
        let counts = PerTenant::<AtomicU64>::default();
        for n in 0..MAX_TENANTS + 10 {
            let tenant = TenantId::new(format!("t{n}")).unwrap();
            counts.of(&tenant).fetch_add(1, Ordering::Relaxed);
            counts.of(&tenant).fetch_add(1, Ordering::Relaxed);
        }
        let all = counts.all();
        assert_eq!(all.len(), MAX_TENANTS + 1);
        let of = |label: &str| {
            let found = all.iter().find(|(name, _)| name == label);
            found.map(|(_, count)| count.load(Ordering::Relaxed))
        };
        assert_eq!((of("t0"), of("t255"), of("t256")), (Some(2), Some(2), None));
        assert_eq!(of(FURTHER), Some(20));
    }
}
