//! Agents: real asking processes that ask, wait, give up, and vanish.

use crate::random::Random;
use crate::world::{Asking, World};
use crate::{planning, policy};
use askbus_domain::{Addressee, ClarifyId, Dialect, Millis, Wish};
use askbus_mcp_adapter::Token;
use askbus_mcp_adapter::asker::{
    AskCall, Asker, AskerInfo, AskerOptions, Outcomes, Settled, silent,
};
use askbus_wire::error::{ErrorCode, WireError};
use serde_json::{Map, json};
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
        token: Token::from(world.keys.agent.clone()),
        profile: None,
        session: Some(session.clone()),
        context,
        info: AskerInfo::default(),
        patience: PATIENCE,
        outcomes: Outcomes::Attached,
        asker_id: None,
        channel: None,
    };
    let asker = Asker::seeded(options, random.seed());
    let notices = silent();
    for round in 0..random.between(1, 4) {
        tokio::time::sleep(random.millis(0, 4_000)).await;
        let question = format!("{name} {round}?");
        let call = call(&world, &question, &mut random);
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
        let twin = random.percent(15).then(|| random.millis(0, 1_500));
        let same = async {
            let Some(pause) = twin else { return };
            tokio::time::sleep(pause).await;
            // What one call is told of the two says nothing about the other.
            let twin = tokio::time::timeout(LONGEST_WAIT, asker.settle(&call, &notices)).await;
            if let Ok(Ok(settled)) = twin {
                note(&world, question.clone(), Ok(settled));
            }
        };
        let first = async {
            match tokio::time::timeout(patience, asker.settle(&call, &notices)).await {
                Ok(Err(_)) if twin.is_some() => {}
                Ok(result) => note(&world, question.clone(), result),
                Err(_) if impatient || twin.is_some() => {}
                Err(_) => {
                    let now = world.clock.now();
                    world.records().unheard.push((question.clone(), now));
                }
            }
        };
        let mut planner = random.fork();
        let planned = async {
            if planner.percent(40) {
                let name = format!("{name} plan {round}");
                planning::plan(&world, &asker, &name, planner).await;
            }
        };
        tokio::join!(first, same, planned);
    }
    if random.percent(80) {
        asker.close().await;
    }
}

/// A call that asks something, and what its agent wants of it.
fn call(world: &World, question: &str, random: &mut Random) -> AskCall {
    let one = json!({"question": question, "options": ["a", "b"], "recommended": 0});
    let mut questions = vec![one];
    if random.percent(30) {
        questions.push(json!({"question": "And then?", "options": ["c", "d"]}));
    }
    let mut arguments = Map::from_iter([("questions".to_owned(), json!(questions))]);
    let mut asking = Asking::default();
    if random.percent(60) {
        let wait = random.between(500, 12_000);
        asking.timeout = Some(Wish::After(Millis(wait)));
        arguments.insert("timeout_ms".into(), json!(wait));
    }
    if random.percent(20) {
        let chosen = policy::on_timeout(random);
        asking.on_timeout = Some(chosen);
        arguments.insert("on_timeout".into(), chosen.as_str().into());
    }
    if random.percent(20) {
        let chosen = policy::when_absent(random);
        asking.when_absent = Some(chosen);
        arguments.insert("when_absent".into(), chosen.as_str().into());
    }
    if random.percent(20) {
        let to = random.choose(&[(1, "ann"), (1, "person:bob"), (1, "group:ops")], "ann");
        asking.to = Addressee::parse(to).ok();
        arguments.insert("to".into(), to.into());
    }
    let mut call = AskCall::new(Dialect::Ask, arguments.into());
    if random.percent(15) {
        asking.parent = Some("above".to_owned());
        call.origin.parent.clone_from(&asking.parent);
    }
    if random.percent(30) {
        call.origin.turn = Some(format!("t{}", random.between(0, 2)));
    }
    world.records().askings.insert(question.to_owned(), asking);
    call
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
                world.records().unasked.push((question, error.to_string()));
            }
            // The policy lets no more wait: nobody was asked.
            ErrorCode::TooManyPending if limits_pending(world) => {
                world.records().unasked.push((question, error.to_string()));
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

fn limits_pending(world: &World) -> bool {
    let records = world.records();
    let tenants = records.policy.tenants.values();
    let tenants = tenants.flat_map(|own| {
        let narrower = own.dialects.values().chain(own.profiles.values());
        std::iter::once(&own.layer).chain(narrower)
    });
    let all = std::iter::once(&records.policy.all).chain(tenants);
    let mut layers = all.chain(records.turns.values());
    layers.any(|layer| layer.max_pending.is_some())
}
