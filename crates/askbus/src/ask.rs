//! `askbus ask`: a question from a script.

use crate::cli::AskArgs;
use crate::config::Config;
use crate::exit::{Failure, USAGE};
use crate::{mcp, output, services, signals, telemetry, terminal};
use askbus_credential::Role;
use askbus_domain::{Dialect, Outcome, Reason, result_text};
use askbus_mcp_adapter::{AskCall, Asker, Notice, Notices, Settled};
use askbus_wire::error::{ErrorCode, WireError};
use serde_json::{Value, json};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How long the last spans may take once the question is settled.
const LAST_SPANS: Duration = Duration::from_millis(250);

/// Asks, waits, prints the answer; the exit status says how it ended.
pub(crate) async fn run(config: &Config, args: &AskArgs) -> Result<ExitCode, Failure> {
    let shutdown = signals::shutdown()?;
    if let Some(n) = args.recommended
        && (n == 0 || n > args.choices.len())
    {
        return Err(Failure::new(
            USAGE,
            format!("--recommended {n}: there is no such --choice"),
        ));
    }
    if askbus_domain::is_blank(&args.text) {
        let text = "the question is empty; nothing was asked";
        return Err(WireError::new(ErrorCode::InvalidQuestion, text).into());
    }
    // A slip of a script must not make a question for one person everybody's.
    if args.to.as_ref().is_some_and(|name| name.trim().is_empty()) {
        return Err(Failure::new(USAGE, "--to names nobody; nothing was asked"));
    }
    // A script is told at once that nobody can be asked; only agents wait for a service.
    let mut options = mcp::asker_options(config, Role::Agent, Duration::ZERO)?;
    options.info.client = format!("askbus ask {}", env!("CARGO_PKG_VERSION"));
    let exporting = telemetry::export(config, "askbus-ask", &services::instance(config))?;
    let asker = Asker::new(options);
    let call = AskCall::new(Dialect::Ask, arguments(args));
    let asked = Arc::new(Mutex::new(None));
    let notices = remember(&asked);
    let settled = tokio::select! {
        settled = asker.settle(&call, &notices) => settled,
        () = shutdown.cancelled() => {
            asker.close().await;
            exporting.end(LAST_SPANS).await;
            if args.json {
                let id = asked.lock().unwrap_or_else(PoisonError::into_inner).clone();
                output::line(withdrawn(id.as_deref()))?;
            }
            return Ok(ExitCode::from(status(Reason::Cancelled)));
        }
    };
    asker.close().await;
    exporting.end(LAST_SPANS).await;
    let settled = settled?;
    let printed = if args.json {
        output::line(object(&settled)).map(drop)
    } else {
        print_text(&settled)
    };
    // The outcome is recorded all the same, and by its id it can be read again.
    printed.map_err(|failure| {
        let reason = settled.outcome.reason.as_str();
        failure.about(format_args!("question {}, {reason}", settled.clarify_id))
    })?;
    Ok(ExitCode::from(status(settled.outcome.reason)))
}

/// Keeps the id of the question once it is asked.
fn remember(asked: &Arc<Mutex<Option<String>>>) -> Notices {
    let asked = Arc::clone(asked);
    Arc::new(move |notice| {
        if let Notice::Asked { clarify_id } = notice {
            // For the person who typed this, not for a script's log.
            if std::io::IsTerminal::is_terminal(&std::io::stderr()) {
                output::remark(format_args!(
                    "Waiting for a person: in the panel, or `askbus answer {clarify_id} --choose N`"
                ));
            }
            *asked.lock().unwrap_or_else(PoisonError::into_inner) = Some(clarify_id);
        }
    })
}

/// The object of a question that this process withdrew when it was told to stop.
fn withdrawn(clarify_id: Option<&str>) -> Value {
    let reason = Reason::Cancelled;
    json!({"clarify_id": clarify_id, "status": "settled", "reason": reason, "mode": reason.ask_mode(),
        "decided_by": reason.decided_by(), "actor": null, "answers": [], "late": []})
}

/// Whom it is for, with its kind: a script that names `user` means a person of that name.
fn addressee(to: &str) -> String {
    let to = to.trim();
    if to.starts_with("person:") || to.starts_with("group:") {
        to.to_owned()
    } else {
        format!("person:{to}")
    }
}

fn arguments(args: &AskArgs) -> Value {
    let mut arguments = json!({"questions": [{
        "question": args.text,
        "options": args.choices,
        "multi_select": args.multi,
        "recommended": args.recommended.map(|n| n - 1),
    }]});
    let seconds = args.timeout.map(|timeout| json!(timeout.as_secs_f64()));
    let word = |word: &Option<String>| word.as_ref().map(|word| json!(word));
    let said = [
        ("timeout_s", seconds),
        ("to", args.to.as_deref().map(|to| json!(addressee(to)))),
        ("when_absent", word(&args.when_absent)),
        ("on_timeout", word(&args.on_timeout)),
    ];
    if let Some(object) = arguments.as_object_mut() {
        let said = said
            .into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), value?)));
        object.extend(said);
    }
    arguments
}

/// The exit statuses of `ask`.
const fn status(reason: Reason) -> u8 {
    match reason {
        Reason::Response => 0,
        Reason::Dismissed => 10,
        Reason::Skipped => 11,
        Reason::Timeout => 12,
        Reason::Cancelled => 13,
        Reason::Unattended | Reason::Deferred => 14,
        Reason::AskBack => 15,
        Reason::Off => 16,
    }
}

fn object(settled: &Settled) -> Value {
    let outcome: &Outcome = &settled.outcome;
    json!({
        "clarify_id": settled.clarify_id,
        "session_id": settled.session_id,
        "status": "settled",
        "reason": outcome.reason,
        "mode": outcome.reason.ask_mode(),
        "decided_by": outcome.decided_by(),
        "actor": outcome.actor,
        "answers": outcome.answers,
        "partial": outcome.partial,
        "unanswered": outcome.unanswered,
        "dismissed_questions": outcome.declined,
        "assumptions": outcome.assumptions,
        "text": outcome.text,
        "deferred_text": settled.circumstances.deferred_text,
        "late": outcome.late,
        "resolved_at": outcome.resolved_at,
    })
}

/// The answer alone on standard output, so that `$(askbus ask …)` is the answer; everything else, a
/// note beside it too, on standard error.
fn print_text(settled: &Settled) -> Result<(), Failure> {
    let outcome = &settled.outcome;
    let answered = outcome.reason == Reason::Response;
    // Late messages come once, so they are told beside an answer too.
    if !answered || !outcome.late.is_empty() {
        let whole = result_text(&settled.questions, outcome, &settled.circumstances);
        output::remark(terminal::visible(&whole));
    }
    if !answered {
        if let Some(text) = &outcome.text {
            output::line(text)?;
        }
        return Ok(());
    }
    for answer in &outcome.answers {
        for option in &answer.options {
            output::line(&option.label)?;
        }
        if let Some(words) = &answer.text {
            output::line(words)?;
        }
        if let Some(note) = &answer.note {
            output::remark(format_args!("Note: {}", terminal::visible(note)));
        }
    }
    Ok(())
}
