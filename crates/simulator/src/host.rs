//! A host: begins turns for guests in one session, and ends, replaces or loses them.

use crate::agent;
use crate::random::Random;
use crate::world::{LEASE, World, keys};
use askbus_wire::client::Client;
use askbus_wire::error::{ErrorCode, WireError};
use askbus_wire::proto::begin_turn_request::Life;
use askbus_wire::proto::{BeginTurnRequest, EndTurnRequest, HoldTurnRequest};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;

const SESSION: &str = "shared";
/// How long one call may take.
const CALL: Duration = Duration::from_secs(12);

pub(crate) async fn live(world: Arc<World>, mut random: Random) {
    let client = match Client::new(&world.target(&mut random), &keys().host) {
        Ok(client) => client,
        Err(error) => return world.broken(format!("no client: {error}")),
    };
    let mut guests = JoinSet::new();
    for turn in 0..random.between(1, 3) {
        let held = random.percent(50);
        let life = if held {
            Life::LeaseMs(LEASE.0)
        } else {
            // A long one outlives guests who vanish.
            let longest = if random.percent(30) { 600_000 } else { 25_000 };
            Life::ForMs(random.between(1_000, longest))
        };
        let Some(context) = begin(&client, turn, life).await else {
            continue;
        };
        let holding = held.then(|| tokio::spawn(hold(client.clone(), context.clone())));
        for guest in 0..random.between(1, 2) {
            let guest = agent::live(
                Arc::clone(&world),
                format!("guest {guest} of turn {turn}"),
                SESSION.into(),
                Some(context.clone()),
                random.fork(),
            );
            guests.spawn(guest);
        }
        tokio::time::sleep(random.millis(500, 12_000)).await;
        if random.percent(40) {
            end(&client, context).await;
        }
        // Else the next turn replaces it, or it ends by itself.
        if let Some(holding) = holding {
            holding.abort();
        }
    }
    while guests.join_next().await.is_some() {}
}

/// Begins a turn, again and again while the service cannot be reached.
async fn begin(client: &Client, turn: u64, life: Life) -> Option<String> {
    for _ in 0..8 {
        let request = BeginTurnRequest {
            begin_id: format!("turn-{turn}"),
            session_id: SESSION.into(),
            run_id: format!("run-{turn}"),
            life: Some(life.clone()),
            ..BeginTurnRequest::default()
        };
        let mut turns = client.turns.clone();
        match tokio::time::timeout(CALL, turns.begin_turn(request)).await {
            Ok(Ok(begun)) => return Some(begun.into_inner().context_id),
            Ok(Err(status)) if WireError::from_status(&status).code != ErrorCode::Unavailable => {
                return None;
            }
            Ok(Err(_)) | Err(_) => tokio::time::sleep(Duration::from_millis(500)).await,
        }
    }
    None
}

async fn end(client: &Client, context_id: String) {
    for _ in 0..4 {
        let request = EndTurnRequest {
            context_id: context_id.clone(),
            end: "completed".into(),
            profile: String::new(),
        };
        let mut turns = client.turns.clone();
        if let Ok(Ok(_)) = tokio::time::timeout(CALL, turns.end_turn(request)).await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
}

/// Holds a turn for as long as it is on, whatever happens to the connection.
async fn hold(client: Client, context_id: String) {
    loop {
        let request = HoldTurnRequest {
            context_id: context_id.clone(),
            profile: String::new(),
        };
        let mut turns = client.turns.clone();
        match tokio::time::timeout(CALL, turns.hold_turn(request)).await {
            Ok(Ok(stream)) => {
                let mut stream = stream.into_inner();
                while let Ok(Some(message)) = stream.message().await {
                    if !message.ended.is_empty() {
                        return;
                    }
                }
            }
            Ok(Err(status)) if WireError::from_status(&status).code != ErrorCode::Unavailable => {
                return;
            }
            Ok(Err(_)) | Err(_) => {}
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}
