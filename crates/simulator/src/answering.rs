//! What people send about a question: whole answers and parts of one, refusals, and what does not fit.

use crate::random::Random;
use askbus_domain::ClarifyId;
use serde_json::{Value, json};

/// What a person does about a question.
#[derive(Clone, Copy)]
pub(crate) enum Act {
    Ignore,
    Answer,
    Partly,
    Dismiss,
    DismissOne,
    Skip,
    AskBack,
    Hold,
    Misfit,
}

/// Whether a message is an answer with something in it.
pub(crate) fn says(object: &Value) -> bool {
    object.get("action").and_then(Value::as_str) == Some("answer")
        && object
            .get("answers")
            .and_then(Value::as_array)
            .is_some_and(|answers| {
                let mut chosen = answers.iter();
                chosen.any(|a| a.get("option_ids").is_some() || a.get("text").is_some())
            })
}

/// What is said of the `nth` question.
fn entry(nth: usize, answer_id: &str, random: &mut Random) -> Value {
    let question = format!("q{}", nth + 1);
    if random.percent(50) {
        json!({"question_id": question, "option_ids": ["o1"]})
    } else {
        json!({"question_id": question, "text": format!("words of {answer_id} to {question}")})
    }
}

/// The message that does it.
pub(crate) fn answer(
    id: ClarifyId,
    answer_id: &str,
    kind: Act,
    questions: usize,
    random: &mut Random,
) -> Value {
    let action = match kind {
        Act::Dismiss => "dismiss",
        Act::Skip => "skip",
        Act::AskBack => "ask_back",
        _ => "answer",
    };
    let mut entries: Vec<Value> = (0..questions)
        .map(|nth| entry(nth, answer_id, random))
        .collect();
    match kind {
        Act::Misfit => entries.push(json!({"question_id": "q9", "option_ids": ["o1"]})),
        Act::Partly => entries.truncate(1),
        Act::DismissOne => {
            entries.pop();
            entries.push(json!({"question_id": format!("q{questions}"), "dismissed": true}));
        }
        _ => {}
    }
    let mut object = json!({
        "event": "clarify.respond",
        "clarify_id": id,
        "answer_id": answer_id,
        "action": action,
        "answers": entries,
    });
    if let (Act::AskBack, Some(object)) = (kind, object.as_object_mut()) {
        object.insert("text".to_owned(), format!("more for {answer_id}").into());
    }
    object
}
