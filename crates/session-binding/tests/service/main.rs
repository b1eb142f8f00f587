//! The service as its callers meet it: real gRPC over real sockets, over the embedded file and over
//! a real nats-server. The tests play the gateway by submitting to the inbox, and the agents by the
//! ordinary client.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

/// Makes a test of each bus out of a function that takes a world.
macro_rules! on_both {
    ($($name:ident),* $(,)?) => {$(
        mod $name {
            use crate::world::World;

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn embedded() {
                super::$name(World::embedded()).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn jetstream() {
                super::$name(World::jetstream().await).await;
            }
        }
    )*};
}

mod agent;
mod answers;
mod askers;
mod asking;
mod bent;
mod broken_bus;
mod clocks;
mod crashes;
mod crowds;
mod deadlines;
mod forgetting;
mod hearing;
mod late;
mod metrics;
mod overtaken;
mod plans;
mod policies;
mod presence;
mod refusals;
mod restarts;
mod roles;
mod serving;
mod streams;
mod tenants;
mod turns;
mod world;
