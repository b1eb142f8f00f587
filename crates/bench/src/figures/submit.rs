//! From the moment a person submits until the agent has the result of its tool call.

use super::answering::{LivePerson, Shown};
use super::asking::CHOSEN;
use super::place::Access;
use super::samples::{Samples, Spread};
use crate::deployment::{Deployment, Way};
use anyhow::{Context as _, Result, ensure};
use askbus_credential::Role;
use askbus_testkit::McpStdio;
use serde::Serialize;
use serde_json::{Value, json};
use std::time::Instant;

/// One agent, one question at a time, and nothing else going on.
#[derive(Debug, Clone, Serialize)]
pub struct Submits {
    /// The person answers on their live connection, as the panel does.
    pub live: Spread,
    /// The person answers by a request, as a script does.
    pub request: Spread,
}

/// Asks and answers this many times each way.
pub(crate) async fn measure(
    deployment: &Deployment,
    access: &Access,
    rounds: usize,
) -> Result<Submits> {
    let program = deployment.program(Role::Agent, "agent", Way::Straight)?;
    let mut agent = deployment.adapter(&program).await?;
    let (mut person, _) = access.live_person(access.tenant, "ann", None).await?;
    let script = access.posting_person(access.tenant, "bob")?;
    let mut call = 0;
    let (mut live, mut request) = (Samples::default(), Samples::default());
    for round in 0..rounds + rounds.div_ceil(10) {
        let shown = ask(&mut agent, &mut person, &mut call).await?;
        let begun = person.answer(&shown.clarify_id, &shown.session_id).await?;
        let by_live = result(&mut agent, call).await?.duration_since(begun);

        let shown = ask(&mut agent, &mut person, &mut call).await?;
        let answering = script.answer(&shown.clarify_id);
        let (begun, came) = tokio::try_join!(answering, result(&mut agent, call))?;
        // The first tenth is for whatever is made at first use.
        if round >= rounds.div_ceil(10) {
            live.add(by_live);
            request.add(came.duration_since(begun));
        }
    }
    agent.process.close_stdin();
    agent.process.wait().await?;
    Ok(Submits {
        live: live.spread(),
        request: request.spread(),
    })
}

async fn ask(agent: &mut McpStdio, person: &mut LivePerson, call: &mut u64) -> Result<Shown> {
    *call += 1;
    let arguments = json!({"questions": [{"question": format!("Where to, in round {call}?"),
        "options": ["staging", CHOSEN]}]});
    agent.call(*call, "ask_user", arguments).await?;
    person.question().await
}

/// Waits for the reply to a call; when it came.
async fn result(agent: &mut McpStdio, call: u64) -> Result<Instant> {
    loop {
        let line = agent
            .process
            .stdout
            .next()
            .await?
            .context("the agent's server ended")?;
        let came = Instant::now();
        let reply: Value = serde_json::from_str(&line)?;
        if reply["id"] == call {
            let content = &reply["result"]["structuredContent"];
            ensure!(content["reason"] == "response", "not an answer: {line}");
            return Ok(came);
        }
    }
}
