//! The one story: the model asks, the question waits, a person answers, the model hears it.

use anyhow::{Context as _, Result, ensure};
use askbus_testkit::clis::{Approval, Client, Limit, Run};
use askbus_testkit::model::{Asker, Model, Script, Seen};
use askbus_testkit::{AskbusUp, Person, Socket};
use serde_json::{Value, json};
use std::time::Duration;

/// The program under test.
const BINARY: &str = env!("CARGO_BIN_EXE_askbus");
/// What the model asks.
const QUESTION: &str = "Which colour is the door to have?";
/// How long a client may take to start, or to go on: some are slow, and machines are busy.
pub const PATIENCE: Duration = Duration::from_mins(2);
/// How long a question is left alone, for whatever might answer it besides a person.
const ALONE: Duration = Duration::from_secs(3);

/// What takes part.
pub struct Stage {
    pub client: &'static Client,
    pub model: Model,
    pub up: AskbusUp,
    pub person: Person,
    socket: Socket,
}

impl Stage {
    /// Everything but the client itself.
    pub async fn set(name: &str) -> Result<Self> {
        Self::set_for(name, Asker::Itself).await
    }

    /// The same, with this agent to ask.
    pub async fn set_for(name: &str, asker: Asker) -> Result<Self> {
        alone()?;
        let client = Client::named(name)?;
        // As the schema has it, in both ways: some clients refuse what is not.
        let options = json!([{"label": "Red"}, "Blue"]);
        let question = json!({"question": QUESTION, "options": options});
        let script = Script {
            asker,
            tool: client.tool,
            question: json!({"questions": [question]}),
            access: client.access,
        };
        let model = Model::start(script).await?;
        let up = AskbusUp::start(BINARY).await?;
        let person = up.person().await?;
        let socket = person.socket().await?;
        Ok(Self {
            client,
            model,
            up,
            person,
            socket,
        })
    }

    /// Starts the client.
    pub fn start(&self, approval: Approval, limit: Limit) -> Result<Run> {
        self.client
            .start(&self.model, self.up.askbus(), approval, limit)
    }

    /// The question, once it is before the person: labelled with the client's name.
    pub async fn asked(&mut self, run: &Run) -> Result<String> {
        let shown = self.shown(run).await?;
        let id = shown["clarify_id"].as_str().context("no id")?;
        Ok(id.to_owned())
    }

    /// The question as the person sees it.
    pub async fn shown(&mut self, run: &Run) -> Result<Value> {
        let asking = |seen: &Seen| !seen.conversation.tools.is_empty();
        let began = self.model.until(PATIENCE, asking).await;
        began.with_context(|| self.told(run))?;
        let shown = self
            .socket
            .find(|m| m["event"] == "clarify.requested" && m["question"] == QUESTION)
            .await
            .with_context(|| self.told(run))?;
        let label = shown["asker"]["client"].as_str().unwrap_or_default();
        let name = label.split(' ').next().unwrap_or_default();
        ensure!(name == self.client.label, "it is labelled {label:?}");
        Ok(shown)
    }

    /// What model and client have to say, for whoever has to find out why a test failed.
    fn told(&self, run: &Run) -> String {
        let (model, process) = (self.model.summary(), &run.process);
        let (out, err) = (process.stdout.all(), process.stderr.all());
        format!("{model}\nthe client wrote: {out:#?}\nand to standard error: {err:#?}")
    }

    /// Leaves the question alone for a while: nothing may end it meanwhile.
    pub async fn left_alone(&self, id: &str) -> Result<()> {
        let told = |seen: &Seen| !seen.conversation.results.is_empty();
        let told = self.model.until(ALONE, told).await;
        ensure!(told.is_err(), "nobody answered: {}", self.model.summary());
        self.still_waits(id).await
    }

    /// The question, and no other one, is open.
    pub async fn still_waits(&self, id: &str) -> Result<()> {
        let waiting = self.person.pending().await?;
        let ids: Vec<_> = waiting.iter().map(|c| &c["clarify_id"]).collect();
        ensure!(
            ids == [id],
            "this is what waits: {waiting:?}; {}",
            self.model.summary()
        );
        Ok(())
    }

    /// Has the person answer, and the client's model hear it.
    pub async fn answered(&self, id: &str, run: &mut Run) -> Result<Seen> {
        // Different in every run, so that nothing but the answer can say it.
        let words = format!("{} with a hint of green", &id[id.len() - 12..]);
        let answer =
            json!({"answers": [{"question_id": "q1", "option_ids": ["o2"], "text": words}]});
        let reply = self.person.answer(id, &answer).await?;
        ensure!(reply.status < 300, "{reply:?}");
        let heard = |seen: &Seen| spoke_of(seen, &words);
        let seen = self.model.until(PATIENCE, heard).await;
        let seen = seen.with_context(|| self.told(run))?;
        let ended = run.process.wait().await?;
        ensure!(ended.success(), "{ended}: {}", self.told(run));
        let settled = self.person.settled().await?;
        ensure!(settled.len() == 1, "one question was asked: {settled:?}");
        ensure!(settled[0]["decided_by"] == "person", "{settled:?}");
        Ok(seen)
    }
}

fn spoke_of(seen: &Seen, words: &str) -> bool {
    let last = seen.conversation.results.last();
    last.is_some_and(|result| result.contains(words))
}

/// The clients may reach nothing but this machine.
fn alone() -> Result<()> {
    let interfaces = std::fs::read_to_string("/proc/net/dev")?;
    let mut names = interfaces.lines().filter_map(|l| l.split_once(':'));
    let other = names.find(|(name, _)| name.trim() != "lo");
    ensure!(
        other.is_none(),
        "these programs are not let near a network: run ./test clis"
    );
    Ok(())
}

pub async fn a_person_answers(name: &str) -> Result<()> {
    let mut stage = Stage::set(name).await?;
    let mut run = stage.start(Approval::Tools, Limit::Raised)?;
    let id = stage.asked(&run).await?;
    stage.left_alone(&id).await?;
    let seen = stage.answered(&id, &mut run).await?;
    assert_eq!(seen.conversation.results.len(), 1, "in one call: {seen:?}");
    Ok(())
}

pub async fn nothing_but_a_person_answers(name: &str) -> Result<()> {
    let mut stage = Stage::set(name).await?;
    let mut run = stage.start(Approval::Bypassed, Limit::Raised)?;
    let id = stage.asked(&run).await?;
    stage.left_alone(&id).await?;
    stage.answered(&id, &mut run).await?;
    Ok(())
}
