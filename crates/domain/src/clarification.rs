//! One clarification from asking to settling.

use crate::answer::{AnswerAction, Chosen, QuestionAnswer, Response};
use crate::rejection::InvalidAnswer;
use crate::{
    Actor, Addressee, Adjusted, AnswerId, AskId, AskerId, AskerInfo, CancelCause, ClarifyId, Clock,
    ContextId, DecidedBy, Dialect, Event, GoesOn, LateMessage, Millis, OptionId, Parent, PersonId,
    QuestionId, Questions, Reason, Terms, Timestamp,
};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

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
    /// What was filled in when a person dismissed or asked back.
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
            declined,
        } = response.resolve(questions)?;
        let text = response.own_text();
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
            partial: if agreed { Vec::new() } else { chosen },
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

/// An answer that came after the clarification was settled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LateAnswer {
    /// What was sent, whole.
    pub response: Response,
    /// What it chose, with labels, as far as it fits the questions.
    #[serde(default)]
    pub answers: Vec<QuestionAnswer>,
    /// When the inbox stored it.
    pub stored_at: Timestamp,
}

/// What a clarification remembers of an answer that came too late.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LateNote {
    /// Its author: an answer id is unique among one person's answers only.
    pub person: PersonId,
    /// Its id.
    pub answer_id: AnswerId,
    /// Where it went by itself; none when it waits for its author to send it on.
    pub goes_on: Option<GoesOn>,
    /// Where it went when its author sent it on.
    pub passed_on: Option<GoesOn>,
    /// What would ride on; none when it says nothing.
    pub message: Option<Arc<LateMessage>>,
}

impl LateNote {
    /// How it reaches the agent, or did; none when it does not.
    pub fn way(&self) -> Option<GoesOn> {
        let ways = [self.passed_on, self.goes_on];
        ways.into_iter().flatten().find(|w| w.is_on_its_way())
    }
}

/// The state of one clarification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clarification {
    /// Its id.
    pub id: ClarifyId,
    /// The caller's id of the ask.
    pub ask_id: AskId,
    /// The turn that asked.
    pub context_id: ContextId,
    /// The asking process.
    pub asker_id: AskerId,
    /// How long the asker may be missing.
    pub asker_ttl: Millis,
    /// Who asks, for the person.
    pub asker: AskerInfo,
    /// Whose defaults apply.
    pub dialect: Dialect,
    /// What is asked.
    pub questions: Arc<Questions>,
    /// Until when.
    pub clock: Clock,
    /// When it was issued.
    pub requested_at: Timestamp,
    /// Who stopped the countdown, if somebody did.
    pub held_by: Option<Actor>,
    /// How it ended, once it has.
    pub outcome: Option<Arc<Outcome>>,
    /// Answers that came too late.
    pub late: Vec<LateNote>,
    /// Whom it is meant for; none is everybody who may answer.
    pub to: Option<Addressee>,
    /// Whose sub-agent asks.
    pub parent: Option<Parent>,
    /// The policy it was asked under.
    pub terms: Terms,
    /// How its timeout differs from the one asked for.
    pub adjusted: Option<Adjusted>,
}

impl Clarification {
    /// The clarification that a `requested` event starts; none for any other event.
    pub fn requested(event: &Event) -> Option<Self> {
        let Event::Requested {
            clarify_id,
            ask_id,
            context_id,
            asker_id,
            asker_ttl,
            asker,
            dialect,
            questions,
            clock,
            requested_at,
            to,
            parent,
            terms,
            adjusted,
            ..
        } = event
        else {
            return None;
        };
        Some(Self {
            id: *clarify_id,
            ask_id: ask_id.clone(),
            context_id: *context_id,
            asker_id: asker_id.clone(),
            asker_ttl: *asker_ttl,
            asker: asker.clone(),
            dialect: *dialect,
            questions: Arc::clone(questions),
            clock: *clock,
            requested_at: *requested_at,
            held_by: None,
            outcome: None,
            late: Vec::new(),
            to: to.clone(),
            parent: parent.clone(),
            terms: *terms,
            adjusted: *adjusted,
        })
    }

    /// Folds one event of this clarification into its state; events of others change nothing.
    pub fn evolve(&mut self, event: &Event) {
        if event.clarify_id() != Some(self.id) {
            return;
        }
        match event {
            Event::Held { actor, .. } if self.is_pending() && self.held_by.is_none() => {
                self.held_by = Some(actor.clone());
            }
            // The first resolution stands, whatever comes after it.
            Event::Resolved { outcome, .. } if self.is_pending() => {
                self.outcome = Some(Arc::clone(outcome));
            }
            Event::Late {
                late,
                asked,
                goes_on,
                ..
            } => self.late.push(LateNote {
                person: late.response.actor.person.clone(),
                answer_id: late.response.answer_id.clone(),
                goes_on: *goes_on,
                passed_on: None,
                message: LateMessage::of(self.id, asked, late).map(Arc::new),
            }),
            Event::PassedOn {
                message, goes_on, ..
            } => {
                let author = &message.actor.person;
                let sent =
                    |n: &&mut LateNote| n.person == *author && n.answer_id == message.answer_id;
                if let Some(note) = self.late.iter_mut().find(sent) {
                    note.passed_on = Some(*goes_on);
                }
            }
            _ => {}
        }
    }

    /// The clarification `id` as these events of its session leave it; for questions older than
    /// the session's current turn.
    pub fn from_history<'a>(
        id: ClarifyId,
        events: impl Iterator<Item = &'a Event>,
    ) -> Option<Self> {
        let mut found: Option<Self> = None;
        for event in events.filter(|e| e.clarify_id() == Some(id)) {
            match &mut found {
                None => found = Self::requested(event),
                Some(clarification) => clarification.evolve(event),
            }
        }
        found
    }

    /// Whether this very answer settled it: the same id by the same person.
    pub(crate) fn was_settled_by(&self, response: &Response) -> bool {
        self.outcome.as_ref().is_some_and(|outcome| {
            outcome.answer_id.as_ref() == Some(&response.answer_id)
                && outcome
                    .actor
                    .as_ref()
                    .is_some_and(|a| a.person == response.actor.person)
        })
    }

    /// Whether this very answer was noted as late: the same id by the same person.
    pub(crate) fn was_late(&self, response: &Response) -> bool {
        self.late_note(&response.actor.person, &response.answer_id)
            .is_some()
    }

    /// What is remembered of a late answer of `person`.
    pub fn late_note(&self, person: &PersonId, answer_id: &AnswerId) -> Option<&LateNote> {
        self.late
            .iter()
            .find(|n| n.person == *person && n.answer_id == *answer_id)
    }

    /// Whether it waits.
    pub const fn is_pending(&self) -> bool {
        self.outcome.is_none()
    }

    /// When it settles by itself, hold considered.
    pub fn expires_at(&self) -> Timestamp {
        self.clock.expires_at(self.held_by.is_some())
    }
}
