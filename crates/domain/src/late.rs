//! Words that came after their question was settled, and how they still reach the agent.

mod text;

pub(crate) use text::late_text;

use crate::{
    Actor, AnswerAction, AnswerId, ClarifyId, LateAnswer, QuestionAnswer, Questions, Timestamp,
};
use serde::{Deserialize, Serialize};

/// Late messages that wait for a session at most.
pub const MAX_LATE: usize = 5;
/// What a late message carries of a person's words at most, in characters; the history has all.
pub const MAX_LATE_CHARS: usize = 4_000;
/// What it carries of the questions at most, in characters.
const MAX_ASKED_CHARS: usize = 500;
/// Stands where something was cut.
const CUT: &str = "… (cut; the history has all of it)";

/// Where a late message goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GoesOn {
    /// With the session's next tool result, or its next turn if none comes before.
    NextResult,
    /// With the instruction of the session's next turn.
    NextTurn,
    /// Nowhere: the asker is gone for good.
    Nowhere,
    /// Nowhere yet: [`MAX_LATE`] wait already.
    QueueFull,
}

impl GoesOn {
    /// Every place.
    pub const ALL: [GoesOn; 4] = [
        GoesOn::NextResult,
        GoesOn::NextTurn,
        GoesOn::Nowhere,
        GoesOn::QueueFull,
    ];

    /// The word on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            GoesOn::NextResult => "next_result",
            GoesOn::NextTurn => "next_turn",
            GoesOn::Nowhere => "nowhere",
            GoesOn::QueueFull => "queue_full",
        }
    }

    /// Whether it reaches the agent.
    pub const fn is_on_its_way(self) -> bool {
        matches!(self, GoesOn::NextResult | GoesOn::NextTurn)
    }
}

/// A late answer as it rides on to the agent, once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LateMessage {
    /// What was asked.
    pub clarify_id: ClarifyId,
    /// The answer's id.
    pub answer_id: AnswerId,
    /// Who wrote it, and where.
    pub actor: Actor,
    /// The text of what was asked.
    pub asked: String,
    /// What they meant to do.
    pub action: AnswerAction,
    /// What they chose and wrote, per question.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<QuestionAnswer>,
    /// What they wrote to the whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// When the inbox stored it.
    pub stored_at: Timestamp,
}

impl LateMessage {
    /// What rides on of a late answer; none when it says nothing.
    pub(crate) fn of(clarify_id: ClarifyId, asked: &str, late: &LateAnswer) -> Option<Self> {
        let says = match late.response.action {
            AnswerAction::Answer => !late.answers.is_empty() || late.response.own_text().is_some(),
            AnswerAction::AskBack => late.response.own_text().is_some(),
            AnswerAction::Dismiss | AnswerAction::Skip => false,
        };
        let mut room = MAX_LATE_CHARS;
        let answers = late.answers.iter().map(|a| fitted(a, &mut room)).collect();
        // Where it is the answer to the only question, it stands with that already.
        let text = late.response.own_text();
        let text = text.filter(|t| late.answers.iter().all(|a| a.text.as_ref() != Some(t)));
        says.then(|| Self {
            clarify_id,
            answer_id: late.response.answer_id.clone(),
            actor: late.response.actor.clone(),
            asked: asked.to_owned(),
            action: late.response.action,
            answers,
            text: text.map(|t| cut(&t, &mut room)),
            stored_at: late.stored_at,
        })
    }
}

/// The questions as a late message names them.
pub(crate) fn asked_text(questions: &Questions) -> String {
    let mut room = MAX_ASKED_CHARS;
    let texts: Vec<&str> = questions.iter().map(|q| q.question.as_str()).collect();
    cut(&texts.join(" / "), &mut room)
}

fn fitted(answer: &QuestionAnswer, room: &mut usize) -> QuestionAnswer {
    let mut answer = answer.clone();
    for option in &mut answer.options {
        option.label = cut(&option.label, room);
    }
    answer.text = answer.text.map(|t| cut(&t, room));
    answer.note = answer.note.map(|n| cut(&n, room));
    answer
}

/// `text` as far as there is room, which it uses up.
fn cut(text: &str, room: &mut usize) -> String {
    match text.char_indices().nth(*room) {
        None => {
            *room -= text.chars().count();
            text.to_owned()
        }
        Some((end, _)) => {
            *room = 0;
            format!("{}{CUT}", text.get(..end).unwrap_or_default())
        }
    }
}
