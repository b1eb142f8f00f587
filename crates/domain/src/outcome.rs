//! How a clarification ended.

use crate::answer::{AnswerAction, Chosen, QuestionAnswer, Response};
use crate::rejection::InvalidAnswer;
use crate::{
    Actor, AnswerId, CancelCause, DecidedBy, LateMessage, OptionId, QuestionId, Questions, Reason,
    Timestamp,
};
use serde::{Deserialize, Serialize};

/// A recommendation that stands in for an answer nobody gave; never an answer (A5).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Assumption {
    /// Which question.
    pub question_id: QuestionId,
    /// The recommended option.
    pub option_id: OptionId,
    /// Its label, verbatim.
    pub label: String,
}

/// How a clarification ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// How.
    pub reason: Reason,
    /// Which person, and where; only when a person decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<Actor>,
    /// Why the system withdrew it; only with `cancelled`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<CancelCause>,
    /// What a person agreed to; only with `response`.
    #[serde(default)]
    pub answers: Vec<QuestionAnswer>,
    /// What was filled in when a person dismissed or asked back; with `response` the notes to questions
    /// that they did not answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub partial: Vec<QuestionAnswer>,
    /// Questions without an answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unanswered: Vec<QuestionId>,
    /// Those of them that the person declined one by one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub declined: Vec<QuestionId>,
    /// Recommendations standing in for answers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub assumptions: Vec<Assumption>,
    /// What the person wrote to the whole, such as what they need to know first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The answer that settled it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer_id: Option<AnswerId>,
    /// When: for a person's answer the moment the inbox stored it.
    pub resolved_at: Timestamp,
    /// Whether a `deferred` came of a deadline and not of nobody being there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub timed_out: bool,
    /// Whether asking is off for the turn because too many in a row stayed unanswered (A7); only with
    /// `off`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub blocked: bool,
    /// Late messages of the session that ride to the agent with this.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub late: Vec<LateMessage>,
}

impl Outcome {
    /// Who decided it.
    pub const fn decided_by(&self) -> DecidedBy {
        self.reason.decided_by()
    }

    /// Whether a deadline settled it.
    pub fn is_by_clock(&self) -> bool {
        self.reason == Reason::Timeout || self.timed_out
    }

    fn unpersonal(reason: Reason, questions: &Questions, now: Timestamp) -> Self {
        Self {
            reason,
            actor: None,
            cause: None,
            answers: Vec::new(),
            partial: Vec::new(),
            unanswered: questions.iter().map(|q| q.id.clone()).collect(),
            declined: Vec::new(),
            assumptions: Vec::new(),
            text: None,
            answer_id: None,
            resolved_at: now,
            timed_out: false,
            blocked: false,
            late: Vec::new(),
        }
    }

    /// Nobody answered in time.
    pub(crate) fn timeout(questions: &Questions, now: Timestamp) -> Self {
        Self::unpersonal(Reason::Timeout, questions, now)
    }

    /// Nobody is asked; the question becomes the turn's reply.
    pub(crate) fn deferred(questions: &Questions, now: Timestamp) -> Self {
        Self::unpersonal(Reason::Deferred, questions, now)
    }

    /// Nobody is asked; recommendations are adopted.
    pub(crate) fn unattended(questions: &Questions, now: Timestamp) -> Self {
        Self::unpersonal(Reason::Unattended, questions, now).adopting(questions)
    }

    /// Nobody is asked any more in this turn (A7).
    pub(crate) fn blocked(questions: &Questions, now: Timestamp) -> Self {
        Self {
            blocked: true,
            ..Self::unpersonal(Reason::Off, questions, now)
        }
    }

    /// With every recommendation standing as an assumption; never as an answer (A5).
    pub(crate) fn adopting(self, questions: &Questions) -> Self {
        Self {
            assumptions: recommended(questions),
            ..self
        }
    }

    /// The system withdrew it.
    pub(crate) fn cancelled(questions: &Questions, cause: CancelCause, now: Timestamp) -> Self {
        Self {
            cause: Some(cause),
            ..Self::unpersonal(Reason::Cancelled, questions, now)
        }
    }

    /// What a person's response amounts to.
    pub(crate) fn of_person(
        response: &Response,
        questions: &Questions,
        stored_at: Timestamp,
    ) -> Result<Self, InvalidAnswer> {
        let Chosen {
            answers: chosen,
            noted,
            declined,
            text,
        } = response.resolve(questions)?;
        let reason = match response.action {
            // E10: an empty answer is never a response.
            AnswerAction::Answer if chosen.is_empty() => Reason::Dismissed,
            AnswerAction::Answer => Reason::Response,
            AnswerAction::AskBack if text.is_none() => return Err(InvalidAnswer::EmptyAskBack),
            AnswerAction::AskBack => Reason::AskBack,
            AnswerAction::Dismiss => Reason::Dismissed,
            AnswerAction::Skip => Reason::Skipped,
        };
        let agreed = reason == Reason::Response;
        let answered = |id: &QuestionId| agreed && chosen.iter().any(|a| a.question_id == *id);
        let unanswered = questions
            .iter()
            .map(|q| &q.id)
            .filter(|id| !answered(id))
            .cloned();
        let assumptions = if reason == Reason::Skipped {
            // Where the person said something of their own, nothing is assumed.
            let mut assumed = recommended(questions);
            assumed.retain(|a| {
                !declined.contains(&a.question_id)
                    && chosen.iter().all(|c| c.question_id != a.question_id)
            });
            assumed
        } else {
            Vec::new()
        };
        Ok(Self {
            reason,
            actor: Some(response.actor.clone()),
            cause: None,
            unanswered: unanswered.collect(),
            answers: if agreed { chosen.clone() } else { Vec::new() },
            partial: if agreed { noted } else { chosen },
            declined,
            assumptions,
            text,
            answer_id: Some(response.answer_id.clone()),
            resolved_at: stored_at,
            timed_out: false,
            blocked: false,
            late: Vec::new(),
        })
    }

    /// Whether two outcomes say the same, whoever said it and whenever.
    pub(crate) fn same_content(&self, other: &Self) -> bool {
        self.reason == other.reason
            && self.answers == other.answers
            && self.partial == other.partial
            && self.declined == other.declined
            && self.text == other.text
    }
}

/// The recommended option of every question that has one.
fn recommended(questions: &Questions) -> Vec<Assumption> {
    questions
        .iter()
        .filter_map(|q| {
            let option = q.option(q.recommended.as_ref()?)?;
            Some(Assumption {
                question_id: q.id.clone(),
                option_id: option.id.clone(),
                label: option.label.clone(),
            })
        })
        .collect()
}
