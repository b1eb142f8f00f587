//! `ask_user`: up to five structured questions in one call (A1–A9).

use super::{Unsettled, actor, answers, await_answer, late_messages, reason_words, result, tool};
use crate::asker::Settled;
use askbus_domain::{
    Adjusted, MAX_EXPLANATION_CHARS, MAX_LABEL_CHARS, MAX_OPTIONS, MAX_QUESTION_CHARS,
    MAX_QUESTIONS, Millis, OnTimeout, QuestionId, Reason, WhenAbsent, result_text,
};
use rmcp::model::{CallToolResult, Tool};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::BTreeSet;

/// Its name.
pub const NAME: &str = "ask_user";
/// Its name for clients that hide every tool of the first one, because they have one of that name
/// themselves. Calls may use either.
pub const OTHER_NAME: &str = "ask_person";
/// How such clients' names begin. Measured; see `docs/clients.md`.
const HIDES_NAME: &str = "gemini";

/// What a client may put before its model about this server.
pub const INSTRUCTIONS: &str = "\
`ask_user` puts questions to the person you work for and waits for the answer, wherever they are. Use \
it instead of guessing and instead of ending your turn with a question, whenever a decision that \
matters is missing. Only a result with reason `response` is a person's decision; silence, a dismissal \
or a cancellation never is. A result with status `pending` means that nobody has answered yet: call \
`await_answer` with its `clarify_id` at once.";

const DESCRIPTION: &str = "\
Ask the person you work for, and wait until they answer. They may be away from this machine; the \
question reaches them.

Ask when a decision that matters is missing and is theirs to take: what they really want, a choice \
between real alternatives, anything that is hard to undo, costs money or touches other people. First \
find out yourself what can be found out. Do not ask for permission you already have, and never ask for \
passwords or keys: answers are stored as plain text.

Put all you need to know into one call: 1 to 5 short questions that do not depend on each other. \
Options are optional; the person can always answer in their own words. If you would take one of the \
options, name it in `recommended`, and say in the descriptions what each choice leads to.

The call returns once the person has acted; that can take long, so do not set `timeout_s` unless the \
answer is useless later. If the status is `pending`, nobody has answered yet: call `await_answer` with \
the `clarify_id`, again and again, instead of asking anew or going on without an answer. Only reason `response` means that a person decided something. A timeout, a \
dismissal, a cancellation or any other reason is not approval: leave undone what depends on the \
answer, follow what the result says, and do not put the same question again unless it says so.";

/// The name that a client of this name is shown.
pub fn name_for(client: Option<&str>) -> &'static str {
    let hides = |name: &str| name.trim().to_lowercase().starts_with(HIDES_NAME);
    if client.is_some_and(hides) {
        OTHER_NAME
    } else {
        NAME
    }
}

/// The tool's name, if this is one of its names.
pub fn known(name: &str) -> Option<&'static str> {
    [NAME, OTHER_NAME].into_iter().find(|known| *known == name)
}

/// A text that speaks of the tool, by the name that the client is shown.
pub(crate) fn worded(text: &'static str, name: &str) -> Cow<'static, str> {
    if name == NAME {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(text.replace(NAME, name))
    }
}

/// The tool as `tools/list` shows it, under one of its names.
pub fn definition(name: &'static str) -> Tool {
    let text = worded(DESCRIPTION, name);
    tool(name, "Ask the person", text, input(), output())
}

fn input() -> Value {
    let label = json!({"type": "string", "maxLength": MAX_LABEL_CHARS, "description": "What the person reads and chooses."});
    let whole = json!({
        "type": "object",
        "properties": {
            "label": label,
            "description": {"type": "string", "description": "What choosing it leads to."},
        },
        "required": ["label"],
    });
    // Models send bare labels, and some clients refuse what the schema does not have.
    let option = json!({"anyOf": [whole, {"type": "string", "maxLength": MAX_LABEL_CHARS}]});
    let question = json!({
        "type": "object",
        "properties": {
            "question": {"type": "string", "maxLength": MAX_QUESTION_CHARS, "description": "The question, self-contained: the person may not have seen your work."},
            "header": {"type": "string", "description": "A title; 12 characters of it are shown."},
            "explanation": {"type": "string", "maxLength": MAX_EXPLANATION_CHARS, "description": "What the person has to know to answer: why you ask, what hangs on it."},
            "options": {"type": "array", "maxItems": MAX_OPTIONS, "items": option, "description": "Choices, best first. Leave out for an open question."},
            "multi_select": {"type": "boolean", "default": false, "description": "Whether several options may be chosen."},
            "min_select": {"type": "integer", "minimum": 0, "description": "With multi_select: choose at least this many."},
            "max_select": {"type": "integer", "minimum": 1, "description": "With multi_select: choose at most this many."},
            "recommended": {"type": "integer", "minimum": -1, "description": "Index from 0 of the option you would take; -1 or absent: none."},
        },
        "required": ["question"],
    });
    json!({
        "type": "object",
        "properties": {
            "questions": {"type": "array", "minItems": 1, "maxItems": MAX_QUESTIONS, "items": question},
            "timeout_s": {"type": "number", "description": "Give up after this many seconds (1 s to 14 days). Absent or 0: wait without a deadline, unless whoever runs the service set one."},
            "on_timeout": {"type": "string", "enum": words(OnTimeout::ALL.iter().map(|w| w.as_str())), "description": "When nobody answers in time: return (nothing is decided), adopt (recommended options stand in as assumptions) or defer (the questions become your final message)."},
            "when_absent": {"type": "string", "enum": words(WhenAbsent::ALL.iter().map(|w| w.as_str())), "description": "When nobody is there who may answer: wait, deferred (the questions become your final message) or unattended (recommended options stand in as assumptions). Leave it out unless you were told."},
            "to": {"type": "string", "description": "The name of a person, or group:NAME, that you were told it is for alone. Absent: whoever may answer."},
        },
        "required": ["questions"],
    })
}

fn output() -> Value {
    let text = json!({"type": ["string", "null"]});
    let answer = json!({
        "type": "object",
        "properties": {
            "question_id": {"type": "string"},
            "options": {"type": "array", "items": {"type": "object", "properties": {"id": {"type": "string"}, "label": {"type": "string"}}, "required": ["id", "label"]}},
            "text": text, "note": text,
        },
        "required": ["question_id", "options"],
    });
    let assumption = json!({
        "type": "object",
        "properties": {"question_id": {"type": "string"}, "option_id": {"type": "string"}, "label": {"type": "string"}},
        "required": ["question_id", "option_id", "label"],
    });
    let late = json!({
        "type": "object",
        "properties": {
            "asked": {"type": "string"}, "actor": {"type": "object"},
            "answers": {"type": "array", "items": answer}, "text": text,
            "stored_at": {"type": "string"},
        },
    });
    let modes: BTreeSet<&str> = Reason::ALL.iter().filter_map(|r| r.ask_mode()).collect();
    let modes: Vec<Value> = modes
        .into_iter()
        .map(Value::from)
        .chain([Value::Null])
        .collect();
    let reasons = reason_words().join(", ");
    json!({
        "type": "object",
        "properties": {
            "status": {"type": "string", "enum": ["settled", "pending", "error"], "description": "pending: nobody has answered yet; call await_answer with clarify_id."},
            "reason": {"type": "string", "description": format!("When settled one of {reasons}; pending; else the code of the error. Only response is a person's decision.")},
            "mode": {"type": ["string", "null"], "enum": modes, "description": "The reason in coarser words; null when nobody was asked. Only answered came from a person."},
            "clarify_id": {"type": "string"},
            "session_id": {"type": "string"},
            "decided_by": {"type": "string", "enum": ["person", "policy", "system"]},
            "actor": {"type": ["object", "null"], "properties": {"person": {"type": "string"}, "surface": {"type": "string"}}, "description": "Who decided; null unless a person did."},
            "answers": {"type": "array", "items": answer, "description": "What a person chose, and nothing else."},
            "partial": {"type": "array", "items": answer, "description": "Filled in but not submitted as an answer."},
            "unanswered": {"type": "array", "items": {"type": "string"}},
            "dismissed_questions": {"type": "array", "items": {"type": "string"}, "description": "Those of the unanswered that the person declined one by one."},
            "assumptions": {"type": "array", "items": assumption, "description": "Recommendations nobody chose."},
            "text": {"type": ["string", "null"], "description": "What the person wrote about the questions as a whole."},
            "deferred_text": {"type": ["string", "null"], "description": "The questions as text for the person, when they become your final message."},
            "late": {"type": "array", "items": late, "description": "What people wrote after earlier questions had ended; told once."},
            "timeout": {"type": ["object", "null"], "properties": {"asked_s": {"type": ["number", "null"]}, "granted_s": {"type": ["number", "null"]}, "by": {"type": "string"}}, "description": "Only when the timeout is not the one asked for; null seconds: never."},
            "ignored": {"type": "array", "items": {"type": "string"}, "description": "Fields of the call that mean nothing here and were not used."},
            "error": {"type": "string"},
            "message": {"type": "string", "description": "What the result means, and what to do next."},
        },
        "required": ["status", "reason"],
    })
}

/// The result of a settled call. No way of settling is an error.
pub fn settled(settled: &Settled) -> CallToolResult {
    let outcome = &settled.outcome;
    let unanswered: Vec<_> = outcome.unanswered.iter().map(QuestionId::as_str).collect();
    let declined: Vec<_> = outcome.declined.iter().map(QuestionId::as_str).collect();
    let assumptions: Vec<_> = outcome
        .assumptions
        .iter()
        .map(|a| json!({"question_id": a.question_id.as_str(), "option_id": a.option_id.as_str(), "label": a.label}))
        .collect();
    let structured = json!({
        "status": "settled",
        "clarify_id": settled.clarify_id,
        "session_id": settled.session_id,
        "reason": outcome.reason.as_str(),
        "mode": outcome.reason.ask_mode(),
        "decided_by": outcome.decided_by().as_str(),
        "actor": actor(outcome),
        "answers": answers(&outcome.answers),
        "partial": answers(&outcome.partial),
        "unanswered": unanswered,
        "assumptions": assumptions,
        "text": outcome.text,
        "dismissed_questions": declined,
        "deferred_text": settled.circumstances.deferred_text,
        "late": late_messages(&outcome.late),
        "timeout": settled.circumstances.adjusted.as_ref().map(adjusted),
    });
    let text = result_text(&settled.questions, outcome, &settled.circumstances);
    told(text, structured, false)
}

/// A result whose object says the same as its text: some clients give their model the one, some the other.
fn told(text: String, mut structured: Value, is_error: bool) -> CallToolResult {
    if let Some(object) = structured.as_object_mut() {
        object.insert("message".to_owned(), text.as_str().into());
    }
    result(text, structured, is_error)
}

fn adjusted(adjusted: &Adjusted) -> Value {
    // Exact for every timeout that can be granted.
    #[allow(clippy::cast_precision_loss)]
    let seconds = |wait: Option<Millis>| wait.map(|w| w.0 as f64 / 1_000.0);
    json!({
        "asked_s": seconds(adjusted.asked),
        "granted_s": seconds(adjusted.granted),
        "by": adjusted.by.as_str(),
    })
}

fn words<'a>(words: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    words.collect()
}

/// The result of a call that ends before its question does.
pub fn pending(clarify_id: &str) -> CallToolResult {
    let structured = json!({
        "status": "pending",
        "reason": "pending",
        "mode": null,
        "clarify_id": clarify_id,
        "actor": null,
        "answers": [],
    });
    let text = format!(
        "Nobody has answered yet, so nothing has been decided. The question goes on waiting before the \
         person.\nCall `{}` now with {{\"clarify_id\": \"{clarify_id}\"}} to go on waiting, and again \
         whenever the result is pending. Do not ask the same anew, and do not go on as if it had been \
         answered.",
        await_answer::NAME
    );
    told(text, structured, false)
}

/// The result of a call without an outcome.
pub fn failed(unsettled: impl Into<Unsettled>) -> CallToolResult {
    let unsettled = unsettled.into();
    let error = &unsettled.error;
    let mut structured =
        json!({"status": "error", "reason": error.code.as_str(), "error": error.message});
    unsettled.name_question(&mut structured);
    told(unsettled.text(), structured, true)
}
