//! The chat completions of OpenAI, which most makers of models speak.

use super::{Conversation, Event, Next, Reply, text_of};
use serde_json::{Value, json};

pub(super) fn read(body: &Value) -> Conversation {
    let tools = body["tools"].as_array().into_iter().flatten();
    let tools = tools.filter_map(|tool| tool["function"]["name"].as_str());
    let messages = body["messages"].as_array().into_iter().flatten();
    let results = messages
        .filter(|message| message["role"] == "tool")
        .map(|message| text_of(&message["content"]));
    Conversation::of(tools, results)
}

pub(super) fn write(body: &Value, next: &Next, number: usize) -> Reply {
    let usage = json!({"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2});
    let (text, calls, reason) = match next {
        Next::Call { tool, arguments } => {
            let function = json!({"name": tool.name, "arguments": arguments.to_string()});
            let call = json!({
                "index": 0, "id": format!("call_scripted{number}"), "type": "function",
                "function": function,
            });
            (Value::Null, json!([call]), "tool_calls")
        }
        Next::Say(text) => (text.as_str().into(), Value::Null, "stop"),
    };
    let mut message = json!({"role": "assistant", "content": text});
    if !calls.is_null() {
        message["tool_calls"] = calls;
    }
    let object = |kind: &str, choices: Value, usage: &Value| {
        json!({
            "id": format!("chatcmpl-scripted{number}"), "object": kind, "created": 1,
            "model": body["model"], "choices": choices, "usage": usage,
        })
    };
    if body["stream"] != true {
        let choice = json!({"index": 0, "message": message, "finish_reason": reason});
        return Reply::Whole(object("chat.completion", json!([choice]), &usage));
    }
    let chunk = |delta: Value, reason: Value, usage: &Value| -> Event {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": reason});
        let chunk = object("chat.completion.chunk", json!([choice]), usage);
        (None, chunk.to_string())
    };
    Reply::Stream(vec![
        chunk(message, Value::Null, &Value::Null),
        chunk(json!({}), reason.into(), &usage),
        (None, "[DONE]".to_owned()),
    ])
}
