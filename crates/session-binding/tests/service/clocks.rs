//! A machine whose clock is wrong settles nothing by it, from its first moment on.

use crate::bent::{Bend, bent};
use crate::world::{EPOCH, Setup, World, says};
use askbus_domain::Timestamp;
use askbus_ledger::{Ledger, LedgerError};
use askbus_session_binding::Clock;
use askbus_telemetry::{Audience, exposition};
use askbus_wire::messages::InboxReply;
use async_trait::async_trait;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How far the machine's clock is ahead of the log's.
const AHEAD_MS: i64 = 3_600_000;

/// A ledger that knows its own clock once it was asked for it, as a bus does.
#[derive(Default)]
struct Asked(AtomicBool);

#[async_trait]
impl Bend for Asked {
    fn clock_offset_ms(&self, _: &dyn Ledger) -> i64 {
        if self.0.load(Ordering::Relaxed) {
            -AHEAD_MS
        } else {
            0
        }
    }

    async fn learn_clock(&self, _: &dyn Ledger) -> Result<(), LedgerError> {
        tokio::time::sleep(Duration::from_millis(50)).await;
        self.0.store(true, Ordering::Relaxed);
        Ok(())
    }
}

// contract: A4
#[tokio::test(start_paused = true)]
async fn a_replica_starts_with_a_wrong_clock_and_settles_nothing() {
    let world = World::in_memory();
    let right = world.replica_with(Setup::in_memory(), |bus| bus).await;
    let agent = world.agent(&right);
    let _attached = agent.attach(&[]).await;
    let context = agent.begin("s").await;
    let asked = agent.ask_for(&context, "in time?", 600.0).await;
    let now = Timestamp::from_unix_millis(asked.requested_at_ms + AHEAD_MS);
    let setup = Setup {
        clock: Clock::virtual_at(now, 0, 2),
        ..Setup::in_memory()
    };
    let wrong = world
        .replica_with(setup, |bus| bent(bus, Asked::default()))
        .await;
    // Time is the subject.
    tokio::time::sleep(Duration::from_mins(1)).await;
    assert_eq!(world.resolutions("s", &asked.clarify_id).await, 0);
    // The one with the right clock settles it, when it is time.
    tokio::time::sleep(Duration::from_secs(545)).await;
    let settled = agent.get(&asked.clarify_id).await;
    let outcome = crate::agent::outcome(&settled);
    assert_eq!(outcome.reason, "timeout");
    assert!(outcome.resolved_at_ms >= asked.deadline_ms.unwrap());
    assert!(wrong.handle.stats().skewed() > 0);
    let source = wrong.handle.figures();
    let figures = exposition(&[source], &Audience::All).await.unwrap();
    let skew = "askbus_session_binding_clock_skew_seconds -3600.0";
    assert!(figures.lines().any(|line| line == skew), "{figures}");
    let left = format!(
        "askbus_session_binding_deadlines_left_total {}",
        wrong.handle.stats().skewed()
    );
    assert!(figures.lines().any(|line| line == left), "{figures}");
    assert_eq!(world.resolutions("s", &asked.clarify_id).await, 1);
    wrong.stop().await;
    right.stop().await;
}

// contract: A4
#[tokio::test(start_paused = true)]
async fn a_clock_that_is_a_little_ahead_cuts_nobody_short() {
    let world = World::in_memory();
    let setup = Setup {
        clock: Clock::virtual_at(EPOCH, 30, 3),
        ..Setup::in_memory()
    };
    let replica = world.replica_with(setup, |bus| bus).await;
    let agent = world.agent(&replica);
    let _attached = agent.attach(&[]).await;
    let context = agent.begin("s").await;
    let asked = agent.ask_for(&context, "in time?", 5.0).await;
    // By the replica's clock the time is just up; by the one that stamps answers it is not.
    let left = asked.deadline_ms.unwrap() - 30 + 10 - world.now().unix_millis();
    tokio::time::sleep(Duration::from_millis(left.try_into().unwrap())).await;
    let ending = tokio::spawn({
        let agent = agent.clone();
        async move { agent.end(&context, "completed").await }
    });
    tokio::time::sleep(Duration::from_millis(10)).await;
    let reply = world
        .answer("s", &asked.clarify_id, says("ann", "just in time"))
        .await;
    assert!(matches!(reply, InboxReply::Settled { .. }), "{reply:?}");
    ending.await.unwrap().unwrap();
    replica.stop().await;
}
