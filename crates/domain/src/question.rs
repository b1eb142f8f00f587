//! Questions in their one canonical form, and the limits they keep.

use crate::{OptionId, QuestionId};
use serde::{Deserialize, Serialize};

/// Questions in one clarification at most (A1).
pub const MAX_QUESTIONS: usize = 5;
/// Options of one question at most (A1, E3).
pub const MAX_OPTIONS: usize = 20;
/// Length of a question's text at most, in characters (E4).
pub const MAX_QUESTION_CHARS: usize = 4_000;
/// Length of an option's label at most, in characters (E4).
pub const MAX_LABEL_CHARS: usize = 500;
/// Length of an option's description at most, in characters.
pub(crate) const MAX_DESCRIPTION_CHARS: usize = 2_000;
/// Length of a header as displayed, in characters (A1).
pub(crate) const HEADER_CHARS: usize = 12;

/// One option of a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    /// Stable id, `o1`, `o2` … in order.
    pub id: OptionId,
    /// What the person reads, trimmed.
    pub label: String,
    /// More words about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// One question in canonical form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// Stable id, `q1`, `q2` … in order.
    pub id: QuestionId,
    /// A short title, at most twelve characters; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub header: String,
    /// The question itself, trimmed.
    pub question: String,
    /// Whether several options may be chosen.
    #[serde(default)]
    pub multi_select: bool,
    /// The options, in order; free text is always allowed beside them.
    #[serde(default)]
    pub options: Vec<Choice>,
    /// The option the agent would take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recommended: Option<OptionId>,
}

impl Question {
    /// The option with this id.
    pub fn option(&self, id: &OptionId) -> Option<&Choice> {
        self.options.iter().find(|o| o.id == *id)
    }
}

/// One to five questions with distinct ids.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<Question>", into = "Vec<Question>")]
pub struct Questions(Vec<Question>);

impl Questions {
    /// Takes a list of one to [`MAX_QUESTIONS`] questions, each with an id of its own.
    pub fn new(list: Vec<Question>) -> Result<Self, InvalidQuestion> {
        if list.is_empty() {
            return Err(InvalidQuestion::new(
                "questions",
                "must hold at least one question",
            ));
        }
        if list.len() > MAX_QUESTIONS {
            return Err(InvalidQuestion::new(
                "questions",
                format!(
                    "holds {} questions, at most {MAX_QUESTIONS} fit one call",
                    list.len()
                ),
            ));
        }
        let twice = |i: usize, q: &Question| list.iter().take(i).any(|earlier| earlier.id == q.id);
        if let Some((i, q)) = list.iter().enumerate().find(|(i, q)| twice(*i, q)) {
            let problem = format!("repeats the id {}", q.id);
            return Err(InvalidQuestion::new(format!("questions[{i}].id"), problem));
        }
        Ok(Self(list))
    }

    /// All of them, in order.
    pub fn iter(&self) -> std::slice::Iter<'_, Question> {
        self.0.iter()
    }

    /// How many, never zero.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The first one.
    pub fn first(&self) -> &Question {
        // The constructor refuses an empty list.
        #[allow(clippy::indexing_slicing)]
        &self.0[0]
    }

    /// The question with this id.
    pub fn get(&self, id: &QuestionId) -> Option<&Question> {
        self.0.iter().find(|q| q.id == *id)
    }
}

impl TryFrom<Vec<Question>> for Questions {
    type Error = InvalidQuestion;
    fn try_from(list: Vec<Question>) -> Result<Self, InvalidQuestion> {
        Self::new(list)
    }
}

impl From<Questions> for Vec<Question> {
    fn from(list: Questions) -> Self {
        list.0
    }
}

impl<'a> IntoIterator for &'a Questions {
    type Item = &'a Question;
    type IntoIter = std::slice::Iter<'a, Question>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// Why questions were refused before anybody saw them (E4): the field and how to mend it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field} {problem}")]
pub struct InvalidQuestion {
    /// Where, as a path such as `questions[0].options[2]`.
    pub field: String,
    /// What is wrong and what is allowed.
    pub problem: String,
}

impl InvalidQuestion {
    /// Input that is not even of the right form.
    pub fn unreadable(field: &str, problem: impl std::fmt::Display) -> Self {
        Self::new(field, format!("cannot be read: {problem}"))
    }

    pub(crate) fn new(field: impl Into<String>, problem: impl Into<String>) -> Self {
        Self {
            field: field.into(),
            problem: problem.into(),
        }
    }
}
