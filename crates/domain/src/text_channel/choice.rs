//! What a reply says of one question: options, own words, or both.

use super::folding::folded;
use super::pointer::{Pointed, Pointer, pieces, pointers};
use crate::{AnswerEntry, Choice, MAX_ANSWER_CHARS, MAX_OPTIONS, OptionId, Question, is_blank};

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
    /// It is for a question that was not put yet.
    NotYet {
        /// Its number, counted from 1.
        number: usize,
    },
}

/// Reads a reply to `question`, in this order: an exact label (its case and width aside), a list of
/// numbers, letters or labels, such a list followed by a colon or a new line and own words, own
/// words.
///
/// # Errors
/// Why the reply is neither a choice nor words of the person's own.
pub fn read_choice(question: &Question, text: &str) -> Result<AnswerEntry, Unclear> {
    let text = text.trim();
    if says_nothing(text) {
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
        && points_only(head)
        && let Some(chosen) = whole(question, head)
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

/// Whether nobody would see anything of a text, or nothing of it can be compared.
pub(super) fn says_nothing(text: &str) -> bool {
    is_blank(text) || folded(text).is_empty()
}

pub(super) fn own_words(question: &Question, words: &str) -> Result<AnswerEntry, Unclear> {
    if says_nothing(words) {
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

/// A reply that means this option and nothing else, whatever the labels are.
pub(super) fn unmistakable(question: &Question, index: usize) -> String {
    let number = index + 1;
    let letter = u8::try_from(index).ok().filter(|i| *i < 26);
    let letter = letter.map(|i| char::from(b'a' + i).to_string());
    let short = letter
        .into_iter()
        .chain([number.to_string(), format!("第{number}个")]);
    // There are fewer labels than brackets: one of these is no label.
    let bracketed =
        (1..=MAX_OPTIONS).map(|n| format!("{}{number}{}", "(".repeat(n), ")".repeat(n)));
    let is_clear =
        |reply: &String| matches!(whole(question, reply), Some(Ok(chosen)) if chosen == [index]);
    let found = short.chain(bracketed).find(is_clear);
    found.unwrap_or_else(|| number.to_string())
}

/// Whether a text is nothing but numbers and letters of options, be there such options or not.
pub(super) fn points_only(text: &str) -> bool {
    let pieces = pieces(text);
    let points = |piece: &String| pointers(piece, MAX_OPTIONS).is_some();
    !pieces.is_empty() && pieces.iter().all(points)
}

/// Whether a text is a label of an option.
pub(super) fn is_label(question: &Question, text: &str) -> bool {
    !labelled(question, text).is_empty()
}

/// A reply that is nothing but a choice; none when there are other words in it.
fn whole(question: &Question, text: &str) -> Option<Result<Vec<usize>, Unclear>> {
    let by_label = labelled(question, text);
    let by_list = listed(question, text);
    match (by_label.as_slice(), by_list) {
        ([], list) => list,
        // A label that reads as the number of another option, or as a list.
        ([one], Some(Ok(others))) if others != [*one] && takes(question, &others) => Some(Err(
            ambiguous(text, [*one].into_iter().chain(others).collect()),
        )),
        ([one], _) => Some(Ok(vec![*one])),
        (several, _) => Some(Err(ambiguous(text, several.to_vec()))),
    }
}

fn takes(question: &Question, chosen: &[usize]) -> bool {
    question.multi_select || chosen.len() == 1
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

/// The options with this label, its case and width aside.
fn alike(question: &Question, folded_text: &str) -> Vec<usize> {
    let options = question.options.iter().enumerate();
    let found = options.filter(|(_, o)| folded(&o.label) == folded_text);
    found.map(|(index, _)| index).collect()
}

/// A list of pieces of which each is a number, a letter or, among several, a label. None when any other
/// words are in it.
fn listed(question: &Question, text: &str) -> Option<Result<Vec<usize>, Unclear>> {
    let pieces = pieces(text);
    let mut read = Vec::new();
    for piece in &pieces {
        // What the whole reply is as a label is looked at beside this.
        let labels = if pieces.len() > 1 {
            alike(question, piece)
        } else {
            Vec::new()
        };
        let pointed = pointers(piece, question.options.len());
        if pointed.is_none() && labels.is_empty() {
            return None;
        }
        read.push((piece, labels, pointed.unwrap_or_default()));
    }
    let mut chosen: Vec<usize> = Vec::new();
    for (piece, labels, pointed) in read {
        match meant(question, piece, &labels, &pointed) {
            Ok(indexes) => chosen.extend(indexes),
            Err(why) => return Some(Err(why)),
        }
    }
    let mut once: Vec<usize> = Vec::new();
    for index in chosen {
        if !once.contains(&index) {
            once.push(index);
        }
    }
    (!once.is_empty()).then_some(Ok(once))
}

/// The options that one piece means, which is a label, or points, or both.
fn meant(
    question: &Question,
    piece: &str,
    labels: &[usize],
    pointed: &[Pointed],
) -> Result<Vec<usize>, Unclear> {
    let mut indexes = Vec::new();
    for Pointed { said, at } in pointed {
        let labels = if said == piece {
            labels.to_vec()
        } else {
            alike(question, said)
        };
        match (labels.as_slice(), at) {
            ([], Pointer::At(index)) => indexes.push(*index),
            ([], Pointer::Outside(said)) => return Err(Unclear::Outside { said: said.clone() }),
            ([one], Pointer::At(index)) if one == index => indexes.push(*index),
            ([one], Pointer::Outside(_)) => indexes.push(*one),
            (several, Pointer::At(index)) => {
                return Err(ambiguous(said, [several, &[*index]].concat()));
            }
            (several, Pointer::Outside(_)) => return Err(ambiguous(said, several.to_vec())),
        }
    }
    match labels {
        [] => Ok(indexes),
        [one] if indexes.is_empty() || indexes == [*one] => Ok(vec![*one]),
        several => Err(ambiguous(piece, [several, &indexes].concat())),
    }
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
    (!says_nothing(words)).then_some((head, words))
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
