//! `clarify`: one question with at most four choices, answered by one text (N).

use super::{Unsettled, actor, late_messages, reason_words, result, tool};
use crate::asker::Settled;
use askbus_domain::{Dialect, MAX_LABEL_CHARS, MAX_QUESTION_CHARS, interaction_text};
use rmcp::model::{CallToolResult, Tool};
use serde_json::{Value, json};

/// Its name.
pub const NAME: &str = "clarify";

/// What a client may put before its model about this server.
pub const INSTRUCTIONS: &str = "\
`clarify` asks the person you work for one question and waits for the answer. Only reason `response` \
is a decision; whatever else comes back is not approval.";

const DESCRIPTION: &str = "\
Ask the person you work for one short question, and wait for the answer. Use it when a decision that \
matters is missing, instead of guessing and instead of ending your turn with a question.

Choices are optional, four at most; the person can always answer in their own words. Never ask for \
passwords or keys: answers are stored as plain text.

Only reason `response` is the person's decision, and `answer` then holds their words. A timeout, a \
dismissal or a cancellation is not approval: leave undone what depends on the answer and say so.";

/// The tool as `tools/list` shows it.
pub fn definition() -> Tool {
    tool(NAME, "Ask the person", DESCRIPTION, input(), output())
}

fn input() -> Value {
    json!({
        "type": "object",
        "properties": {
            "question": {"type": "string", "minLength": 1, "maxLength": MAX_QUESTION_CHARS},
            "choices": {"type": "array", "maxItems": Dialect::Interaction.max_options(), "items": {"type": "string", "minLength": 1, "maxLength": MAX_LABEL_CHARS}},
        },
        "required": ["question"],
    })
}

fn output() -> Value {
    let reasons = reason_words().join(", ");
    json!({
        "type": "object",
        "properties": {
            "answer": {"type": "string", "description": "The person's words; a fixed sentence in brackets unless a person spoke."},
            "reason": {"type": "string", "description": format!("When settled one of {reasons}; else the code of the error. Only response is a person's decision.")},
            "clarify_id": {"type": "string"},
            "actor": {"type": ["object", "null"], "description": "Who decided; null unless a person did."},
            "late": {"type": "array", "items": {"type": "object"}, "description": "What people wrote after earlier questions had ended."},
            "error": {"type": "string"},
        },
        "required": ["reason"],
    })
}

/// The result of a settled call. No way of settling is an error.
pub fn settled(settled: &Settled) -> CallToolResult {
    let outcome = &settled.outcome;
    let answer = interaction_text(outcome);
    let structured = json!({
        "answer": answer,
        "reason": outcome.reason.as_str(),
        "clarify_id": settled.clarify_id,
        "actor": actor(outcome),
        "late": late_messages(&outcome.late),
    });
    result(answer, structured, false)
}

/// The result of a call without an outcome.
pub fn failed(unsettled: impl Into<Unsettled>) -> CallToolResult {
    let unsettled = unsettled.into();
    let error = &unsettled.error;
    let mut structured = json!({"reason": error.code.as_str(), "error": error.message});
    unsettled.name_question(&mut structured);
    result(unsettled.text(), structured, true)
}
