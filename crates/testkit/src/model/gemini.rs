//! The generateContent calls of Gemini.

use super::{Conversation, NAME, Next, Reply};
use serde_json::{Value, json};

pub(super) fn read(body: &Value) -> Conversation {
    let tools = body["tools"].as_array().into_iter().flatten();
    let tools = tools
        .filter_map(|group| group["functionDeclarations"].as_array())
        .flatten()
        .filter_map(|tool| tool["name"].as_str());
    let contents = body["contents"].as_array().into_iter().flatten();
    let results = contents
        .filter_map(|content| content["parts"].as_array())
        .flatten()
        .filter_map(|part| part.get("functionResponse"))
        .map(|response| response["response"].to_string());
    Conversation::of(tools, results)
}

pub(super) fn write(next: &Next, number: usize, stream: bool) -> Reply {
    let part = match next {
        Next::Call { tool, arguments } => {
            json!({"functionCall": {"id": format!("scripted{number}"), "name": tool.name, "args": arguments}})
        }
        Next::Say(text) => json!({"text": text}),
    };
    let candidate = json!({
        "index": 0, "content": {"role": "model", "parts": [part]}, "finishReason": "STOP",
    });
    let response = json!({
        "candidates": [candidate], "modelVersion": NAME, "responseId": format!("scripted{number}"),
        "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2},
    });
    if stream {
        Reply::Stream(vec![(None, response.to_string())])
    } else {
        Reply::Whole(response)
    }
}
