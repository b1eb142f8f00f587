//! The far end of a webhook channel: it takes every notice, and counts.

use super::board::Board;
use super::seen::Notice;
use askbus_testkit::{Hook, HookMessage};
use std::sync::Arc;

/// The channel's name.
const NAME: &str = "team";
/// Who answers through it, if anybody did.
const PERSON: &str = "eve";

/// The configuration of a service that tells of the tenant's questions there.
pub(super) fn configuration(hook: &Hook, tenant: &str) -> String {
    let more = format!("tenant = \"{tenant}\"\npeople = [{{ subject = \"{PERSON}\" }}]");
    hook.table(NAME, &more)
}

/// Writes down what comes, until it is dropped.
pub(super) async fn listen(board: Arc<Board>, hook: Arc<Hook>) {
    let mut known = 0;
    loop {
        // An error is a long silence.
        let Ok(seen) = hook.until("a notice", |seen| seen.len() > known).await else {
            continue;
        };
        let new: Vec<Notice> = seen.iter().skip(known).map(notice).collect();
        known = seen.len();
        board.change(|state| state.seen.notices.extend(new));
    }
}

fn notice(message: &HookMessage) -> Notice {
    let word = |name: &str| message.body[name].as_str().unwrap_or_default().to_owned();
    Notice {
        id: message.id.clone(),
        clarify_id: word("clarify_id"),
        kind: word("type"),
    }
}
