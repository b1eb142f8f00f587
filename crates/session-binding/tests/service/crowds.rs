//! Many at once: as many questions as may wait, and as many askers as can go away together.

use crate::agent::{Agent, code, question};
use crate::world::{PROFILE, Setup, TENANT, World, session, tenant};
use askbus_credential::Role;
use askbus_domain::{Event, Millis, Timestamp, WaitingLimits};
use askbus_session_binding::Options;
use askbus_wire::codec::Decoded;
use askbus_wire::error::ErrorCode;
use std::time::Duration;

/// When the log says that the one question of a session was settled.
async fn settled_at(world: &World, name: &str) -> Option<Timestamp> {
    let (tenant, session) = (tenant(TENANT), session(name));
    let stored = world.bus.ledger.read_session(&tenant, &session, 1).await;
    stored.unwrap().iter().find_map(|s| match &s.decoded {
        Decoded::Commit(commit) => {
            let resolves = |e: &Event| matches!(e, Event::Resolved { .. });
            commit.events.iter().any(resolves).then_some(commit.at)
        }
        Decoded::Unreadable { problem } => panic!("{problem}"),
    })
}

// contract: E11
#[tokio::test(start_paused = true)]
async fn however_many_askers_go_away_at_once_their_questions_end_together() {
    const GONE: usize = 1_000;
    let lease = Millis(3_000);
    let heartbeat = Options::heartbeat_for(lease);
    let world = World::in_memory();
    let setup = Setup::leasing_in_memory(lease);
    let replica = world.replica_with(setup, |bus| bus).await;
    let agent = world.agent(&replica);
    let sessions: Vec<String> = (0..GONE).map(|n| format!("s{n}")).collect();
    for name in &sessions {
        let asker = Agent {
            asker: format!("asker of {name}"),
            ..agent.clone()
        };
        let context = asker.begin(name).await;
        asker.ask(&context, "anybody?").await;
    }
    // Time is the subject.
    tokio::time::sleep(Duration::from_millis(lease.0) + 3 * heartbeat).await;
    let mut ends = Vec::new();
    for name in &sessions {
        ends.extend(settled_at(&world, name).await);
    }
    assert_eq!(ends.len(), GONE);
    let (first, last) = (ends.iter().min().unwrap(), ends.iter().max().unwrap());
    let between = Duration::from_millis(first.until(*last).0);
    assert!(between <= heartbeat, "{between:?}");
    replica.stop().await;
}

// contract: E6
#[tokio::test(start_paused = true)]
async fn no_credential_and_no_tenant_has_more_waiting_than_it_may() {
    let world = World::in_memory();
    let setup = Setup {
        waiting: WaitingLimits {
            credential: 2,
            tenant: 3,
        },
        ..Setup::in_memory()
    };
    let replica = world.replica_with(setup, |bus| bus).await;
    let host = world.host(&replica);
    let named = |who: &str| {
        let token = world.token(Role::Agent, who, TENANT, &[PROFILE]);
        Agent::new(&replica.target, &token).under(&host)
    };
    let (one, other, third) = (named("one"), named("other"), named("third"));
    let mut asked = Vec::new();
    for name in ["s1", "s2"] {
        let context = one.begin(name).await;
        let mut request = one.ask_request(&context, "ask", question("which?"));
        request.ask_id = format!("of {name}");
        asked.push((request.clone(), one.try_ask(request).await.unwrap()));
    }
    // Each in a session of its own, so that no policy counts them together.
    let context = one.begin("s3").await;
    let more = || one.ask_request(&context, "ask", question("one more?"));
    let refused = one.try_ask(more()).await.unwrap_err();
    assert_eq!(code(&refused), ErrorCode::TooManyPending);
    let text = "2 clarifications of this credential wait already; ask again when people have \
                answered some, or cancel some";
    assert_eq!(refused.message(), text);
    // One that waits is not asked again, and may be asked for.
    let (request, first) = asked.remove(0);
    let again = one.try_ask(request).await.unwrap();
    assert_eq!(again.clarify_id, first.clarify_id);

    other.ask(&other.begin("s4").await, "which?").await;
    let full = third.begin("s5").await;
    let asks = || third.ask_request(&full, "ask", question("which?"));
    let refused = third.try_ask(asks()).await.unwrap_err();
    assert_eq!(code(&refused), ErrorCode::TooManyPending);
    assert!(
        refused
            .message()
            .starts_with("3 clarifications of this tenant wait")
    );
    let elsewhere = world.agent_of(&replica, "acme", PROFILE);
    elsewhere.ask(&elsewhere.begin("s1").await, "which?").await;

    one.try_cancel(&first.clarify_id).await.unwrap();
    one.try_ask(more()).await.unwrap();
    let refused = one.try_ask(more_of(&one, "s6").await).await.unwrap_err();
    assert_eq!(code(&refused), ErrorCode::TooManyPending);
    // What waited when its turn ended waits no more.
    one.end(&context, "completed").await.unwrap();
    third.try_ask(asks()).await.unwrap();
    replica.stop().await;
}

async fn more_of(agent: &Agent, session: &str) -> askbus_wire::proto::AskRequest {
    let context = agent.begin(session).await;
    agent.ask_request(&context, "ask", question("and this?"))
}
