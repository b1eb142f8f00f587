//! The plan card (E16): `update_plan`, and `ekko_studio_update_plan` within the turn of a host that has
//! a panel of its own (E1).

use super::{result, studio, tool};
use askbus_domain::{
    MAX_PLAN_EXPLANATION_CHARS, MAX_PLAN_STEPS, MAX_STEP_CHARS, MAX_STEP_ID_CHARS, StepStatus,
};
use askbus_wire::error::{ErrorCode, WireError};
use askbus_wire::{plan, proto};
use rmcp::model::{CallToolResult, Tool};
use serde_json::{Map, Value, json};

/// Its name.
pub const NAME: &str = "update_plan";
/// Its name for hosts with a panel of their own.
pub const STUDIO_NAME: &str = "ekko_studio_update_plan";
/// The name that one had before; taken in calls, never listed (E1).
pub const STUDIO_ALIAS: &str = "hermes_studio_update_plan";

/// What a client may put before its model about it, where it is offered.
pub const INSTRUCTIONS: &str = "\
For work of several steps keep a plan with `update_plan`, so that the person can follow it.";
/// The same for hosts with a panel of their own.
pub const STUDIO_INSTRUCTIONS: &str = "\
`ekko_studio_update_plan` shows your plan on the person's card in the Studio. It needs the `context_id` \
of the newest studio_interaction_context block.";

const DESCRIPTION: &str = "\
Show the person what you are going to do, step by step, and how far you are. Use it for work of several \
steps: before you begin, whenever a step is done, and when the plan changes. Not for a single simple step.

Send the whole plan each time, in order, with the same id for the same step. At most one step is \
in_progress. Call a step completed only once you have seen that it is; nobody else completes it, and what \
is left when your turn ends stays open. The call returns at once. A plan asks nothing and nobody approves \
it: ask when you need a decision.";

const STUDIO_CONTEXT: &str = "\
Take `context_id` from the studio_interaction_context block of the latest input; older ones no longer \
work.";

/// The tool as `tools/list` shows it.
pub fn definition() -> Tool {
    let input = input(&Map::new());
    tool(NAME, "Show the plan", DESCRIPTION, input, output("status"))
}

/// The same for hosts with a panel of their own.
pub fn studio_definition() -> Tool {
    let context = json!({"type": "string", "description": "From the newest studio_interaction_context block."});
    let first = Map::from_iter([("context_id".to_owned(), context)]);
    let text = format!("{DESCRIPTION}\n\n{STUDIO_CONTEXT}");
    let title = "Show the plan in the Studio";
    tool(STUDIO_NAME, title, text, input(&first), output("ok"))
}

fn statuses() -> [&'static str; 3] {
    StepStatus::ALL.map(StepStatus::as_str)
}

fn input(first: &Map<String, Value>) -> Value {
    let step = json!({
        "type": "object",
        "properties": {
            "id": {"type": "string", "minLength": 1, "maxLength": MAX_STEP_ID_CHARS, "description": "Your name for the step, the same in every update."},
            "step": {"type": "string", "minLength": 1, "maxLength": MAX_STEP_CHARS, "description": "What is to be done, for the person."},
            "status": {"type": "string", "enum": statuses()},
        },
        "required": ["id", "step", "status"],
        "additionalProperties": false,
    });
    let mut properties = first.clone();
    let explanation = json!({"type": "string", "maxLength": MAX_PLAN_EXPLANATION_CHARS, "description": "What the person should know of the plan as a whole, such as why it changed."});
    properties.insert("explanation".to_owned(), explanation);
    let plan = json!({"type": "array", "minItems": 1, "maxItems": MAX_PLAN_STEPS, "items": step});
    properties.insert("plan".to_owned(), plan);
    let mut required: Vec<&str> = first.keys().map(String::as_str).collect();
    required.push("plan");
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

/// The result's schema; the field that always stands in it says whether the plan is shown.
fn output(always: &str) -> Value {
    let step = json!({
        "type": "object",
        "properties": {"id": {"type": "string"}, "step": {"type": "string"}, "status": {"type": "string", "enum": statuses()}},
        "required": ["id", "step", "status"],
    });
    let mut properties = Map::new();
    let mut put = |name: &str, value: Value| properties.insert(name.to_owned(), value);
    match always {
        "ok" => put("ok", json!({"type": "boolean"})),
        _ => put(
            "status",
            json!({"type": "string", "enum": ["updated", "error"]}),
        ),
    };
    put("plan_id", json!({"type": "string"}));
    put("session_id", json!({"type": "string"}));
    put("run_id", json!({"type": "string"}));
    put(
        "revision",
        json!({"type": "integer", "description": "Grows with every update; the highest is what people see."}),
    );
    put(
        "execution_state",
        json!({"type": "string", "description": "running while your turn is on."}),
    );
    put("explanation", json!({"type": "string"}));
    put("plan", json!({"type": "array", "items": step}));
    put(
        "created_at",
        json!({"type": "integer", "description": "Unix milliseconds."}),
    );
    put("updated_at", json!({"type": "integer"}));
    put(
        "reason",
        json!({"type": "string", "description": "The code of the error."}),
    );
    put("error", json!({"type": "string"}));
    put(
        "message",
        json!({"type": "string", "description": "What the result means, and what to do next."}),
    );
    json!({"type": "object", "properties": properties, "required": [always]})
}

/// The result of a call whose plan is shown.
pub fn updated(shown: &proto::Plan) -> CallToolResult {
    let completed = shown
        .plan
        .iter()
        .filter(|s| s.status == "completed")
        .count();
    let text = format!(
        "The plan is shown (revision {}, {completed} of {} steps completed). Go on with your work.",
        shown.revision,
        shown.plan.len(),
    );
    let mut structured = plan::snapshot(shown);
    structured.insert("status".to_owned(), "updated".into());
    structured.insert("message".to_owned(), text.as_str().into());
    result(text, structured.into(), false)
}

/// The same in the words of a host with a panel of its own (E8).
pub fn studio_updated(shown: &proto::Plan) -> CallToolResult {
    let mut structured = plan::snapshot(shown);
    structured.insert("ok".to_owned(), true.into());
    let structured = Value::from(structured);
    result(structured.to_string(), structured, false)
}

/// The result of a call whose plan is not shown.
pub fn failed(error: &WireError) -> CallToolResult {
    let text = failure_text(error);
    let structured = json!({"status": "error", "reason": error.code.as_str(), "error": error.message, "message": text});
    result(text, structured, true)
}

/// The same in the words of a host with a panel of its own.
pub fn studio_failed(error: &WireError) -> CallToolResult {
    let structured = json!({"ok": false, "error": error.message, "reason": error.code.as_str()});
    result(failure_text(error), structured, true)
}

/// What went wrong, and what the model can do about it. A plan is for the person to follow: work never
/// stops for want of one.
fn failure_text(error: &WireError) -> String {
    let remedy = match error.code {
        ErrorCode::InvalidPlan | ErrorCode::InvalidRequest | ErrorCode::TooLarge => {
            "The plan was not changed. Correct the arguments and call the tool again."
        }
        ErrorCode::ContextExpired | ErrorCode::NoActiveTurn => {
            "The plan was not changed. Only the newest context of a running turn can change it; do not \
             retry with this one."
        }
        ErrorCode::Unauthenticated | ErrorCode::Forbidden => {
            "The plan is not shown. Retrying does not help: tell the person that the credential of this \
             server has to be fixed (`askbus credential issue` makes one), and go on with your \
             work."
        }
        _ => {
            "The plan may not be shown. Go on with your work, and show the plan with its next step."
        }
    };
    format!("{}: {error}\n{remedy}", error.code.as_str())
}

/// The context a call names, and the rest: the plan alone.
///
/// # Errors
/// [`ErrorCode::InvalidRequest`] if it names none.
pub fn context_and_plan(mut arguments: Value) -> Result<(String, Value), WireError> {
    let context_id = studio::context_of(&arguments)?;
    if let Value::Object(fields) = &mut arguments {
        fields.remove("context_id");
    }
    Ok((context_id, arguments))
}
