//! Open streams: what ends them, and that nothing is lost by that.

use crate::agent::{Agent, code};
use crate::world::{PROFILE, Replica, TENANT, World, within};
use askbus_credential::{Issued, Role};
use askbus_wire::client::{Bearer, Client};
use askbus_wire::error::ErrorCode;
use askbus_wire::proto::begin_turn_request::Life;
use std::collections::BTreeSet;
use std::time::Duration;
use tokio::task::JoinSet;
use tonic::transport::Endpoint;

/// Questions settled while nobody reads: more than the stream and its windows hold.
const ROUNDS: usize = 55;
const SESSIONS: usize = 32;

/// An agent whose connection takes little that nobody reads.
fn slow(world: &World, replica: &Replica) -> Agent {
    let token = world.token(Role::Agent, "robot", TENANT, &[PROFILE]);
    let channel = Endpoint::from_shared(replica.target.to_string())
        .unwrap()
        .initial_stream_window_size(16 * 1024)
        .connect_lazy();
    let mut agent = Agent::new(&replica.target, &token);
    agent.client = Client::over(channel, Bearer::new(&token).unwrap());
    agent
}

// contract: E12
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_that_falls_behind_attaches_again_and_misses_nothing() {
    let world = World::embedded();
    let replica = world.replica().await;
    let agent = slow(&world, &replica);
    let mut attachment = agent.attach(&[]).await;
    // The attachment is not read meanwhile, as by a stopped process.
    let mut settling = JoinSet::new();
    for session in 0..SESSIONS {
        // Connections of their own, so that only the attachment's stands still.
        let other = agent.moved(&world.agent(&replica));
        settling.spawn(async move {
            let context = other.begin(&format!("s{session}")).await;
            let mut ids = Vec::new();
            for _ in 0..ROUNDS {
                let id = other.ask(&context, "anybody?").await;
                other.try_cancel(&id).await.unwrap();
                ids.push(id);
            }
            ids
        });
    }
    let mut open: BTreeSet<String> = BTreeSet::new();
    while let Some(ids) = settling.join_next().await {
        open.extend(ids.unwrap());
    }
    assert_eq!(open.len(), ROUNDS * SESSIONS);
    // It goes on: what was sent comes, and then the stream ends rather than stay open and deaf.
    let heard = within("the stream ends", async {
        let mut heard = Vec::new();
        while let Some(event) = attachment.next().await {
            heard.push(event);
        }
        heard
    });
    for event in heard.await {
        let askbus_wire::proto::attach_event::Event::Resolved(settled) = event else {
            panic!("{event:?}")
        };
        assert!(open.remove(&settled.clarify_id), "told twice");
    }
    assert!(!open.is_empty(), "the stream took everything");
    let ids: Vec<_> = open.iter().map(String::as_str).collect();
    let mut again = agent.attach(&ids).await;
    while !open.is_empty() {
        let settled = again.resolved().await;
        assert!(open.remove(&settled.clarify_id), "told twice");
    }
    replica.stop().await;
}

/// Attaches, holds a turn and waits with a credential until `end` makes it worthless.
async fn ended_with_the_credential(life: Duration, end: impl AsyncFnOnce(&World, &Issued)) {
    let world = World::embedded();
    let replica = world.replica().await;
    let (token, issued) = world.agent_token(life);
    let agent = Agent::new(&replica.target, &token);
    let attachment = agent.attach(&[]).await;
    let own = Life::AskerId(agent.asker.clone());
    let context = agent.begin_with("s", Some(own)).await;
    let mut held = agent.hold(&context).await.unwrap();
    held.confirmed().await;
    let id = agent.ask(&context, "still allowed?").await;
    let waiting = tokio::spawn({
        let (agent, id) = (agent.clone(), id.clone());
        async move { agent.try_wait(&id).await.map(drop) }
    });
    end(&world, &issued).await;
    let (attached, held, waited) = tokio::join!(attachment.refused(), held.refused(), waiting);
    for refused in [attached, held, waited.unwrap().unwrap_err()] {
        assert_eq!(code(&refused), ErrorCode::Unauthenticated);
    }
    assert_eq!(world.resolutions("s", &id).await, 0);
    replica.stop().await;
}

// contract: E6
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_revoked_credential_keeps_no_stream_open() {
    ended_with_the_credential(Duration::from_mins(10), async |world, issued| {
        world.revoke(issued);
    })
    .await;
}

// contract: E6
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_expired_credential_keeps_no_stream_open() {
    ended_with_the_credential(Duration::from_secs(3), async |_, _| {}).await;
}
