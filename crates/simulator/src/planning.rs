//! What agents plan beside their questions.

use crate::random::Random;
use crate::world::World;
use askbus_domain::Dialect;
use askbus_mcp_adapter::asker::{AskCall, Asker};
use askbus_wire::error::ErrorCode;
use askbus_wire::proto;
use serde_json::{Value, json};

/// A plan that an agent was told is shown.
#[derive(Debug, Clone)]
pub struct Planned {
    /// The text of its first step, unlike that of any other update.
    pub text: String,
    /// What the agent was told.
    pub shown: proto::Plan,
}

/// Shows a plan a few times, each with a first step of its own.
pub(crate) async fn plan(world: &World, asker: &Asker, name: &str, mut random: Random) {
    for n in 0..random.between(0, 3) {
        tokio::time::sleep(random.millis(0, 2_500)).await;
        let text = format!("{name} {n}");
        let call = AskCall::new(Dialect::Ask, arguments(&text, &mut random));
        match asker.update_plan(&call).await {
            Ok(shown) => world.records().planned.push(Planned { text, shown }),
            Err(error) => match error.code {
                // It may be shown all the same, or its turn is over.
                ErrorCode::Unavailable
                | ErrorCode::LogUnavailable
                | ErrorCode::ContextExpired
                | ErrorCode::NoActiveTurn => {}
                code => world.broken(format!("{text}: a plan was refused: {}", code.as_str())),
            },
        }
    }
}

fn arguments(text: &str, random: &mut Random) -> Value {
    let mut working = false;
    let mut steps = Vec::new();
    for n in 0..random.between(1, 4) {
        let status = random.choose(
            &[(2, "pending"), (2, "in_progress"), (2, "completed")],
            "pending",
        );
        let status = match status {
            "in_progress" if working => "pending",
            status => status,
        };
        working |= status == "in_progress";
        let step = if n == 0 {
            text.to_owned()
        } else {
            format!("step {n}")
        };
        steps.push(json!({"id": format!("s{n}"), "step": step, "status": status}));
    }
    json!({"plan": steps})
}
