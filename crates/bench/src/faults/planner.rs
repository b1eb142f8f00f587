//! A host that shows a plan and goes on with it, revision by revision, whatever happens. It sends each
//! update, under the same id, until it is told that it is stored.

use super::board::Board;
use super::seen::Shown;
use anyhow::Result;
use askbus_testkit::{Person, Reply};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// The session it plans in.
pub(super) const SESSION: &str = "planned";
/// How long until an update that was not confirmed is sent again.
const RETRY: Duration = Duration::from_millis(50);
/// Between two updates.
const PACE: Duration = Duration::from_millis(20);
/// Updates after everything is back.
const AFTERWARDS: usize = 5;
/// The stage from which on everything is back.
const BACK: usize = 3;

/// Begins its turn, which lives by itself.
///
/// # Errors
/// When it is refused.
pub(super) async fn begin(host: &Person) -> Result<String> {
    let turn = json!({"session_id": SESSION, "for_ms": 600_000});
    let begun = host.post("/api/turns/begin", &turn).await?;
    match begun.body["context_id"].as_str() {
        Some(context) => Ok(context.to_owned()),
        None => anyhow::bail!("no turn to plan in: {begun:?}"),
    }
}

/// Plans until a few updates were confirmed after everything is back, or one is refused.
pub(super) async fn plan(board: Arc<Board>, host: Person, context: String) {
    let mut after = 0;
    for at in 0.. {
        let shown = Shown::of(at);
        let done = match insist(&host, &context, &shown).await {
            Ok(shown) => {
                board.change(|state| state.seen.planner.shown.push(shown));
                after += usize::from(board.look(|state| state.stage >= BACK));
                after >= AFTERWARDS
            }
            Err(refused) => {
                board.change(|state| state.seen.planner.refused = Some(refused));
                true
            }
        };
        if done {
            board.change(|state| state.seen.planner.done = true);
            return;
        }
        tokio::time::sleep(PACE).await;
    }
}

/// Shows one revision until it is known to be stored; what refused it if something did.
async fn insist(host: &Person, context: &str, shown: &Shown) -> Result<Shown, String> {
    let body = json!({"context_id": context, "update_id": shown.update_id,
        "plan": [{"id": "step", "step": shown.step, "status": "in_progress"}]});
    loop {
        match host.post("/api/studio/task-plans/update", &body).await {
            Ok(Reply { status: 200, body }) => return Ok(confirmed(shown, &body)),
            // Whether it is stored is not known, or it came too fast.
            Ok(Reply {
                status: 429 | 503, ..
            })
            | Err(_) => {}
            Ok(refused) => return Err(format!("{}: {refused:?}", shown.update_id)),
        }
        tokio::time::sleep(RETRY).await;
    }
}

/// What the service says that it stored.
fn confirmed(shown: &Shown, said: &Value) -> Shown {
    Shown {
        update_id: shown.update_id.clone(),
        revision: said["revision"].as_u64().unwrap_or_default(),
        step: said["plan"][0]["step"]
            .as_str()
            .unwrap_or_default()
            .to_owned(),
    }
}

/// The revision that the gateway lists.
///
/// # Errors
/// When it is refused.
pub(super) async fn listed(person: &Person) -> Result<Option<u64>> {
    let path = format!("/api/plans?session={SESSION}");
    let reply = person.get(&path).await?;
    anyhow::ensure!(reply.status == 200, "{path}: {reply:?}");
    // None listed is as good as none stored.
    Ok(Some(
        reply.body["plans"][0]["revision"].as_u64().unwrap_or(0),
    ))
}
