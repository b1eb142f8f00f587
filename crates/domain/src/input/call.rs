//! What a call says beside its questions.

use super::shape::first_of;
use super::{AskInput, Parsed, TimeoutChoice, invalid};
use crate::{
    Addressee, GroupId, InvalidQuestion, Language, Millis, OnTimeout, PersonId, WhenAbsent,
};
use serde_json::{Map, Value};

/// The longest wish that every reader of JSON keeps exactly; far beyond what any clock grants.
const LONGEST_WISH: Millis = Millis((1 << 53) - 1);

/// Spellings of seconds and milliseconds that mean one thing only.
const SECONDS: [&str; 3] = ["timeout_s", "timeout_seconds", "timeoutSeconds"];
const MILLISECONDS: [&str; 2] = ["timeout_ms", "timeoutMs"];

/// A4: seconds, as a number or a numeric string; null, zero and less mean never.
pub(super) fn timeout_of(object: &Map<String, Value>) -> Parsed<TimeoutChoice> {
    let named = |names: &[&'static str], unit: f64| {
        names
            .iter()
            .find_map(|name| object.get(*name).map(|value| (*name, value, unit)))
    };
    let found = named(&SECONDS, 1_000.0).or_else(|| named(&MILLISECONDS, 1.0));
    let Some((name, value, unit)) = found else {
        return match object.get("timeout") {
            None | Some(Value::Null) => Ok(TimeoutChoice::Default),
            Some(_) => invalid("timeout", "has no unit; use timeout_s, in seconds"),
        };
    };
    let number = match value {
        Value::Null => return Ok(TimeoutChoice::Never),
        Value::Number(n) => n.as_f64(),
        Value::String(text) => text.trim().parse::<f64>().ok(),
        _ => None,
    };
    match number.filter(|n| n.is_finite()) {
        None => invalid(
            name,
            "must be a number; 0 means no deadline, and timeout_s counts seconds",
        ),
        Some(n) if n <= 0.0 => Ok(TimeoutChoice::Never),
        Some(n) => Ok(TimeoutChoice::After(wish(n * unit))),
    }
}

/// At least a millisecond: what is more than nothing never turns into "never".
fn wish(millis: f64) -> Millis {
    // The cast saturates.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let whole = millis.round() as u64;
    Millis(whole).clamp(Millis(1), LONGEST_WISH)
}

/// Everything a call of several questions may say beside them.
pub(super) fn terms_of(object: &Map<String, Value>, input: AskInput) -> Parsed<AskInput> {
    let grace = first_of(object, &["grace_s", "grace_seconds"]);
    Ok(AskInput {
        to: addressee_of(first_of(object, &["to"]))?,
        on_timeout: word_of(
            object,
            "on_timeout",
            OnTimeout::parse,
            OnTimeout::ALL.iter().map(|w| w.as_str()),
        )?,
        when_absent: word_of(
            object,
            "when_absent",
            WhenAbsent::parse,
            WhenAbsent::ALL.iter().map(|w| w.as_str()),
        )?,
        grace: grace.map(grace_of).transpose()?,
        language: word_of(
            object,
            "language",
            Language::parse,
            Language::ALL.iter().map(|w| w.as_str()),
        )?,
        ..input
    })
}

/// A person or a group: `ann`, `person:ann`, `group:ops`, or an object with one of the two.
fn addressee_of(value: Option<&Value>) -> Parsed<Option<Addressee>> {
    let unclear = || invalid("to", "must be a person's name, person:NAME or group:NAME");
    let named = match value {
        None => return Ok(None),
        Some(Value::String(text)) if text.trim().is_empty() => return Ok(None),
        Some(Value::String(text)) => Addressee::parse(text.trim()),
        Some(Value::Object(object)) => {
            let name = |kind| object.get(kind).and_then(Value::as_str).map(str::trim);
            match (name("person"), name("group")) {
                (Some(person), None) => PersonId::new(person).map(Addressee::Person),
                (None, Some(group)) => GroupId::new(group).map(Addressee::Group),
                _ => return unclear(),
            }
        }
        Some(_) => return unclear(),
    };
    match named {
        Ok(addressee) => Ok(Some(addressee)),
        Err(problem) => invalid("to", format!("cannot be read: {problem}")),
    }
}

/// One word of a few.
fn word_of<T>(
    object: &Map<String, Value>,
    field: &str,
    parse: impl Fn(&str) -> Option<T>,
    words: impl Iterator<Item = &'static str>,
) -> Parsed<Option<T>> {
    let word = match first_of(object, &[field]) {
        None => return Ok(None),
        Some(Value::String(text)) => text.trim().to_ascii_lowercase(),
        Some(_) => String::new(),
    };
    parse(&word).map(Some).ok_or_else(|| {
        let words: Vec<&str> = words.collect();
        InvalidQuestion::new(field, format!("must be one of {}", words.join(", ")))
    })
}

/// Seconds; zero shows the countdown at once.
fn grace_of(value: &Value) -> Parsed<Millis> {
    let seconds = match value {
        Value::Number(n) => n.as_f64(),
        Value::String(text) => text.trim().parse::<f64>().ok(),
        _ => None,
    };
    match seconds.filter(|s| s.is_finite() && *s >= 0.0) {
        Some(0.0) => Ok(Millis(0)),
        Some(s) => Ok(wish(s * 1_000.0)),
        None => invalid("grace_s", "must be a number of seconds, 0 or more"),
    }
}
