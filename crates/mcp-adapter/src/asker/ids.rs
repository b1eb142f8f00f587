//! The ids that a process makes: random ones, or the same ones in every run of a simulation.

use std::sync::atomic::{AtomicU64, Ordering};
use uuid::{Builder, Uuid};

/// Makes ids.
pub(super) struct Ids(Option<AtomicU64>);

impl Ids {
    pub(super) const fn random() -> Self {
        Self(None)
    }

    pub(super) const fn seeded(seed: u64) -> Self {
        Self(Some(AtomicU64::new(seed)))
    }

    pub(super) fn new_id(&self) -> String {
        let id = match &self.0 {
            None => Uuid::new_v4(),
            Some(state) => {
                let (high, low) = (u128::from(next(state)), u128::from(next(state)));
                Builder::from_random_bytes(((high << 64) | low).to_be_bytes()).into_uuid()
            }
        };
        id.to_string()
    }
}

/// `SplitMix64`.
fn next(state: &AtomicU64) -> u64 {
    let mut z = state.fetch_add(0x9E37_79B9_7F4A_7C15, Ordering::Relaxed);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_names_its_ids() {
        let (ids, same, other) = (Ids::seeded(1), Ids::seeded(1), Ids::seeded(2));
        let first = ids.new_id();
        assert_eq!(first, same.new_id());
        assert_ne!(first, other.new_id());
        assert_ne!(first, ids.new_id());
        assert_ne!(Ids::random().new_id(), Ids::random().new_id());
    }
}
