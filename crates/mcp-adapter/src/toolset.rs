//! Toolsets: which tools a server shows, and in whose words.

pub mod aside;
pub mod ask;
pub mod await_answer;
pub mod capabilities;
#[cfg(feature = "conformance")]
pub mod conformance;
pub mod interaction;
pub mod plan;
pub mod studio;

use askbus_domain::{LateMessage, Outcome, QuestionAnswer, Reason};
use askbus_wire::convert::surface_word;
use askbus_wire::error::{ErrorCode, WireError};
use rmcp::model::{CallToolResult, ContentBlock, JsonObject, MetaObject, Tool, ToolAnnotations};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::str::FromStr;
use std::time::Duration;

/// How long a call of a dialect that cannot resume may be open: below the 330 s of its transport
/// (E13).
pub const CALL_LIMIT: Duration = Duration::from_secs(320);

/// A set of tools, one per dialect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Toolset {
    /// `ask_user`, `update_plan`, `await_answer` and `list_capabilities`.
    #[default]
    Ask,
    /// `ekko_studio_update_plan` and `ekko_studio_clarify`, within a host's turn and behind its gate
    /// (E1, E2).
    Studio,
    /// `clarify`: one question with at most four choices (N1).
    Interaction,
    /// What the protocol's conformance suite calls; for tests.
    #[cfg(feature = "conformance")]
    Conformance,
}

/// A name that is no toolset.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no toolset {0:?}; take ask, studio or interaction")]
pub struct UnknownToolset(pub String);

impl Toolset {
    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Toolset::Ask => "ask",
            Toolset::Studio => "studio",
            Toolset::Interaction => "interaction",
            #[cfg(feature = "conformance")]
            Toolset::Conformance => "conformance",
        }
    }
}

impl FromStr for Toolset {
    type Err = UnknownToolset;

    fn from_str(name: &str) -> Result<Self, UnknownToolset> {
        match name {
            "ask" => Ok(Toolset::Ask),
            // `plan` stands in launch commands from before the two studio tools were one server (E17).
            "studio" | "plan" => Ok(Toolset::Studio),
            "interaction" => Ok(Toolset::Interaction),
            other => Err(UnknownToolset(other.to_owned())),
        }
    }
}

/// The gate of the studio tools (E2): to ask is closed unless the host opens it, to plan is open unless
/// the host closes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Gate {
    user_clarification: bool,
    native_task_plan: bool,
}

impl Gate {
    /// Opens the gate.
    pub const USER_CLARIFICATION: &'static str = "HERMES_MCP_USER_CLARIFICATION";
    /// Closes it in any case: the agent has such tools of its own.
    pub const NATIVE_TASK_PLAN: &'static str = "HERMES_MCP_NATIVE_TASK_PLAN";

    /// Reads the gate through a look-up of environment variables. Only `1` counts.
    pub fn read(look_up: impl Fn(&str) -> Option<String>) -> Self {
        let is_one = |name| look_up(name).as_deref() == Some("1");
        Self {
            user_clarification: is_one(Self::USER_CLARIFICATION),
            native_task_plan: is_one(Self::NATIVE_TASK_PLAN),
        }
    }

    /// Whether plans can be shown.
    pub const fn plan_is_open(self) -> bool {
        !self.native_task_plan
    }

    /// Whether `ekko_studio_clarify` exists.
    pub const fn clarify_is_open(self) -> bool {
        self.user_clarification && !self.native_task_plan
    }
}

fn tool(
    name: &'static str,
    title: &str,
    text: impl Into<Cow<'static, str>>,
    input: Value,
    output: Value,
) -> Tool {
    let annotations = ToolAnnotations::with_title(title)
        .read_only(true)
        .destructive(false)
        .idempotent(false)
        .open_world(false);
    let mut meta = JsonObject::new();
    // A tool that has to be searched for is a tool that is not used.
    meta.insert("anthropic/alwaysLoad".to_owned(), true.into());
    Tool::new(name, text, object(input))
        .with_title(title)
        .with_raw_output_schema(object(output).into())
        .with_annotations(annotations)
        .with_meta(MetaObject(meta))
}

fn object(value: Value) -> JsonObject {
    match value {
        Value::Object(object) => object,
        _ => JsonObject::new(),
    }
}

/// A result with a text for the model and the same as an object.
fn result(text: String, structured: Value, is_error: bool) -> CallToolResult {
    let content = vec![ContentBlock::text(text)];
    let mut result = if is_error {
        CallToolResult::error(content)
    } else {
        CallToolResult::success(content)
    };
    result.structured_content = Some(structured);
    result
}

/// Why a call has no outcome to tell of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsettled {
    /// What went wrong.
    pub error: WireError,
    /// The question, where one was asked; none: nobody was asked.
    pub clarify_id: Option<String>,
}

impl From<WireError> for Unsettled {
    fn from(error: WireError) -> Self {
        Self {
            error,
            clarify_id: None,
        }
    }
}

impl Unsettled {
    /// Of a question that was asked, unless the service says that there is none.
    pub fn asked(clarify_id: &str, error: WireError) -> Self {
        let known = error.code != ErrorCode::UnknownClarification;
        Self {
            clarify_id: known.then(|| clarify_id.to_owned()),
            error,
        }
    }

    /// What went wrong, and what the model can do about it.
    fn text(&self) -> String {
        let code = self.error.code;
        let remedy = match self.clarify_id {
            None => before_asking(code),
            Some(_) => after_asking(code),
        };
        format!("{}: {}\n{remedy}", code.as_str(), self.error)
    }

    /// The id of the question in the object of a result.
    fn name_question(&self, structured: &mut Value) {
        if let (Some(id), Some(object)) = (&self.clarify_id, structured.as_object_mut()) {
            object.insert("clarify_id".to_owned(), id.as_str().into());
        }
    }
}

const fn before_asking(code: ErrorCode) -> &'static str {
    match code {
        ErrorCode::InvalidQuestion
        | ErrorCode::InvalidRequest
        | ErrorCode::InvalidPlan
        | ErrorCode::InvalidAnswer
        | ErrorCode::TooLarge => {
            "The question was not shown to anybody. Correct the arguments and call the tool again."
        }
        ErrorCode::ContextExpired | ErrorCode::NoActiveTurn => {
            "Nobody was asked. Only the newest context of a running turn can ask; do not retry with \
             this one."
        }
        ErrorCode::Busy | ErrorCode::TooManyPending => {
            "Nobody was asked. Wait for the question that is open before you ask another one."
        }
        ErrorCode::Unauthenticated
        | ErrorCode::Forbidden
        | ErrorCode::CrossSite
        | ErrorCode::WrongHost
        | ErrorCode::NotAddressed => {
            "Nobody was asked. Retrying does not help: tell the person that the credential of this \
             server has to be fixed (`askbus credential issue` makes one)."
        }
        ErrorCode::WrongInstance => {
            "Nobody was asked. Retrying does not help: tell the person that this server is pointed at \
             a service of others."
        }
        ErrorCode::UpgradeNeeded => {
            "Nobody was asked. Retrying does not help: tell the person that the service has to be \
             upgraded."
        }
        ErrorCode::Full => {
            "Nobody was asked. There is no room for another question until whoever runs the service \
             makes some: tell the person, and ask again later if the decision is still needed."
        }
        ErrorCode::RateLimited => "Nobody was asked. Ask again in a minute, and less often.",
        ErrorCode::Internal | ErrorCode::SessionTaken => {
            "Nothing has been decided. Ask once more if the decision is still needed; if that fails \
             too, tell the person."
        }
        // What the others say names the way out.
        _ => "Nothing has been decided.",
    }
}

const fn after_asking(code: ErrorCode) -> &'static str {
    match code {
        ErrorCode::Unauthenticated | ErrorCode::Forbidden => {
            "The question was asked, and people may see it until the service has missed this server \
             for a while; an answer is not heard here. Nothing has been decided as far as is known. \
             Tell the person that the credential of this server has to be fixed (`askbus credential \
             issue` makes one); then ask again if the decision is still needed."
        }
        _ => {
            "The question was asked, and how it ends is not known here. Do not take that for an \
             approval: leave undone what depends on the answer, and tell the person."
        }
    }
}

fn actor(outcome: &Outcome) -> Value {
    outcome.actor.as_ref().map_or(
        Value::Null,
        |actor| json!({"person": actor.person.as_str(), "surface": surface_word(&actor.surface)}),
    )
}

fn answers(list: &[QuestionAnswer]) -> Value {
    let answer = |a: &QuestionAnswer| {
        let options: Vec<_> = a
            .options
            .iter()
            .map(|o| json!({"id": o.id.as_str(), "label": o.label}))
            .collect();
        json!({"question_id": a.question_id.as_str(), "options": options, "text": a.text, "note": a.note})
    };
    list.iter().map(answer).collect()
}

fn late_messages(list: &[LateMessage]) -> Value {
    let message = |m: &LateMessage| {
        json!({
            "clarify_id": m.clarify_id.to_string(),
            "answer_id": m.answer_id.as_str(),
            "actor": {"person": m.actor.person.as_str(), "surface": surface_word(&m.actor.surface)},
            "asked": m.asked,
            "action": m.action,
            "answers": answers(&m.answers),
            "text": m.text,
            "stored_at": m.stored_at,
        })
    };
    list.iter().map(message).collect()
}

fn reason_words() -> Vec<&'static str> {
    Reason::ALL.iter().map(|r| r.as_str()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    // contract: E17
    #[test]
    fn the_old_launch_argument_still_names_the_studio_toolset() {
        assert_eq!("plan".parse(), Ok(Toolset::Studio));
        assert_eq!("studio".parse(), Ok(Toolset::Studio));
        assert_eq!("ask".parse(), Ok(Toolset::Ask));
        assert_eq!("interaction".parse(), Ok(Toolset::Interaction));
        assert!("Ask".parse::<Toolset>().is_err());
    }

    // contract: E2
    #[test]
    fn the_gate_opens_for_exactly_one_value() {
        let gate = |clarification: Option<&'static str>, native: Option<&'static str>| {
            Gate::read(move |name| {
                let value = match name {
                    Gate::USER_CLARIFICATION => clarification,
                    Gate::NATIVE_TASK_PLAN => native,
                    other => panic!("{other} is not of the gate"),
                };
                value.map(str::to_owned)
            })
            .clarify_is_open()
        };
        assert!(gate(Some("1"), None));
        assert!(gate(Some("1"), Some("0")));
        for closed in [
            None,
            Some(""),
            Some("0"),
            Some("true"),
            Some("1 "),
            Some("01"),
            Some("yes"),
        ] {
            assert!(!gate(closed, None), "{closed:?}");
        }
        assert!(
            !gate(Some("1"), Some("1")),
            "the agent's own plan tool wins"
        );
    }
}
