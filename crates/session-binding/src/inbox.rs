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
    Answer, Clarification, ClarifyId, Command, Event, Millis, Rejection, SCHEMA, Session, TenantId,
    Verdict, pass_on_verdict, verdict,
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
/// How long a message of a newer version waits for a replica that can judge it, while versions are
/// mixed. Then it is kept as something refused: no deadline waits for ever for what nobody reads.
const NEWER_PATIENCE: Millis = Millis(120_000);
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
        Ok(Read::Message(id, message)) => match decide(core, &delivery, id, *message).await {
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
        Ok(Read::Newer(schema)) if core.now() < delivery.stored_at.plus(NEWER_PATIENCE) => {
            tracing::warn!(tenant = %delivery.tenant, session = %delivery.session, schema,
                "an answer was written by a newer version; it stays in the inbox for one");
            return;
        }
        Ok(Read::Newer(schema)) => {
            let text =
                format!("written by a newer version (schema {schema}); nobody here can read it");
            let error = WireError::new(ErrorCode::UpgradeNeeded, text);
            refuse(core, &delivery, error).await
        }
        Err(error) => refuse(core, &delivery, error).await,
    };
    if let Err(error) = settled {
        tracing::warn!(%error, "an answer could not be acknowledged; it comes again and changes nothing");
    }
}

/// What a delivery turned out to be.
enum Read {
    Message(ClarifyId, Box<InboxMessage>),
    /// Of a schema that this version cannot judge by, whatever else it can read of it.
    Newer(u32),
}

fn read(delivery: &Delivery) -> Result<Read, WireError> {
    let bad = |e: &dyn std::fmt::Display| {
        WireError::new(ErrorCode::InvalidRequest, format!("not an answer: {e}"))
    };
    let id = ClarifyId::parse(&delivery.clarify_token).map_err(|e| bad(&e))?;
    // The envelope first: a newer body is no reason to refuse a person's words.
    let schema = InboxMessage::schema_of(&delivery.payload).map_err(|e| bad(&e))?;
    if schema > SCHEMA {
        return Ok(Read::Newer(schema));
    }
    let message = serde_json::from_slice(&delivery.payload).map_err(|e| bad(&e))?;
    Ok(Read::Message(id, message))
}

async fn decide(
    core: &Core,
    delivery: &Delivery,
    id: ClarifyId,
    message: InboxMessage,
) -> Result<Verdict, CommandError> {
    // "Not in my projection" is not "not there": first read as far as the author had.
    let applied = core.projection.applied().get();
    if applied < message.requested_seq {
        let last = core.bus.ledger.last_seq().await?;
        commands::wait_applied(core, message.requested_seq.min(last)).await?;
    }
    let key = (delivery.tenant.clone(), delivery.session.clone());
    let (stored_at, rights) = (delivery.stored_at, message.rights);
    let command = match &message.body {
        InboxBody::Hold { actor } => Command::Hold {
            clarify_id: id,
            actor: actor.clone(),
            rights,
            stored_at,
        },
        InboxBody::Respond(response) => Command::Answer(Box::new(Answer {
            clarify_id: id,
            response: response.clone(),
            rights,
            stored_at,
        })),
        InboxBody::PassOn {
            actor, answer_id, ..
        } => Command::PassOn {
            clarify_id: id,
            answer_id: answer_id.clone(),
            person: actor.person.clone(),
        },
    };
    let judged = judge_command(core, key, id, command, delivery.trace.clone()).await?;
    let Judged {
        session,
        clarification,
    } = judged;
    match &message.body {
        InboxBody::Hold { .. } => Ok(match clarification.outcome {
            Some(outcome) => Verdict::Late {
                outcome,
                goes_on: None,
            },
            None => Verdict::Held,
        }),
        InboxBody::Respond(response) => {
            verdict(&clarification, response).ok_or_else(|| Rejection::UnknownClarification.into())
        }
        InboxBody::PassOn {
            actor, answer_id, ..
        } => Ok(pass_on_verdict(
            &session,
            &clarification,
            answer_id,
            &actor.person,
        )),
    }
}

/// What a person's act left behind.
struct Judged {
    session: Arc<Session>,
    clarification: Clarification,
}

/// Judges a person's act on a question of the current turn or of an earlier one.
async fn judge_command(
    core: &Core,
    key: Key,
    id: ClarifyId,
    command: Command,
    trace: Option<String>,
) -> Result<Judged, CommandError> {
    let current = core
        .projection
        .find(id)
        .is_some_and(|(found, _)| found == key);
    if current {
        match core.run(key.clone(), command.clone(), trace.clone()).await {
            Ok(session) => {
                if let Some(clarification) = session.clarification(id).cloned() {
                    return Ok(Judged {
                        session,
                        clarification,
                    });
                }
            }
            // A new turn began meanwhile.
            Err(CommandError::Rejected(Rejection::UnknownClarification)) => {}
            Err(error) => return Err(error),
        }
    }
    // Where a late message goes depends on the session, which may have been forgotten here.
    commands::known(core, &key).await?;
    let work = Work::Past(id, Box::new(command));
    let session = core.submit(key.clone(), work, trace).await?;
    match past::find(core, &key.0, id).await? {
        Some((found, clarification)) if found == key => Ok(Judged {
            session,
            clarification,
        }),
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
