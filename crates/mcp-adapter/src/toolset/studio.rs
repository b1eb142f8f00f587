//! `ekko_studio_clarify`: one question within the turn of a host that has a panel of its own (E).

use super::{Unsettled, late_messages, result, tool};
use crate::asker::Settled;
use askbus_domain::{
    MAX_LABEL_CHARS, MAX_OPTIONS, MAX_QUESTION_CHARS, StudioResult, studio_result,
};
use askbus_wire::error::{ErrorCode, WireError};
use rmcp::model::{CallToolResult, Tool};
use serde_json::{Value, json};

/// Its name.
pub const NAME: &str = "ekko_studio_clarify";
/// The name it had before; taken in calls, never listed (E1).
pub const ALIAS: &str = "hermes_studio_clarify";
/// The name of the server that shows it.
pub const SERVER_NAME: &str = "ekko-studio-interaction";

/// What a client may put before its model while the gate is open.
pub const INSTRUCTIONS: &str = "\
`ekko_studio_clarify` asks the person in the Studio and waits for the answer. It needs the \
`context_id` of the newest studio_interaction_context block. Only reason `response` is a decision; a \
timeout, a dismissal or a cancellation is not approval.";

const DESCRIPTION: &str = "\
Ask the person in the Studio one short question, and wait for the answer. Use it when a decision that \
matters is missing, in place of asking in the terminal or ending your turn with a question.

Take `context_id` from the studio_interaction_context block of the latest input; older ones no longer \
work. Choices are optional; the person can always answer in their own words, also beside choices. One \
question can be open at a time. Not for delegated sub-agents or background work.

Only reason `response` is the person's decision, and `response` then holds their words. A timeout, a \
dismissal or a cancellation is not approval: leave undone what depends on the answer and say so.";

/// The tool as `tools/list` shows it.
pub fn definition() -> Tool {
    tool(NAME, "Ask in the Studio", DESCRIPTION, input(), output())
}

fn input() -> Value {
    json!({
        "type": "object",
        "properties": {
            "context_id": {"type": "string", "description": "From the newest studio_interaction_context block."},
            "question": {"type": "string", "minLength": 1, "maxLength": MAX_QUESTION_CHARS},
            "choices": {"type": "array", "maxItems": MAX_OPTIONS, "items": {"type": "string", "minLength": 1, "maxLength": MAX_LABEL_CHARS}},
        },
        "required": ["context_id", "question"],
    })
}

fn output() -> Value {
    json!({
        "type": "object",
        "properties": {
            "ok": {"type": "boolean"},
            "clarify_id": {"type": "string"},
            "response": {"type": "string", "description": "The person's words; empty unless reason is response."},
            "reason": {"type": "string", "description": "response, dismissed, timeout or cancelled; the code of the error when ok is false."},
            "outcome_reason": {"type": "string", "description": "A finer word, where reason merges several ways of ending."},
            "late": {"type": "array", "items": {"type": "object"}, "description": "What people wrote after earlier questions had ended."},
            "error": {"type": "string"},
        },
        "required": ["ok"],
    })
}

/// The context a call names.
///
/// # Errors
/// [`ErrorCode::InvalidRequest`] if it names none.
pub fn context_of(arguments: &Value) -> Result<String, WireError> {
    let context_id = arguments.get("context_id").and_then(Value::as_str);
    match context_id.map(str::trim).filter(|id| !id.is_empty()) {
        Some(context_id) => Ok(context_id.to_owned()),
        None => Err(WireError::new(
            ErrorCode::InvalidRequest,
            "context_id is required: take it from the newest studio_interaction_context block",
        )),
    }
}

/// The result of a settled call, in the four words of this dialect (E7).
pub fn settled(settled: &Settled) -> CallToolResult {
    let StudioResult {
        reason,
        response,
        outcome_reason,
    } = studio_result(&settled.outcome);
    let mut structured = json!({
        "ok": true,
        "clarify_id": settled.clarify_id,
        "response": response,
        "reason": reason,
    });
    if let Value::Object(fields) = &mut structured {
        if let Some(word) = outcome_reason {
            fields.insert("outcome_reason".to_owned(), word.into());
        }
        let late = &settled.outcome.late;
        if !late.is_empty() {
            fields.insert("late".to_owned(), late_messages(late));
        }
    }
    result(structured.to_string(), structured, false)
}

/// The result of a call without an outcome (E6).
pub fn failed(unsettled: impl Into<Unsettled>) -> CallToolResult {
    let unsettled = unsettled.into();
    let error = &unsettled.error;
    let mut structured =
        json!({"ok": false, "error": error.message, "reason": error.code.as_str()});
    unsettled.name_question(&mut structured);
    result(unsettled.text(), structured, true)
}
