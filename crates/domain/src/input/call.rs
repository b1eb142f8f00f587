//! What a call says beside its questions.

use super::given::{Given, Left, Names};
use super::question::{self, EXPLANATION, OPTIONS, TEXT, is_of_question, opened};
use super::shape::{as_list, begins_with_field, decoded, is_absent, is_none, refuse_broken};
use super::{AskInput, Ignored, Parsed, TimeoutChoice, invalid};
use crate::{
    Addressee, GroupId, InvalidQuestion, Language, Millis, OnTimeout, PersonId, Questions,
    WhenAbsent, is_blank,
};
use serde_json::{Map, Value};
use std::sync::Arc;

/// The longest wish that every reader of JSON keeps exactly; far beyond what any clock grants.
const LONGEST_WISH: Millis = Millis((1 << 53) - 1);

const QUESTIONS: Names = &["questions"];
/// Names under which a call is sent within a call.
const WRAPPERS: Names = &["input", "arguments", "args", "params", "parameters"];
/// Spellings of seconds and milliseconds that mean one thing only.
const SECONDS: Names = &[
    "timeouts",
    "timeoutsec",
    "timeoutsecs",
    "timeoutseconds",
    "timeoutinseconds",
];
const MILLISECONDS: Names = &[
    "timeoutms",
    "timeoutmillis",
    "timeoutmilliseconds",
    "timeoutinms",
];
const NO_UNIT: Names = &["timeout"];
/// The fields of a call, for who used another.
const KNOWN: &str = "a call has questions, timeout_s, on_timeout, when_absent and to, and each question \
                     its own options";

/// A4: seconds, as a number or a numeric string; null, zero and less mean never.
pub(super) fn timeout_of(call: &mut Given) -> Parsed<TimeoutChoice> {
    let named = |call: &mut Given, names, unit: f64| {
        let found = call.take_named(names);
        found.map(|(name, value)| (name, value, unit))
    };
    let found = named(call, SECONDS, 1_000.0).or_else(|| named(call, MILLISECONDS, 1.0));
    let Some((name, value, unit)) = found else {
        if call.take(NO_UNIT).is_some() {
            return invalid("timeout", "has no unit; use timeout_s, in seconds");
        }
        let nothing = call
            .take_any(SECONDS)
            .or_else(|| call.take_any(MILLISECONDS));
        return Ok(match nothing {
            Some(Value::Null) => TimeoutChoice::Never,
            Some(Value::String(word)) if is_none(&word) => TimeoutChoice::Never,
            _ => TimeoutChoice::Default,
        });
    };
    let number = match value {
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
pub(super) struct Terms {
    timeout: TimeoutChoice,
    to: Option<Addressee>,
    on_timeout: Option<OnTimeout>,
    when_absent: Option<WhenAbsent>,
    grace: Option<Millis>,
    language: Option<Language>,
}

impl Terms {
    /// Takes them out of the call.
    pub(super) fn of(call: &mut Given) -> Parsed<Self> {
        let on_timeout = OnTimeout::ALL.iter().map(|w| w.as_str());
        let when_absent = WhenAbsent::ALL.iter().map(|w| w.as_str());
        let language = Language::ALL.iter().map(|w| w.as_str());
        let grace = call.take(&["graces", "graceseconds"]);
        Ok(Self {
            timeout: timeout_of(call)?,
            to: addressee_of(call.take(&["to"]).as_ref())?,
            on_timeout: word_of(
                call,
                &["ontimeout"],
                "on_timeout",
                OnTimeout::parse,
                on_timeout,
            )?,
            when_absent: word_of(
                call,
                &["whenabsent"],
                "when_absent",
                WhenAbsent::parse,
                when_absent,
            )?,
            grace: grace.as_ref().map(grace_of).transpose()?,
            language: word_of(call, &["language"], "language", Language::parse, language)?,
        })
    }

    /// The call with these questions.
    pub(super) fn with(self, questions: Arc<Questions>, ignored: Ignored) -> AskInput {
        AskInput {
            questions,
            timeout: self.timeout,
            to: self.to,
            on_timeout: self.on_timeout,
            when_absent: self.when_absent,
            grace: self.grace,
            language: self.language,
            ignored: ignored.names(),
        }
    }
}

/// The call as it was meant, where it was sent within another.
pub(super) fn unwrapped(object: Map<String, Value>) -> Given {
    let mut call = Given::sent(object, "");
    if !call.has(QUESTIONS) && !call.has(TEXT) {
        call.decode(WRAPPERS);
        absorb(&mut call, WRAPPERS, is_of_question);
    }
    call.decode(QUESTIONS);
    absorb(&mut call, QUESTIONS, |name| QUESTIONS.contains(&name));
    call.decode(QUESTIONS);
    call
}

/// Takes the fields of an object in place of the object, if it has one of these.
fn absorb(call: &mut Given, names: Names, is_field: impl Fn(&str) -> bool) {
    let wraps = |value: &Value| {
        value
            .as_object()
            .is_some_and(|o| o.keys().any(|n| is_field(n)))
    };
    if call.peek(names).is_some_and(wraps)
        && let Some(Value::Object(inner)) = call.take(names)
    {
        call.absorb(inner);
    }
}

/// The questions of a call, each with what was said of it.
pub(super) fn questions_in(mut call: Given, ignored: &mut Ignored) -> Parsed<Vec<Given>> {
    let listed = match call.take(QUESTIONS) {
        Some(list) => Some(as_list(list, "questions")?),
        // The new shape under the older name.
        None => list_under_older_name(&mut call)?,
    };
    let mut asked = match listed {
        // Who fills every field sends an empty list beside the question.
        Some(list) if !list.is_empty() || !call.has(TEXT) => {
            let items = list.into_iter().enumerate();
            items
                .map(|(index, item)| question::given_of(index, item))
                .collect::<Parsed<Vec<Given>>>()?
        }
        // The older shape: one question beside its options.
        _ if call.has(TEXT) => return Ok(vec![opened(call, "questions[0]")?]),
        _ => {
            return invalid(
                "questions",
                "is required: a list of {question, options?, …}",
            );
        }
    };
    // An explanation of the whole call goes with its first question, unless that has one of its own:
    // the person is to see it before any question.
    if let Some(first) = asked.first_mut() {
        first.adopt(&mut call, &[EXPLANATION]);
    }
    if let [only] = asked.as_mut_slice() {
        only.adopt(&mut call, &question::BESIDE);
    }
    let left = Left {
        known: KNOWN,
        quiet: question::QUIET,
        lacks_options: !asked.iter().any(|question| question.has(OPTIONS)),
        lacks_time: true,
    };
    call.finish(&left, ignored)?;
    Ok(asked)
}

/// Questions that stand as a list, an object or the JSON text of one where one question's text belongs.
fn list_under_older_name(call: &mut Given) -> Parsed<Option<Vec<Value>>> {
    if call.has(OPTIONS) {
        return Ok(None);
    }
    let is_question = |item: &Value| match item {
        Value::Object(object) => object.keys().any(|name| is_of_question(name)),
        item => item.is_string(),
    };
    let list = match call.peek(TEXT) {
        Some(value @ (Value::Array(_) | Value::Object(_))) => value.clone(),
        Some(Value::String(text)) => {
            refuse_broken(text, "question", |text| {
                begins_with_field(text, is_of_question)
            })?;
            match decoded(Value::String(text.clone())) {
                Value::Array(items) if items.iter().all(is_question) => Value::Array(items),
                _ => return Ok(None),
            }
        }
        _ => return Ok(None),
    };
    call.take(TEXT);
    as_list(list, "question").map(Some)
}

/// A person or a group: `ann`, `person:ann`, `group:ops`, or an object with one of the two. A word that
/// means no one in particular is nobody's name, unless it is said that it is.
fn addressee_of(value: Option<&Value>) -> Parsed<Option<Addressee>> {
    let unclear = || invalid("to", "must be a person's name, person:NAME or group:NAME");
    let named = match value {
        None => return Ok(None),
        Some(Value::String(text)) => {
            let name = text.trim().trim_start_matches('@').trim_start();
            if is_blank(name) || Addressee::is_everybody(name) {
                return Ok(None);
            }
            Addressee::parse(name)
        }
        Some(Value::Object(object)) => {
            let name = |kind| {
                let name = object.get(kind).filter(|name| !is_absent(name));
                name.and_then(Value::as_str).map(str::trim)
            };
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
    call: &mut Given,
    names: Names,
    field: &str,
    parse: impl Fn(&str) -> Option<T>,
    words: impl Iterator<Item = &'static str>,
) -> Parsed<Option<T>> {
    let word = match call.take(names) {
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
