//! The four streams: what they must be, and whether they are.

use super::{JetStreamOptions, Shared, unavailable};
use crate::LedgerError;
use askbus_wire::subject;
use async_nats::Client;
use async_nats::jetstream::context::{ContextBuilder, CreateStreamErrorKind, GetStreamErrorKind};
use async_nats::jetstream::stream::{
    Config, DiscardPolicy, Republish, RetentionPolicy, StorageType,
};
use async_nats::jetstream::{Context, ErrorCode};
use std::time::Duration;

/// The log.
pub(super) const LOG: &str = "ASKBUS_LOG";
/// Answered by the server that stamps the log, with its clock among other things.
pub(super) const CLOCK: &str = "$JS.API.STREAM.INFO.ASKBUS_LOG";
/// What people send.
pub(super) const INBOX: &str = "ASKBUS_INBOX";
/// Unsent answers.
pub(super) const DRAFTS: &str = "ASKBUS_DRAFTS";
/// How far channels have come.
pub(super) const POSITIONS: &str = "ASKBUS_POSITIONS";

const DAY: Duration = Duration::from_hours(24);
/// Positions are small and few: one for each channel.
const POSITIONS_MAX_BYTES: u64 = 64 * 1024 * 1024;
const LOG_AGE: Duration = Duration::from_hours(30 * 24);
const DUPLICATE_WINDOW: Duration = Duration::from_mins(2);
/// Between two attempts to reach the server.
const RETRY: Duration = Duration::from_secs(1);

fn base(name: &str, subjects: &str, max_bytes: u64, replicas: usize) -> Config {
    Config {
        name: name.to_owned(),
        subjects: vec![subjects.to_owned()],
        storage: StorageType::File,
        discard: DiscardPolicy::New,
        max_bytes: i64::try_from(max_bytes).unwrap_or(i64::MAX),
        max_messages: -1,
        max_messages_per_subject: -1,
        max_consumers: -1,
        max_message_size: -1,
        max_age: LOG_AGE,
        duplicate_window: DUPLICATE_WINDOW,
        num_replicas: replicas,
        // A direct read may be answered by a replica that is behind an acknowledged write.
        allow_direct: false,
        ..Config::default()
    }
}

fn configs(options: &JetStreamOptions) -> [Config; 4] {
    let replicas = options.replicas.max(1);
    let log = Config {
        republish: Some(Republish {
            source: subject::LOG_WILDCARD.to_owned(),
            destination: subject::REPUBLISH_DESTINATION.to_owned(),
            headers_only: false,
        }),
        ..base(LOG, subject::LOG_WILDCARD, options.log_max_bytes, replicas)
    };
    let inbox = Config {
        retention: RetentionPolicy::WorkQueue,
        ..base(
            INBOX,
            subject::INBOX_WILDCARD,
            options.inbox_max_bytes,
            replicas,
        )
    };
    let drafts = Config {
        discard: DiscardPolicy::Old,
        max_messages_per_subject: 1,
        max_age: 14 * DAY,
        ..base(
            DRAFTS,
            subject::DRAFT_WILDCARD,
            options.drafts_max_bytes,
            replicas,
        )
    };
    // A channel that was quiet for long has still told what it told.
    let positions = Config {
        max_messages_per_subject: 1,
        max_age: Duration::ZERO,
        ..base(
            POSITIONS,
            subject::POSITION_WILDCARD,
            POSITIONS_MAX_BYTES,
            replicas,
        )
    };
    [log, inbox, drafts, positions]
}

/// Makes the streams that are absent, and checks what others depend on in those that exist. Waits
/// for the server as long as it takes, saying so.
///
/// # Errors
/// [`LedgerError::Misconfigured`] with every difference that would break a promise.
pub async fn ensure_streams(
    client: &Client,
    options: &JetStreamOptions,
) -> Result<(), LedgerError> {
    let context = ContextBuilder::new()
        .timeout(super::PATIENCE)
        .build(client.clone());
    // On the heap: four of them would make every future that waits for this one large.
    for wanted in Vec::from(configs(options)) {
        loop {
            match ensure(&context, &wanted).await {
                Ok(()) => break,
                Err(LedgerError::Unavailable(error)) => {
                    tracing::warn!(stream = wanted.name, error, "waiting for the bus");
                    tokio::time::sleep(RETRY).await;
                }
                Err(other) => return Err(other),
            }
        }
    }
    Ok(())
}

async fn ensure(context: &Context, wanted: &Config) -> Result<(), LedgerError> {
    let name = &wanted.name;
    let found = match context.get_stream(name).await {
        Ok(stream) => stream.cached_info().config.clone(),
        Err(error) => match error.kind() {
            GetStreamErrorKind::JetStream(e) if e.error_code() == ErrorCode::STREAM_NOT_FOUND => {
                return create(context, wanted).await;
            }
            GetStreamErrorKind::JetStream(e)
                if e.error_code() == ErrorCode::JETSTREAM_NOT_ENABLED
                    || e.error_code() == ErrorCode::JETSTREAM_NOT_ENABLED_FOR_ACCOUNT =>
            {
                return Err(LedgerError::Misconfigured(format!(
                    "the bus has no JetStream: {e}"
                )));
            }
            other => return Err(unavailable(format!("{name}: {other}"))),
        },
    };
    let differences = differences(&found, wanted);
    if differences.is_empty() {
        return Ok(());
    }
    Err(LedgerError::Misconfigured(format!(
        "stream {name}: {}",
        differences.join("; ")
    )))
}

async fn create(context: &Context, wanted: &Config) -> Result<(), LedgerError> {
    let name = &wanted.name;
    match context.create_stream(wanted).await {
        Ok(_) => {
            tracing::info!(stream = name, "made the stream");
            Ok(())
        }
        Err(error) => match error.kind() {
            CreateStreamErrorKind::JetStream(e)
                if e.error_code() == ErrorCode::STREAM_NAME_EXIST =>
            {
                // Another instance was faster; the next round checks what it made.
                Err(unavailable(e))
            }
            CreateStreamErrorKind::JetStream(e) if is_refusal(e.error_code()) => {
                Err(LedgerError::Misconfigured(format!(
                    "stream {name} of {} bytes cannot be made: {e}",
                    wanted.max_bytes
                )))
            }
            other => Err(unavailable(format!("{name}: {other}"))),
        },
    }
}

/// Errors that trying again does not mend.
fn is_refusal(code: ErrorCode) -> bool {
    [
        ErrorCode::STORAGE_RESOURCES_EXCEEDED,
        ErrorCode::ACCOUNT_RESOURCES_EXCEEDED,
        ErrorCode::MAXIMUM_STREAMS_LIMIT,
        ErrorCode::STREAM_SUBJECT_OVERLAP,
        ErrorCode::STREAM_LIMITS,
        ErrorCode::STREAM_CREATE,
        ErrorCode::CLUSTER_REQUIRED,
        ErrorCode::BAD_REQUEST,
    ]
    .contains(&code)
}

/// Every property in which a stream breaks a promise. Sizes are the operator's business.
fn differences(found: &Config, wanted: &Config) -> Vec<String> {
    let mut differences = Vec::new();
    let mut check = |field: &str, right: bool, is: String, must: String| {
        if !right {
            differences.push(format!("{field} is {is}, must be {must}"));
        }
    };
    macro_rules! same {
        ($($field:ident),*) => {$(
            check(
                stringify!($field),
                found.$field == wanted.$field,
                format!("{:?}", found.$field),
                format!("{:?}", wanted.$field),
            );
        )*};
    }
    same!(
        subjects,
        retention,
        storage,
        discard,
        max_messages_per_subject,
        allow_direct
    );
    same!(
        discard_new_per_subject,
        no_ack,
        sealed,
        mirror,
        sources,
        subject_transform,
        republish
    );
    check(
        "max_messages",
        found.max_messages <= 0,
        found.max_messages.to_string(),
        "unlimited".into(),
    );
    check(
        "max_age",
        found.max_age.is_zero() || !wanted.max_age.is_zero() && found.max_age >= wanted.max_age,
        format!("{:?}", found.max_age),
        if wanted.max_age.is_zero() {
            "unlimited".to_owned()
        } else {
            format!("at least {:?}", wanted.max_age)
        },
    );
    check(
        "duplicate_window",
        found.duplicate_window >= wanted.duplicate_window,
        format!("{:?}", found.duplicate_window),
        format!("at least {:?}", wanted.duplicate_window),
    );
    check(
        "num_replicas",
        found.num_replicas >= wanted.num_replicas,
        found.num_replicas.to_string(),
        format!("at least {}", wanted.num_replicas),
    );
    differences
}

/// Bytes used by the log, and its limit if it has one.
pub(super) async fn usage(shared: &Shared) -> Result<(u64, Option<u64>), LedgerError> {
    let stream = shared.on_connection(shared.context.get_stream(LOG));
    let stream = stream.await?.map_err(unavailable)?;
    let info = stream.cached_info();
    let limit = u64::try_from(info.config.max_bytes)
        .ok()
        .filter(|limit| *limit > 0);
    Ok((info.state.bytes, limit))
}
