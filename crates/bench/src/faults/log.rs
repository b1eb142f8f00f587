//! The log as it stands when a round is over, read from the file or the stream itself.

use super::seen::{End, Shown};
use crate::deployment::{Deployment, Services};
use anyhow::{Context as _, Result, bail};
use askbus_domain::{Event, Outcome, Timestamp, check_history};
use askbus_ledger::jetstream::{self, JetStreamOptions};
use askbus_ledger::{Bus, Stored, embedded};
use askbus_testkit::{Signal, within};
use askbus_wire::codec::Decoded;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A question as the log tells it.
#[derive(Debug, Clone, Default)]
pub struct Question {
    /// What is asked.
    pub question: String,
    /// How it ended; a log that keeps its laws has one end at most.
    pub ends: Vec<End>,
    /// Who answered too late: the person and the id of the answer.
    pub late: Vec<(String, String)>,
}

/// The log.
#[derive(Debug, Clone, Default)]
pub struct Log {
    /// Every question by its id.
    pub questions: BTreeMap<String, Question>,
    /// Every revision of the plans of a session, by the session.
    pub plans: BTreeMap<String, Vec<Shown>>,
    /// What was sent and could not be taken.
    pub refused: Vec<String>,
    /// Laws of a session that do not hold.
    pub broken: Vec<String>,
}

/// Reads the log. The embedded one belongs to one process at a time, so `up` is killed for it.
///
/// # Errors
/// When it cannot be read.
pub async fn read(deployment: &mut Deployment) -> Result<Log> {
    let urls = deployment.nats_urls();
    let stored = match (&mut deployment.services, urls) {
        (Services::Embedded { up }, _) => {
            up.signal(Signal::KILL)?;
            up.process().wait().await?;
            let (bus, handle) = embedded::open(deployment.home())?;
            let stored = all(&bus).await;
            handle.close().await;
            stored?
        }
        (Services::OnNats { .. }, Some(urls)) => {
            let options = JetStreamOptions::new(&urls, "askbus-bench".to_owned());
            let (bus, _client, handle) = jetstream::connect(options).await?;
            let stored = within("the log to be read", all_when_there(&bus)).await;
            handle.close().await;
            stored??
        }
        (Services::OnNats { .. }, None) => bail!("services over NATS without a server"),
    };
    fold(&stored)
}

/// The connection is made in the background.
async fn all_when_there(bus: &Bus) -> Result<Vec<Arc<Stored>>> {
    loop {
        match bus.ledger.last_seq().await {
            Ok(_) => return all(bus).await,
            Err(askbus_ledger::LedgerError::Unavailable(_)) => {
                tokio::time::sleep(std::time::Duration::from_millis(10)).await;
            }
            Err(error) => return Err(error.into()),
        }
    }
}

async fn all(bus: &Bus) -> Result<Vec<Arc<Stored>>> {
    let last = bus.ledger.last_seq().await?;
    let mut stored = Vec::new();
    let mut tail = bus.ledger.tail(1).await?;
    while stored.last().map_or(0, |s: &Arc<Stored>| s.seq) < last {
        stored.push(tail.recv().await.context("the tail of the log ended")?);
    }
    Ok(stored)
}

/// Folds the messages of the log.
///
/// # Errors
/// When one cannot be read.
fn fold(stored: &[Arc<Stored>]) -> Result<Log> {
    let mut log = Log::default();
    let mut sessions: BTreeMap<String, Vec<(Timestamp, &Event)>> = BTreeMap::new();
    for message in stored {
        let Decoded::Commit(commit) = &message.decoded else {
            bail!("message {} of the log cannot be read", message.seq);
        };
        for event in &commit.events {
            let session = sessions.entry(message.session.to_string()).or_default();
            session.push((message.stored_at, event));
            take(&mut log, &commit.session_id.to_string(), event);
        }
    }
    for (session, events) in sessions {
        if let Err(broken) = check_history(events.into_iter()) {
            log.broken.push(format!("session {session}: {broken}"));
        }
    }
    Ok(log)
}

fn take(log: &mut Log, session: &str, event: &Event) {
    match event {
        Event::Requested {
            clarify_id,
            questions,
            ..
        } => {
            let asked = log.questions.entry(clarify_id.to_string()).or_default();
            asked.question.clone_from(&questions.first().question);
        }
        Event::Resolved {
            clarify_id,
            outcome,
        } => {
            let ended = log.questions.entry(clarify_id.to_string()).or_default();
            ended.ends.push(end(outcome));
        }
        Event::Late {
            clarify_id, late, ..
        } => {
            let response = &late.response;
            let author = (
                response.actor.person.to_string(),
                response.answer_id.to_string(),
            );
            let question = log.questions.entry(clarify_id.to_string()).or_default();
            question.late.push(author);
        }
        Event::Refused { sent, .. } => log.refused.push(sent.clone()),
        Event::Begun { .. }
        | Event::Ended { .. }
        | Event::Held { .. }
        | Event::PassedOn { .. }
        | Event::Worked { .. } => {}
        Event::Plan {
            update_id, plan, ..
        } => {
            let step = plan.steps.first().map(|step| step.step.clone());
            let shown = Shown {
                update_id: update_id.to_string(),
                revision: plan.revision,
                step: step.unwrap_or_default(),
            };
            let session = log.plans.entry(session.to_owned()).or_default();
            session.push(shown);
        }
    }
}

fn end(outcome: &Outcome) -> End {
    let said = outcome.answers.iter().flat_map(|answer| {
        let labels = answer.options.iter().map(|o| o.label.clone());
        labels
            .chain(answer.text.clone())
            .chain(answer.note.clone())
            .collect::<Vec<_>>()
    });
    End {
        reason: outcome.reason.as_str().to_owned(),
        person: outcome.actor.as_ref().map(|a| a.person.to_string()),
        said: said.collect(),
        answer_id: outcome.answer_id.as_ref().map(ToString::to_string),
    }
}
