//! The log, on standard error. Answers' texts are never in it.

use crate::cli::LogFormat;
use crate::output;
use tracing_subscriber::EnvFilter;

/// Starts logging; `RUST_LOG` decides what is shown, else `default`.
pub(crate) fn start(format: LogFormat, default: &str) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(default));
    // What rmcp has to say of a client it tells that client. Its log repeats whole messages, with what
    // people answered in them, and has a line for every call that is hung up.
    let filter = match "rmcp=off".parse() {
        Ok(quiet) => filter.add_directive(quiet),
        Err(_) => filter,
    };
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::IsTerminal::is_terminal(&std::io::stderr()))
        // To complain of it there would fail as well, and end the task that logged.
        .log_internal_errors(false)
        .with_target(false);
    let started = match format {
        LogFormat::Text => builder.try_init(),
        LogFormat::Json => builder.json().flatten_event(true).try_init(),
    };
    if let Err(error) = started {
        output::remark(format_args!("askbus: the log cannot be started: {error}"));
    }
}
