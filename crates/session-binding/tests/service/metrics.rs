//! What operators read, by value.

use crate::agent::outcome;
use crate::bent::{Bend, bent};
use crate::world::{EPOCH, Replica, Setup, World, says, says_as};
use askbus_domain::{AnswerAction, Commit, Millis, Response};
use askbus_ledger::{AppendError, Ledger, LedgerError};
use askbus_session_binding::Clock;
use askbus_telemetry::{Audience, exposition, totals};
use async_trait::async_trait;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// A bus of which a test says what it does next.
#[derive(Default)]
struct Told {
    /// The next append meets another writer that is not there.
    conflict: AtomicBool,
    /// Messages that the log has beyond those that come.
    ahead: AtomicU64,
    /// Messages that were dropped.
    slow: AtomicU64,
}

#[async_trait]
impl Bend for Arc<Told> {
    async fn append_once(
        &self,
        log: &dyn Ledger,
        commit: &Commit,
        expected: u64,
        trace: Option<&str>,
    ) -> Result<u64, AppendError> {
        if self.conflict.swap(false, Ordering::Relaxed) {
            return Err(AppendError::Conflict);
        }
        log.append_once(commit, expected, trace).await
    }

    async fn last_seq(&self, log: &dyn Ledger) -> Result<u64, LedgerError> {
        let ahead = self.ahead.load(Ordering::Relaxed);
        Ok(log.last_seq().await? + ahead)
    }

    fn clock_offset_ms(&self, _: &dyn Ledger) -> i64 {
        -250
    }

    fn slow_consumers(&self, _: &dyn Ledger) -> u64 {
        self.slow.load(Ordering::Relaxed)
    }
}

pub(crate) struct Page(String);

impl Page {
    pub(crate) async fn of(replica: &Replica) -> Self {
        let page = exposition(&[replica.handle.figures()], &Audience::All).await;
        Self(page.unwrap())
    }

    /// The value of a series; `name` is without the service's prefix.
    fn value(&self, name: &str) -> f64 {
        let series = format!("askbus_session_binding_{name} ");
        let line = self.0.lines().find_map(|l| l.strip_prefix(&series));
        let line = line.unwrap_or_else(|| panic!("{series}is not in\n{}", self.0));
        line.parse().unwrap()
    }

    pub(crate) fn expect(&self, expected: &[(&str, f64)]) {
        for (name, value) in expected {
            let is = self.value(name);
            assert!(
                (is - value).abs() < 0.001,
                "{name} is {is}, not {value}\n{}",
                self.0
            );
        }
    }
}

async fn replica(world: &World, told: &Arc<Told>) -> Replica {
    let change = |bus| bent(bus, Arc::clone(told));
    let setup = Setup {
        clock: Clock::virtual_at(EPOCH, 250, 4),
        ..Setup::in_memory()
    };
    world.replica_with(setup, change).await
}

#[tokio::test(start_paused = true)]
async fn the_figures_after_a_known_story() {
    let world = World::in_memory();
    let told = Arc::new(Told::default());
    let replica = replica(&world, &told).await;
    let agent = world.agent(&replica);
    let attached = agent.attach(&[]).await;
    let context = agent.begin("s").await;

    let answered = agent.ask(&context, "first?").await;
    let dismissed = agent.ask(&context, "second?").await;
    told.conflict.store(true, Ordering::Relaxed);
    let withdrawn = agent.ask(&context, "third?").await;
    // Time is the subject.
    tokio::time::sleep(Duration::from_secs(90)).await;
    Page::of(&replica).await.expect(&[
        ("waiting{tenant=\"local\"}", 3.0),
        ("oldest_waiting_seconds{tenant=\"local\"}", 90.0),
        ("attachments{tenant=\"local\"}", 1.0),
        ("append_conflicts_total", 1.0),
    ]);

    world.answer("s", &answered, says("ann", "yes")).await;
    tokio::time::sleep(Duration::from_secs(30)).await;
    let dismissal = Response {
        action: AnswerAction::Dismiss,
        answers: Vec::new(),
        ..says("ann", "")
    };
    world.answer("s", &dismissed, dismissal).await;
    world
        .answer("s", &answered, says_as("other", "bob", "no"))
        .await;
    assert_eq!(outcome(&agent.get(&dismissed).await).reason, "dismissed");
    let page = Page::of(&replica).await;
    page.expect(&[
        ("asked_total{tenant=\"local\"}", 3.0),
        ("resolved_total{tenant=\"local\",reason=\"response\"}", 1.0),
        ("resolved_total{tenant=\"local\",reason=\"dismissed\"}", 1.0),
        ("resolved_total{tenant=\"local\",reason=\"timeout\"}", 0.0),
        ("late_total{tenant=\"local\"}", 1.0),
        ("waiting{tenant=\"local\"}", 1.0),
        ("oldest_waiting_seconds{tenant=\"local\"}", 120.0),
        // A minute and a half, and two minutes.
        ("human_seconds_count{tenant=\"local\"}", 2.0),
        ("human_seconds_sum{tenant=\"local\"}", 210.0),
        ("human_seconds_bucket{le=\"60.0\",tenant=\"local\"}", 0.0),
        ("human_seconds_bucket{le=\"300.0\",tenant=\"local\"}", 2.0),
        // No time goes by in the service.
        ("service_seconds_count{tenant=\"local\"}", 2.0),
        ("service_seconds_sum{tenant=\"local\"}", 0.0),
        ("answers_judged_total", 3.0),
        ("answers_refused_total", 0.0),
        // The turn, three questions, two resolutions and what came late.
        ("commits_total", 7.0),
        ("log_applied", 7.0),
        ("log_lag", 0.0),
        ("clock_skew_seconds", -0.25),
        ("slow_consumers_total", 0.0),
        ("leases_lost_total", 0.0),
        ("sessions", 1.0),
        ("clarifications", 3.0),
    ]);

    told.ahead.store(5, Ordering::Relaxed);
    told.slow.store(2, Ordering::Relaxed);
    Page::of(&replica)
        .await
        .expect(&[("log_lag", 5.0), ("slow_consumers_total", 2.0)]);
    told.ahead.store(0, Ordering::Relaxed);

    agent.try_cancel(&withdrawn).await.unwrap();
    drop(attached);
    Page::of(&replica).await.expect(&[
        ("resolved_total{tenant=\"local\",reason=\"cancelled\"}", 1.0),
        ("waiting{tenant=\"local\"}", 0.0),
        ("oldest_waiting_seconds{tenant=\"local\"}", 0.0),
        // Nobody decided it.
        ("human_seconds_count{tenant=\"local\"}", 2.0),
    ]);
    // The bus shows the same, all tenants together.
    let stats = totals(&*replica.handle.figures());
    assert_eq!(stats["askbus_session_binding_asked"], 3);
    assert_eq!(stats["askbus_session_binding_resolved"], 3);
    assert_eq!(stats["askbus_session_binding_append_conflicts"], 1);
    assert_eq!(stats["askbus_session_binding_waiting"], 0.0);
    replica.stop().await;
}

// contract: E11
#[tokio::test(start_paused = true)]
async fn a_lost_lease_and_a_timeout_are_counted_where_they_were_settled() {
    let world = World::in_memory();
    let setup = Setup {
        lease: Millis(15_000),
        ..Setup::in_memory()
    };
    let replica = world.replica_with(setup, |bus| bus).await;
    let agent = world.agent(&replica);
    let context = agent.begin("s").await;
    let attached = agent.attach(&[]).await;
    agent.ask_for(&context, "soon over?", 60.0).await;
    tokio::time::sleep(Duration::from_secs(65)).await;
    agent.ask(&context, "still there?").await;
    drop(attached);
    tokio::time::sleep(Duration::from_mins(1)).await;
    Page::of(&replica).await.expect(&[
        ("resolved_total{tenant=\"local\",reason=\"timeout\"}", 1.0),
        ("resolved_total{tenant=\"local\",reason=\"cancelled\"}", 1.0),
        ("leases_lost_total", 1.0),
        ("attachments{tenant=\"local\"}", 0.0),
        ("waiting{tenant=\"local\"}", 0.0),
        ("human_seconds_count{tenant=\"local\"}", 0.0),
    ]);
    replica.stop().await;
}

/// What waits is the log's matter, whoever wrote it and whenever.
#[tokio::test(start_paused = true)]
async fn a_replica_that_starts_later_knows_what_waits_and_counts_only_its_own() {
    let world = World::in_memory();
    // Both clocks run from here.
    let (setup, later) = (Setup::in_memory(), Setup::in_memory());
    let first = world.replica_with(setup, |bus| bus).await;
    let agent = world.agent(&first);
    let _attached = agent.attach(&[]).await;
    let context = agent.begin("s").await;
    agent.ask(&context, "who knows?").await;
    tokio::time::sleep(Duration::from_secs(20)).await;
    let second = world.replica_with(later, |bus| bus).await;
    for (replica, asked) in [(&first, 1.0), (&second, 0.0)] {
        Page::of(replica).await.expect(&[
            ("asked_total{tenant=\"local\"}", asked),
            ("waiting{tenant=\"local\"}", 1.0),
            ("oldest_waiting_seconds{tenant=\"local\"}", 20.0),
        ]);
    }
    second.stop().await;
    first.stop().await;
}

/// The question's trace is the trace of its end, also when nobody caused that.
#[tokio::test(start_paused = true)]
async fn what_ends_by_itself_ends_in_the_trace_of_the_question() {
    const TRACE: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    const OTHER: &str = "00-00000000000000000000000000000007-b7ad6b7169203331-01";
    let world = World::in_memory();
    let replica = world.replica_with(Setup::in_memory(), |bus| bus).await;
    let agent = world.agent(&replica);
    let _attached = agent.attach(&[]).await;
    let traced = |session: &str, timeout: f64| {
        let (agent, session) = (agent.clone(), session.to_owned());
        async move {
            let context = agent.begin(&session).await;
            let input = crate::agent::question_for("when?", timeout);
            let mut request = tonic::Request::new(agent.ask_request(&context, "ask", input));
            let value = TRACE.parse().unwrap();
            request.metadata_mut().insert("traceparent", value);
            agent.client.clarify.clone().ask(request).await.unwrap();
            context
        }
    };
    traced("timeout", 5.0).await;
    let context = traced("end", 600.0).await;
    let mut end = tonic::Request::new(askbus_wire::proto::EndTurnRequest {
        context_id: context,
        end: "completed".to_owned(),
        profile: String::new(),
    });
    let value = OTHER.parse().unwrap();
    end.metadata_mut().insert("traceparent", value);
    agent.host.turns.clone().end_turn(end).await.unwrap();
    tokio::time::sleep(Duration::from_secs(10)).await;
    for session in ["timeout", "end"] {
        let (tenant, name) = (
            crate::world::tenant("local"),
            crate::world::session(session),
        );
        let stored = world.bus.ledger.read_session(&tenant, &name, 1).await;
        let traces: Vec<_> = stored.unwrap().iter().map(|s| s.trace.clone()).collect();
        let of_question = Some(TRACE.to_owned());
        assert_eq!(
            traces,
            [None, of_question.clone(), of_question],
            "{session}"
        );
    }
    replica.stop().await;
}
