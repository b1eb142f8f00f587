//! The inbox: what people sent is judged here, once, whichever replica takes it.
//!
//! Decide, append, tell the author, then ack. A crash anywhere before the ack delivers the message
//! again, and its `answer_id` makes the second judgement find the first.

use crate::commands::{self, CommandError, Work};
use crate::past;
use crate::projection::Key;
use crate::service::Core;
use crate::spans;
use askbus_domain::{
    Answer, Clarification, ClarifyId, Command, Event, Rejection, TenantId, Verdict, verdict,
};
use askbus_ledger::{Delivery, LedgerError};
use askbus_telemetry::Kind;
use askbus_wire::error::{ErrorCode, WireError};
use askbus_wire::messages::{InboxBody, InboxMessage, InboxReply};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Messages of one tenant judged at the same time.
const AT_ONCE: usize = 256;
/// How soon a message that could not be judged for a passing reason is to come again: sooner than one
/// that is never settled at all.
const AGAIN: Duration = Duration::from_secs(1);
/// What is kept of a message that cannot be taken, in bytes.
const KEPT_BYTES: usize = 64 * 1024;

/// Takes the inboxes of all served tenants; new tenants as the log shows them.
pub(crate) async fn run(core: Arc<Core>, stop: CancellationToken) {
    let tasks = TaskTracker::new();
    let mut taken: BTreeSet<TenantId> = BTreeSet::new();
    let mut seen = core.projection.tenants();
    loop {
        let learned: Vec<TenantId> = seen.borrow_and_update().iter().cloned().collect();
        for tenant in core.tenants.named().cloned().chain(learned) {
            if core.tenants.serves(&tenant) && taken.insert(tenant.clone()) {
                tasks.spawn(take(Arc::clone(&core), tenant, stop.clone()));
            }
        }
        tokio::select! {
            biased;
            () = stop.cancelled() => break,
            changed = seen.changed() => if changed.is_err() { break },
        }
    }
    tasks.close();
    tasks.wait().await;
}

async fn take(core: Arc<Core>, tenant: TenantId, stop: CancellationToken) {
    let tasks = TaskTracker::new();
    let slots = Arc::new(Semaphore::new(AT_ONCE));
    'connect: loop {
        let mut deliveries = match core.bus.inbox.take(&tenant).await {
            Ok(deliveries) => deliveries,
            Err(error) => {
                tracing::warn!(%tenant, %error, "the inbox cannot be read; answers wait in it");
                tokio::select! {
                    biased;
                    () = stop.cancelled() => break 'connect,
                    () = tokio::time::sleep(Duration::from_secs(1)) => continue 'connect,
                }
            }
        };
        loop {
            let delivery = tokio::select! {
                biased;
                () = stop.cancelled() => break 'connect,
                delivery = deliveries.recv() => delivery,
            };
            let Some(delivery) = delivery else {
                continue 'connect;
            };
            let Ok(slot) = Arc::clone(&slots).acquire_owned().await else {
                break 'connect;
            };
            let core = Arc::clone(&core);
            tasks.spawn(async move {
                judge(&core, delivery).await;
                drop(slot);
            });
        }
    }
    // What was taken is judged before the process ends; the rest goes to others.
    tasks.close();
    tasks.wait().await;
}

async fn judge(core: &Core, mut delivery: Delivery) {
    let mut span = spans::begin("judge", Kind::Consumer, delivery.trace.as_deref());
    span.note("askbus.tenant", || delivery.tenant.to_string());
    span.note("askbus.session", || delivery.session.to_string());
    let caller = delivery.trace.take();
    delivery.trace = span.traceparent(caller.as_deref()).map(str::to_owned);
    let settled = match read(&delivery) {
        Ok((id, message)) => match decide(core, &delivery, id, &message).await {
            Ok(verdict) => {
                core.stats.count_answer();
                spans::note_question(&mut span, id);
                span.note("askbus.verdict", || spans::verdict_word(&verdict));
                delivery.reply.send(&verdict.into()).await;
                delivery.acker.ack().await
            }
            Err(CommandError::Rejected(rejection)) if rejection != Rejection::UpgradeNeeded => {
                refuse(core, &delivery, rejection.into()).await
            }
            Err(CommandError::Ledger(LedgerError::TooLarge(why))) => {
                let error = WireError::new(ErrorCode::TooLarge, why);
                refuse(core, &delivery, error).await
            }
            Err(error) => {
                span.failed("NOT_YET");
                tracing::warn!(tenant = %delivery.tenant, session = %delivery.session, %error,
                    "an answer could not be judged yet; it stays in the inbox");
                // A newer version may take what this one cannot judge, when nobody else does.
                if let CommandError::Rejected(_) = error {
                    return;
                }
                delivery.acker.retry(AGAIN).await
            }
        },
        Err(error) => refuse(core, &delivery, error).await,
    };
    if let Err(error) = settled {
        tracing::warn!(%error, "an answer could not be acknowledged; it comes again and changes nothing");
    }
}

fn read(delivery: &Delivery) -> Result<(ClarifyId, InboxMessage), WireError> {
    let bad = |e: &dyn std::fmt::Display| {
        WireError::new(ErrorCode::InvalidRequest, format!("not an answer: {e}"))
    };
    let id = ClarifyId::parse(&delivery.clarify_token).map_err(|e| bad(&e))?;
    let message = serde_json::from_slice(&delivery.payload).map_err(|e| bad(&e))?;
    Ok((id, message))
}

async fn decide(
    core: &Core,
    delivery: &Delivery,
    id: ClarifyId,
    message: &InboxMessage,
) -> Result<Verdict, CommandError> {
    // "Not in my projection" is not "not there": first read as far as the author had.
    let applied = core.projection.applied().get();
    if applied < message.requested_seq {
        let last = core.bus.ledger.last_seq().await?;
        commands::wait_applied(core, message.requested_seq.min(last)).await?;
    }
    let key = (delivery.tenant.clone(), delivery.session.clone());
    let current = core
        .projection
        .find(id)
        .is_some_and(|(found, _)| found == key);
    let trace = delivery.trace.clone();
    match &message.body {
        InboxBody::Hold { actor } => {
            let command = Command::Hold {
                clarify_id: id,
                actor: actor.clone(),
                stored_at: delivery.stored_at,
            };
            let held = match core.run(key.clone(), command, trace).await {
                Ok(session) => session.clarification(id).cloned(),
                Err(CommandError::Rejected(Rejection::UnknownClarification)) => None,
                Err(error) => return Err(error),
            };
            // A question of an earlier turn is over; there is nothing left to hold.
            let clarification = match held {
                Some(clarification) => clarification,
                None => past_of(core, &key, id).await?,
            };
            Ok(clarification.outcome.map_or(Verdict::Held, Verdict::Late))
        }
        InboxBody::Respond(response) => {
            let answer = Answer {
                clarify_id: id,
                response: response.clone(),
                stored_at: delivery.stored_at,
            };
            let clarification = if current {
                judge_current(core, key, answer, trace).await?
            } else {
                judge_past(core, key, answer, trace).await?
            };
            verdict(&clarification, response).ok_or_else(|| Rejection::UnknownClarification.into())
        }
    }
}

async fn judge_current(
    core: &Core,
    key: Key,
    answer: Answer,
    trace: Option<String>,
) -> Result<Clarification, CommandError> {
    let id = answer.clarify_id;
    let command = Command::Answer(Box::new(answer.clone()));
    match core.run(key.clone(), command, trace.clone()).await {
        Ok(session) => match session.clarification(id) {
            Some(clarification) => Ok(clarification.clone()),
            None => judge_past(core, key, answer, trace).await,
        },
        // A new turn began meanwhile.
        Err(CommandError::Rejected(Rejection::UnknownClarification)) => {
            judge_past(core, key, answer, trace).await
        }
        Err(error) => Err(error),
    }
}

async fn judge_past(
    core: &Core,
    key: Key,
    answer: Answer,
    trace: Option<String>,
) -> Result<Clarification, CommandError> {
    let id = answer.clarify_id;
    core.submit(key.clone(), Work::Past(Box::new(answer)), trace)
        .await?;
    past_of(core, &key, id).await
}

/// A clarification of the session `key`, as the log has it.
async fn past_of(core: &Core, key: &Key, id: ClarifyId) -> Result<Clarification, CommandError> {
    match past::find(core, &key.0, id).await? {
        Some((found, clarification)) if found == *key => Ok(clarification),
        _ => Err(Rejection::UnknownClarification.into()),
    }
}

/// As much of a payload as is kept: what makes at most [`KEPT_BYTES`] in the JSON of the log, where
/// a control character takes six, so that the record always fits one commit.
fn kept(payload: &[u8]) -> String {
    let mut room = KEPT_BYTES;
    let text = String::from_utf8_lossy(payload);
    let fits = |c: &char| {
        let bytes = match c {
            '"' | '\\' => 2,
            c if c.is_ascii_control() => 6,
            c => c.len_utf8(),
        };
        let left = room.checked_sub(bytes);
        room = left.unwrap_or(0);
        left.is_some()
    };
    text.chars().take_while(fits).collect()
}

/// Records what was sent, so that nothing a person wrote is lost, and says why it was not taken.
async fn refuse(core: &Core, delivery: &Delivery, error: WireError) -> Result<(), LedgerError> {
    core.stats.count_refused();
    let event = Event::Refused {
        clarify_id: delivery.clarify_token.clone(),
        problem: error.message.clone(),
        sent: kept(&delivery.payload),
        stored_at: delivery.stored_at,
    };
    let key = (delivery.tenant.clone(), delivery.session.clone());
    if let Err(failed) = core
        .submit(key, Work::Record(event), delivery.trace.clone())
        .await
    {
        tracing::warn!(error = %failed, "a refused answer could not be recorded yet; it stays in the inbox");
        return match failed {
            CommandError::Rejected(_) => Ok(()),
            _ => delivery.acker.retry(AGAIN).await,
        };
    }
    let reason = error.code.as_str().to_owned();
    delivery
        .reply
        .send(&InboxReply::Refused {
            reason,
            error: error.message,
        })
        .await;
    delivery.acker.term().await
}
