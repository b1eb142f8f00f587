//! Agents: real asking processes that ask, wait, give up, and vanish.

use crate::random::Random;
use crate::world::{World, keys};
use askbus_domain::{ClarifyId, Dialect};
use askbus_mcp_adapter::Token;
use askbus_mcp_adapter::asker::{
    AskCall, Asker, AskerInfo, AskerOptions, Outcomes, Settled, silent,
};
use askbus_wire::error::{ErrorCode, WireError};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

/// How long a caller waits for a service that cannot be reached.
const PATIENCE: Duration = Duration::from_secs(5);
/// Nobody waits longer for a person.
const LONGEST_WAIT: Duration = Duration::from_mins(2);

/// One asking process from beginning to end.
pub(crate) async fn live(
    world: Arc<World>,
    name: String,
    session: String,
    context: Option<String>,
    mut random: Random,
) {
    let options = AskerOptions {
        target: world.target(&mut random),
        token: Token::from(keys().agent.clone()),
        profile: None,
        session: Some(session.clone()),
        context,
        info: AskerInfo::default(),
        patience: PATIENCE,
        outcomes: Outcomes::Attached,
    };
    let asker = Asker::seeded(options, random.seed());
    let notices = silent();
    for round in 0..random.between(1, 3) {
        tokio::time::sleep(random.millis(0, 4_000)).await;
        let question = format!("{name} {round}?");
        let mut arguments = json!({ "question": question, "choices": ["a", "b"] });
        if random.percent(60)
            && let Some(object) = arguments.as_object_mut()
        {
            let seconds = random.millis(1_000, 12_000).as_secs_f64();
            object.insert("timeout_s".into(), json!(seconds));
        }
        let call = AskCall::new(Dialect::Ask, arguments);
        let impatient = random.percent(25);
        let patience = if impatient {
            random.millis(0, 8_000)
        } else {
            LONGEST_WAIT
        };
        if random.percent(15) {
            // Vanishes while the question is open: nobody is told.
            let asked = asker.ask(&call, &notices).await;
            tokio::time::sleep(random.millis(0, 3_000)).await;
            drop(asker);
            drop(asked);
            return;
        }
        match tokio::time::timeout(patience, asker.settle(&call, &notices)).await {
            Ok(result) => note(&world, question, result),
            Err(_) if impatient => {}
            Err(_) => {
                let now = world.clock.now();
                world.records().unheard.push((question, now));
            }
        }
    }
    if random.percent(80) {
        asker.close().await;
    }
}

fn note(world: &World, question: String, result: Result<Settled, WireError>) {
    match result {
        Ok(settled) => match ClarifyId::parse(&settled.clarify_id) {
            Ok(id) => world.records().results.push((id, settled.outcome)),
            Err(error) => world.broken(format!("{question} a result names no question: {error}")),
        },
        Err(error) => match error.code {
            // It was told that nobody was asked.
            ErrorCode::Unavailable | ErrorCode::LogUnavailable => {
                world.records().unasked.push(question);
            }
            // Its turn is over.
            ErrorCode::ContextExpired | ErrorCode::NoActiveTurn => {}
            _ => world.broken(format!(
                "{question} an agent was told {}: {}",
                error.code.as_str(),
                error.message
            )),
        },
    }
}
