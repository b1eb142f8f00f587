//! How questions ended, and what people wrote after it.

use crate::proto;
use askbus_domain::{
    Assumption, ChosenOption, Clarification, LateMessage, Outcome, QuestionAnswer, Reason,
    Timestamp, deferred_text,
};
use serde_json::{Map, Value, json};

impl From<&QuestionAnswer> for proto::QuestionAnswer {
    fn from(answer: &QuestionAnswer) -> Self {
        let chosen = |o: &ChosenOption| proto::ChosenOption {
            id: o.id.to_string(),
            label: o.label.clone(),
        };
        Self {
            question_id: answer.question_id.to_string(),
            options: answer.options.iter().map(chosen).collect(),
            text: answer.text.clone(),
            note: answer.note.clone(),
        }
    }
}

impl From<&Outcome> for proto::Outcome {
    fn from(outcome: &Outcome) -> Self {
        let assumption = |a: &Assumption| proto::Assumption {
            question_id: a.question_id.to_string(),
            option_id: a.option_id.to_string(),
            label: a.label.clone(),
        };
        let cause = outcome.cause.and_then(|c| serde_json::to_value(c).ok());
        Self {
            reason: outcome.reason.as_str().to_owned(),
            decided_by: outcome.decided_by().as_str().to_owned(),
            actor: outcome.actor.as_ref().map(Into::into),
            answers: outcome.answers.iter().map(Into::into).collect(),
            partial: outcome.partial.iter().map(Into::into).collect(),
            unanswered: outcome.unanswered.iter().map(ToString::to_string).collect(),
            assumptions: outcome.assumptions.iter().map(assumption).collect(),
            text: outcome.text.clone(),
            answer_id: outcome.answer_id.as_ref().map(ToString::to_string),
            resolved_at_ms: outcome.resolved_at.unix_millis(),
            cause: cause
                .as_ref()
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned(),
            dismissed_questions: outcome.declined.iter().map(ToString::to_string).collect(),
            late: outcome.late.iter().map(Into::into).collect(),
            mode: outcome.reason.ask_mode().unwrap_or_default().to_owned(),
            deferred_text: String::new(),
            blocked: outcome.blocked,
            timed_out: outcome.is_by_clock(),
        }
    }
}

impl From<&LateMessage> for proto::LateMessage {
    fn from(late: &LateMessage) -> Self {
        let action = serde_json::to_value(late.action).ok();
        Self {
            clarify_id: late.clarify_id.to_string(),
            answer_id: late.answer_id.to_string(),
            actor: Some((&late.actor).into()),
            asked: late.asked.clone(),
            action: action
                .as_ref()
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned(),
            answers: late.answers.iter().map(Into::into).collect(),
            text: late.text.clone(),
            stored_at_ms: late.stored_at.unix_millis(),
        }
    }
}

/// How `c` ended, with the texts that need its questions.
pub(super) fn settled(c: &Clarification, outcome: &Outcome) -> proto::Outcome {
    let deferred = outcome.reason == Reason::Deferred;
    let text = deferred.then(|| deferred_text(&c.questions, c.terms.language));
    proto::Outcome {
        deferred_text: text.unwrap_or_default(),
        ..outcome.into()
    }
}

/// The outcome behind a message; none when it is not one this build can read.
pub fn outcome(message: &proto::Outcome) -> Option<Outcome> {
    // The JSON of the domain is the one definition; the message carries the same fields.
    let assumptions: Vec<_> = message
        .assumptions
        .iter()
        .map(|a| json!({"question_id": a.question_id, "option_id": a.option_id, "label": a.label}))
        .collect();
    let mut object = Map::new();
    let mut put = |key: &str, value: Value| object.insert(key.to_owned(), value);
    put("reason", json!(message.reason));
    if let Some(actor) = &message.actor {
        put(
            "actor",
            json!({"person": actor.person, "surface": actor.surface}),
        );
    }
    if !message.cause.is_empty() {
        put("cause", json!(message.cause));
    }
    put("answers", answers(&message.answers).into());
    put("partial", answers(&message.partial).into());
    put("unanswered", json!(message.unanswered));
    put("declined", json!(message.dismissed_questions));
    put("assumptions", assumptions.into());
    put("blocked", json!(message.blocked));
    let deferred = message.reason == Reason::Deferred.as_str();
    put("timed_out", json!(deferred && message.timed_out));
    let late: Vec<_> = message.late.iter().map(late_message).collect();
    put("late", late.into());
    put("text", json!(message.text));
    put("answer_id", json!(message.answer_id));
    put(
        "resolved_at",
        json!(Timestamp::from_unix_millis(message.resolved_at_ms)),
    );
    serde_json::from_value(Value::Object(object)).ok()
}

fn answers(list: &[proto::QuestionAnswer]) -> Vec<Value> {
    let answer = |a: &proto::QuestionAnswer| {
        let option = |o: &proto::ChosenOption| json!({"id": o.id, "label": o.label});
        let options: Vec<Value> = a.options.iter().map(option).collect();
        json!({"question_id": a.question_id, "options": options, "text": a.text, "note": a.note})
    };
    list.iter().map(answer).collect()
}

/// A late message as an object: what was asked, what somebody wrote to it, and who.
pub fn late_message(message: &proto::LateMessage) -> Value {
    let actor = message.actor.as_ref();
    json!({
        "clarify_id": message.clarify_id,
        "answer_id": message.answer_id,
        "actor": actor.map(|a| json!({"person": a.person, "surface": a.surface})),
        "asked": message.asked,
        "action": message.action,
        "answers": answers(&message.answers),
        "text": message.text,
        "stored_at": Timestamp::from_unix_millis(message.stored_at_ms),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outcome_survives_the_message() {
        let text = r#"{"reason":"dismissed","actor":{"person":"ann","surface":"web"},"answers":[],
            "partial":[{"question_id":"q1","options":[{"id":"o2","label":"b"}],"text":"t","note":"n"}],
            "unanswered":["q1","q2"],"assumptions":[{"question_id":"q2","option_id":"o1","label":"a"}],
            "text":"why","answer_id":"a1","resolved_at":"2027-01-15T08:00:00.007Z"}"#;
        let original: Outcome = serde_json::from_str(text).unwrap();
        assert_eq!(outcome(&proto::Outcome::from(&original)), Some(original));
        let cancelled: Outcome = serde_json::from_str(
            r#"{"reason":"cancelled","cause":"asker_gone","resolved_at":"2027-01-15T08:00:00Z"}"#,
        )
        .unwrap();
        assert_eq!(outcome(&proto::Outcome::from(&cancelled)), Some(cancelled));
        let late = r#"{"clarify_id":"0197e0a0-0000-7000-8000-000000000001","answer_id":"a0",
            "actor":{"person":"bob","surface":"terminal"},"asked":"q?","action":"ask_back",
            "answers":[{"question_id":"q1","options":[{"id":"o1","label":"a"}],"note":"n"}],
            "text":"which?","stored_at":"2027-01-15T08:00:00.003Z"}"#;
        for text in [
            format!(
                r#"{{"reason":"response","actor":{{"person":"ann","surface":"http"}},
                "answers":[{{"question_id":"q1","options":[],"text":"t"}}],"unanswered":["q2"],
                "declined":["q2"],"answer_id":"a1","resolved_at":"2027-01-15T08:00:00Z","late":[{late}]}}"#
            ),
            r#"{"reason":"deferred","unanswered":["q1"],"timed_out":true,
                "resolved_at":"2027-01-15T08:00:00Z"}"#
                .to_owned(),
            r#"{"reason":"deferred","unanswered":["q1"],"resolved_at":"2027-01-15T08:00:00Z"}"#
                .to_owned(),
            r#"{"reason":"timeout","unanswered":["q1"],"resolved_at":"2027-01-15T08:00:00Z"}"#
                .to_owned(),
            r#"{"reason":"off","unanswered":["q1"],"blocked":true,
                "resolved_at":"2027-01-15T08:00:00Z"}"#
                .to_owned(),
        ] {
            let original: Outcome = serde_json::from_str(&text).unwrap();
            let message = proto::Outcome::from(&original);
            assert_eq!(message.timed_out, original.is_by_clock(), "{text}");
            assert_eq!(message.mode, original.reason.ask_mode().unwrap_or_default());
            assert_eq!(outcome(&message), Some(original), "{text}");
        }
    }
}
