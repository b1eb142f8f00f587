//! Writing to the log, and knowing what stands in it.

use super::PATIENCE;
use super::doubt::Doubt;
use crate::projection::{Key, trace_of};
use crate::service::Core;
use askbus_domain::{Commit, CommitId, Event, SCHEMA, Session, Timestamp};
use askbus_ledger::{AppendError, LedgerError};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

pub(super) fn new_commit(core: &Core, key: &Key, now: Timestamp, events: Vec<Event>) -> Commit {
    Commit {
        schema: SCHEMA,
        commit_id: CommitId::from_uuid(core.clock.uuid_v7()),
        tenant: key.0.clone(),
        session_id: key.1.clone(),
        at: now,
        events,
    }
}

/// Appends one commit, again and again while the log cannot be reached. The same commit may be
/// appended twice without harm: the guard and its id tell.
pub(super) async fn write(
    core: &Core,
    commit: &Commit,
    expected: u64,
    trace: Option<&str>,
    give_up: Instant,
    doubt: &mut Doubt,
) -> Result<u64, AppendError> {
    let mut pause = Duration::from_millis(20);
    loop {
        let appended = askbus_ledger::append(&*core.bus.ledger, commit, expected, trace).await;
        if matches!(appended, Err(AppendError::Uncertain(_))) {
            doubt.begin(expected);
        }
        let error = match appended {
            Ok(seq) => return Ok(seq),
            Err(
                error @ (AppendError::Uncertain(_)
                | AppendError::Ledger(LedgerError::Unavailable(_))),
            ) => error,
            Err(error) => return Err(error),
        };
        if Instant::now() + pause >= give_up {
            return Err(error);
        }
        tokio::select! {
            biased;
            () = tokio::time::sleep(pause) => {}
            // Whoever asked for this repeats it elsewhere; its id tells what came of it here.
            () = core.shutdown.cancelled() => return Err(error),
        }
        pause = (pause * 2).min(Duration::from_secs(1));
    }
}

/// Reads what others wrote to the session meanwhile: the whole session where nothing is known of it.
pub(super) async fn catch_up(core: &Core, key: &Key, last_seq: u64) -> Result<(), LedgerError> {
    let ledger = &core.bus.ledger;
    // From the last known message on, to see that it is still there.
    let stored = ledger.read_session(&key.0, &key.1, last_seq.max(1)).await?;
    if stored.is_empty() && last_seq > 0 {
        // All of it has aged out of the log, which now expects the session to begin anew.
        core.projection.remove(key, last_seq);
    } else if last_seq == 0 {
        core.announce(core.projection.load(key, &stored));
    } else {
        for message in stored {
            let trace = trace_of(&message);
            let changes = core
                .projection
                .apply(key, message.seq, &message.decoded, trace);
            core.announce(changes);
        }
    }
    Ok(())
}

/// The session as it stands here, read from the log when it was forgotten.
pub(crate) async fn known(core: &Core, key: &Key) -> Result<Arc<Session>, LedgerError> {
    let (session, last_seq) = core.projection.session(key);
    if last_seq > 0 {
        return Ok(session);
    }
    catch_up(core, key, 0).await?;
    Ok(core.projection.session(key).0)
}

/// Waits, for a bounded time, until the tail has come to `seq`.
pub(crate) async fn wait_applied(core: &Core, seq: u64) -> Result<(), LedgerError> {
    let reached = tokio::select! {
        biased;
        reached = tokio::time::timeout(PATIENCE, core.projection.applied().reach(seq)) => {
            reached.is_ok()
        }
        // The tail goes no further.
        () = core.shutdown.cancelled() => false,
    };
    if reached {
        Ok(())
    } else {
        Err(LedgerError::Unavailable(
            "the log is not read up to its end yet".into(),
        ))
    }
}
