//! A question as messages of a chat.

use super::choice::unmistakable;
use super::length::{CUT, ChannelLimits, Length, Unit, split};
use super::naming::ASKED;
use super::showing::{further_lines_marked, on_one_line};
use super::telling::{bounds_text, whom};
use super::words::{Words, words};
use crate::{Addressee, AskerInfo, Clarification, Language, Question, Timestamp};
use serde::Serialize;

/// One question of a clarification, to be put to a person.
#[derive(Debug, Clone, Copy)]
pub struct Put<'a> {
    /// The name by which the chat tells it apart, without the hash.
    pub tag: &'a str,
    /// The question.
    pub question: &'a Question,
    /// Its index among the others, counted from 0.
    pub index: usize,
    /// How many there are.
    pub count: usize,
    /// Who asks.
    pub asker: &'a AskerInfo,
    /// Whom it is for, where others read it too.
    pub to: Option<&'a Addressee>,
    /// When it ends by itself.
    pub deadline: Option<Timestamp>,
    /// The person's language.
    pub language: Language,
}

/// An option as a button.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Button {
    /// What stands on it.
    pub text: String,
    /// The reply that pressing it sends.
    pub reply: String,
}

/// How much of a question is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Detail {
    All,
    /// Without what explains it.
    Brief,
    /// Question and labels cut as well.
    Least,
}

/// What is left of a question, and of a label, where little fits.
const LEAST_QUESTION: Length = Length {
    most: 300,
    unit: Unit::Characters,
};
const LEAST_LABEL: Length = Length {
    most: 60,
    unit: Unit::Characters,
};

impl<'a> Put<'a> {
    /// The question of `clarification` at `index`; the first one when there is none.
    pub fn of(
        clarification: &'a Clarification,
        index: usize,
        tag: &'a str,
        language: Language,
    ) -> Self {
        let questions = &clarification.questions;
        let found = questions.iter().nth(index);
        let held = clarification.held_by.is_some();
        Self {
            tag,
            question: found.unwrap_or_else(|| questions.first()),
            index: if found.is_some() { index } else { 0 },
            count: questions.len(),
            asker: &clarification.asker,
            to: None,
            deadline: clarification.clock.deadline.filter(|_| !held),
            language,
        }
    }

    /// The same for a chat in which several people read it: it says whom it is for, if it is not for all.
    #[must_use]
    pub fn among_several(self, clarification: &'a Clarification) -> Self {
        Self {
            to: clarification.to.as_ref(),
            ..self
        }
    }

    /// The messages. What does not fit `limits` is put shorter and says so; every option stays, with
    /// its number.
    pub fn messages(&self, limits: &ChannelLimits) -> Vec<String> {
        let mut messages = Vec::new();
        for detail in [Detail::All, Detail::Brief, Detail::Least] {
            messages = split(&self.lines(detail), limits.message);
            if messages.len() <= limits.messages {
                break;
            }
        }
        messages
    }

    /// A button for every option; none when the channel has none or they would not fit it. A label
    /// that is too long is cut behind its number: the message has all of it. What pressing one sends
    /// means this option of this question and nothing else.
    pub fn buttons(&self, limits: &ChannelLimits) -> Option<Vec<Button>> {
        let fitting = limits.buttons?;
        let options = &self.question.options;
        if options.is_empty() || options.len() > fitting.most || self.question.multi_select {
            return None;
        }
        // It stands in the chat for as long as anybody scrolls back.
        let which = if self.count > 1 {
            format!(".{}", self.index + 1)
        } else {
            String::new()
        };
        let buttons = options.iter().enumerate().map(|(index, option)| Button {
            text: fitting
                .text
                .cut(&format!("{}. {}", index + 1, on_one_line(&option.label))),
            reply: format!(
                "#{}{which} {}",
                self.tag,
                unmistakable(self.question, index)
            ),
        });
        Some(buttons.collect())
    }

    fn lines(&self, detail: Detail) -> Vec<String> {
        let (question, words) = (self.question, words(self.language));
        let mut lines = vec![self.heading(detail)];
        if let Some(asker) = asker(self.asker).filter(|_| detail != Detail::Least) {
            lines.push(asker);
        }
        // Marked like the line of whoever asks.
        lines.extend(
            self.to
                .map(|to| format!("· {}", (words.is_for)(&whom(to, self.language)))),
        );
        if let Some(explanation) = question
            .explanation
            .as_ref()
            .filter(|_| detail == Detail::All)
        {
            lines.push(format!("┆ {}", further_lines_marked(explanation)));
        }
        for index in 0..question.options.len() {
            lines.extend(self.option(index, detail, words));
        }
        if question.multi_select && !question.options.is_empty() {
            lines.push(bounds_text(question, self.language));
        }
        if let Some(deadline) = self.deadline {
            lines.push((words.ends_at)(&deadline.to_string()));
        }
        if detail != Detail::All {
            lines.push(words.shortened.to_owned());
        }
        let hint = match (question.options.is_empty(), question.multi_select) {
            (true, _) => words.reply_open,
            (false, false) => words.reply_one,
            (false, true) => words.reply_several,
        };
        lines.push(hint.to_owned());
        let lines = lines.iter().flat_map(|l| l.split('\n').map(str::to_owned));
        lines.collect()
    }

    fn heading(&self, detail: Detail) -> String {
        let question = self.question;
        let mut heading = format!("{ASKED} #{}", self.tag);
        if self.count > 1 {
            heading = format!("{heading} ({}/{})", self.index + 1, self.count);
        }
        if !question.header.is_empty() {
            heading = format!("{heading} [{}]", on_one_line(question.shown_header()));
        }
        let text = match detail {
            Detail::Least => LEAST_QUESTION.cut(&question.question),
            Detail::All | Detail::Brief => question.question.clone(),
        };
        format!("{heading} {}", further_lines_marked(&text))
    }

    /// A numbered option.
    fn option(&self, index: usize, detail: Detail, words: &Words) -> Option<String> {
        let option = self.question.options.get(index)?;
        let label = on_one_line(&option.label);
        let label = match detail {
            Detail::Least => LEAST_LABEL.cut(&label),
            Detail::All | Detail::Brief => label,
        };
        let mut line = format!("{}. {label}", index + 1);
        if self.question.recommended.as_ref() == Some(&option.id) {
            line.push_str(words.preferred);
        }
        match (&option.description, detail) {
            (Some(description), Detail::All) => {
                line = format!("{line} – {}", on_one_line(description));
            }
            (Some(_), _) => line = format!("{line} – {CUT}"),
            (None, _) => {}
        }
        Some(line)
    }
}

/// Who asks, in one line.
fn asker(asker: &AskerInfo) -> Option<String> {
    let known = [&asker.client, &asker.host, &asker.cwd, &asker.branch];
    let known: Vec<String> = known
        .into_iter()
        .filter(|word| !word.is_empty())
        .map(|word| on_one_line(word))
        .collect();
    // Marked, so that no name of a client looks like an option.
    (!known.is_empty()).then(|| format!("· {}", known.join(" · ")))
}
