//! `askbus history`: how questions ended, page by page for as many as are wanted.

use crate::cli::HistoryArgs;
use crate::config::Config;
use crate::exit::Failure;
use crate::inbox::{clarifications, print_all};
use crate::output::{self, Reader};
use crate::panel::Panel;
use serde_json::Value;
use std::fmt::Write as _;
use std::process::ExitCode;

/// Questions asked for at once.
const PAGE: usize = 500;

/// Prints how questions ended, latest first.
pub(crate) async fn run(config: &Config, args: &HistoryArgs) -> Result<ExitCode, Failure> {
    let panel = Panel::open(config)?;
    let filters = filters(args);
    let mut left = if args.all { usize::MAX } else { args.limit };
    let (mut before, mut any) = (None, false);
    while left > 0 {
        let mut path = format!("/api/history?limit={}{filters}", left.min(PAGE));
        if let Some(seq) = before {
            let _ = write!(path, "&before={seq}");
        }
        let page = panel.get(&path).await?;
        // A page does not tear apart what ended together.
        let found = clarifications(&page);
        let found = found.get(..left).unwrap_or(found);
        if print_all(found, args.json)? == Reader::Gone {
            return Ok(ExitCode::SUCCESS);
        }
        left -= found.len();
        any |= !found.is_empty();
        before = page.get("next").and_then(Value::as_u64);
        if before.is_none() {
            break;
        }
    }
    if !any && !args.json {
        output::line("Nothing was found.")?;
    }
    Ok(ExitCode::SUCCESS)
}

/// What the command line says, as the service takes it.
fn filters(args: &HistoryArgs) -> String {
    let mut query = String::new();
    let moments = [("since", args.since), ("until", args.until)];
    let moments = moments.map(|(name, at)| (name, at.map(|at| at.to_string())));
    let reasons = Some(args.reason.join(",")).filter(|words| !words.is_empty());
    let texts = [
        ("session", args.session.clone()),
        ("reason", reasons),
        ("asker", args.asker.clone()),
        ("person", args.person.clone()),
        ("text", args.text.clone()),
    ];
    for (name, said) in texts.into_iter().chain(moments) {
        if let Some(said) = said {
            let _ = write!(query, "&{name}={}", askbus_wire::subject::token(&said));
        }
    }
    query
}
