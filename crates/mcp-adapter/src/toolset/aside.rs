//! What a caller is told of its call beside what became of the question.

use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::{Value, json};

/// What was not done as the call has it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Aside {
    /// Fields that mean nothing here.
    pub ignored: Vec<String>,
    /// Whether the question was asked before, on other terms, and goes on with those.
    pub first_terms: bool,
}

impl Aside {
    fn words(&self) -> Option<String> {
        let terms = self.first_terms.then(|| {
            "The same was asked before and still waits: the timeout and the terms of that call count, \
             not those of this one."
                .to_owned()
        });
        let ignored = (!self.ignored.is_empty())
            .then(|| format!("Not known here and not used: {}.", self.ignored.join(", ")));
        let said: Vec<String> = terms.into_iter().chain(ignored).collect();
        (!said.is_empty()).then(|| said.join("\n"))
    }

    /// The result with it, in its object as in its text.
    pub fn said_with(&self, mut result: CallToolResult) -> CallToolResult {
        let object = result.structured_content.as_mut();
        let (Some(words), Some(object)) = (self.words(), object.and_then(Value::as_object_mut))
        else {
            return result;
        };
        if let Some(Value::String(message)) = object.get_mut("message") {
            message.push_str("\n\n");
            message.push_str(&words);
            result.content = vec![ContentBlock::text(message.as_str())];
        }
        if !self.ignored.is_empty() {
            object.insert("ignored".to_owned(), json!(self.ignored));
        }
        result
    }
}
