//! Agents that wait for answers: MCP servers with many open calls each, scripts, and the host of a
//! turn.

use super::board::Board;
use super::seen::{Call, End, Returned};
use crate::deployment::{Deployment, Way};
use anyhow::{Context as _, Result};
use askbus_credential::Role;
use askbus_testkit::{Askbus, Lines, McpStdio, Process, Signal};
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::task::JoinSet;

/// Request ids of calls begin here.
const FIRST_ID: u64 = 1_000;
/// One call in so many is left unanswered on purpose.
const LEFT_EVERY: usize = 12;
/// Open calls of one adapter.
const CALLS: usize = 23;
/// Scripts that ask.
const SCRIPTS: usize = 8;
/// Questions that wait when the victim is hit: four adapters and the scripts.
pub(super) const QUESTIONS: usize = 4 * CALLS + SCRIPTS;
/// Calls of an adapter that is started afterwards.
const AFTERWARDS: usize = 3;

/// An asking process and the places of its calls.
struct Agent {
    process: Process,
    calls: Vec<usize>,
}

/// All of them. Their readers end with the processes.
pub(super) struct Agents {
    board: Arc<Board>,
    adapters: Vec<Agent>,
    scripts: Vec<Agent>,
    host: Option<Process>,
    readers: JoinSet<()>,
}

impl Agents {
    /// Starts the host, four adapters, one of them in the host's turn, and the scripts, and lets all
    /// of them ask.
    ///
    /// # Errors
    /// When one does not start.
    pub(super) async fn start(deployment: &Deployment, board: Arc<Board>) -> Result<Self> {
        let mut agents = Self {
            board,
            adapters: Vec::new(),
            scripts: Vec::new(),
            host: None,
            readers: JoinSet::new(),
        };
        let host = deployment.program(Role::Host, "host", Way::Straight)?;
        let mut host = host.spawn(&["turn", "begin", "--session", "held"])?;
        let straight = deployment.program(Role::Agent, "agent", Way::Straight)?;
        let through = deployment.program(Role::Agent, "agent", Way::Gateway)?;
        for at in 0..SCRIPTS {
            let askbus = if at % 2 == 0 { &straight } else { &through };
            agents.script(askbus)?;
        }
        let context = host.stdout.next().await?;
        let context = context.with_context(|| format!("no turn: {:?}", host.stderr.all()))?;
        agents.host = Some(host);
        let within = straight.clone().env("ASKBUS_CONTEXT", context.trim());
        for askbus in [&within, &straight, &through] {
            let client = deployment.adapter(askbus).await?;
            agents.adapter(client, CALLS).await?;
        }
        let client = match deployment.adapter_on_bus(&straight).await? {
            Some(client) => client,
            None => deployment.adapter(&straight).await?,
        };
        agents.adapter(client, CALLS).await?;
        Ok(agents)
    }

    /// One more adapter, after everything is back.
    ///
    /// # Errors
    /// When it does not start.
    pub(super) async fn one_more(&mut self, deployment: &Deployment) -> Result<()> {
        let askbus = deployment.program(Role::Agent, "agent", Way::Straight)?;
        let client = deployment.adapter(&askbus).await?;
        self.adapter(client, AFTERWARDS).await
    }

    fn new_call(&self) -> (usize, String) {
        self.board.change(|state| {
            let at = state.seen.calls.len();
            let question = format!("question {at}");
            let left = at % LEFT_EVERY == LEFT_EVERY - 1;
            state.seen.calls.push(Call {
                question: question.clone(),
                lives: true,
                left,
                due: !left,
                returned: Vec::new(),
            });
            (at, question)
        })
    }

    async fn adapter(&mut self, mut client: McpStdio, calls: usize) -> Result<()> {
        let lines = client.process.stdout.clone();
        let mut places = Vec::new();
        for _ in 0..calls {
            let (at, question) = self.new_call();
            let id = FIRST_ID + u64::try_from(at)?;
            let arguments =
                json!({"questions": [{"question": question, "options": ["yes", "no"]}]});
            client.call(id, "ask_user", arguments).await?;
            places.push(at);
        }
        self.readers
            .spawn(read_replies(Arc::clone(&self.board), lines));
        self.adapters.push(Agent {
            process: client.process,
            calls: places,
        });
        Ok(())
    }

    fn script(&mut self, askbus: &Askbus) -> Result<()> {
        let (at, question) = self.new_call();
        let process = askbus.spawn(&["ask", &question, "--choice", "yes", "--json"])?;
        let (out, err) = (process.stdout.clone(), process.stderr.clone());
        self.readers
            .spawn(read_script(Arc::clone(&self.board), at, out, err));
        self.scripts.push(Agent {
            process,
            calls: vec![at],
        });
        Ok(())
    }

    /// How many adapters there are.
    pub(super) fn adapters(&self) -> usize {
        self.adapters.len()
    }

    /// Sends a signal to one adapter; with SIGKILL its calls are over.
    ///
    /// # Errors
    /// When there is no such adapter, or it has ended.
    pub(super) fn hit_adapter(&mut self, which: usize, signal: Signal) -> Result<()> {
        let agent = self.adapters.get(which).context("no such adapter")?;
        self.hit(agent, signal)
    }

    /// Sends a signal to the host of the turn.
    ///
    /// # Errors
    /// When it has ended.
    pub(super) fn hit_host(&mut self, signal: Signal) -> Result<()> {
        let host = self.host.as_ref().context("there is no host")?;
        // The first adapter asks in its turn, which ends without it.
        let bound = self.adapters.first().filter(|_| signal == Signal::KILL);
        let bound = bound.map_or(&[][..], |agent| &agent.calls);
        self.board.change(|state| {
            state.seen.host.may_end = true;
            for at in bound {
                if let Some(call) = state.seen.calls.get_mut(*at) {
                    call.due = true;
                }
            }
        });
        host.signal(signal)
    }

    /// Sends a signal to everybody, also to scripts that are done.
    ///
    /// # Errors
    /// When one cannot be signalled.
    pub(super) fn hit_all(&mut self, signal: Signal) -> Result<()> {
        for agent in self.adapters.iter().chain(&self.scripts) {
            self.hit(agent, signal)?;
        }
        self.hit_host(signal)
    }

    fn hit(&self, agent: &Agent, signal: Signal) -> Result<()> {
        if signal == Signal::KILL {
            self.board.change(|state| {
                for at in &agent.calls {
                    if let Some(call) = state.seen.calls.get_mut(*at) {
                        call.lives = false;
                    }
                }
            });
        }
        agent.process.signal(signal)
    }

    /// Notes whether the host ended although nobody told it to.
    ///
    /// # Errors
    /// When that cannot be told.
    pub(super) fn look_at_host(&mut self) -> Result<()> {
        let Some(host) = &mut self.host else {
            return Ok(());
        };
        if !host.is_running()? {
            let said = host.stderr.all();
            self.board
                .change(|state| state.seen.host.ended = Some(said));
        }
        Ok(())
    }

    /// Lets all of them go as their clients would: input closed, scripts told to stop.
    ///
    /// # Errors
    /// When one does not end.
    pub(super) async fn leave(mut self) -> Result<()> {
        for agent in &mut self.adapters {
            agent.process.close_stdin();
        }
        for script in &mut self.scripts {
            if script.process.is_running()? {
                script.process.signal(Signal::TERM)?;
            }
        }
        if let Some(host) = &mut self.host {
            host.close_stdin();
        }
        let agents = self.adapters.iter_mut().chain(&mut self.scripts);
        let processes = agents.map(|agent| &mut agent.process).chain(&mut self.host);
        for process in processes {
            process.wait().await?;
        }
        self.readers.abort_all();
        Ok(())
    }
}

/// Reads an adapter's replies to the end of its output.
async fn read_replies(board: Arc<Board>, mut lines: Lines) {
    loop {
        // An error is a long silence.
        let Ok(line) = lines.next().await else {
            continue;
        };
        let Some(line) = line else { return };
        let reply: Value = serde_json::from_str(&line).unwrap_or(Value::Null);
        let place = reply["id"].as_u64().and_then(|id| id.checked_sub(FIRST_ID));
        let Some(at) = place.and_then(|at| usize::try_from(at).ok()) else {
            continue;
        };
        let content = &reply["result"]["structuredContent"];
        returned(
            &board,
            at,
            read_result(content).unwrap_or(Returned::Failed(line)),
        );
    }
}

async fn read_script(board: Arc<Board>, at: usize, mut out: Lines, err: Lines) {
    loop {
        let Ok(line) = out.next().await else {
            continue;
        };
        let result = match &line {
            Some(line) => serde_json::from_str(line)
                .ok()
                .as_ref()
                .and_then(read_result),
            None => None,
        };
        let failed = || Returned::Failed(format!("{line:?} {:?}", err.all()));
        returned(&board, at, result.unwrap_or_else(failed));
        return;
    }
}

/// A settled result, as adapters and scripts tell it.
fn read_result(content: &Value) -> Option<Returned> {
    let clarify_id = content["clarify_id"].as_str()?.to_owned();
    (content["status"] == "settled").then(|| Returned::Settled {
        clarify_id,
        end: End::read(content),
    })
}

fn returned(board: &Board, at: usize, returned: Returned) {
    board.change(|state| {
        if let Some(call) = state.seen.calls.get_mut(at) {
            call.returned.push(returned);
        }
    });
}
