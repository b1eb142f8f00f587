//! Tools that ask the client for something: in results that want input in the stateless era, with
//! requests of the server's own in the older one. No tool of Askbus does so; what stands in front of the
//! tools has to let it through all the same.

use rmcp::RoleServer;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ClientCapabilities, ContentBlock,
    ErrorData, InputRequest, InputRequests, InputRequiredResult, InputResponses, ServerRequest,
};
use rmcp::service::RequestContext;
use serde_json::{Value, json};
use std::time::Duration;

/// How long a client may take to answer.
const LIMIT: Duration = Duration::from_secs(10);

/// What a client is asked at once.
struct Round {
    requests: Value,
    /// What it has to send back with the answers; no two rounds of a tool have the same.
    state: Option<&'static str>,
}

/// Tools that return results which want input.
const RESULTS: [&str; 9] = [
    "test_input_required_result_elicitation",
    "test_input_required_result_sampling",
    "test_input_required_result_list_roots",
    "test_input_required_result_request_state",
    "test_input_required_result_multiple_inputs",
    "test_input_required_result_multi_round",
    "test_input_required_result_tampered_state",
    "test_input_required_result_capabilities",
    "test_streaming_elicitation",
];
/// Tools that send requests.
const REQUESTS: [&str; 4] = [
    "test_sampling",
    "test_elicitation",
    "test_elicitation_sep1034_defaults",
    "test_elicitation_sep1330_enums",
];

/// The names of all of them.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    RESULTS.into_iter().chain(REQUESTS)
}

/// Answers a call of one of them.
pub(super) async fn call(
    request: CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    if let Some(rounds) = rounds(&request.name) {
        let declared = context.client_capabilities().unwrap_or_default();
        return go_on(&rounds, &request, &declared);
    }
    let asked = sent(&request.name).ok_or_else(|| {
        ErrorData::invalid_params(format!("there is no tool {:?} here", request.name), None)
    })?;
    let failed = |error: &dyn std::fmt::Display| ErrorData::internal_error(error.to_string(), None);
    let answer = context.peer.send_request(server_request(asked)?);
    let answer = tokio::time::timeout(LIMIT, answer).await;
    let answer = answer.map_err(|e| failed(&e))?.map_err(|e| failed(&e))?;
    let answer = serde_json::to_string(&answer).map_err(|e| failed(&e))?;
    Ok(done(format!("The client said {answer}.")))
}

fn done(text: String) -> CallToolResponse {
    CallToolResult::success(vec![ContentBlock::text(text)]).into()
}

fn form(message: &str, properties: &Value) -> Value {
    let schema = json!({"type": "object", "properties": properties});
    let params = json!({"message": message, "requestedSchema": schema});
    json!({"method": "elicitation/create", "params": params})
}

fn sampling(text: &str) -> Value {
    let message = json!({"role": "user", "content": {"type": "text", "text": text}});
    json!({"method": "sampling/createMessage", "params": {"messages": [message], "maxTokens": 100}})
}

fn roots() -> Value {
    json!({"method": "roots/list", "params": {}})
}

/// What a tool asks, round after round; none where it is no such tool.
fn rounds(tool: &str) -> Option<Vec<Round>> {
    let name = || form("What is your name?", &json!({"name": {"type": "string"}}));
    let round = |requests, state| Round { requests, state };
    Some(match tool {
        "test_streaming_elicitation" | "test_input_required_result_elicitation" => {
            vec![round(json!({"user_name": name()}), None)]
        }
        "test_input_required_result_sampling" => {
            let question = sampling("What is the capital of France?");
            vec![round(json!({"capital_question": question}), None)]
        }
        "test_input_required_result_list_roots" => {
            vec![round(json!({"client_roots": roots()}), None)]
        }
        "test_input_required_result_request_state"
        | "test_input_required_result_tampered_state" => {
            let confirm = form("Is that so?", &json!({"ok": {"type": "boolean"}}));
            vec![round(json!({"confirm": confirm}), Some("state-1"))]
        }
        "test_input_required_result_multiple_inputs" => {
            let greeting = sampling("Think of a greeting.");
            let all = json!({"user_name": name(), "greeting": greeting, "client_roots": roots()});
            vec![round(all, Some("state-1"))]
        }
        "test_input_required_result_multi_round" => {
            let colour = form("Which colour?", &json!({"color": {"type": "string"}}));
            vec![
                round(json!({"step1": name()}), Some("state-1")),
                round(json!({"step2": colour}), Some("state-2")),
            ]
        }
        "test_input_required_result_capabilities" => {
            let all = json!({"user_name": name(), "greeting": sampling("Think of a greeting.")});
            vec![round(all, None)]
        }
        _ => return None,
    })
}

/// The result of a call that belongs to one of these rounds.
fn go_on(
    rounds: &[Round],
    call: &CallToolRequestParams,
    declared: &ClientCapabilities,
) -> Result<CallToolResponse, ErrorData> {
    let state = call.request_state.as_deref();
    let at = match state {
        None => Some(0),
        Some(state) => rounds.iter().position(|round| round.state == Some(state)),
    };
    let found = at.and_then(|at| Some((at, rounds.get(at)?)));
    let (at, round) = found.ok_or_else(|| {
        ErrorData::invalid_params("the request state is not one of this server's", None)
    })?;
    let asked = requests(round, declared)?;
    let answered = round.state == state && is_answered(&asked, call.input_responses.as_ref());
    let Some(next) = rounds.get(if answered { at + 1 } else { at }) else {
        let answers = json!(call.input_responses);
        return Ok(done(format!("state-ok: {answers}")));
    };
    let wanted = requests(next, declared)?;
    let wanted = InputRequiredResult::new(Some(wanted), next.state.map(str::to_owned));
    Ok(CallToolResponse::InputRequired(wanted))
}

/// What of a round a client of these capabilities can be asked.
fn requests(round: &Round, declared: &ClientCapabilities) -> Result<InputRequests, ErrorData> {
    let mut requests: InputRequests = parsed(round.requests.clone())?;
    requests.retain(|_, request| match request {
        InputRequest::CreateMessage(_) => declared.sampling.is_some(),
        InputRequest::Elicitation(_) => declared.elicitation.is_some(),
        InputRequest::ListRoots(_) => declared.roots.is_some(),
        _ => false,
    });
    Ok(requests)
}

/// Whether every request has an answer that is an object; answers to nothing are passed over.
fn is_answered(requests: &InputRequests, answers: Option<&InputResponses>) -> bool {
    answers.is_some_and(|answers| {
        let mut keys = requests.keys();
        keys.all(|key| answers.get(key).is_some_and(Value::is_object))
    })
}

/// What a tool of the older era sends to the client.
fn sent(tool: &str) -> Option<Value> {
    let fields = match tool {
        "test_sampling" => return Some(sampling("Say something.")),
        "test_elicitation" => json!({"username": {"type": "string"}, "email": {"type": "string"}}),
        "test_elicitation_sep1034_defaults" => json!({
            "name": {"type": "string", "default": "John Doe"},
            "age": {"type": "integer", "default": 30},
            "score": {"type": "number", "default": 95.5},
            "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
            "verified": {"type": "boolean", "default": true},
        }),
        "test_elicitation_sep1330_enums" => enums(),
        _ => return None,
    };
    Some(form("Please fill this in.", &fields))
}

/// Every way to say that a field has one of some values.
fn enums() -> Value {
    let names = ["option1", "option2", "option3"];
    let titled = names.map(|name| json!({"const": name, "title": format!("The {name}")}));
    json!({
        "untitledSingle": {"type": "string", "enum": names},
        "titledSingle": {"type": "string", "oneOf": titled},
        "legacyEnum": {"type": "string", "enum": names, "enumNames": ["One", "Two", "Three"]},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": names}},
        "titledMulti": {"type": "array", "items": {"anyOf": titled}},
    })
}

fn server_request(request: Value) -> Result<ServerRequest, ErrorData> {
    match parsed(request)? {
        InputRequest::CreateMessage(request) => Ok(ServerRequest::CreateMessageRequest(request)),
        InputRequest::Elicitation(request) => Ok(ServerRequest::ElicitRequest(request)),
        InputRequest::ListRoots(request) => Ok(ServerRequest::ListRootsRequest(request)),
        _ => Err(ErrorData::internal_error("there is no such request", None)),
    }
}

fn parsed<T: serde::de::DeserializeOwned>(value: Value) -> Result<T, ErrorData> {
    let parsed = serde_json::from_value(value);
    parsed.map_err(|error| ErrorData::internal_error(error.to_string(), None))
}
