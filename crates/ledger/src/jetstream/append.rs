//! One guarded append.

use super::{QUICK, Shared, clock, room, unavailable};
use crate::message_id::fit_trace;
use crate::{AppendError, LedgerError};
use askbus_domain::Commit;
use askbus_wire::{codec, headers, subject};
use async_nats::jetstream;
use async_nats::jetstream::context::{PublishError, PublishErrorKind};
use async_nats::jetstream::message::PublishMessage;
use std::error::Error;

/// Header: the filter whose last sequence is expected. The client library has no name for it.
const GUARD_FILTER: &str = "Nats-Expected-Last-Subject-Sequence-Subject";
/// Wrong last sequence.
const WRONG_LAST: u64 = 10_071;
/// Wrong last sequence, as a cluster says it while a rival's write is still on its way. The client
/// library does not know this one.
const WRONG_LAST_IN_FLIGHT: u64 = 10_164;
/// The same message id is being written right now.
const DUPLICATE_IN_FLIGHT: u64 = 10_158;
/// The stream reached its limit.
const MAXIMUM_BYTES: u64 = 10_077;
/// The server's store is full.
const STORE_EXCEEDED: [u64; 3] = [10_002, 10_023, 10_047];
/// The message is larger than the stream takes.
const TOO_LARGE: u64 = 10_054;

/// Publishes `commit` with its guard and waits for the acknowledgement.
pub(super) async fn append(
    shared: &Shared,
    commit: &Commit,
    expected: u64,
    trace: Option<&str>,
) -> Result<u64, AppendError> {
    let payload = codec::encode_commit(commit).map_err(|e| LedgerError::TooLarge(e.to_string()))?;
    let kind = commit.subject_kind();
    if kind.is_new_matter() && room::is_scarce(shared).await {
        return Err(LedgerError::Full.into());
    }
    let size = payload.len();
    let mut message = PublishMessage::build()
        .payload(payload.into())
        .message_id(commit.commit_id.to_string())
        .expected_last_subject_sequence(expected)
        .header(
            GUARD_FILTER,
            subject::log_session(&commit.tenant, &commit.session_id).as_str(),
        )
        .header(headers::EVENT, codec::event_names(commit).as_str())
        .header(headers::SCHEMA, commit.schema.to_string());
    if let Some(trace) = fit_trace(trace) {
        message = message.header(headers::TRACEPARENT, trace);
    }
    let target = subject::log(kind, &commit.tenant, &commit.session_id);
    let sent = clock::Moment::now();
    let refused = shared.link.refused(&target);
    shared.connected()?;
    let publish = async { shared.context.send_publish(target, message).await?.await };
    let answered = shared.on_connection(tokio::time::timeout(QUICK, publish));
    let answered = tokio::select! {
        answered = answered => answered,
        error = refused => return Err(error.into()),
    };
    match answered {
        Ok(Ok(Ok(ack))) => {
            shared.servers.stored();
            if !ack.duplicate {
                shared
                    .clock
                    .appended(ack.sequence, sent, clock::Moment::now());
                shared.room.used(size);
            }
            Ok(ack.sequence)
        }
        Ok(Ok(Err(error))) => {
            note(shared, &error);
            Err(meaning(&error))
        }
        Ok(Err(_)) => {
            shared.servers.silent();
            Err(AppendError::Uncertain("no acknowledgement in time".into()))
        }
        Err(lost) => Err(AppendError::Uncertain(lost.to_string())),
    }
}

/// The server's own code, wherever the client library put it.
pub(super) fn code(error: &PublishError) -> Option<u64> {
    let source = error.source()?.downcast_ref::<jetstream::Error>()?;
    Some(source.error_code().0)
}

/// Whether somebody else wrote first.
pub(super) fn is_conflict(error: &PublishError) -> bool {
    matches!(meaning(error), AppendError::Conflict)
}

fn meaning(error: &PublishError) -> AppendError {
    match code(error) {
        Some(WRONG_LAST | WRONG_LAST_IN_FLIGHT) => return AppendError::Conflict,
        Some(DUPLICATE_IN_FLIGHT) => return AppendError::Uncertain(error.to_string()),
        Some(_) => return refusal(error).into(),
        None => {}
    }
    match error.kind() {
        PublishErrorKind::WrongLastSequence => AppendError::Conflict,
        PublishErrorKind::TimedOut | PublishErrorKind::BrokenPipe | PublishErrorKind::Other => {
            AppendError::Uncertain(error.to_string())
        }
        _ => refusal(error).into(),
    }
}

/// Takes note of a publish that reached no leader.
pub(super) fn note(shared: &Shared, error: &PublishError) {
    match error.kind() {
        PublishErrorKind::StreamNotFound => shared.servers.leaderless(),
        PublishErrorKind::TimedOut => shared.servers.silent(),
        _ => {}
    }
}

/// Why the server did not store a message, as far as it said.
pub(super) fn refusal(error: &PublishError) -> LedgerError {
    let told = || match error.source() {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    };
    match (code(error), error.kind()) {
        (Some(MAXIMUM_BYTES), _) => LedgerError::Full,
        (Some(code), _) if STORE_EXCEEDED.contains(&code) => LedgerError::Full,
        (Some(TOO_LARGE), _) | (_, PublishErrorKind::MaxPayloadExceeded) => {
            LedgerError::TooLarge(told())
        }
        _ => unavailable(told()),
    }
}
