//! What is over is forgotten, and nobody notices: on virtual time, hours pass at once.

use crate::agent::{Agent, code, outcome};
use crate::world::{PROFILE, Replica, Setup, TENANT, World, says};
use askbus_credential::Role;
use askbus_domain::{CancelCause, Event};
use askbus_ledger::embedded::EmbeddedOptions;
use askbus_wire::error::ErrorCode;
use askbus_wire::messages::InboxReply;
use askbus_wire::proto::{BeginTurnRequest, TurnPolicy};
use std::time::Duration;

const MINUTE: Duration = Duration::from_mins(1);

/// A session with one question, over: its context and the question.
async fn over(agent: &Agent, session: &str) -> (String, String) {
    let context = agent.begin(session).await;
    let id = agent.ask(&context, "and then?").await;
    agent.end(&context, "completed").await.unwrap();
    (context, id)
}

async fn nothing_is_missed(world: &World, replica: &Replica, kept: bool) {
    let agent = world.agent(replica);
    let of_turn = over(&agent, "s").await;
    // Time is the subject.
    tokio::time::sleep(if kept { 6 * MINUTE } else { 400 * MINUTE }).await;
    let stats = replica.handle.stats();
    assert_eq!(stats.sessions(), u64::from(kept));
    assert_eq!(stats.clarifications(), 0);
    all_is_found(world, replica, of_turn).await;
}

/// Whatever anybody may do about a turn of session `s` that is over.
async fn all_is_found(world: &World, replica: &Replica, (context, id): (String, String)) {
    let agent = world.agent(replica);
    // Its question is found, for those whose it is.
    assert_eq!(outcome(&agent.get(&id).await).cause, "turn_ended");
    let stranger = world.agent_of(replica, TENANT, "other");
    let refused = stranger.try_get(&id).await.unwrap_err();
    assert_eq!(code(&refused), ErrorCode::UnknownClarification);
    let refused = agent
        .try_ask(agent.ask_request(&context, "ask", crate::agent::question("?")))
        .await;
    let expected = [ErrorCode::NoActiveTurn, ErrorCode::ContextExpired];
    assert!(expected.contains(&code(&refused.unwrap_err())));
    // An answer to it is noted.
    let InboxReply::Late { outcome, .. } = world.answer("s", &id, says("ann", "well")).await else {
        panic!("it was over long ago")
    };
    assert_eq!(outcome.cause, Some(CancelCause::TurnEnded));
    // The session is still its profile's, and goes on.
    let foreign = BeginTurnRequest {
        session_id: "s".into(),
        ..BeginTurnRequest::default()
    };
    let refused = stranger.try_begin(foreign).await.unwrap_err();
    assert_eq!(code(&refused), ErrorCode::ContextExpired);
    let context = agent.begin("s").await;
    let id = agent.ask(&context, "again?").await;
    let reply = world.answer("s", &id, says("ann", "yes")).await;
    assert!(matches!(reply, InboxReply::Settled { .. }), "{reply:?}");
    let late = |e: &&Event| matches!(e, Event::Late { .. });
    assert_eq!(world.events("s").await.iter().filter(late).count(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_questions_of_a_turn_that_is_over_are_read_again_on_demand() {
    let world = World::in_memory();
    let replica = world.replica_with(Setup::in_memory(), |bus| bus).await;
    nothing_is_missed(&world, &replica, true).await;
    replica.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_session_that_is_over_for_hours_is_read_again_on_demand() {
    let world = World::in_memory();
    let replica = world.replica_with(Setup::in_memory(), |bus| bus).await;
    nothing_is_missed(&world, &replica, false).await;
    replica.stop().await;
}

// contract: A6
#[tokio::test(start_paused = true)]
async fn who_ends_a_turn_again_is_told_the_same_when_its_questions_are_forgotten() {
    let world = World::in_memory();
    let replica = world.replica_with(Setup::in_memory(), |bus| bus).await;
    let agent = world.agent(&replica);
    let mut earlier = Vec::new();
    for turn in ["first", "second"] {
        let begin = BeginTurnRequest {
            session_id: "s".into(),
            policy: Some(TurnPolicy {
                on_timeout: "defer".into(),
                ..TurnPolicy::default()
            }),
            ..BeginTurnRequest::default()
        };
        let context = agent.try_begin(begin).await.unwrap().context_id;
        let asked = agent.ask_for(&context, &format!("{turn}?"), 1.0).await;
        let settled = agent.try_wait(&asked.clarify_id).await.unwrap();
        assert_eq!(outcome(&settled).reason, "deferred");
        let ended = agent.end(&context, "completed").await.unwrap();
        let told: Vec<&str> = ended.deferred.iter().map(|d| &*d.clarify_id).collect();
        assert_eq!((ended.asked, told), (1, vec![&*asked.clarify_id]));
        earlier.push((context, ended));
    }
    // Time is the subject.
    tokio::time::sleep(6 * MINUTE).await;
    assert_eq!(replica.handle.stats().clarifications(), 0);
    let (context, ended) = earlier.pop().expect("two turns");
    assert_eq!(agent.end(&context, "completed").await.unwrap(), ended);
    // One that was followed by another is nobody's any more.
    let (context, _) = earlier.pop().expect("two turns");
    let refused = agent.end(&context, "completed").await.unwrap_err();
    assert_eq!(code(&refused), ErrorCode::ContextExpired);
    replica.stop().await;
}

// A session that another replica goes on with, after this one has forgotten it.
#[tokio::test(start_paused = true)]
async fn a_forgotten_session_that_goes_on_elsewhere_is_taken_up_again() {
    let world = World::in_memory();
    let one = world.replica_with(Setup::in_memory(), |bus| bus).await;
    let two = world.replica_with(Setup::in_memory(), |bus| bus).await;
    let (agent, elsewhere) = (world.agent(&one), world.agent(&two));
    let (_, id) = over(&agent, "s").await;
    tokio::time::sleep(400 * MINUTE).await;
    // Something of the old turn first, which says too little of the session.
    let late = world.answer("s", &id, says("ann", "well")).await;
    assert!(matches!(late, InboxReply::Late { .. }), "{late:?}");
    let token = world.token(Role::Host, "other", TENANT, &["other"]);
    let stranger = Agent::new(&two.target, &token);
    let foreign = BeginTurnRequest {
        session_id: "s".into(),
        ..BeginTurnRequest::default()
    };
    let refused = stranger.try_begin(foreign).await.unwrap_err();
    assert_eq!(code(&refused), ErrorCode::ContextExpired);
    let context = agent.begin("s").await;
    let asked = elsewhere.ask_for(&context, "in time?", 5.0).await;
    let settled = agent.try_wait(&asked.clarify_id).await.unwrap();
    assert_eq!(outcome(&settled).reason, "timeout");
    assert_eq!(world.resolutions("s", &asked.clarify_id).await, 1);
    one.stop().await;
    two.stop().await;
}

// What waits is no matter of time, and a turn that is on is none either.
#[tokio::test(start_paused = true)]
async fn what_is_not_over_is_not_forgotten() {
    let world = World::in_memory();
    let replica = world.replica_with(Setup::in_memory(), |bus| bus).await;
    let token = world.token(Role::Host, "ci", TENANT, &[PROFILE]);
    let agent = Agent::new(&replica.target, &token);
    let _attached = agent.attach(&[]).await;
    let life = askbus_wire::proto::begin_turn_request::Life::ForMs(48 * 3_600_000);
    let context = agent.begin_with("s", Some(life)).await;
    let first = agent.ask(&context, "answered?").await;
    let second = agent.ask(&context, "waiting?").await;
    let reply = world.answer("s", &first, says("ann", "yes")).await;
    assert!(matches!(reply, InboxReply::Settled { .. }), "{reply:?}");
    tokio::time::sleep(24 * 60 * MINUTE).await;
    assert_eq!(replica.handle.stats().clarifications(), 2);
    assert_eq!(agent.pending("").await, vec![second.clone()]);
    let reply = world.answer("s", &second, says("ann", "at last")).await;
    assert!(matches!(reply, InboxReply::Settled { .. }), "{reply:?}");
    replica.stop().await;
}

// The file of a single machine, opened again long after.
#[tokio::test]
async fn a_session_that_a_long_log_left_out_is_read_again_on_demand() {
    let mut world = World::embedded();
    let replica = world.replica().await;
    let agent = world.agent(&replica);
    let of_turn = over(&agent, "s").await;
    for session in ["t", "u", "v"] {
        over(&agent, session).await;
    }
    replica.stop().await;
    let latest = EmbeddedOptions {
        latest: 1,
        ..EmbeddedOptions::default()
    };
    world.reopen_with(latest).await;
    let replica = world.replica().await;
    let mut read = world.bus.ledger.tail_current().await.unwrap();
    let first = read.recv().await.unwrap();
    assert_eq!(first.session.as_str(), "v", "the others were over before");
    all_is_found(&world, &replica, of_turn).await;
    replica.stop().await;
}
