//! What the service says over the socket, brought into shape. What this version does not know is
//! skipped: a newer service may say more.

use askbus_domain::{
    Addressee, AnswerEntry, AskerInfo, Assumption, ClarifyId, Clock, ExecutionState, GoesOn,
    Millis, Parent, PlanId, PlanStep, QuestionAnswer, QuestionId, Questions, Reason, SessionId,
    Timestamp,
};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// Who acted, and where. The surface may be one that this version does not know.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct Who {
    /// The person.
    pub person: String,
    /// What they used.
    #[serde(default)]
    pub surface: String,
}

/// A question that waits.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct Request {
    pub clarify_id: ClarifyId,
    pub session_id: SessionId,
    pub questions: Questions,
    /// Unix milliseconds, as all moments here.
    pub requested_at: i64,
    #[serde(default)]
    pub deadline: Option<i64>,
    #[serde(default)]
    pub cap: Option<i64>,
    #[serde(default)]
    pub grace_ms: u64,
    #[serde(default)]
    pub held: bool,
    #[serde(default)]
    pub held_by: Option<Who>,
    #[serde(default)]
    pub to: Option<Addressee>,
    #[serde(default = "yes")]
    pub may_answer: bool,
    #[serde(default)]
    pub parent: Option<Parent>,
    #[serde(default)]
    pub asker: Option<AskerInfo>,
    #[serde(default)]
    pub disconnected: Option<bool>,
    /// The texts that are written as Markdown, as plain words.
    #[serde(default)]
    pub plain: BTreeMap<QuestionId, Plain>,
}

/// A question as plain words, where it is written otherwise.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct Plain {
    #[serde(default)]
    pub question: Option<String>,
}

fn yes() -> bool {
    true
}

impl Request {
    /// When it was asked.
    pub(super) fn issued(&self) -> Timestamp {
        Timestamp::from_unix_millis(self.requested_at)
    }

    /// Its clock (A4).
    pub(super) fn clock(&self) -> Clock {
        Clock {
            grace: Millis(self.grace_ms),
            timeout: None,
            deadline: self.deadline.map(Timestamp::from_unix_millis),
            cap: Timestamp::from_unix_millis(self.cap.unwrap_or(i64::MAX)),
        }
    }
}

/// What an agent means to do, and how far it is.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct Plan {
    pub plan_id: PlanId,
    pub session_id: SessionId,
    pub revision: u64,
    #[serde(default)]
    pub seq: u64,
    pub execution_state: ExecutionState,
    #[serde(default)]
    pub asker: Option<AskerInfo>,
    #[serde(rename = "plan")]
    pub steps: Vec<PlanStep>,
}

/// How a question ended.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
pub(super) struct Outcome {
    /// None where this version does not know the word.
    #[serde(default, rename = "outcome_reason", deserialize_with = "known")]
    pub reason: Option<Reason>,
    #[serde(default)]
    pub actor: Option<Who>,
    #[serde(default)]
    pub answers: Vec<QuestionAnswer>,
    #[serde(default)]
    pub partial: Vec<QuestionAnswer>,
    /// What the agent went on with where nobody chose.
    #[serde(default)]
    pub assumptions: Vec<Assumption>,
    #[serde(default)]
    pub dismissed_questions: Vec<QuestionId>,
    #[serde(default)]
    pub text: Option<String>,
}

fn known<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<Reason>, D::Error> {
    let word = Value::deserialize(from)?;
    Ok(serde_json::from_value(word).ok())
}

/// Why an answer did not settle its question.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
pub(super) struct Refusal {
    #[serde(default)]
    pub answer_id: Option<String>,
    #[serde(default)]
    pub reason: String,
    #[serde(default)]
    pub error: String,
    #[serde(default)]
    pub verdict: String,
    #[serde(default)]
    pub stale: bool,
    #[serde(default)]
    pub goes_on: Option<GoesOn>,
    #[serde(default)]
    pub outcome: Option<Outcome>,
}

/// What a refusal means for the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    /// The service could not take it just now.
    Later,
    /// The question is settled already.
    Late,
    /// The answer is not one.
    Refused,
}

impl Refusal {
    /// What it means.
    pub(super) fn meaning(&self) -> Meaning {
        let ended = serde_json::from_value::<Reason>(self.reason.clone().into()).is_ok();
        match (self.reason.as_str(), self.verdict.as_str()) {
            ("UNAVAILABLE" | "RATE_LIMITED" | "FULL" | "INTERNAL", _) => Meaning::Later,
            ("UNKNOWN_CLARIFICATION", _) | (_, "late" | "conflict") => Meaning::Late,
            _ if self.stale || ended => Meaning::Late,
            _ => Meaning::Refused,
        }
    }
}

/// An object of the socket.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Heard {
    Hello {
        you: String,
        tenant: String,
    },
    Ready {
        pending: Vec<ClarifyId>,
    },
    Requested(Box<Request>),
    Held {
        id: ClarifyId,
        by: Option<Who>,
    },
    Asker {
        id: ClarifyId,
        disconnected: bool,
    },
    Resolved {
        id: ClarifyId,
        outcome: Outcome,
    },
    NotResolved {
        id: ClarifyId,
        refusal: Refusal,
    },
    Sent {
        id: ClarifyId,
        answer_id: String,
    },
    Late {
        id: ClarifyId,
        by: Option<Who>,
        goes_on: Option<GoesOn>,
    },
    PassedOn {
        id: ClarifyId,
        goes_on: Option<GoesOn>,
        error: Option<String>,
    },
    Draft {
        id: ClarifyId,
        draft: Kept,
    },
    Writing {
        id: ClarifyId,
        person: String,
    },
    Plan(Box<Plan>),
    Error {
        error: String,
    },
}

/// A draft of the same person, from a place of its own.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct Kept {
    #[serde(default)]
    pub tab: String,
    #[serde(default)]
    pub answers: Vec<AnswerEntry>,
    #[serde(default)]
    pub text: Option<String>,
}

fn read<T: serde::de::DeserializeOwned>(object: &Value) -> Option<T> {
    T::deserialize(object).ok()
}

fn field<T: serde::de::DeserializeOwned>(object: &Value, name: &str) -> Option<T> {
    object.get(name).and_then(read)
}

impl Heard {
    /// Reads an object; none when it says nothing that is known here.
    pub(super) fn read(object: &Value) -> Option<Self> {
        let word = |name: &str| field::<String>(object, name).unwrap_or_default();
        let id = || field::<ClarifyId>(object, "clarify_id");
        Some(match word("event").as_str() {
            "hello" => Heard::Hello {
                you: word("you"),
                tenant: word("tenant"),
            },
            "ready" => Heard::Ready {
                pending: field(object, "pending")?,
            },
            "clarify.requested" => Heard::Requested(read(object)?),
            "clarify.held" => Heard::Held {
                id: id()?,
                by: field(object, "actor"),
            },
            "clarify.asker" => {
                let disconnected = field(object, "disconnected").unwrap_or(false);
                Heard::Asker {
                    id: id()?,
                    disconnected,
                }
            }
            "clarify.resolved" if object.get("resolved") == Some(&Value::Bool(false)) => {
                Heard::NotResolved {
                    id: id()?,
                    refusal: read(object)?,
                }
            }
            "clarify.resolved" => Heard::Resolved {
                id: id()?,
                outcome: read(object).unwrap_or_default(),
            },
            "clarify.sent" => Heard::Sent {
                id: id()?,
                answer_id: word("answer_id"),
            },
            "clarify.late" => Heard::Late {
                id: id()?,
                by: field(object, "actor"),
                goes_on: field(object, "goes_on"),
            },
            "clarify.passed_on" => Heard::PassedOn {
                id: id()?,
                goes_on: field(object, "goes_on"),
                error: field(object, "error"),
            },
            "clarify.draft" if object.get("own") == Some(&Value::Bool(true)) => Heard::Draft {
                id: id()?,
                draft: read(object)?,
            },
            "clarify.draft" => Heard::Writing {
                id: id()?,
                person: word("person"),
            },
            "plan.updated" => Heard::Plan(read(object)?),
            "error" => Heard::Error {
                error: word("error"),
            },
            _ => return None,
        })
    }
}

/// The service's clock, if an object tells it.
pub(super) fn server_now(object: &Value) -> Option<i64> {
    field(object, "server_now")
}
