//! What a person has filled in and not sent.

use super::field::Field;
use askbus_domain::{AnswerEntry, MAX_ANSWER_CHARS, Question, Questions};
use std::collections::BTreeSet;

/// What stands at one question.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Filled {
    /// Options, by their place from 0.
    pub chosen: BTreeSet<usize>,
    /// Own words.
    pub text: Field,
    /// A note beside them.
    pub note: Field,
    /// Whether the question is declined; what was filled in stays.
    pub declined: bool,
}

/// What stands at a clarification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Draft {
    /// Of each question.
    pub filled: Vec<Filled>,
    /// What the person needs to know first.
    pub ask_back: Field,
}

fn too_long(field: &Field) -> bool {
    field.text().chars().count() > MAX_ANSWER_CHARS
}

impl Filled {
    /// Whether the question is answered.
    pub(super) fn answers(&self) -> bool {
        !self.declined && (!self.chosen.is_empty() || self.text.words().is_some())
    }

    /// Whether fewer or more options are chosen than may be; own words alone may stand instead.
    pub(super) fn is_out_of_bounds(&self, question: &Question) -> bool {
        let Some(bounds) = question
            .select
            .filter(|_| !self.declined && !self.chosen.is_empty())
        else {
            return false;
        };
        let count = self.chosen.len();
        bounds.min.is_some_and(|min| count < usize::from(min))
            || bounds.max.is_some_and(|max| count > usize::from(max))
    }

    /// Whether a text is longer than an answer may be.
    pub(super) fn is_too_long(&self) -> bool {
        too_long(&self.text) || too_long(&self.note)
    }

    /// Chooses an option, or no longer. Of a question that takes one the others are let go.
    pub(super) fn toggle(&mut self, question: &Question, option: usize) {
        if self.chosen.remove(&option) {
            return;
        }
        if !question.multi_select {
            self.chosen.clear();
        }
        self.chosen.insert(option);
    }

    fn entry(&self, question: &Question) -> AnswerEntry {
        let ids = self.chosen.iter().filter_map(|i| question.options.get(*i));
        AnswerEntry {
            question_id: Some(question.id.clone()),
            option_ids: ids.map(|o| o.id.clone()).collect(),
            text: self.text.words().map(str::to_owned),
            note: self.note.words().map(str::to_owned),
            dismissed: self.declined,
        }
    }
}

/// Whether an entry says anything.
fn says(entry: &AnswerEntry) -> bool {
    !entry.option_ids.is_empty() || entry.text.is_some() || entry.note.is_some() || entry.dismissed
}

impl Draft {
    /// Nothing yet.
    pub(super) fn blank(questions: &Questions) -> Self {
        Self {
            filled: vec![Filled::default(); questions.len()],
            ask_back: Field::default(),
        }
    }

    /// What was kept elsewhere. What names no question or option of these is left out.
    pub(super) fn read(questions: &Questions, answers: &[AnswerEntry], text: Option<&str>) -> Self {
        let of = |question: &Question| {
            let Some(entry) = answers
                .iter()
                .find(|a| a.question_id.as_ref() == Some(&question.id))
            else {
                return Filled::default();
            };
            let place =
                |id: &askbus_domain::OptionId| question.options.iter().position(|o| o.id == *id);
            Filled {
                chosen: entry.option_ids.iter().filter_map(place).collect(),
                text: Field::new(entry.text.clone().unwrap_or_default()),
                note: Field::new(entry.note.clone().unwrap_or_default()),
                declined: entry.dismissed,
            }
        };
        Self {
            filled: questions.iter().map(of).collect(),
            ask_back: Field::new(text.unwrap_or_default()),
        }
    }

    /// What is kept of it: all that is filled in.
    pub(super) fn kept(&self, questions: &Questions) -> Vec<AnswerEntry> {
        let all = self.filled.iter().zip(questions);
        all.map(|(filled, question)| filled.entry(question))
            .filter(says)
            .collect()
    }

    /// What is sent of it: a question that is declined goes without what stood there.
    pub(super) fn sent(&self, questions: &Questions) -> Vec<AnswerEntry> {
        let bare = |entry: AnswerEntry| match entry {
            AnswerEntry {
                dismissed: true,
                question_id,
                ..
            } => AnswerEntry {
                question_id,
                dismissed: true,
                ..AnswerEntry::default()
            },
            entry => entry,
        };
        self.kept(questions).into_iter().map(bare).collect()
    }

    /// What is sent when the person takes all that is recommended. Where nothing is, what they filled in
    /// stands.
    pub(super) fn recommended(&self, questions: &Questions) -> Vec<AnswerEntry> {
        let mut draft = self.clone();
        for (filled, question) in draft.filled.iter_mut().zip(questions) {
            let place = question
                .options
                .iter()
                .position(|o| Some(&o.id) == question.recommended.as_ref());
            if let Some(place) = place {
                filled.chosen = BTreeSet::from([place]);
                filled.declined = false;
            }
        }
        draft.sent(questions)
    }

    /// Whether a person wrote anything.
    pub(super) fn has_words(&self) -> bool {
        let written = |f: &Filled| f.text.words().is_some() || f.note.words().is_some();
        self.ask_back.words().is_some() || self.filled.iter().any(written)
    }

    /// Whether nothing is filled in.
    pub(super) fn is_blank(&self) -> bool {
        let nothing = |f: &Filled| f.chosen.is_empty() && !f.declined;
        !self.has_words() && self.filled.iter().all(nothing)
    }

    /// How many questions are answered.
    pub(super) fn answered(&self) -> usize {
        self.filled.iter().filter(|f| f.answers()).count()
    }

    /// How many are neither answered nor declined.
    pub(super) fn open(&self) -> usize {
        self.filled
            .iter()
            .filter(|f| !f.declined && !f.answers())
            .count()
    }

    /// Whether an answer may not go out as it stands, and why.
    pub(super) fn obstacle(&self, questions: &Questions) -> Option<Obstacle> {
        let out = |(filled, question): (&Filled, &Question)| filled.is_out_of_bounds(question);
        if self.filled.iter().any(Filled::is_too_long) || too_long(&self.ask_back) {
            Some(Obstacle::TooLong)
        } else if self.filled.iter().zip(questions).any(out) {
            Some(Obstacle::OutOfBounds)
        } else {
            None
        }
    }
}

/// Why what stands there cannot be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Obstacle {
    /// Nothing is chosen and nothing written.
    Nothing,
    /// Fewer or more are chosen than may be.
    OutOfBounds,
    /// A text is too long.
    TooLong,
    /// Nothing is recommended.
    NoRecommendation,
}
