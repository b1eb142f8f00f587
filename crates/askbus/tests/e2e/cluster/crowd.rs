//! Agents that ask, a person who answers, and the account of what each was told and what the log
//! holds.

use super::stage::{LOG, Stage, patiently};
use crate::support::{id, one_question};
use anyhow::{Context as _, Result, bail, ensure};
use askbus_testkit::{McpStdio, Person};
use async_nats::jetstream;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};
use tokio::task::JoinHandle;

/// How soon a surface sends again what was not taken.
const AGAIN: Duration = Duration::from_millis(100);

/// Agents, their questions, and the person.
pub struct Crowd {
    agents: Vec<McpStdio>,
    /// Questions asked so far; question `n` is call `n` of agent `n` modulo their number.
    asked: u64,
    /// How many of them were settled when that was looked at last.
    settled: u64,
    pub person: Person,
}

/// A person at work.
pub struct Answering(JoinHandle<Result<Vec<Taken>>>);

impl Answering {
    /// Waits until all is answered.
    pub async fn done(self) -> Result<Vec<Taken>> {
        patiently("all answers to be taken", self.0).await??
    }
}

/// One answer that was taken.
pub struct Taken {
    /// When.
    pub at: Instant,
    /// How long its author waited for that.
    pub waited: Duration,
    /// How often it was refused before.
    pub refusals: u32,
    /// Whether its author heard at once that it counts.
    pub judged: bool,
}

impl Crowd {
    /// This many agents at the gateway, each a process.
    pub async fn gather(stage: &Stage, agents: usize) -> Result<Self> {
        let (team, gateway) = (&stage.team, &stage.gateway.address);
        let mut all = Vec::new();
        for number in 0..agents {
            let name = format!("agent-{number}");
            let token = team.credential("agent", "acme", "default", &name).await?;
            let askbus = team.client(gateway, &token)?;
            // No call is handed back while a test runs.
            let askbus = askbus.env("ASKBUS_CALL_BUDGET_MS", "600000");
            all.push(McpStdio::connect(&askbus, &["mcp"]).await?);
        }
        Ok(Self {
            agents: all,
            asked: 0,
            settled: 0,
            person: team.person(gateway, "acme", "default", "alice").await?,
        })
    }

    /// Asks so many questions more and does not wait.
    pub async fn ask(&mut self, count: u64) -> Result<()> {
        for _ in 0..count {
            self.asked += 1;
            let number = self.asked;
            self.call(number, number).await?;
        }
        Ok(())
    }

    fn agent(&mut self, number: u64) -> Result<&mut McpStdio> {
        let place = usize::try_from(number)? % self.agents.len();
        self.agents.get_mut(place).context("no agents")
    }

    async fn call(&mut self, number: u64, call: u64) -> Result<()> {
        let mut question = one_question(&text(number), &["yes", "no"]);
        question["timeout_s"] = json!(600);
        self.agent(number)?.call(call, "ask_user", question).await
    }

    /// Waits until all questions are before the person.
    pub async fn all_shown(&self) -> Result<()> {
        let mut socket = self.person.socket().await?;
        let mut shown = BTreeSet::new();
        while (shown.len() as u64) < self.asked - self.settled {
            let next = socket.find(|m| m["event"] == "clarify.requested").await?;
            shown.insert(id(&next).to_owned());
        }
        Ok(())
    }

    /// Answers questions in the order they come, `pause` apart, until so many are taken. What is
    /// refused is sent again, the same answer, as a person's surface does it.
    pub fn answer(&self, count: usize, pause: Duration) -> Answering {
        let person = self.person.clone();
        Answering(tokio::spawn(async move {
            let mut socket = person.socket().await?;
            let mut taken: BTreeMap<String, Taken> = BTreeMap::new();
            while taken.len() < count {
                let shown = socket.find(|m| m["event"] == "clarify.requested").await?;
                if !taken.contains_key(id(&shown)) {
                    let done = until_taken(&person, &shown).await?;
                    taken.insert(id(&shown).to_owned(), done);
                    tokio::time::sleep(pause).await;
                }
            }
            Ok(taken.into_values().collect())
        }))
    }

    /// Waits until every agent has the answer to every question, asking again where it was told that
    /// nothing was asked; then compares what agents, people and the log say.
    pub async fn settle(&mut self, stage: &Stage, by: usize) -> Result<()> {
        for number in 1..=self.asked {
            let mut call = number;
            loop {
                let reply = self.agent(number)?.reply(call).await?;
                let result = &reply["result"];
                let outcome = &result["structuredContent"];
                if outcome["reason"] == "response" {
                    let label = &outcome["answers"][0]["options"][0]["label"];
                    ensure!(*label == wanted(number).1, "question {number}: {reply}");
                    break;
                }
                ensure!(is_away(result), "question {number}: {reply}");
                call += 1_000;
                self.call(number, call).await?;
            }
        }
        let log = resolutions(stage, by).await?;
        for number in 1..=self.asked {
            let found = log.get(&text(number)).map(Vec::as_slice);
            let Some([only]) = found else {
                bail!("question {number} is settled {found:?}");
            };
            ensure!(only == "response", "question {number}: {only}");
        }
        ensure!(
            log.len() as u64 == self.asked,
            "questions nobody asked: {log:?}"
        );
        let history = self.person.settled().await?;
        let known: BTreeSet<_> = history.iter().map(id).collect();
        ensure!(
            known.len() as u64 == self.asked,
            "the history of people: {history:?}"
        );
        ensure!(
            self.person.pending().await?.is_empty(),
            "something still waits"
        );
        self.settled = self.asked;
        Ok(())
    }
}

fn text(number: u64) -> String {
    format!("Question {number}?")
}

/// The option that answers a question, and its label.
fn wanted(number: u64) -> (&'static str, &'static str) {
    if number.is_multiple_of(2) {
        ("o1", "yes")
    } else {
        ("o2", "no")
    }
}

/// Whether a call was told that the log is away.
fn is_away(result: &Value) -> bool {
    let text = result.to_string();
    result["isError"] == true && text.contains("UNAVAILABLE")
}

/// The answer that a question wants, always the same one.
pub fn right_answer(shown: &Value) -> Result<Value> {
    let number = number(shown)?;
    Ok(json!({
        "answer_id": format!("answer-{number}"),
        "answers": [{"question_id": "q1", "option_ids": [wanted(number).0]}],
    }))
}

/// The same as the command line takes it.
pub fn right_label(shown: &Value) -> Result<&'static str> {
    Ok(wanted(number(shown)?).1)
}

fn number(shown: &Value) -> Result<u64> {
    let text = question(shown).context("no question")?;
    Ok(text.trim_matches(|c: char| !c.is_ascii_digit()).parse()?)
}

/// The text of a question on a socket or in a list.
fn question(shown: &Value) -> Option<&str> {
    let listed = shown["questions"][0]["question"].as_str();
    shown["question"].as_str().or(listed)
}

/// Sends the right answer to a question until it is taken.
pub async fn until_taken(person: &Person, shown: &Value) -> Result<Taken> {
    let answer = right_answer(shown)?;
    let begun = Instant::now();
    let mut refusals = 0;
    let taken = async {
        loop {
            let reply = person.answer(id(shown), &answer).await?;
            match reply.status {
                200 | 202 => return anyhow::Ok(reply.status == 200),
                429 | 503 => {
                    refusals += 1;
                    tokio::time::sleep(AGAIN).await;
                }
                // Somebody's answer that was in doubt counted after all.
                409 if reply.body.to_string().contains("bob") => return Ok(false),
                _ => bail!("{shown}: {reply:?}"),
            }
        }
    };
    let judged = patiently("the answer to be taken", taken).await??;
    Ok(Taken {
        at: Instant::now(),
        waited: begun.elapsed(),
        refusals,
        judged,
    })
}

/// How each question in the log was settled, in order.
async fn resolutions(stage: &Stage, by: usize) -> Result<BTreeMap<String, Vec<String>>> {
    let client = stage.nats.client(by, "session-binding").await?;
    let stream = jetstream::new(client).get_stream(LOG).await?;
    let last = stream.cached_info().state.last_sequence;
    let (mut texts, mut settled) = (BTreeMap::new(), BTreeMap::new());
    for seq in 1..=last {
        let message = stream.get_raw_message(seq).await?;
        let commit: Value = serde_json::from_slice(&message.payload)?;
        for event in commit["events"].as_array().into_iter().flatten() {
            let clarify_id = id(event).to_owned();
            match event["event"].as_str() {
                Some("requested") => {
                    let text = event["questions"][0]["question"]
                        .as_str()
                        .unwrap_or_default();
                    texts.insert(clarify_id, text.to_owned());
                    settled.entry(text.to_owned()).or_insert_with(Vec::new);
                }
                Some("resolved") => {
                    let text = texts
                        .get(&clarify_id)
                        .context("settled before it was asked")?;
                    let reason = event["reason"].as_str().unwrap_or_default();
                    settled
                        .entry(text.clone())
                        .or_default()
                        .push(reason.to_owned());
                }
                _ => {}
            }
        }
    }
    Ok(settled)
}
