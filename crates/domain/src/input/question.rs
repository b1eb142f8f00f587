//! One question of a call, with every spelling that models are known to use.

use super::given::{Given, Ignored, Left, Names, plain};
use super::shape::{
    as_list, begins_with_field, decoded, flag, flag_of, is_absent, object_with, optional_text,
    refuse_broken, required_text, whole,
};
use super::{Parsed, invalid};
use crate::{
    Bounds, Choice, Dialect, InvalidQuestion, MAX_DESCRIPTION_CHARS, MAX_EXPLANATION_CHARS,
    MAX_HEADER_CHARS, MAX_LABEL_CHARS, MAX_QUESTION_CHARS, OptionId, Question, QuestionId,
};
use serde_json::{Map, Value};
use std::fmt::Display;

/// Names of a question's text.
pub(super) const TEXT: Names = &["question", "text", "prompt"];
/// Names of an explanation.
pub(super) const EXPLANATION: Names = &["explanation", "context", "details", "description"];
pub(super) const OPTIONS: Names = &["options", "choices"];
const HEADER: Names = &["header", "title"];
const MULTI: Names = &["multiselect", "multiple", "multi", "allowmultiple"];
const MIN: Names = &["minselect", "minselections"];
const MAX: Names = &["maxselect", "maxselections"];
const RECOMMENDED: Names = &["recommended"];
/// What a question may say beside its text and its explanation.
pub(super) const BESIDE: [Names; 6] = [HEADER, OPTIONS, MULTI, MIN, MAX, RECOMMENDED];
const LABEL: Names = &["label", "value", "text", "name"];
const DESCRIPTION: Names = &["description", "explanation", "details"];
/// Marks of what is nobody else's to read.
const SECRET: Names = &[
    "secret",
    "issecret",
    "password",
    "ispassword",
    "sensitive",
    "issensitive",
    "masked",
    "ismasked",
];
/// Names of what kind of input is wanted.
const KIND: Names = &["type", "kind", "inputtype", "format"];
/// What is looked at and kept nowhere.
pub(super) const QUIET: &[Names] = &[SECRET, KIND];
/// The fields of a question, for who used another.
const KNOWN: &str = "a question has question, header, explanation, options, multi_select, min_select, \
                     max_select and recommended";

/// Whether a name is one of a question's text or options.
pub(super) fn is_of_question(name: &str) -> bool {
    let is = |known: &&str| name.eq_ignore_ascii_case(known);
    TEXT.iter().chain(OPTIONS).any(is) || name.eq_ignore_ascii_case("questions")
}

fn is_of_option(name: &str) -> bool {
    LABEL.iter().any(|known| name.eq_ignore_ascii_case(known))
}

pub(super) fn parse_question(
    index: usize,
    mut given: Given,
    ignored: &mut Ignored,
) -> Parsed<Question> {
    let at = format!("questions[{index}]");
    refuse_secret(&given, &at)?;
    let lacks_options = !given.has(OPTIONS);
    let raw = match given.take(OPTIONS) {
        None => Vec::new(),
        Some(list) => as_list(list, format_args!("{at}.options"))?,
    };
    let limit = Dialect::Ask.max_options();
    if raw.len() > limit {
        return invalid(
            format_args!("{at}.options"),
            format!("may hold at most {limit} items"),
        );
    }
    let mut options = Vec::with_capacity(raw.len());
    let mut marks = Vec::with_capacity(raw.len());
    for (i, item) in raw.into_iter().enumerate() {
        let (option, mark) = parse_option(i, item, &at, ignored)?;
        options.push(option);
        marks.push(mark);
    }
    let (multi_select, select) = selection_of(&mut given, options.len(), &at)?;
    let text = given.take(TEXT);
    let explanation = given.take(EXPLANATION);
    let question = Question {
        id: nth_id("q", index, QuestionId::new)?,
        header: header_of(given.take(HEADER).as_ref(), &at)?,
        question: required_text(
            text.as_ref(),
            format_args!("{at}.question"),
            MAX_QUESTION_CHARS,
        )?,
        explanation: optional_text(
            explanation.as_ref(),
            format_args!("{at}.explanation"),
            MAX_EXPLANATION_CHARS,
        )?,
        multi_select,
        select,
        recommended: recommended_of(given.take_any(RECOMMENDED).as_ref(), &marks, &options, &at)?,
        options,
    };
    let left = Left {
        known: KNOWN,
        quiet: QUIET,
        lacks_options,
        lacks_time: true,
    };
    given.finish(&left, ignored)?;
    Ok(question)
}

/// A question of a list: from an object, a text, JSON text of an object, or an object whose text is an
/// object again.
pub(super) fn given_of(index: usize, item: Value) -> Parsed<Given> {
    let at = format!("questions[{index}]");
    let prefix = format!("{at}.");
    match decoded(item) {
        Value::Object(object) => opened(Given::sent(object, &prefix), &at),
        Value::String(text) => {
            refuse_broken(&text, &at, |text| begins_with_field(text, is_of_question))?;
            let field = ("question".to_owned(), Value::String(text));
            Ok(Given::sent(Map::from_iter([field]), &prefix))
        }
        _ => invalid(at, "must be an object with a question"),
    }
}

/// A question whose text is an object again, also as JSON text, is that object.
pub(super) fn opened(mut given: Given, at: &str) -> Parsed<Given> {
    if let Some(text) = given.peek(TEXT) {
        if let Value::String(text) = text {
            let field = format_args!("{at}.question");
            refuse_broken(text, field, |text| begins_with_field(text, is_of_question))?;
        }
        if let Some(inner) = object_with(text, is_of_question) {
            given.take(TEXT);
            given.absorb(inner);
        }
    }
    Ok(given)
}

/// A title: what is too long of it is cut, because nobody sees more than its beginning.
fn header_of(value: Option<&Value>, at: &str) -> Parsed<String> {
    let whole = optional_text(value, format_args!("{at}.header"), usize::MAX)?.unwrap_or_default();
    let kept: String = whole.chars().take(MAX_HEADER_CHARS).collect();
    Ok(kept.trim_end().to_owned())
}

/// An option, and whether it carries the mark of what the agent would take.
fn parse_option(
    index: usize,
    item: Value,
    question: &str,
    ignored: &mut Ignored,
) -> Parsed<(Choice, bool)> {
    let at = format_args!("{question}.options[{index}]");
    let as_text = match &item {
        Value::String(_) => object_with(&item, is_of_option),
        _ => None,
    };
    let object = match (as_text, item) {
        (Some(object), _) | (None, Value::Object(object)) => object,
        (None, other) => {
            if let Value::String(text) = &other {
                refuse_broken(text, at, |text| begins_with_field(text, is_of_option))?;
            }
            return Ok((choice(index, label_of(Some(&other), at)?, None)?, false));
        }
    };
    // A label may be any word.
    let mut given = Given::exact(object, &format!("{question}.options."));
    refuse_secret(&given, at)?;
    let description = optional_text(
        given.take(DESCRIPTION).filter(|d| !is_absent(d)).as_ref(),
        format_args!("{at}.description"),
        MAX_DESCRIPTION_CHARS,
    )?;
    let label = label_of(given.take(LABEL).as_ref(), format_args!("{at}.label"))?;
    let mark = given.take(RECOMMENDED).as_ref().and_then(flag);
    let left = Left {
        known: "",
        quiet: QUIET,
        lacks_options: false,
        lacks_time: false,
    };
    given.finish(&left, ignored)?;
    Ok((choice(index, label, description)?, mark == Some(true)))
}

fn label_of(value: Option<&Value>, field: impl Display) -> Parsed<String> {
    match value {
        Some(plain @ (Value::Number(_) | Value::Bool(_))) => Ok(plain.to_string()),
        label => required_text(label, field, MAX_LABEL_CHARS),
    }
}

pub(super) fn choice(index: usize, label: String, description: Option<String>) -> Parsed<Choice> {
    Ok(Choice {
        id: nth_id("o", index, OptionId::new)?,
        label,
        description,
    })
}

pub(super) fn nth_id<T>(
    prefix: &str,
    index: usize,
    new: impl FnOnce(String) -> Result<T, crate::IdError>,
) -> Parsed<T> {
    new(format!("{prefix}{}", index + 1)).map_err(|e| InvalidQuestion::new(prefix, e.to_string()))
}

/// One bound of a selection.
fn bound_of(value: Option<&Value>, name: &str, options: usize, at: &str) -> Parsed<Option<u8>> {
    let field = format_args!("{at}.{name}");
    let Some(value) = value else { return Ok(None) };
    match whole(value).and_then(|n| usize::try_from(n).ok()) {
        Some(n) if n <= options => Ok(u8::try_from(n).ok()),
        Some(_) => invalid(
            field,
            format!("may be at most {options}, the number of options"),
        ),
        None => invalid(field, "must be a whole number, not negative"),
    }
}

/// Whether several options may be chosen, and how many.
fn selection_of(given: &mut Given, options: usize, at: &str) -> Parsed<(bool, Option<Bounds>)> {
    let multi = given.take(MULTI);
    let (min, max) = (given.take(MIN), given.take(MAX));
    let field = format_args!("{at}.multi_select");
    let min = bound_of(min.as_ref(), "min_select", options, at)?.filter(|n| *n > 0);
    let max = bound_of(max.as_ref(), "max_select", options, at)?;
    // Where nothing can be chosen, nothing bounds it.
    let max = max.filter(|_| options > 0);
    // No bound is allowed to make every choice wrong.
    if max == Some(0) || max.is_some_and(|max| min > Some(max)) {
        return invalid(
            format_args!("{at}.max_select"),
            "must be at least 1 and not below min_select",
        );
    }
    let several = min.max(max) > Some(1);
    match &multi {
        None => {}
        Some(value) if flag_of(Some(value), field)? => {}
        Some(_) if several => {
            return invalid(
                field,
                "must be true where more than one option may be chosen",
            );
        }
        Some(_) => return Ok((false, None)),
    }
    let multi_select = multi.is_some() || several;
    let bounded = multi_select && (min.is_some() || max.is_some());
    Ok((multi_select, bounded.then_some(Bounds { min, max })))
}

/// A1: an index, -1 for none; a label that stands among the options is taken too, and so is a mark
/// on the option itself.
fn recommended_of(
    value: Option<&Value>,
    marks: &[bool],
    options: &[Choice],
    at: &str,
) -> Parsed<Option<OptionId>> {
    let field = format_args!("{at}.recommended");
    let value = match value {
        Some(Value::Array(list)) => match list.as_slice() {
            [] => None,
            [one] => Some(one),
            _ => return invalid(field, "must name one option only"),
        },
        value => value,
    };
    let label = value.and_then(Value::as_str).map(str::trim);
    // Also one that is called none.
    if let Some(option) = options.iter().find(|o| Some(o.label.as_str()) == label) {
        return Ok(Some(option.id.clone()));
    }
    let index = match value {
        None | Some(Value::Bool(false)) => return marked(marks, options, field),
        Some(value) if is_absent(value) => return marked(marks, options, field),
        Some(value) => whole(value),
    };
    match index {
        Some(-1) => Ok(None),
        Some(i) => match usize::try_from(i).ok().and_then(|i| options.get(i)) {
            Some(option) => Ok(Some(option.id.clone())),
            None => invalid(field, "must be the index of an option, or -1 for none"),
        },
        None => invalid(field, "must be the index of an option, or -1 for none"),
    }
}

/// The one option that carries the mark itself.
fn marked(marks: &[bool], options: &[Choice], field: impl Display) -> Parsed<Option<OptionId>> {
    let mut all = marks.iter().zip(options).filter(|(mark, _)| **mark);
    match (all.next(), all.next()) {
        (Some(_), Some(_)) => invalid(field, "must mark one option only"),
        (found, _) => Ok(found.map(|(_, option)| option.id.clone())),
    }
}

/// Answers are kept in the log and shown to whoever may see the question: nothing secret belongs
/// there. Whatever is not plainly a no is a mark.
pub(super) fn refuse_secret(given: &Given, at: impl Display) -> Parsed<()> {
    let is_secret = |name: &str| SECRET.contains(&name);
    let marked = |value: &Value| !is_absent(value) && flag(value) != Some(false);
    let asks = given.all().any(|(name, value)| {
        let kind = value.as_str().filter(|_| KIND.contains(&name));
        is_secret(name) && marked(value) || kind.is_some_and(|kind| is_secret(&plain(kind)))
    });
    if asks {
        return invalid(
            at,
            "asks for a secret, and answers are kept and shown; let the person enter it in their \
             own secret store, or use a URL elicitation, and ask here only whether it is done",
        );
    }
    Ok(())
}
