//! `await_answer`: goes on waiting for a question whose call was handed back.

use super::{ask, tool};
use rmcp::model::Tool;
use serde_json::{Value, json};

/// Its name.
pub const NAME: &str = "await_answer";

const DESCRIPTION: &str = "\
Go on waiting for a question that you asked with `ask_user`, when its result had the status `pending`. \
Call it at once with that `clarify_id`, and again whenever the result is `pending`; the person sees the \
question all the while. It returns what `ask_user` would have returned, and may be called again later to \
read the same result.";

/// The tool as `tools/list` shows it to a client that asks with the tool of this name.
pub fn definition(ask: &str) -> Tool {
    let input = json!({
        "type": "object",
        "properties": {"clarify_id": {"type": "string", "description": "From the result with status pending."}},
        "required": ["clarify_id"],
    });
    // The list of tools is read by every model in every conversation: what `ask_user` says of its result
    // is not repeated.
    let output = json!({
        "type": "object",
        "description": format!("As from {ask}."),
        "properties": {
            "status": {"type": "string", "enum": ["settled", "pending", "error"]},
            "reason": {"type": "string"},
            "clarify_id": {"type": "string"},
            "answers": {"type": "array", "items": {"type": "object"}},
            "message": {"type": "string"},
        },
        "required": ["status", "reason"],
    });
    let text = ask::worded(DESCRIPTION, ask);
    tool(NAME, "Wait for the answer", text, input, output)
}

/// The id in the arguments.
///
/// # Errors
/// What is wrong with them.
pub fn clarify_id(arguments: &Value) -> Result<String, String> {
    // Models wrap arguments now and then.
    let id = arguments.get("clarify_id").or_else(|| arguments.get("id"));
    let id = id.and_then(Value::as_str).map(str::trim);
    match id {
        Some(id) if !id.is_empty() => Ok(id.to_owned()),
        _ => Err("clarify_id: give the id that the pending result named".to_owned()),
    }
}
