//! Asking processes as session-binding sees them: a connection, an attachment, turns, questions.

use anyhow::{Context as _, Result, anyhow, bail};
use askbus_wire::client::{Client, Target};
use askbus_wire::proto::attach_event::Event;
use askbus_wire::proto::begin_turn_request::Life;
use askbus_wire::proto::{
    AskRequest, AttachEvent, AttachRequest, BeginTurnRequest, Clarification, ask_request,
};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;

/// How long anything is waited for before it counts as lost.
const PATIENCE: Duration = Duration::from_mins(1);
/// How long a turn lives without anybody holding it.
const TURN: Duration = Duration::from_hours(12);
/// Before and after the number in what a question asks; the size of an ordinary one. Equal words
/// would be one question.
const QUESTION: (&str, &str) = (
    r#"{"questions": [{"header": "Target", "question": "The tests pass on staging. Where should build "#,
    r#" be deployed next, and when?", "options": [
    {"label": "staging", "description": "Nobody notices."}, {"label": "production"}]}]}"#,
);
/// The label of the option that people choose.
pub(crate) const CHOSEN: &str = "production";

/// When and how a question ended, as its asker heard it.
#[derive(Debug, Clone)]
pub(crate) struct Heard {
    pub at: Instant,
    /// It was answered as people answer here.
    pub as_answered: bool,
}

enum Slot {
    Heard(Heard),
    Awaited(oneshot::Sender<Heard>),
}

#[derive(Default)]
struct Outcomes {
    slots: Mutex<HashMap<String, Slot>>,
    /// Outcomes of one question after the first.
    repeated: Mutex<usize>,
    count: watch::Sender<usize>,
}

/// One asking process with its sessions.
pub(crate) struct Asker {
    client: Client,
    name: String,
    contexts: Vec<String>,
    asked: AtomicU64,
    outcomes: Arc<Outcomes>,
    reader: JoinHandle<()>,
}

impl Drop for Asker {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

impl Asker {
    /// Attaches, and begins a turn in each of so many sessions.
    pub(crate) async fn attach(
        target: &Target,
        token: &str,
        name: &str,
        sessions: usize,
    ) -> Result<Self> {
        let mut client = Client::new(target, token)?;
        let request = AttachRequest {
            asker_id: name.to_owned(),
            open_clarify_ids: Vec::new(),
        };
        let mut stream = client.clarify.attach(request).await?.into_inner();
        let first = stream.message().await?;
        if !matches!(
            first,
            Some(AttachEvent {
                event: Some(Event::Attached(_))
            })
        ) {
            bail!("not attached: {first:?}");
        }
        let outcomes: Arc<Outcomes> = Arc::default();
        let hearing = Arc::clone(&outcomes);
        let reader = tokio::spawn(async move {
            while let Ok(Some(message)) = stream.message().await {
                if let Some(Event::Resolved(clarification)) = message.event {
                    hearing.hear(clarification);
                }
            }
        });
        let mut this = Self {
            client,
            name: name.to_owned(),
            contexts: Vec::with_capacity(sessions),
            asked: AtomicU64::default(),
            outcomes,
            reader,
        };
        for session in 0..sessions {
            let context = this.begin(&format!("{name}-{session}")).await?;
            this.contexts.push(context);
        }
        Ok(this)
    }

    async fn begin(&self, session: &str) -> Result<String> {
        let life = u64::try_from(TURN.as_millis()).unwrap_or(u64::MAX);
        let request = BeginTurnRequest {
            session_id: session.to_owned(),
            life: Some(Life::ForMs(life)),
            ..BeginTurnRequest::default()
        };
        let begun = self.client.turns.clone().begin_turn(request).await?;
        Ok(begun.into_inner().context_id)
    }

    /// Asks in its n-th session, without a deadline.
    pub(crate) async fn ask(&self, session: usize) -> Result<String> {
        let context_id = self.contexts.get(session % self.contexts.len().max(1));
        let number = self.asked.fetch_add(1, Ordering::Relaxed);
        let arguments = format!("{}{number}{}", QUESTION.0, QUESTION.1);
        let request = AskRequest {
            context_id: context_id.context("no session")?.clone(),
            asker_id: self.name.clone(),
            dialect: "ask".to_owned(),
            input: Some(ask_request::Input::ArgumentsJson(arguments)),
            ..AskRequest::default()
        };
        let asked = self.client.clarify.clone().ask(request).await?;
        Ok(asked.into_inner().clarify_id)
    }

    /// Waits for the outcome of one of its questions; an error when none comes.
    pub(crate) async fn outcome(&self, clarify_id: &str) -> Result<Heard> {
        let awaited = {
            let mut slots = lock(&self.outcomes.slots);
            match slots.remove(clarify_id) {
                Some(Slot::Heard(heard)) => {
                    slots.insert(clarify_id.to_owned(), Slot::Heard(heard.clone()));
                    return Ok(heard);
                }
                Some(Slot::Awaited(_)) | None => {}
            }
            let (told, awaited) = oneshot::channel();
            slots.insert(clarify_id.to_owned(), Slot::Awaited(told));
            awaited
        };
        let heard = tokio::time::timeout(PATIENCE, awaited).await;
        heard
            .map_err(|_| anyhow!("{clarify_id} was answered and its asker never heard of it"))?
            .context("the attachment ended")
    }

    /// Waits until it has heard of so many questions, or for a bounded time.
    pub(crate) async fn heard_of(&self, questions: usize) {
        let mut count = self.outcomes.count.subscribe();
        // Out of patience: what was not heard counts as lost.
        let _ = tokio::time::timeout(PATIENCE, count.wait_for(|n| *n >= questions)).await;
    }

    /// How many outcomes it heard, how many of them as people answered, and how many a second time.
    pub(crate) fn tally(&self) -> Tally {
        let slots = lock(&self.outcomes.slots);
        let heard = slots.values().filter_map(|slot| match slot {
            Slot::Heard(heard) => Some(heard.as_answered),
            Slot::Awaited(_) => None,
        });
        Tally {
            answered: heard.filter(|as_answered| *as_answered).count(),
            repeated: *lock(&self.outcomes.repeated),
        }
    }
}

/// What came of an asker's questions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub answered: usize,
    pub repeated: usize,
}

impl std::iter::Sum for Tally {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |a, b| Self {
            answered: a.answered + b.answered,
            repeated: a.repeated + b.repeated,
        })
    }
}

impl Outcomes {
    fn hear(&self, clarification: Clarification) {
        let at = Instant::now();
        let outcome = clarification.outcome.unwrap_or_default();
        let chosen = |label: &str| label == CHOSEN;
        let as_answered = outcome.reason == "response"
            && outcome
                .answers
                .iter()
                .flat_map(|a| &a.options)
                .any(|o| chosen(&o.label));
        let heard = Heard { at, as_answered };
        let before = lock(&self.slots).insert(clarification.clarify_id, Slot::Heard(heard.clone()));
        match before {
            Some(Slot::Heard(_)) => {
                *lock(&self.repeated) += 1;
                return;
            }
            // Whoever waited may have given up.
            Some(Slot::Awaited(waiter)) => drop(waiter.send(heard)),
            None => {}
        }
        self.count.send_modify(|count| *count += 1);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
