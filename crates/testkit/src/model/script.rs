//! What the scripted model does: ask the person once, wait for as long as it is told to wait, then
//! say what it heard.

use serde_json::{Value, json};

/// The tool that goes on waiting after a hand-back.
const AWAIT: &str = "await_answer";
/// The status of a result that is one.
const PENDING: &str = "pending";

/// What starts a sub-agent, where a client has such.
const SPAWN: &str = "spawn_agent";
/// What waits for its end.
const WAIT: &str = "wait_agent";
/// What a sub-agent is told, and nobody else.
const TASK: &str = "You are the sub-agent that asks the person.";

/// How a client lets its model reach the tools of an MCP server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// They stand in the list of tools.
    Direct,
    /// One tool calls all of them.
    Through {
        /// The name of that tool.
        tool: &'static str,
        /// What it is given the tool's name as.
        name: &'static str,
        /// What it is given the tool's arguments as.
        arguments: &'static str,
        /// What the tool's own name is preceded by.
        prefix: &'static str,
    },
}

/// Which agent asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asker {
    /// The one that was started.
    Itself,
    /// One that it starts for that.
    SubAgent,
}

/// What the model is to do.
#[derive(Debug, Clone)]
pub struct Script {
    /// Which agent asks.
    pub asker: Asker,
    /// The tool it asks with.
    pub tool: &'static str,
    /// The arguments of its question.
    pub question: Value,
    /// How it reaches the tool.
    pub access: Access,
}

/// A tool as a request lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolName {
    /// The space it is in, where the protocol knows such.
    pub namespace: Option<String>,
    /// Its name within that.
    pub name: String,
}

/// What a request says of the conversation so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Conversation {
    /// The tools that can be called.
    pub tools: Vec<ToolName>,
    /// The results of the calls, the oldest first.
    pub results: Vec<String>,
    /// Whether a tool's description says what to do about a result that is pending: some clients
    /// give their model the result's object alone, which does not say it.
    pub told_to_await: bool,
    /// Whether it is a sub-agent's.
    pub of_sub_agent: bool,
}

impl Conversation {
    /// One with tools that are in no space.
    pub(super) fn of<'a>(
        tools: impl Iterator<Item = &'a str>,
        results: impl Iterator<Item = String>,
    ) -> Self {
        let tool = |name: &str| ToolName {
            namespace: None,
            name: name.to_owned(),
        };
        Self {
            tools: tools.map(tool).collect(),
            results: results.collect(),
            told_to_await: false,
            of_sub_agent: false,
        }
    }

    /// The same, with what the model was told in other places of the request.
    pub(super) fn told_by(mut self, body: &Value) -> Self {
        self.told_to_await = says(&body["tools"], &[PENDING, AWAIT]);
        let mut items = body["input"].as_array().into_iter().flatten();
        self.of_sub_agent = items.any(|item| item["role"] == "user" && says(item, &[TASK]));
        self
    }
}

/// Whether one of the texts holds all these words.
fn says(value: &Value, words: &[&str]) -> bool {
    match value {
        Value::String(text) => words.iter().all(|word| text.contains(word)),
        Value::Array(all) => all.iter().any(|value| says(value, words)),
        Value::Object(all) => all.values().any(|value| says(value, words)),
        _ => false,
    }
}

/// What the model answers.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    /// It calls a tool.
    Call {
        /// Which.
        tool: ToolName,
        /// With what.
        arguments: Value,
    },
    /// It ends its turn with a text.
    Say(String),
}

impl Script {
    /// The next step in a conversation. A request that cannot ask is for something else, a title say.
    pub fn next(&self, conversation: &Conversation) -> Next {
        let delegates = self.asker == Asker::SubAgent && !conversation.of_sub_agent;
        let call = if delegates {
            self.delegate(conversation)
        } else {
            self.ask(conversation)
        };
        call.unwrap_or_else(|| match conversation.results.last() {
            Some(result) => Next::Say(format!("This is what I was told: {result}")),
            None => Next::Say("A title".to_owned()),
        })
    }

    fn ask(&self, conversation: &Conversation) -> Option<Next> {
        match conversation.results.last() {
            None => self.call(conversation, self.tool, &self.question),
            Some(result) => handed_back(result, conversation.told_to_await)
                .and_then(|id| self.call(conversation, AWAIT, &json!({"clarify_id": id}))),
        }
    }

    /// Starts a sub-agent and waits for its end.
    fn delegate(&self, conversation: &Conversation) -> Option<Next> {
        match conversation.results.as_slice() {
            [] => self.call(conversation, SPAWN, &json!({"message": TASK})),
            [started] => {
                let targets = [uuid(started)?];
                let wait = json!({"targets": targets, "timeout_ms": 600_000});
                self.call(conversation, WAIT, &wait)
            }
            _ => None,
        }
    }

    fn call(&self, conversation: &Conversation, tool: &str, arguments: &Value) -> Option<Next> {
        let listed = |wanted: &dyn Fn(&ToolName) -> bool| {
            let mut tools = conversation.tools.iter();
            tools.find(|listed| wanted(listed)).cloned()
        };
        match self.access {
            Access::Direct => Some(Next::Call {
                tool: listed(&|listed| {
                    // The server's name is in front of the tool's; what has none is the client's own.
                    let name = listed.name.strip_suffix(tool);
                    name.is_some_and(|before| match listed.namespace {
                        Some(_) => before.is_empty(),
                        None => before.ends_with('_'),
                    })
                })?,
                arguments: arguments.clone(),
            }),
            Access::Through {
                tool: through,
                name,
                arguments: inner,
                prefix,
            } => Some(Next::Call {
                tool: listed(&|listed| listed.name == through)?,
                arguments: json!({name: format!("{prefix}{tool}"), inner: arguments}),
            }),
        }
    }
}

/// The question that a result asks the model to go on waiting for.
fn handed_back(result: &str, told_to_await: bool) -> Option<String> {
    let told = result.contains(AWAIT) || (told_to_await && result.contains(PENDING));
    if !told {
        return None;
    }
    uuid(result)
}

/// The first UUID in a text.
fn uuid(text: &str) -> Option<String> {
    let mut words = text.split(|c: char| !(c.is_ascii_hexdigit() || c == '-'));
    let id = words.find(|word| word.len() == 36 && word.matches('-').count() == 4);
    id.map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "0199c2a0-5d6e-7a30-8f7c-0a1b2c3d4e5f";

    fn script(access: Access) -> Script {
        Script {
            asker: Asker::Itself,
            tool: "ask_user",
            question: json!({"questions": [{"question": "Which?"}]}),
            access,
        }
    }

    fn conversation(tools: &[&str], results: &[&str]) -> Conversation {
        let results = results.iter().map(|text| (*text).to_owned());
        Conversation::of(tools.iter().copied(), results)
    }

    fn called(next: &Next) -> (&str, &Value) {
        match next {
            Next::Call { tool, arguments } => (&tool.name, arguments),
            Next::Say(text) => panic!("it said {text}"),
        }
    }

    #[test]
    fn it_asks_once_and_says_what_it_heard() {
        let script = script(Access::Direct);
        let tools = ["bash", "mcp__askbus__ask_user"];
        let first = script.next(&conversation(&tools, &[]));
        assert_eq!(called(&first), (tools[1], &script.question));
        let last = script.next(&conversation(&tools, &["The person chose blue."]));
        assert!(matches!(last, Next::Say(text) if text.ends_with("The person chose blue.")));
    }

    #[test]
    fn a_request_without_the_tool_is_not_asked_with() {
        let next =
            script(Access::Direct).next(&conversation(&["ask_user", "askbus_ask_userland"], &[]));
        assert!(matches!(next, Next::Say(_)));
    }

    #[test]
    fn it_goes_on_waiting_for_as_long_as_it_is_told_to() {
        let script = script(Access::Direct);
        let tools = ["askbus_ask_user", "askbus_await_answer"];
        let pending = format!("Still open. Call await_answer with clarify_id \"{ID}\".");
        let again = script.next(&conversation(&tools, &[&pending]));
        assert_eq!(called(&again), (tools[1], &json!({"clarify_id": ID})));
        let done = conversation(&tools, &[&pending, &format!("{ID}: the person chose blue")]);
        assert!(matches!(script.next(&done), Next::Say(_)));
    }

    #[test]
    fn a_bare_status_is_understood_by_whoever_read_the_description() {
        let script = script(Access::Direct);
        let pending = format!(r#"{{"clarify_id":"{ID}","status":"pending"}}"#);
        let bare = conversation(&["x_ask_user", "x_await_answer"], &[&pending]);
        assert!(matches!(script.next(&bare), Next::Say(_)));
        let description = "If it is pending, call await_answer.";
        let guided = bare.told_by(&json!({"tools": [{"description": description}]}));
        let next = script.next(&guided);
        assert_eq!(
            called(&next),
            ("x_await_answer", &json!({"clarify_id": ID}))
        );
    }

    #[test]
    fn it_reaches_the_tool_through_another_one() {
        let script = script(Access::Through {
            tool: "use_tool",
            name: "tool_name",
            arguments: "tool_input",
            prefix: "askbus__",
        });
        let next = script.next(&conversation(&["search_tool", "use_tool"], &[]));
        let expected = json!({"tool_name": "askbus__ask_user", "tool_input": script.question});
        assert_eq!(called(&next), ("use_tool", &expected));
    }
}
