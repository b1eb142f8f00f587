//! The hostile bus against the suite: unkind, but never untrue.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

#[allow(dead_code, unused_imports, unused_macros)]
mod conformance;

use askbus_ledger::Bus;
use askbus_ledger::hostile::{self, HostileHandle};
use conformance::run_on;

struct Fixture {
    left: Bus,
    right: Bus,
    handle: HostileHandle,
}

impl Fixture {
    async fn close(self) {
        self.handle.close().await;
    }
}

macro_rules! seeds {
    ($($name:ident: $seed:literal),*) => {$(
        mod $name {
            use super::*;

            #[allow(clippy::unused_async)]
            async fn open() -> Fixture {
                let (bus, handle) = hostile::open($seed);
                Fixture { left: bus.clone(), right: bus, handle }
            }

            run_on!(open);
        }
    )*};
}

seeds!(seed_1: 1, seed_2: 2, seed_3: 3);
