//! A host: begins turns for guests in one session, and ends, replaces or loses them.

use crate::random::Random;
use crate::world::{BegunTurn, LEASE, World};
use crate::{agent, policy};
use askbus_domain::{ClarifyId, ContextId};
use askbus_wire::client::Client;
use askbus_wire::error::{ErrorCode, WireError};
use askbus_wire::proto::begin_turn_request::Life;
use askbus_wire::proto::{
    BeginTurnRequest, BeginTurnResponse, EndTurnRequest, EndTurnResponse, HoldTurnRequest, Parent,
};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;

const SESSION: &str = "shared";
/// How long one call may take.
const CALL: Duration = Duration::from_secs(12);

pub(crate) async fn live(world: Arc<World>, mut random: Random) {
    let client = match Client::new(&world.target(&mut random), &world.keys.host) {
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
        let request = wanted(&world, turn, life, &mut random);
        let Some(begun) = begin(&client, request).await else {
            continue;
        };
        let context = begun.context_id.clone();
        note_begun(&world, begun);
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
            end(&world, &client, context).await;
        }
        // Else the next turn replaces it, or it ends by itself.
        if let Some(holding) = holding {
            holding.abort();
        }
    }
    while guests.join_next().await.is_some() {}
}

/// What the host wants of a turn; a retry wants the same.
fn wanted(world: &World, turn: u64, life: Life, random: &mut Random) -> BeginTurnRequest {
    let (said, layer) = policy::of_turn(random);
    let begin_id = format!("turn-{turn}");
    world.records().turns.insert(begin_id.clone(), layer);
    let parent = random.percent(15).then(|| Parent {
        session_id: "above".into(),
        name: "helper".into(),
    });
    BeginTurnRequest {
        begin_id,
        session_id: SESSION.into(),
        run_id: format!("run-{turn}"),
        life: Some(life),
        policy: Some(said),
        language: if random.percent(30) { "zh" } else { "" }.into(),
        toolset: "ask".into(),
        parent,
        ..BeginTurnRequest::default()
    }
}

/// Begins a turn, again and again while the service cannot be reached.
async fn begin(client: &Client, request: BeginTurnRequest) -> Option<BeginTurnResponse> {
    for _ in 0..8 {
        let mut turns = client.turns.clone();
        match tokio::time::timeout(CALL, turns.begin_turn(request.clone())).await {
            Ok(Ok(begun)) => return Some(begun.into_inner()),
            Ok(Err(status)) if WireError::from_status(&status).code != ErrorCode::Unavailable => {
                return None;
            }
            Ok(Err(_)) | Err(_) => tokio::time::sleep(Duration::from_millis(500)).await,
        }
    }
    None
}

fn note_begun(world: &World, begun: BeginTurnResponse) {
    let Ok(context_id) = ContextId::parse(&begun.context_id) else {
        return world.broken(format!("a turn was begun without a name: {begun:?}"));
    };
    let begun = BegunTurn {
        context_id,
        late: begun.late,
        instruction: begun.instruction,
    };
    world.records().begun.push(begun);
}

async fn end(world: &World, client: &Client, context_id: String) {
    for _ in 0..4 {
        let request = EndTurnRequest {
            context_id: context_id.clone(),
            end: "completed".into(),
            profile: String::new(),
        };
        let mut turns = client.turns.clone();
        if let Ok(Ok(ended)) = tokio::time::timeout(CALL, turns.end_turn(request)).await {
            return note_ended(world, &context_id, ended.into_inner());
        }
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
}

fn note_ended(world: &World, context_id: &str, ended: EndTurnResponse) {
    let Ok(context_id) = ContextId::parse(context_id) else {
        return;
    };
    let ids = ended.deferred.into_iter();
    let ids = ids.filter_map(|question| ClarifyId::parse(&question.clarify_id).ok());
    world.records().replies.push((context_id, ids.collect()));
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
