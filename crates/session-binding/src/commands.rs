//! Decide, append, apply: the loop that turns a command into a commit.
//!
//! Commands of one session run one after the other (each session belongs to one of a fixed number
//! of queues), so that replicas compete with each other but a process never competes with itself.

mod doubt;
mod error;
mod log;

pub(crate) use error::CommandError;
pub(crate) use log::{known, wait_applied};

use crate::leases::Lost;
use crate::past;
use crate::projection::{Asking, Change, Key};
use crate::service::Core;
use crate::spans;
use askbus_domain::{
    AskCommand, ClarifyId, Command, Event, Millis, Rejection, Session, Timestamp, decide,
};
use askbus_ledger::{AppendError, LedgerError};
use askbus_wire::codec::Decoded;
use doubt::Doubt;
use log::{catch_up, new_commit, write};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Queues that run side by side.
const QUEUES: usize = 128;
/// Commands that may wait in one queue.
const QUEUE_LENGTH: usize = 1_024;
/// How long a command is tried while the log cannot be reached: less than callers wait for a reply,
/// so that they hear that nothing was written.
const PATIENCE: Duration = Duration::from_secs(6);
/// How soon a command that waits for an answer to be judged is tried again.
const AGAIN: Duration = Duration::from_millis(200);
/// How well the log's clock is known. Nothing times out so soon after its deadline, so that every
/// answer that the inbox stored in time is there to be seen.
pub(crate) const CLOCK_ERROR: Millis = Millis(50);
/// Attempts against other writers. Every lost attempt means that another one got on.
const MAX_CONFLICTS: u32 = 200;

/// What is to be decided.
#[derive(Clone)]
pub(crate) enum Work {
    /// A command to the session.
    Command(Command),
    /// A question, and who asks it.
    Ask(Box<AskCommand>, Asking),
    /// What a person did about a question of an earlier turn.
    Past(ClarifyId, Box<Command>),
    /// Something to be recorded as it is.
    Record(Event),
    /// What follows from a lease that ran out, if it still has when its turn comes.
    Lost(Lost),
}

struct Job {
    key: Key,
    work: Work,
    trace: Option<String>,
    done: oneshot::Sender<Result<Arc<Session>, CommandError>>,
}

/// The queues.
#[derive(Clone)]
pub(crate) struct Commands {
    queues: Arc<Vec<mpsc::Sender<Job>>>,
}

impl Commands {
    /// Starts the queues; they end, once they are empty, after `stop` is cancelled.
    pub(crate) fn start(core: &Arc<Core>, tasks: &TaskTracker, stop: &CancellationToken) -> Self {
        let mut queues = Vec::with_capacity(QUEUES);
        for _ in 0..QUEUES {
            let (tx, mut rx) = mpsc::channel::<Job>(QUEUE_LENGTH);
            let (core, stop) = (Arc::clone(core), stop.clone());
            tasks.spawn(async move {
                loop {
                    let job = tokio::select! {
                        biased;
                        job = rx.recv() => job,
                        () = stop.cancelled() => break,
                    };
                    let Some(job) = job else { break };
                    let result = run(&core, &job).await;
                    // The caller may be gone; what was decided stands.
                    let _ = job.done.send(result);
                }
            });
            queues.push(tx);
        }
        Self {
            queues: Arc::new(queues),
        }
    }

    /// Always the same queue for a session. Which one is no secret: whoever may choose session ids
    /// may as well send everything to one session.
    fn queue_of(&self, key: &Key) -> Option<&mpsc::Sender<Job>> {
        let mut hasher = DefaultHasher::new();
        key.hash(&mut hasher);
        let slot = usize::try_from(hasher.finish() % QUEUES as u64).unwrap_or_default();
        self.queues.get(slot)
    }
}

impl Core {
    /// Runs a command on a session and returns the state it left.
    pub(crate) async fn run(
        &self,
        key: Key,
        command: Command,
        trace: Option<String>,
    ) -> Result<Arc<Session>, CommandError> {
        self.submit(key, Work::Command(command), trace).await
    }

    /// As [`Core::run`], for whatever is to be decided. While an answer has to be judged first, this
    /// waits for that, for a bounded time and outside of the queue, which the answer needs itself.
    pub(crate) async fn submit(
        &self,
        key: Key,
        work: Work,
        trace: Option<String>,
    ) -> Result<Arc<Session>, CommandError> {
        let give_up = Instant::now() + PATIENCE;
        loop {
            let result = self
                .submit_once(key.clone(), work.clone(), trace.clone())
                .await;
            let Err(CommandError::AnswersFirst(id)) = result else {
                return result;
            };
            if Instant::now() + AGAIN >= give_up {
                return result;
            }
            tokio::select! {
                biased;
                () = self.shutdown.cancelled() => return result,
                // It settled, with or without an error.
                _ = self.projection.settled(id) => {}
                // An answer that does not fit leaves the question as it is.
                () = tokio::time::sleep(AGAIN) => {}
            }
        }
    }

    /// As [`Core::submit`], without waiting for answers.
    pub(crate) async fn submit_once(
        &self,
        key: Key,
        work: Work,
        trace: Option<String>,
    ) -> Result<Arc<Session>, CommandError> {
        let queue = self.commands().queue_of(&key);
        let (done, result) = oneshot::channel();
        let job = Job {
            key,
            work,
            trace,
            done,
        };
        queue
            .ok_or(CommandError::Overloaded)?
            .send(job)
            .await
            .map_err(|_| CommandError::Overloaded)?;
        result.await.map_err(|_| CommandError::Overloaded)?
    }
}

async fn run(core: &Core, job: &Job) -> Result<Arc<Session>, CommandError> {
    let mut doubt = Doubt::default();
    let done = attempt(core, job, &mut doubt).await;
    done.map_err(|error| doubt.told(error))
}

async fn attempt(core: &Core, job: &Job, doubt: &mut Doubt) -> Result<Arc<Session>, CommandError> {
    let give_up = Instant::now() + PATIENCE;
    let mut conflicts = 0;
    let mut newest = false;
    loop {
        let (state, last_seq) = core.projection.session(&job.key);
        doubt.read_to(last_seq);
        let now = core.now();
        let decided = match &job.work {
            Work::Command(command) => decide(&state, command, now),
            Work::Ask(ask, asking) => decide_ask(core, &job.key, &state, (ask, asking), now),
            _ => Ok(Vec::new()),
        };
        // What is written is checked against the log by its guard. A refusal is not, nor is that a
        // question waits already.
        let unchecked = match &decided {
            Ok(events) => events.is_empty() && matches!(job.work, Work::Ask(..)),
            Err(rejection) => rejection.may_be_lifted(),
        };
        if unchecked && !newest {
            newest = true;
            catch_up(core, &job.key, last_seq).await?;
            continue;
        }
        let events = match &job.work {
            Work::Command(_) | Work::Ask(..) => decided?,
            Work::Past(id, command) => {
                past::decide(core, &job.key, &state, *id, command, now).await?
            }
            // Nothing is written where nothing can be read.
            Work::Record(_) if state.is_unreadable() => {
                return Err(Rejection::UpgradeNeeded.into());
            }
            Work::Record(event) => vec![event.clone()],
            Work::Lost(lost) if !lost.is_gone(core, Instant::now()) => Vec::new(),
            Work::Lost(lost) => decide(&state, &lost.command(), now)?,
        };
        if events.is_empty() {
            return Ok(state);
        }
        if let Some(id) = answered_in_time(core, &job.key, &state, &events, now).await? {
            return Err(CommandError::AnswersFirst(id));
        }
        let traces = spans::traces(core, &job.work, &events, job.trace.as_deref());
        let commit = new_commit(core, &job.key, now, events);
        let mut span = spans::append(&commit, &traces);
        let trace = span.traceparent(traces.first().map(String::as_str));
        match write(core, &commit, last_seq, trace, give_up, doubt).await {
            Ok(seq) => {
                core.stats.count_commit(&commit, &state, core.now());
                if matches!(job.work, Work::Lost(_)) {
                    core.stats.count_lease_lost();
                }
                let trace = trace.and_then(|text| text.parse().ok());
                span.note("askbus.seq", || i64::try_from(seq).unwrap_or(i64::MAX));
                // What this command led to, whatever others have written since.
                let mut after = Arc::unwrap_or_clone(state);
                after.apply(&commit);
                let decoded = Decoded::Commit(Box::new(commit));
                core.announce(core.projection.apply(&job.key, seq, &decoded, trace));
                if let Work::Ask(ask, asking) = &job.work {
                    core.projection.asked_by(ask.clarify_id, asking);
                }
                return Ok(Arc::new(after));
            }
            Err(AppendError::Conflict) if conflicts < MAX_CONFLICTS => {
                conflicts += 1;
                core.stats.count_conflict();
                span.failed("CONFLICT");
                drop(span);
                catch_up(core, &job.key, last_seq).await?;
            }
            Err(AppendError::Conflict) => return Err(CommandError::Overloaded),
            Err(AppendError::Uncertain(why)) => return Err(CommandError::Uncertain(why)),
            Err(AppendError::Ledger(error)) => return Err(error.into()),
        }
    }
}

/// What a question comes to. How many wait is looked at a moment before one more is written, and other
/// queues and replicas do the same: a few more may come to wait than the limits say.
fn decide_ask(
    core: &Core,
    key: &Key,
    state: &Session,
    (ask, asking): (&AskCommand, &Asking),
    now: Timestamp,
) -> Result<Vec<Event>, Rejection> {
    let events = decide(state, &Command::Ask(Box::new(ask.clone())), now)?;
    let waiting = core.projection.waiting_of(&key.0, asking);
    core.waiting_limits.check(&events, waiting)?;
    Ok(events)
}

/// A question that these events let time out although the inbox holds something unjudged that was
/// stored before its deadline, or may yet take something in that is. Whatever command it is that
/// notices that the time is up: the answer came first.
async fn answered_in_time(
    core: &Core,
    key: &Key,
    state: &Session,
    events: &[Event],
    now: Timestamp,
) -> Result<Option<ClarifyId>, LedgerError> {
    for event in events {
        let Event::Resolved {
            clarify_id,
            outcome,
        } = event
        else {
            continue;
        };
        let Some(clarification) = state.clarification(*clarify_id) else {
            continue;
        };
        if !outcome.is_by_clock() {
            continue;
        }
        let deadline = clarification.expires_at();
        if now < deadline.plus(CLOCK_ERROR) {
            // By the clock that stamps answers there may still be time.
            return Ok(Some(*clarify_id));
        }
        let oldest = core.bus.inbox.oldest(&key.0, &key.1, *clarify_id).await?;
        if oldest.is_some_and(|stored| stored <= deadline) {
            return Ok(Some(*clarify_id));
        }
    }
    Ok(None)
}

impl Core {
    /// Passes on what a commit changed.
    pub(crate) fn announce(&self, changes: Vec<Change>) {
        for change in changes {
            match change {
                Change::Due(at, key, due) => self.deadlines.add(at, key, due),
                Change::Done(due) => self.deadlines.remove(due),
                Change::Progress(progress) => self.attachments.tell(&progress),
                Change::Present(lease) => self.leases.asked(lease),
            }
        }
    }
}
