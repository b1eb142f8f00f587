//! One question of a call, with every spelling that models are known to use.

use super::shape::{
    as_list, decoded, first_of, flag, flag_of, optional_text, required_text, whole,
};
use super::{Parsed, invalid};
use crate::{
    Bounds, Choice, Dialect, InvalidQuestion, MAX_DESCRIPTION_CHARS, MAX_EXPLANATION_CHARS,
    MAX_HEADER_CHARS, MAX_LABEL_CHARS, MAX_QUESTION_CHARS, OptionId, Question, QuestionId,
};
use serde_json::{Map, Value};

/// Names of a question's text.
const TEXT: [&str; 3] = ["question", "text", "prompt"];
/// Names of an explanation.
pub(super) const EXPLANATION: [&str; 4] = ["explanation", "context", "details", "description"];
const MULTI: [&str; 3] = ["multi_select", "multiSelect", "multiple"];
const MIN: [&str; 4] = ["min_select", "minSelect", "min_selections", "minSelections"];
const MAX: [&str; 4] = ["max_select", "maxSelect", "max_selections", "maxSelections"];
const SECRET: [&str; 3] = ["secret", "password", "sensitive"];
/// Names of what kind of input is wanted.
const KIND: [&str; 4] = ["type", "kind", "input_type", "format"];

pub(super) fn parse_question(index: usize, item: &Value) -> Parsed<Question> {
    let at = format!("questions[{index}]");
    let object = unwrapped(item, &at)?;
    refuse_secret(&object, &at)?;
    let raw = match first_of(&object, &["options", "choices"]) {
        None => Vec::new(),
        Some(list) => as_list(list, &format!("{at}.options"))?,
    };
    let limit = Dialect::Ask.max_options();
    if raw.len() > limit {
        return invalid(
            format!("{at}.options"),
            format!("may hold at most {limit} items"),
        );
    }
    let options = raw
        .iter()
        .enumerate()
        .map(|(i, o)| parse_option(i, o, &format!("{at}.options[{i}]")))
        .collect::<Parsed<Vec<Choice>>>()?;
    let (multi_select, select) = selection_of(&object, options.len(), &at)?;
    let text = first_of(&object, &TEXT);
    Ok(Question {
        id: nth_id("q", index, QuestionId::new)?,
        header: header_of(&object, &at)?,
        question: required_text(text, &format!("{at}.question"), MAX_QUESTION_CHARS)?,
        explanation: optional_text(
            first_of(&object, &EXPLANATION),
            &format!("{at}.explanation"),
            MAX_EXPLANATION_CHARS,
        )?,
        multi_select,
        select,
        recommended: recommended_of(object.get("recommended"), &raw, &options, &at)?,
        options,
    })
}

/// The question as an object: from an object, a text, JSON text of an object, or an object whose
/// text is an object again.
fn unwrapped(item: &Value, at: &str) -> Parsed<Map<String, Value>> {
    let mut object = match decoded(item) {
        Value::Object(object) => object,
        Value::String(text) => {
            return Ok(Map::from_iter([(
                "question".to_owned(),
                Value::String(text),
            )]));
        }
        _ => return invalid(at, "must be an object with a question"),
    };
    if let Some(Value::Object(_)) = first_of(&object, &TEXT) {
        let inner = TEXT.iter().find_map(|name| object.remove(*name));
        if let Some(Value::Object(inner)) = inner {
            for (name, value) in inner {
                object.entry(name).or_insert(value);
            }
        }
    }
    Ok(object)
}

/// A title: what is too long of it is cut, because nobody sees more than its beginning.
fn header_of(object: &Map<String, Value>, at: &str) -> Parsed<String> {
    let value = first_of(object, &["header", "title"]);
    let whole = optional_text(value, &format!("{at}.header"), usize::MAX)?.unwrap_or_default();
    let kept: String = whole.chars().take(MAX_HEADER_CHARS).collect();
    Ok(kept.trim_end().to_owned())
}

fn parse_option(index: usize, item: &Value, at: &str) -> Parsed<Choice> {
    let (label, field, description) = match item {
        Value::Object(object) => {
            refuse_secret(object, at)?;
            let description = optional_text(
                first_of(object, &["description", "explanation", "details"]),
                &format!("{at}.description"),
                MAX_DESCRIPTION_CHARS,
            )?;
            let label = first_of(object, &["label", "value", "text", "name"]);
            (label, format!("{at}.label"), description)
        }
        other => (Some(other), at.to_owned(), None),
    };
    let label = match label {
        Some(plain @ (Value::Number(_) | Value::Bool(_))) => plain.to_string(),
        label => required_text(label, &field, MAX_LABEL_CHARS)?,
    };
    choice(index, label, description)
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

/// Whether several options may be chosen, and how many.
fn selection_of(
    object: &Map<String, Value>,
    options: usize,
    at: &str,
) -> Parsed<(bool, Option<Bounds>)> {
    let bound = |names: &[&str]| {
        let field = format!("{at}.{}", names.first().unwrap_or(&"bound"));
        match first_of(object, names) {
            None => Ok(None),
            Some(value) => match whole(value).and_then(|n| usize::try_from(n).ok()) {
                Some(n) if n <= options => Ok(u8::try_from(n).ok()),
                Some(_) => invalid(
                    field,
                    format!("may be at most {options}, the number of options"),
                ),
                None => invalid(field, "must be a whole number, not negative"),
            },
        }
    };
    let multi = first_of(object, &MULTI);
    let field = format!("{at}.multi_select");
    let (min, max) = (bound(&MIN)?.filter(|n| *n > 0), bound(&MAX)?);
    // Where nothing can be chosen, nothing bounds it.
    let max = max.filter(|_| options > 0);
    // No bound is allowed to make every choice wrong.
    if max == Some(0) || max.is_some_and(|max| min > Some(max)) {
        return invalid(
            format!("{at}.max_select"),
            "must be at least 1 and not below min_select",
        );
    }
    let several = min.max(max) > Some(1);
    match multi {
        None => {}
        Some(value) if flag_of(Some(value), &field)? => {}
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
    raw: &[Value],
    options: &[Choice],
    at: &str,
) -> Parsed<Option<OptionId>> {
    let field = format!("{at}.recommended");
    let value = match value {
        Some(Value::Array(list)) => match list.as_slice() {
            [] => None,
            [one] => Some(one),
            _ => return invalid(field, "must name one option only"),
        },
        value => value,
    };
    let index = match value {
        None | Some(Value::Null) => return marked(raw, options, &field),
        Some(value) => {
            let label = value.as_str().map(str::trim);
            if let Some(option) = options.iter().find(|o| Some(o.label.as_str()) == label) {
                return Ok(Some(option.id.clone()));
            }
            whole(value)
        }
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
fn marked(raw: &[Value], options: &[Choice], field: &str) -> Parsed<Option<OptionId>> {
    let mut found = None;
    for (item, option) in raw.iter().zip(options) {
        let mark = item.as_object().and_then(|o| o.get("recommended"));
        if mark.and_then(flag) == Some(true) && found.replace(option.id.clone()).is_some() {
            return invalid(field, "must mark one option only");
        }
    }
    Ok(found)
}

/// Answers are kept in the log and shown to whoever may see the question: nothing secret belongs
/// there.
pub(super) fn refuse_secret(object: &Map<String, Value>, at: &str) -> Parsed<()> {
    let marked = |name: &&str| object.get(*name).and_then(flag) == Some(true);
    let kind = |name: &&str| {
        let text = object.get(*name).and_then(Value::as_str);
        text.is_some_and(|t| SECRET.iter().any(|s| t.trim().eq_ignore_ascii_case(s)))
    };
    if SECRET.iter().any(marked) || KIND.iter().any(kind) {
        return invalid(
            at,
            "asks for a secret, and answers are kept and shown; let the person enter it in their \
             own secret store, or use a URL elicitation, and ask here only whether it is done",
        );
    }
    Ok(())
}
