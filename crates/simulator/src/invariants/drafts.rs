//! That what somebody types and does not send is theirs alone.

use super::History;
use crate::tab::words_of;
use crate::world::Shown;
use serde_json::Value;

/// Nobody is shown what somebody else typed: others hear that somebody writes, and not what.
pub fn check_drafts(history: &History<'_>) -> Vec<String> {
    let authors: Vec<&str> = history.records.typed.keys().map(|t| t.person).collect();
    let foreign = |shown: &&Shown| {
        let told = shown.object.to_string();
        let others = authors.iter().filter(|author| **author != shown.person);
        let mut words = others.map(|author| words_of(history.tenant, author));
        words.any(|words| told.contains(&words))
    };
    let shown = history.records.shown.iter();
    let read = shown.clone().filter(foreign);
    let read =
        read.map(|shown| format!("{} reads another's draft: {}", shown.person, shown.object));
    let own = |shown: &&Shown| shown.object.get("own") == Some(&Value::Bool(true));
    let untold = shown.filter(own).filter(|shown| !is_typed(history, shown));
    let untold = untold.map(|shown| format!("{} never typed {}", shown.person, shown.object));
    read.chain(untold).collect()
}

/// Whether a draft that is shown to its author is one that they typed in that tab, to that question.
fn is_typed(history: &History<'_>, shown: &Shown) -> bool {
    let text = |field| {
        shown
            .object
            .get(field)
            .and_then(Value::as_str)
            .unwrap_or("")
    };
    let id = crate::panel::question(&shown.object);
    // Also what was not taken as an answer is kept as a draft, in a tab of its own.
    let mut answers = history.records.told.iter();
    if answers.any(|told| told.answer_id == text("tab") && told.person == shown.person) {
        return true;
    }
    let mut typed = history.records.typed.keys();
    let own = typed.any(|typed| {
        typed.person == shown.person && typed.tab == text("tab") && Some(typed.clarify_id) == id
    });
    own && text("text").starts_with(&words_of(history.tenant, shown.person))
}
