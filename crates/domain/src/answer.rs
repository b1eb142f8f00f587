//! What a person sends, and what is kept of it.

use crate::rejection::InvalidAnswer;
use crate::{
    Actor, AnswerId, Bounds, ClarifyId, MAX_ANSWER_CHARS, OptionId, Question, QuestionId,
    Questions, Rights, Timestamp, is_blank,
};
use serde::{Deserialize, Serialize};

/// What the person means to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerAction {
    /// Answer; empty means dismissed (E10).
    Answer,
    /// Ask for more information.
    AskBack,
    /// Decline.
    Dismiss,
    /// Skip; recommendations become assumptions.
    Skip,
}

/// One question's answer as a surface sends it: ids only, never label or question text.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct AnswerEntry {
    /// Which question; none means the first one, for surfaces that know only one question (E9).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question_id: Option<QuestionId>,
    /// Options chosen.
    #[serde(default)]
    pub option_ids: Vec<OptionId>,
    /// Own text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// A note beside the choice; alone it answers nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Whether the person declines this question; nothing is chosen then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dismissed: bool,
}

/// What a person sent, as it goes through the inbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Response {
    /// Made by the surface; repeating it returns the first outcome.
    pub answer_id: AnswerId,
    /// Who, and where.
    pub actor: Actor,
    /// What they mean to do.
    pub action: AnswerAction,
    /// Per question; questions may be missing.
    #[serde(default)]
    pub answers: Vec<AnswerEntry>,
    /// The text of an ask-back, a word with a dismissal, or the answer itself where there is one
    /// question and nothing else was written to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// A response together with what the inbox knows of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Which clarification.
    pub clarify_id: ClarifyId,
    /// What was sent.
    pub response: Response,
    /// What its author's credential allows.
    pub rights: Rights,
    /// When the inbox stored it: this, not the moment of judging, counts against a deadline.
    pub stored_at: Timestamp,
}

/// A chosen option with its label, so that the log reads by itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChosenOption {
    /// The option's id.
    pub id: OptionId,
    /// Its label, verbatim.
    pub label: String,
}

/// What a person chose for one question (A2).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuestionAnswer {
    /// Which question.
    pub question_id: QuestionId,
    /// Options chosen, in the question's order.
    #[serde(default)]
    pub options: Vec<ChosenOption>,
    /// Own text, verbatim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Note, verbatim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

fn not_blank(text: Option<&String>) -> Option<String> {
    text.filter(|t| !is_blank(t)).cloned()
}

fn check_len(field: &'static str, text: Option<&String>) -> Result<(), InvalidAnswer> {
    match text {
        Some(t) if t.chars().count() > MAX_ANSWER_CHARS => Err(InvalidAnswer::TooLong { field }),
        _ => Ok(()),
    }
}

/// What a response comes to once matched with the questions.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Chosen {
    /// What was chosen and written, in the order of the questions.
    pub answers: Vec<QuestionAnswer>,
    /// Notes to questions that nothing was chosen or written to; only of an answer, else they stand
    /// with the rest.
    pub noted: Vec<QuestionAnswer>,
    /// Questions that were declined one by one, in their order.
    pub declined: Vec<QuestionId>,
    /// What was written to the whole.
    pub text: Option<String>,
}

impl AnswerEntry {
    /// Whether it says what the person decides about its question. A note alone does not.
    pub fn decides(&self) -> bool {
        self.dismissed || !self.option_ids.is_empty() || not_blank(self.text.as_ref()).is_some()
    }

    /// The question it is for.
    fn question<'a>(&self, questions: &'a Questions) -> Result<&'a Question, InvalidAnswer> {
        match &self.question_id {
            Some(id) => questions
                .get(id)
                .ok_or_else(|| InvalidAnswer::UnknownQuestion(id.clone())),
            None if questions.len() == 1 => Ok(questions.first()),
            None => Err(InvalidAnswer::SeveralQuestions {
                count: questions.len(),
            }),
        }
    }

    /// What it says about `question`; none when it is left blank.
    fn resolve(&self, question: &Question) -> Result<Option<QuestionAnswer>, InvalidAnswer> {
        check_len("text", self.text.as_ref())?;
        check_len("note", self.note.as_ref())?;
        let unknown = |id: &&OptionId| question.option(id).is_none();
        if let Some(unknown) = self.option_ids.iter().find(unknown) {
            return Err(InvalidAnswer::UnknownOption(unknown.clone()));
        }
        let options: Vec<ChosenOption> = question
            .options
            .iter()
            .filter(|o| self.option_ids.contains(&o.id))
            .map(|o| ChosenOption {
                id: o.id.clone(),
                label: o.label.clone(),
            })
            .collect();
        if options.len() > 1 && !question.multi_select {
            return Err(InvalidAnswer::OneOptionOnly(question.id.clone()));
        }
        let answer = QuestionAnswer {
            question_id: question.id.clone(),
            options,
            text: not_blank(self.text.as_ref()),
            note: not_blank(self.note.as_ref()),
        };
        let blank = answer.options.is_empty() && answer.text.is_none() && answer.note.is_none();
        if self.dismissed && !blank {
            return Err(InvalidAnswer::DeclinedAndAnswered(question.id.clone()));
        }
        Ok((!blank).then_some(answer))
    }
}

/// The bounds of a selection hold for what is submitted as an answer: an own text may stand instead,
/// and what is only half filled in is nobody's answer yet.
fn check_bounds(question: &Question, answer: &QuestionAnswer) -> Result<(), InvalidAnswer> {
    let Some(bounds) = question.select.filter(|_| !answer.options.is_empty()) else {
        return Ok(());
    };
    let chosen = answer.options.len();
    match bounds {
        Bounds { min: Some(min), .. } if chosen < usize::from(min) => Err(InvalidAnswer::TooFew {
            question: question.id.clone(),
            min,
        }),
        Bounds { max: Some(max), .. } if chosen > usize::from(max) => Err(InvalidAnswer::TooMany {
            question: question.id.clone(),
            max,
        }),
        _ => Ok(()),
    }
}

impl Response {
    /// Whether this can be an answer to these questions.
    pub fn fits(&self, questions: &Questions) -> bool {
        self.resolve(questions).is_ok()
    }

    /// What was sent, where it can be an answer to these questions: words that could not be told
    /// apart from nothing are refused, never dropped.
    pub(crate) fn resolve(&self, questions: &Questions) -> Result<Chosen, InvalidAnswer> {
        let mut chosen = self.matched(questions)?;
        if self.action != AnswerAction::Answer {
            return Ok(chosen);
        }
        let all = std::mem::take(&mut chosen.answers);
        (chosen.answers, chosen.noted) = all.into_iter().partition(QuestionAnswer::decides);
        if !chosen.answers.is_empty() {
            return Ok(chosen);
        }
        if let Some(alone) = chosen.noted.first() {
            return Err(InvalidAnswer::NoteAlone(alone.question_id.clone()));
        }
        let all_declined = chosen.declined.len() == questions.len();
        if chosen.text.is_some() && !all_declined {
            return Err(InvalidAnswer::SeveralQuestions {
                count: questions.len(),
            });
        }
        Ok(chosen)
    }

    /// Matches what was sent with the questions. Entries left blank are dropped; the rest stand in
    /// the order of the questions.
    pub(crate) fn matched(&self, questions: &Questions) -> Result<Chosen, InvalidAnswer> {
        check_len("text", self.text.as_ref())?;
        let mut found: Vec<(&Question, bool, Option<QuestionAnswer>)> = Vec::new();
        for entry in &self.answers {
            let question = entry.question(questions)?;
            if found.iter().any(|(earlier, ..)| earlier.id == question.id) {
                return Err(InvalidAnswer::Repeated(question.id.clone()));
            }
            let answer = entry.resolve(question)?;
            if let (AnswerAction::Answer, Some(answer)) = (self.action, &answer) {
                check_bounds(question, answer)?;
            }
            found.push((question, entry.dismissed, answer));
        }
        let mut chosen = Chosen {
            text: self.own_text(),
            ..Chosen::default()
        };
        for question in questions {
            let entry = found.iter().position(|(q, ..)| q.id == question.id);
            let Some((_, dismissed, answer)) = entry.map(|i| found.swap_remove(i)) else {
                continue;
            };
            chosen.answers.extend(answer);
            if dismissed {
                chosen.declined.push(question.id.clone());
            }
        }
        if self.action == AnswerAction::Answer && questions.len() == 1 {
            chosen.give_text(questions.first());
        }
        Ok(chosen)
    }

    /// The text that goes with the whole response, if it says anything.
    pub fn own_text(&self) -> Option<String> {
        not_blank(self.text.as_ref())
    }
}

impl Chosen {
    /// What was written to the whole is the own text of the only question, where that has none and is
    /// not declined.
    fn give_text(&mut self, only: &Question) {
        let taken = self.answers.iter().any(|a| a.text.is_some());
        if taken || !self.declined.is_empty() {
            return;
        }
        let Some(text) = self.text.take() else {
            return;
        };
        let mut given = self.answers.pop();
        let answer = given.get_or_insert_with(|| QuestionAnswer {
            question_id: only.id.clone(),
            options: Vec::new(),
            text: None,
            note: None,
        });
        answer.text = Some(text);
        self.answers.extend(given);
    }
}

impl QuestionAnswer {
    /// Whether something was chosen or written, and not only noted.
    pub fn decides(&self) -> bool {
        !self.options.is_empty() || self.text.is_some()
    }

    /// Labels and own text in one line, for dialects that know a single text; the note stands apart in
    /// parentheses, for nobody chose it.
    pub fn as_text(&self) -> String {
        let labels = self.options.iter().map(|o| o.label.as_str());
        let said = labels.chain(self.text.as_deref()).collect::<Vec<_>>();
        match &self.note {
            None => said.join(", "),
            Some(note) if said.is_empty() => format!("(note: {note})"),
            Some(note) => format!("{} (note: {note})", said.join(", ")),
        }
    }
}
