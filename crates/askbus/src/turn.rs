//! `askbus turn`: a host begins, holds and ends a turn from a script.

use crate::cli::{TurnArgs, TurnCommand};
use crate::config::Config;
use crate::exit::{Failure, UNAVAILABLE};
use crate::{identity, output, signals};
use askbus_credential::Role;
use askbus_wire::client::Client;
use askbus_wire::convert;
use askbus_wire::error::WireError;
use askbus_wire::proto::begin_turn_request::Life;
use askbus_wire::proto::{
    BeginTurnRequest, BeginTurnResponse, EndTurnRequest, HoldTurnRequest, TurnPolicy,
};
use serde_json::{Value, json};
use std::process::ExitCode;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// How long one call may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Begins or ends a turn.
pub(crate) async fn run(config: &Config, args: &TurnArgs) -> Result<ExitCode, Failure> {
    let mut client = Client::new(
        &identity::target(config)?,
        &identity::token(config, Role::Host)?,
    )?;
    let profile = config.profile.clone().unwrap_or_default();
    match &args.command {
        TurnCommand::End {
            context, outcome, ..
        } => {
            end(&mut client, context, outcome, &profile).await?;
        }
        TurnCommand::Begin {
            lives,
            json,
            when_absent,
            on_timeout,
            language,
            ..
        } => {
            // Before there is a turn that would be left behind.
            let shutdown = signals::shutdown()?;
            let session = config.session.clone();
            let policy = TurnPolicy {
                when_absent: when_absent.clone().unwrap_or_default(),
                on_timeout: on_timeout.clone().unwrap_or_default(),
                ..TurnPolicy::default()
            };
            let request = BeginTurnRequest {
                begin_id: uuid::Uuid::now_v7().to_string(),
                session_id: session.unwrap_or_else(|| format!("turn-{}", uuid::Uuid::now_v7())),
                run_id: String::new(),
                profile: profile.clone(),
                life: lives.map(|d| Life::ForMs(u64::try_from(d.as_millis()).unwrap_or(u64::MAX))),
                policy: Some(policy),
                language: language.clone().unwrap_or_default(),
                ..Default::default()
            };
            let begun = bounded(client.turns.begin_turn(request)).await?;
            let said = if *json {
                output::line(begun_object(&begun))
            } else {
                output::line(&begun.context_id)
            };
            if let Err(failure) = said {
                // Nobody can ask in a turn that they were not told of.
                end(&mut client, &begun.context_id, "disposed", &profile).await?;
                return Err(failure);
            }
            if lives.is_none() {
                hold(&mut client, &begun.context_id, &profile, &shutdown).await?;
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// What a host is told of a turn that began, as over HTTP.
fn begun_object(begun: &BeginTurnResponse) -> Value {
    let late: Vec<Value> = begun.late.iter().map(convert::late_message).collect();
    json!({"context_id": begun.context_id, "session_id": begun.session_id, "run_id": begun.run_id,
        "instruction": begun.instruction, "capabilities": begun.capabilities, "late": late})
}

fn failure(status: &tonic::Status) -> Failure {
    let error = WireError::from_status(status);
    if error.code == askbus_wire::error::ErrorCode::Unavailable {
        let text = "no service can be reached; nothing was done. Start one with `askbus up`";
        return Failure::new(UNAVAILABLE, text);
    }
    error.into()
}

async fn bounded<T>(
    call: impl Future<Output = Result<tonic::Response<T>, tonic::Status>>,
) -> Result<T, Failure> {
    match tokio::time::timeout(PATIENCE, call).await {
        Ok(Ok(reply)) => Ok(reply.into_inner()),
        Ok(Err(status)) => Err(failure(&status)),
        Err(_) => Err(Failure::new(
            UNAVAILABLE,
            "the service did not reply in time",
        )),
    }
}

async fn end(client: &mut Client, context: &str, how: &str, profile: &str) -> Result<(), Failure> {
    let request = EndTurnRequest {
        context_id: context.to_owned(),
        end: how.to_owned(),
        profile: profile.to_owned(),
    };
    let ended = bounded(client.turns.end_turn(request)).await?;
    // What the turn asked of nobody is its reply (A6).
    for question in ended.deferred {
        output::line(question.text)?;
    }
    Ok(())
}

/// Holds the turn until standard input closes, a signal comes, or somebody ends it. A lost stream is
/// opened again: the lease outlives a restart of the service.
async fn hold(
    client: &mut Client,
    context: &str,
    profile: &str,
    shutdown: &CancellationToken,
) -> Result<(), Failure> {
    let closed = input_closed();
    loop {
        let request = HoldTurnRequest {
            context_id: context.to_owned(),
            profile: profile.to_owned(),
        };
        let held = async {
            let mut stream = client.turns.hold_turn(request).await?.into_inner();
            while let Some(message) = stream.message().await? {
                if !message.ended.is_empty() {
                    return Ok(true);
                }
            }
            Ok::<bool, tonic::Status>(false)
        };
        let over = tokio::select! {
            () = shutdown.cancelled() => None,
            () = closed.cancelled() => None,
            result = held => Some(result),
        };
        match over {
            None => return end(client, context, "completed", profile).await,
            Some(Ok(true)) => return Ok(()),
            Some(Ok(false)) => {}
            Some(Err(status)) => {
                let error = WireError::from_status(&status);
                if error.code != askbus_wire::error::ErrorCode::Unavailable {
                    return Err(error.into());
                }
            }
        }
        tokio::select! {
            () = shutdown.cancelled() => return Ok(()),
            () = closed.cancelled() => return Ok(()),
            () = tokio::time::sleep(Duration::from_millis(500)) => {}
        }
    }
}

/// Cancelled when standard input ends. A plain thread reads it: a runtime would wait for a read that
/// nothing can interrupt.
fn input_closed() -> CancellationToken {
    let token = CancellationToken::new();
    let closed = token.clone();
    std::thread::spawn(move || {
        // An error is an end as well.
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        closed.cancel();
    });
    token
}
