//! What the terminal says over the socket.

use askbus_domain::{AnswerAction, AnswerEntry, ClarifyId, SessionId, Surface};
use serde_json::{Value, json};

/// An answer on its way. Repeating it with the same id is harmless.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Submission {
    /// Made here.
    pub answer_id: String,
    pub action: AnswerAction,
    pub answers: Vec<AnswerEntry>,
    /// What the person needs to know first.
    pub text: Option<String>,
}

/// An object to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Say {
    pub session_id: SessionId,
    pub clarify_id: ClarifyId,
    pub what: What,
}

/// What is said about a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum What {
    Respond(Submission),
    Hold,
    Draft {
        tab: String,
        answers: Vec<AnswerEntry>,
        text: String,
    },
    PassOn {
        answer_id: String,
    },
}

impl Say {
    /// The object.
    pub(super) fn object(&self) -> Value {
        let mut object = match &self.what {
            What::Respond(submission) => json!({
                "event": "clarify.respond",
                "answer_id": submission.answer_id,
                "action": submission.action,
                "answers": submission.answers,
                "text": submission.text,
            }),
            What::Hold => json!({"event": "clarify.hold"}),
            What::Draft { tab, answers, text } => {
                json!({"event": "clarify.draft", "tab": tab, "answers": answers, "text": text})
            }
            What::PassOn { answer_id } => {
                json!({"event": "clarify.pass_on", "answer_id": answer_id})
            }
        };
        if let Value::Object(fields) = &mut object {
            fields.insert("session_id".to_owned(), json!(self.session_id));
            fields.insert("clarify_id".to_owned(), json!(self.clarify_id));
            fields.insert("surface".to_owned(), json!(Surface::Terminal));
        }
        object
    }
}
