//! What a reply says of one question: options, own words, or both.

use super::folding::folded;
use super::pointer::{Pointer, pieces, pointers};
use crate::{AnswerEntry, Choice, MAX_ANSWER_CHARS, OptionId, Question};

/// Why a reply is not taken as an answer. The question waits on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unclear {
    /// It says nothing.
    Blank,
    /// It is a number or a letter that no option has.
    Outside {
        /// As it was written.
        said: String,
    },
    /// It could mean several options.
    Ambiguous {
        /// As it was written.
        said: String,
        /// Their indexes, counted from 0.
        options: Vec<usize>,
    },
    /// It names several options of a question that takes one.
    OneOnly,
    /// It names fewer options than the question takes.
    TooFew {
        /// How many it takes at least.
        min: u8,
    },
    /// It names more options than the question takes.
    TooMany {
        /// How many it takes at most.
        max: u8,
    },
    /// It is longer than an answer may be.
    TooLong,
    /// A command that stands alone came with words behind it.
    CommandWithWords,
    /// A command that needs words came without.
    CommandWithoutWords,
    /// The question is the only one, so that there is none before or after it.
    NoOtherQuestion,
}

/// Reads a reply to `question`, in this order: an exact label (its case and width aside), a list of
/// numbers, letters or labels, such a list followed by a colon or a new line and own words, own
/// words.
///
/// # Errors
/// Why the reply is neither a choice nor words of the person's own.
pub fn read_choice(question: &Question, text: &str) -> Result<AnswerEntry, Unclear> {
    let text = text.trim();
    if folded(text).is_empty() {
        return Err(Unclear::Blank);
    }
    if text.chars().count() > MAX_ANSWER_CHARS {
        return Err(Unclear::TooLong);
    }
    let said = |indexes: Vec<usize>, words: Option<&str>| entry(question, &indexes, words);
    if question.options.is_empty() {
        return Ok(said(Vec::new(), Some(text)));
    }
    if let Some(chosen) = whole(question, text) {
        return Ok(said(bounded(question, chosen?)?, None));
    }
    if let Some((head, words)) = with_words(text)
        && let Some(chosen) = numbered(question, head)
    {
        return Ok(said(bounded(question, chosen?)?, Some(words)));
    }
    Ok(said(Vec::new(), Some(text)))
}

/// The option that a command line names: the exact label first, then the number counted from 1.
///
/// # Errors
/// No option has that label or number, or several have that label.
pub fn named_option<'a>(question: &'a Question, name: &str) -> Result<&'a Choice, Unclear> {
    let named = |option: &&Choice| option.label == name;
    if let Some(option) = question.options.iter().find(named) {
        return Ok(option);
    }
    let outside = || Unclear::Outside {
        said: name.to_owned(),
    };
    let number: usize = folded(name).parse().map_err(|_| outside())?;
    let index = number.checked_sub(1).ok_or_else(outside)?;
    question.options.get(index).ok_or_else(outside)
}

pub(super) fn own_words(question: &Question, words: &str) -> Result<AnswerEntry, Unclear> {
    if folded(words).is_empty() {
        return Err(Unclear::Blank);
    }
    if words.chars().count() > MAX_ANSWER_CHARS {
        return Err(Unclear::TooLong);
    }
    Ok(entry(question, &[], Some(words.trim())))
}

fn entry(question: &Question, indexes: &[usize], words: Option<&str>) -> AnswerEntry {
    let ids = indexes.iter().filter_map(|i| question.options.get(*i));
    AnswerEntry {
        question_id: Some(question.id.clone()),
        option_ids: ids.map(|o| o.id.clone()).collect::<Vec<OptionId>>(),
        text: words.map(str::to_owned),
        ..AnswerEntry::default()
    }
}

/// A reply that is nothing but a choice; none when there are other words in it.
fn whole(question: &Question, text: &str) -> Option<Result<Vec<usize>, Unclear>> {
    let by_label = labelled(question, text);
    let by_number = numbered(question, text);
    match (by_label.as_slice(), by_number) {
        ([], None) => listed(question, text),
        ([], Some(chosen)) => Some(chosen),
        // A label that reads as the number of another option.
        ([one], Some(Ok(other))) if other != [*one] => Some(Err(ambiguous(
            text,
            [*one].into_iter().chain(other).collect(),
        ))),
        ([one], _) => Some(Ok(vec![*one])),
        (several, _) => Some(Err(ambiguous(text, several.to_vec()))),
    }
}

fn ambiguous(said: &str, mut options: Vec<usize>) -> Unclear {
    options.sort_unstable();
    options.dedup();
    Unclear::Ambiguous {
        said: said.to_owned(),
        options,
    }
}

/// The options with this label; those that have it letter by letter if there are any.
fn labelled(question: &Question, text: &str) -> Vec<usize> {
    let plain = folded(text);
    let of = |is: &dyn Fn(&str) -> bool| -> Vec<usize> {
        let options = question.options.iter().enumerate();
        let found = options.filter(|(_, o)| is(&o.label));
        found.map(|(index, _)| index).collect()
    };
    let exact = of(&|label| label == text);
    if exact.is_empty() {
        of(&|label| folded(label) == plain)
    } else {
        exact
    }
}

/// A list of numbers and letters; none when anything else is in it.
fn numbered(question: &Question, text: &str) -> Option<Result<Vec<usize>, Unclear>> {
    let mut found = Vec::new();
    for piece in pieces(text) {
        let options = question.options.len();
        found.extend(pointers(&piece, options, question.multi_select)?);
    }
    (!found.is_empty()).then(|| inside(found))
}

/// A list of several pieces of which each is a number, a letter or a label.
fn listed(question: &Question, text: &str) -> Option<Result<Vec<usize>, Unclear>> {
    let pieces = pieces(text);
    if pieces.len() < 2 {
        return None;
    }
    let mut found = Vec::new();
    for piece in pieces {
        match labelled(question, &piece).as_slice() {
            [] => {
                let options = question.options.len();
                found.extend(pointers(&piece, options, question.multi_select)?);
            }
            [one] => found.push(Pointer::At(*one)),
            several => return Some(Err(ambiguous(&piece, several.to_vec()))),
        }
    }
    Some(inside(found))
}

fn inside(pointers: Vec<Pointer>) -> Result<Vec<usize>, Unclear> {
    let mut indexes = Vec::new();
    for pointer in pointers {
        match pointer {
            Pointer::At(index) if indexes.contains(&index) => {}
            Pointer::At(index) => indexes.push(index),
            Pointer::Outside(said) => return Err(Unclear::Outside { said }),
        }
    }
    Ok(indexes)
}

/// A list and the words beside it: behind a colon or on the lines below.
fn with_words(text: &str) -> Option<(&str, &str)> {
    let at = text.find(['\n', ':', '：'])?;
    let (head, rest) = text.split_at_checked(at)?;
    let mark = rest.chars().next()?;
    let words = rest.get(mark.len_utf8()..)?;
    // `10:30` is a time.
    if mark != '\n' && words.starts_with(|c: char| c.is_numeric()) {
        return None;
    }
    let words = words.trim();
    (!folded(words).is_empty()).then_some((head, words))
}

fn bounded(question: &Question, chosen: Vec<usize>) -> Result<Vec<usize>, Unclear> {
    if chosen.len() > 1 && !question.multi_select {
        return Err(Unclear::OneOnly);
    }
    let bounds = question.select.unwrap_or_default();
    match (bounds.min, bounds.max) {
        (Some(min), _) if chosen.len() < usize::from(min) => Err(Unclear::TooFew { min }),
        (_, Some(max)) if chosen.len() > usize::from(max) => Err(Unclear::TooMany { max }),
        _ => Ok(chosen),
    }
}
