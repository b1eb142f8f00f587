//! Questions in their one canonical form.

use crate::{MAX_QUESTIONS, OptionId, QuestionId, SHOWN_HEADER_CHARS};
use serde::{Deserialize, Serialize};

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

/// How many options of a multi-select question may be chosen. They bind only who chooses options:
/// an own text may stand instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Bounds {
    /// At least this many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min: Option<u8>,
    /// At most this many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<u8>,
}

/// One question in canonical form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// Stable id, `q1`, `q2` … in order.
    pub id: QuestionId,
    /// A short title, cut to [`SHOWN_HEADER_CHARS`] where it is shown; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub header: String,
    /// The question itself, trimmed.
    pub question: String,
    /// Why it is asked, or what one has to know to answer it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explanation: Option<String>,
    /// Whether several options may be chosen.
    #[serde(default)]
    pub multi_select: bool,
    /// How many may be chosen; only with `multi_select`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub select: Option<Bounds>,
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

    /// The header as it is shown (A1).
    pub fn shown_header(&self) -> &str {
        let end = self.header.char_indices().nth(SHOWN_HEADER_CHARS);
        end.map_or(self.header.as_str(), |(end, _)| {
            self.header.get(..end).unwrap_or_default().trim_end()
        })
    }

    /// The option the agent would take.
    pub fn preferred(&self) -> Option<&Choice> {
        self.option(self.recommended.as_ref()?)
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
                    "holds {} questions, at most {MAX_QUESTIONS} fit one call; split it into several calls",
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
