//! The Messages API of Anthropic.

use super::{Conversation, Next, Reply, text_of, typed};
use serde_json::{Value, json};

pub(super) fn read(body: &Value) -> Conversation {
    let tools = body["tools"].as_array().into_iter().flatten();
    let tools = tools.filter_map(|tool| tool["name"].as_str());
    let messages = body["messages"].as_array().into_iter().flatten();
    let parts = messages.filter_map(|message| message["content"].as_array());
    let results = parts
        .flatten()
        .filter(|part| part["type"] == "tool_result")
        .map(|part| text_of(&part["content"]));
    Conversation::of(tools, results)
}

pub(super) fn write(body: &Value, next: &Next, number: usize) -> Reply {
    let usage = json!({"input_tokens": 1, "output_tokens": 1});
    let (block, empty, delta, reason) = match next {
        Next::Call { tool, arguments } => {
            let block = |input: &Value| json!({"type": "tool_use", "id": format!("toolu_scripted{number}"), "name": tool.name, "input": input});
            let delta = json!({"type": "input_json_delta", "partial_json": arguments.to_string()});
            (block(arguments), block(&json!({})), delta, "tool_use")
        }
        Next::Say(text) => {
            let block = |text: &str| json!({"type": "text", "text": text});
            let delta = json!({"type": "text_delta", "text": text});
            (block(text), block(""), delta, "end_turn")
        }
    };
    let message = |content: Value, reason: Value| {
        json!({
            "id": format!("msg_scripted{number}"), "type": "message", "role": "assistant",
            "model": body["model"], "content": content, "stop_reason": reason,
            "stop_sequence": null, "usage": usage,
        })
    };
    if body["stream"] != true {
        return Reply::Whole(message(json!([block]), reason.into()));
    }
    let start = message(json!([]), Value::Null);
    let end = json!({"stop_reason": reason, "stop_sequence": null});
    Reply::Stream(vec![
        typed("message_start", json!({"message": start})),
        typed(
            "content_block_start",
            json!({"index": 0, "content_block": empty}),
        ),
        typed("content_block_delta", json!({"index": 0, "delta": delta})),
        typed("content_block_stop", json!({"index": 0})),
        typed("message_delta", json!({"delta": end, "usage": usage})),
        typed("message_stop", json!({})),
    ])
}
