//! Values as models send them: lists as text, flags as text, numbers as text.

use super::{Parsed, invalid};
use crate::is_blank;
use serde_json::{Map, Value};
use std::fmt::Display;

/// How often a list may be encoded as JSON text over again.
const MAX_ENCODINGS: usize = 3;

/// A list, a JSON text of a list (encoded again too), or one thing standing for a list of one.
/// Null and an empty text are an empty list. JSON that was cut off is nothing that a person reads.
pub(super) fn as_list(value: Value, field: impl Display) -> Parsed<Vec<Value>> {
    match decoded(value) {
        Value::Array(items) => Ok(items),
        Value::Null => Ok(Vec::new()),
        Value::String(text) if is_blank(&text) => Ok(Vec::new()),
        Value::String(text) => {
            refuse_broken(&text, field, begins_like_json)?;
            Ok(vec![Value::String(text)])
        }
        one @ Value::Object(_) => Ok(vec![one]),
        Value::Bool(_) | Value::Number(_) => invalid(field, "must be a list"),
    }
}

/// What a text stands for when it is JSON of a list, an object, a text or nothing; else the value
/// itself. A text that reads as a number or a flag stays a text.
pub(super) fn decoded(mut value: Value) -> Value {
    for _ in 0..MAX_ENCODINGS {
        let Value::String(text) = &value else { break };
        if !may_be_json(text) {
            break;
        }
        match serde_json::from_str(text) {
            Ok(inner @ (Value::Array(_) | Value::Object(_) | Value::String(_) | Value::Null)) => {
                value = inner;
            }
            _ => break,
        }
    }
    value
}

/// Only these can begin a list, an object, a text or nothing.
fn may_be_json(text: &str) -> bool {
    text.trim_start().starts_with(['[', '{', '"', 'n'])
}

/// The object that a text is the JSON of, if it has one of these fields.
pub(super) fn object_with(
    value: &Value,
    is_field: impl Fn(&str) -> bool,
) -> Option<Map<String, Value>> {
    let has_field = |object: &Map<String, Value>| object.keys().any(|name| is_field(name));
    match value {
        Value::Object(object) if has_field(object) => Some(object.clone()),
        Value::String(text) if may_be_json(text) => match decoded(value.clone()) {
            Value::Object(object) if has_field(&object) => Some(object),
            _ => None,
        },
        _ => None,
    }
}

/// Refuses a text that is JSON by its beginning and cannot be read as such.
pub(super) fn refuse_broken(
    text: &str,
    field: impl Display,
    is_json: impl Fn(&str) -> bool,
) -> Parsed<()> {
    if !is_json(text) {
        return Ok(());
    }
    match serde_json::from_str::<serde::de::IgnoredAny>(text) {
        Ok(_) => Ok(()),
        Err(error) => invalid(field, format!("is not valid JSON: {error}")),
    }
}

/// Whether a text begins as a list or an object in JSON does, also with quotes escaped once too often or
/// of the wrong kind. Words in brackets do not.
pub(super) fn begins_like_json(text: &str) -> bool {
    let text = text.trim_start();
    let after = |open| text.strip_prefix(open).map(str::trim_start);
    let quoted = |rest: &str| rest.starts_with(['"', '\'', '\\']);
    after('[').is_some_and(|rest| quoted(rest) || rest.starts_with(['[', '{']))
        || after('{').is_some_and(quoted)
}

/// Whether a text begins as an object in JSON does, or a list of them, whose first field is one of these.
pub(super) fn begins_with_field(text: &str, is_field: impl Fn(&str) -> bool) -> bool {
    let text = text.trim_start();
    let text = text.strip_prefix('[').unwrap_or(text).trim_start();
    let quotes = ['"', '\'', '\\'];
    let name = text
        .strip_prefix('{')
        .map(str::trim_start)
        .filter(|rest| rest.starts_with(quotes))
        .map(|rest| rest.trim_start_matches(quotes))
        .and_then(|rest| rest.split(quotes).next());
    name.is_some_and(is_field)
}

/// Whether a value stands for nothing where every field is filled in.
pub(super) fn is_absent(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => is_blank(text) || is_none(text),
        _ => false,
    }
}

/// The words that stand for no value.
pub(super) fn is_none(text: &str) -> bool {
    let text = text.trim();
    ["null", "none"]
        .iter()
        .any(|word| text.eq_ignore_ascii_case(word))
}

/// E4: not blank, raw length within the limit, then trimmed. Lengths are characters.
pub(super) fn required_text(
    value: Option<&Value>,
    field: impl Display,
    max: usize,
) -> Parsed<String> {
    let text = match value {
        Some(Value::String(text)) => text,
        Some(_) => return invalid(field, "must be a string"),
        None => return invalid(field, "is required"),
    };
    if is_blank(text) {
        return invalid(field, "must not be blank");
    }
    if text.chars().count() > max {
        return invalid(field, format!("may be at most {max} characters long"));
    }
    Ok(text.trim().to_owned())
}

pub(super) fn optional_text(
    value: Option<&Value>,
    field: impl Display,
    max: usize,
) -> Parsed<Option<String>> {
    match value {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if is_blank(text) => Ok(None),
        value => required_text(value, field, max).map(Some),
    }
}

pub(super) fn flag_of(value: Option<&Value>, field: impl Display) -> Parsed<bool> {
    match value {
        None | Some(Value::Null) => Ok(false),
        Some(value) => match flag(value) {
            Some(flag) => Ok(flag),
            None => invalid(field, "must be true or false"),
        },
    }
}

/// A flag, also in words or as 1 and 0.
pub(super) fn flag(value: &Value) -> Option<bool> {
    let is = |text: &str, words: [&str; 4]| {
        words
            .iter()
            .any(|word| text.trim().eq_ignore_ascii_case(word))
    };
    match value {
        Value::Bool(flag) => Some(*flag),
        Value::String(text) if is(text, ["true", "yes", "on", "y"]) => Some(true),
        Value::String(text) if is(text, ["false", "no", "off", "n"]) => Some(false),
        value => match whole(value) {
            Some(1) => Some(true),
            Some(0) => Some(false),
            _ => None,
        },
    }
}

/// A whole number, also as text or written like `2.0`.
pub(super) fn whole(value: &Value) -> Option<i64> {
    match value {
        Value::String(text) => text.trim().parse().ok(),
        value => value.as_i64().or_else(|| {
            let number = value.as_f64()?;
            // Beyond this a float no longer names one whole number.
            let exact = number.fract() == 0.0 && number.abs() < 9e15;
            #[allow(clippy::cast_possible_truncation)]
            exact.then_some(number as i64)
        }),
    }
}
