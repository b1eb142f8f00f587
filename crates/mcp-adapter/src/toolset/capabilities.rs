//! `list_capabilities`: what this server can do, here and now (P6).

use super::{Toolset, result};
use askbus_domain::{
    MAX_LABEL_CHARS, MAX_OPTIONS, MAX_PLAN_STEPS, MAX_QUESTION_CHARS, MAX_QUESTIONS, MAX_STEP_CHARS,
};
use rmcp::model::{CallToolResult, Tool};
use serde_json::{Value, json};
use std::time::Duration;

/// Its name.
pub const NAME: &str = "list_capabilities";

const DESCRIPTION: &str = "\
What this server can do: its tools, the limits of a question, how long a call waits before it is handed \
back as `pending`, and whether the service that brings questions to people can be reached. Asks nobody.";

/// The tool as `tools/list` shows it.
pub fn definition() -> Tool {
    let input = json!({"type": "object", "properties": {}});
    let output = json!({
        "type": "object",
        "properties": {
            "version": {"type": "string"},
            "toolset": {"type": "string"},
            "tools": {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}, "title": {"type": "string"}}, "required": ["name", "title"]}},
            "limits": {"type": "object", "additionalProperties": {"type": "integer"}},
            "hand_back_s": {"type": "number", "description": "A call that waits longer returns with status pending."},
            "service": {"type": "object", "properties": {"reachable": {"type": "boolean"}, "problem": {"type": ["string", "null"]}}, "required": ["reachable"]},
            "panel": {"type": ["string", "null"], "description": "Where people answer."},
        },
        "required": ["version", "toolset", "tools", "limits", "hand_back_s", "service"],
    });
    super::tool(NAME, "What this server can do", DESCRIPTION, input, output)
}

/// What is known of the way to people.
pub struct State {
    /// Which tools there are.
    pub toolset: Toolset,
    /// The tools, as `tools/list` shows them.
    pub tools: Vec<Tool>,
    /// When a call of this client is handed back.
    pub hand_back: Duration,
    /// Why the service cannot be reached, if it cannot.
    pub problem: Option<String>,
    /// Where people answer.
    pub panel: Option<String>,
}

/// The result of a call.
pub fn listed(state: &State) -> CallToolResult {
    let tools: Vec<Value> = state
        .tools
        .iter()
        .map(|tool| json!({"name": tool.name, "title": tool.title}))
        .collect();
    let structured = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "toolset": state.toolset.as_str(),
        "tools": tools,
        "limits": {
            "questions": MAX_QUESTIONS, "question_chars": MAX_QUESTION_CHARS,
            "options": MAX_OPTIONS, "label_chars": MAX_LABEL_CHARS,
            "plan_steps": MAX_PLAN_STEPS, "step_chars": MAX_STEP_CHARS,
        },
        "hand_back_s": state.hand_back.as_secs_f64(),
        "service": {"reachable": state.problem.is_none(), "problem": state.problem},
        "panel": state.panel,
    });
    let names: Vec<&str> = state.tools.iter().map(|tool| tool.name.as_ref()).collect();
    let service = match &state.problem {
        None => "The service is there: questions reach people.".to_owned(),
        Some(problem) => format!("Questions reach nobody now: {problem}"),
    };
    let text = format!(
        "Tools: {}. One call holds up to {MAX_QUESTIONS} questions of {MAX_QUESTION_CHARS} characters with \
         {MAX_OPTIONS} options each. A call returns as pending after {} s. {service}",
        names.join(", "),
        state.hand_back.as_secs_f64(),
    );
    result(text, structured, false)
}
