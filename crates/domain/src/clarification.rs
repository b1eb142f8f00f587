//! One clarification from asking to settling.

use crate::answer::{QuestionAnswer, Response};
use crate::{
    Actor, Addressee, Adjusted, AnswerId, AskId, AskerId, AskerInfo, ClarifyId, Clock, ContextId,
    Dialect, Event, GoesOn, LateMessage, Millis, Outcome, Parent, PersonId, Questions, Terms,
    Timestamp,
};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

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

impl LateAnswer {
    /// `response` to `clarification`, which is over.
    pub(crate) fn of(
        clarification: &Clarification,
        response: &Response,
        stored_at: Timestamp,
    ) -> Self {
        let chosen = response.matched(&clarification.questions);
        Self {
            response: response.clone(),
            answers: chosen.map(|c| c.answers).unwrap_or_default(),
            stored_at,
        }
    }
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
    pub(crate) fn was_settled_by(&self, author: &PersonId, answer_id: &AnswerId) -> bool {
        self.outcome.as_ref().is_some_and(|outcome| {
            outcome.answer_id.as_ref() == Some(answer_id)
                && outcome.actor.as_ref().is_some_and(|a| a.person == *author)
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
