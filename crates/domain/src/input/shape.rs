//! Values as models send them: lists as text, flags as text, numbers as text.

use super::{Parsed, invalid};
use serde_json::{Map, Value};

/// How often a list may be encoded as JSON text over again.
const MAX_ENCODINGS: usize = 3;

/// A list, a JSON text of a list (encoded again too), or one thing standing for a list of one.
/// Null and an empty text are an empty list.
pub(super) fn as_list(value: &Value, field: &str) -> Parsed<Vec<Value>> {
    match decoded(value) {
        Value::Array(items) => Ok(items),
        Value::Null => Ok(Vec::new()),
        Value::String(text) if text.trim().is_empty() => Ok(Vec::new()),
        one @ (Value::Object(_) | Value::String(_)) => Ok(vec![one]),
        Value::Bool(_) | Value::Number(_) => invalid(field, "must be a list"),
    }
}

/// What a text stands for when it is JSON of a list, an object, a text or nothing; else the value
/// itself. A text that reads as a number or a flag stays a text.
pub(super) fn decoded(value: &Value) -> Value {
    let mut value = value.clone();
    for _ in 0..MAX_ENCODINGS {
        let Value::String(text) = &value else { break };
        match serde_json::from_str(text) {
            Ok(inner @ (Value::Array(_) | Value::Object(_) | Value::String(_) | Value::Null)) => {
                value = inner;
            }
            _ => break,
        }
    }
    value
}

/// The first of these fields that is there and not null.
pub(super) fn first_of<'a>(object: &'a Map<String, Value>, names: &[&str]) -> Option<&'a Value> {
    names
        .iter()
        .find_map(|name| object.get(*name).filter(|v| !v.is_null()))
}

/// E4: not blank, raw length within the limit, then trimmed. Lengths are characters.
pub(super) fn required_text(value: Option<&Value>, field: &str, max: usize) -> Parsed<String> {
    let text = match value {
        Some(Value::String(text)) => text,
        Some(_) => return invalid(field, "must be a string"),
        None => return invalid(field, "is required"),
    };
    if text.trim().is_empty() {
        return invalid(field, "must not be blank");
    }
    if text.chars().count() > max {
        return invalid(field, format!("may be at most {max} characters long"));
    }
    Ok(text.trim().to_owned())
}

pub(super) fn optional_text(
    value: Option<&Value>,
    field: &str,
    max: usize,
) -> Parsed<Option<String>> {
    match value {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.trim().is_empty() => Ok(None),
        value => required_text(value, field, max).map(Some),
    }
}

pub(super) fn flag_of(value: Option<&Value>, field: &str) -> Parsed<bool> {
    match value {
        None | Some(Value::Null) => Ok(false),
        Some(value) => match flag(value) {
            Some(flag) => Ok(flag),
            None => invalid(field, "must be true or false"),
        },
    }
}

/// A flag, also as text or as 1 and 0.
pub(super) fn flag(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(flag) => Some(*flag),
        Value::String(text) if text.trim().eq_ignore_ascii_case("true") => Some(true),
        Value::String(text) if text.trim().eq_ignore_ascii_case("false") => Some(false),
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
