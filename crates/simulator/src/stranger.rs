//! A host and an agent who come to the replicas of another tenant: they are told that these are not
//! theirs, and nothing comes of it.

use crate::random::Random;
use crate::world::World;
use askbus_wire::client::{Client, Target};
use askbus_wire::error::{ErrorCode, WireError};
use askbus_wire::proto::begin_turn_request::Life;
use askbus_wire::proto::{
    AskRequest, BeginTurnRequest, GetClarificationRequest, ListPendingRequest,
};
use std::sync::Arc;
use std::time::Duration;
use tonic::Status;

/// How long one call may take.
const CALL: Duration = Duration::from_secs(12);
/// How often somebody tries who cannot reach anybody, once nothing is broken any more.
const TRIES: u32 = 60;

/// Comes again and again, and last when everything works.
pub(crate) async fn live(world: Arc<World>, there: Target, mut random: Random) {
    let clients = [&world.keys.agent, &world.keys.host].map(|token| Client::new(&there, token));
    let [Ok(agent), Ok(host)] = clients else {
        return world.broken("a stranger has no client");
    };
    for _ in 0..random.between(1, 4) {
        let pause = random.millis(500, 6_000);
        let _ = tokio::time::timeout(pause, world.calm.cancelled()).await;
        come(&world, &agent, &host).await;
    }
    world.calm.cancelled().await;
    for _ in 0..TRIES {
        if come(&world, &agent, &host).await {
            return;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    world.broken("a stranger is not told where they are");
}

/// Whether every call was told that this is the wrong instance.
async fn come(world: &World, agent: &Client, host: &Client) -> bool {
    let begin = BeginTurnRequest {
        begin_id: "turn-0".into(),
        session_id: "shared".into(),
        life: Some(Life::ForMs(60_000)),
        ..BeginTurnRequest::default()
    };
    let ask = AskRequest {
        ask_id: "a".into(),
        context_id: uuid(),
        dialect: "ask".into(),
        ..AskRequest::default()
    };
    let look = GetClarificationRequest { clarify_id: uuid() };
    let list = ListPendingRequest::default();
    let (mut turns, mut asking) = (host.turns.clone(), agent.clarify.clone());
    let (mut looking, mut listing) = (agent.clarify.clone(), host.clarify.clone());
    let told = [
        is_told(world, "begins", turns.begin_turn(begin)).await,
        is_told(world, "asks", asking.ask(ask)).await,
        is_told(world, "looks up", looking.get_clarification(look)).await,
        is_told(world, "lists", listing.list_pending(list)).await,
    ];
    told.into_iter().all(|told| told)
}

/// Some name that names nothing.
fn uuid() -> String {
    "01940000-0000-7000-8000-000000000000".into()
}

async fn is_told<T>(
    world: &World,
    what: &str,
    call: impl Future<Output = Result<T, Status>>,
) -> bool {
    match tokio::time::timeout(CALL, call).await {
        Ok(Err(status)) => match WireError::from_status(&status).code {
            ErrorCode::WrongInstance => true,
            ErrorCode::Unavailable => false,
            _ => {
                world.broken(format!("a stranger who {what} is told {status}"));
                false
            }
        },
        Ok(Ok(_)) => {
            world.broken(format!("a stranger {what}"));
            false
        }
        Err(_) => false,
    }
}
