//! The Responses API of OpenAI.

use super::{Conversation, Event, Next, Reply, ToolName, text_of, typed};
use serde_json::{Value, json};

pub(super) fn read(body: &Value) -> Conversation {
    let items = body["input"].as_array().into_iter().flatten();
    let results = items
        .filter(|item| item["type"] == "function_call_output")
        .map(|item| text_of(&item["output"]));
    Conversation {
        tools: tools(&body["tools"], None),
        results: results.collect(),
        told_to_await: false,
        of_sub_agent: false,
    }
}

/// Functions, and those of a namespace.
fn tools(list: &Value, namespace: Option<&str>) -> Vec<ToolName> {
    let mut all = Vec::new();
    for tool in list.as_array().into_iter().flatten() {
        let name = tool["name"].as_str().unwrap_or_default();
        match tool["type"].as_str() {
            Some("function") => all.push(ToolName {
                namespace: namespace.map(str::to_owned),
                name: name.to_owned(),
            }),
            Some("namespace") if namespace.is_none() => {
                all.extend(tools(&tool["tools"], Some(name)));
            }
            _ => {}
        }
    }
    all
}

pub(super) fn write(body: &Value, next: &Next, number: usize) -> Reply {
    let item = item(next, number);
    let response = |status: &str, output: Value, usage: Value| {
        json!({
            "id": format!("resp_scripted{number}"), "object": "response", "created_at": 1,
            "status": status, "model": body["model"], "output": output, "usage": usage,
            "error": null, "incomplete_details": null, "instructions": null, "metadata": {},
            "parallel_tool_calls": false, "tool_choice": "auto", "tools": [],
        })
    };
    let usage = json!({
        "input_tokens": 1, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 1,
        "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 2,
    });
    let done = response("completed", json!([item]), usage);
    if body["stream"] != true {
        return Reply::Whole(done);
    }
    let created = response("in_progress", json!([]), Value::Null);
    let mut events = vec![
        typed("response.created", json!({"response": created})),
        typed(
            "response.output_item.added",
            json!({"output_index": 0, "item": started(&item)}),
        ),
    ];
    if let Next::Say(text) = next {
        events.push(delta(&item, text));
    }
    events.extend([
        typed(
            "response.output_item.done",
            json!({"output_index": 0, "item": item}),
        ),
        typed("response.completed", json!({"response": done})),
    ]);
    Reply::Stream(events)
}

fn item(next: &Next, number: usize) -> Value {
    match next {
        Next::Call { tool, arguments } => {
            let mut item = json!({
                "type": "function_call", "id": format!("fc_scripted{number}"),
                "call_id": format!("call_scripted{number}"), "name": tool.name,
                "arguments": arguments.to_string(), "status": "completed",
            });
            if let Some(namespace) = &tool.namespace {
                item["namespace"] = namespace.as_str().into();
            }
            item
        }
        Next::Say(text) => json!({
            "type": "message", "id": format!("msg_scripted{number}"), "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": text, "annotations": []}],
        }),
    }
}

/// The item before anything of it was said.
fn started(item: &Value) -> Value {
    let mut started = item.clone();
    started["status"] = "in_progress".into();
    match item["type"].as_str() {
        Some("message") => started["content"] = json!([]),
        _ => started["arguments"] = "".into(),
    }
    started
}

fn delta(item: &Value, text: &str) -> Event {
    let delta =
        json!({"item_id": item["id"], "output_index": 0, "content_index": 0, "delta": text});
    typed("response.output_text.delta", delta)
}
