//! `askbus inbox`.

mod connection;
mod draft;
mod editor;
mod entry;
mod field;
mod heard;
mod order;
mod render;
mod say;
mod screen;
mod state;
mod stream;
#[cfg(test)]
mod tests;
mod update;
mod view;
mod words;
mod wrap;

use crate::cli::InboxArgs;
use crate::config::Config;
use crate::exit::Failure;
use crate::output::{self, Reader};
use crate::panel::Panel;
use crate::{agent_guard, terminal};
use serde_json::Value;
use std::io::IsTerminal as _;
use std::process::ExitCode;

/// How many the service lists at once.
pub(crate) const MOST: usize = 1_000;

/// The list of a reply.
pub(crate) fn clarifications(body: &Value) -> &[Value] {
    body.get("clarifications")
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// Prints what waits; with `--watch` also what comes, or shows it on the whole screen where a person
/// sits at a terminal.
pub(crate) async fn inbox(config: &Config, args: &InboxArgs) -> Result<ExitCode, Failure> {
    let panel = Panel::open(config)?;
    let at_terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    // On the whole screen one can answer; an agent never answers itself, and sees the lines alone.
    let person = at_terminal && agent_guard::refuse_agents().is_ok();
    if args.watch && !args.json && person {
        view::run(&panel, view::language().unwrap_or_default()).await?;
        return Ok(ExitCode::SUCCESS);
    }
    let body = panel
        .get(&format!("/api/clarifications?status=pending&limit={MOST}"))
        .await?;
    let reader = print_all(clarifications(&body), args.json)?;
    if clarifications(&body).len() >= MOST {
        output::remark(format_args!(
            "askbus: more wait than the {MOST} that are shown"
        ));
    }
    if reader == Reader::Gone {
        return Ok(ExitCode::SUCCESS);
    }
    if !args.json {
        unreachable_chats(&panel).await;
    }
    if args.watch {
        stream::follow(&panel, args.json, &body).await?;
    } else if !args.json && clarifications(&body).is_empty() {
        output::line("Nothing waits.")?;
    } else if !args.json && person {
        output::line("Answer with `askbus answer ID --choose N`, or in `askbus inbox --watch`.")?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Says which chats cannot be reached: whoever relies on them would wait for a question in vain.
async fn unreachable_chats(panel: &Panel) {
    // Of a service that does not say, nothing is said.
    let Ok(body) = panel.get("/api/channels").await else {
        return;
    };
    let list = |value: &Value, name: &str| value.get(name).and_then(Value::as_array).cloned();
    for channel in list(&body, "channels").unwrap_or_default() {
        let listed = ["messages", "replies"].map(|name| list(&channel, name).unwrap_or_default());
        let listed = listed.concat();
        let all = std::iter::once(&channel).chain(&listed);
        let mut problems = all.map(|one| text(one, "problem"));
        let Some(problem) = problems.find(|problem| !problem.is_empty()) else {
            continue;
        };
        let waiting = channel.get("undelivered").and_then(Value::as_u64);
        output::remark(format_args!(
            "askbus: the chat {} cannot be reached ({}); not delivered there: {}",
            text(&channel, "name"),
            terminal::line(problem),
            waiting.unwrap_or_default(),
        ));
    }
}

/// Prints each as `inbox` and `history` do.
pub(crate) fn print_all(list: &[Value], json: bool) -> Result<Reader, Failure> {
    for one in list {
        if print_one(one, json)? == Reader::Gone {
            return Ok(Reader::Gone);
        }
    }
    Ok(Reader::There)
}

fn print_one(one: &Value, json: bool) -> Result<Reader, Failure> {
    if json {
        output::line(one)
    } else {
        output::text(terminal::clarification(one))
    }
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}
