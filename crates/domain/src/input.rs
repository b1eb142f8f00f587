//! Tool arguments as models really send them, read into the one canonical form.
//!
//! Models send lists as JSON text, one object instead of a list, options as strings, and half a
//! dozen spellings of the same field. Everything that can only mean one thing is taken; everything
//! else is refused with the field and the remedy.

use crate::question::{HEADER_CHARS, MAX_DESCRIPTION_CHARS};
use crate::{
    Choice, Dialect, InvalidQuestion, MAX_LABEL_CHARS, MAX_QUESTION_CHARS, MAX_TIMEOUT,
    MIN_TIMEOUT, Millis, OptionId, Question, QuestionId, Questions,
};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// What the caller wants of the clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TimeoutChoice {
    /// Says nothing: the dialect's default.
    #[default]
    Default,
    /// No deadline.
    Never,
    /// This long, held within 1 s and 14 d.
    After(Millis),
}

impl TimeoutChoice {
    /// The timeout in force for a dialect; none is never. A dialect's longest timeout holds
    /// whatever the caller wants (E13).
    pub fn for_dialect(self, dialect: Dialect) -> Option<Millis> {
        let wanted = match self {
            TimeoutChoice::Default => dialect.default_timeout(),
            TimeoutChoice::Never => None,
            TimeoutChoice::After(wait) => Some(wait),
        };
        match dialect.max_timeout() {
            Some(max) => Some(wanted.map_or(max, |wait| wait.min(max))),
            None => wanted,
        }
    }

    /// From milliseconds on a typed interface: zero is never, absent is the default.
    pub fn from_millis(millis: Option<u64>) -> Self {
        match millis {
            None => TimeoutChoice::Default,
            Some(0) => TimeoutChoice::Never,
            Some(ms) => TimeoutChoice::After(Millis(ms).clamp(MIN_TIMEOUT, MAX_TIMEOUT)),
        }
    }
}

/// One call's questions and clock, canonical.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskInput {
    /// The questions.
    pub questions: Arc<Questions>,
    /// The clock asked for.
    pub timeout: TimeoutChoice,
}

type Parsed<T> = Result<T, InvalidQuestion>;

fn invalid<T>(field: impl Into<String>, problem: impl Into<String>) -> Parsed<T> {
    Err(InvalidQuestion::new(field, problem))
}

/// Reads a tool call's arguments in the given dialect.
pub fn parse_arguments(dialect: Dialect, arguments: &Value) -> Parsed<AskInput> {
    let Some(object) = arguments.as_object() else {
        return invalid("arguments", "must be a JSON object");
    };
    match dialect {
        Dialect::Ask => parse_ask(object),
        Dialect::Studio | Dialect::Interaction => parse_plain(dialect, object),
    }
}

/// One question of a typed request: header, text, multi-select, options as label and description,
/// and the index of the recommended option.
pub type StructuredQuestion = (String, String, bool, Vec<(String, String)>, Option<u32>);

/// Reads questions of a typed interface: the same rules as for a tool call's arguments.
pub fn parse_structured(
    dialect: Dialect,
    list: Vec<StructuredQuestion>,
    timeout_ms: Option<u64>,
) -> Parsed<AskInput> {
    if dialect != Dialect::Ask && list.len() > 1 {
        return invalid("questions", "may hold one question only in this dialect");
    }
    let questions: Vec<Value> = list
        .into_iter()
        .map(|(header, question, multi_select, options, recommended)| {
            let options: Vec<Value> = options
                .into_iter()
                .map(|(label, description)| json!({"label": label, "description": description}))
                .collect();
            json!({"header": header, "question": question, "multi_select": multi_select,
                "options": options, "recommended": recommended})
        })
        .collect();
    let mut object = Map::new();
    object.insert("questions".to_owned(), Value::Array(questions));
    let input = parse_ask(&object)?;
    if input
        .questions
        .iter()
        .any(|q| q.options.len() > dialect.max_options())
    {
        let limit = dialect.max_options();
        return invalid("options", format!("may hold at most {limit} items"));
    }
    Ok(AskInput {
        timeout: TimeoutChoice::from_millis(timeout_ms),
        ..input
    })
}

/// E3/E4 and N1: one question, plain choices, strict types.
fn parse_plain(dialect: Dialect, object: &Map<String, Value>) -> Parsed<AskInput> {
    let text = required_text(object.get("question"), "question", MAX_QUESTION_CHARS)?;
    let mut labels: Vec<String> = Vec::new();
    match object.get("choices") {
        None | Some(Value::Null) => {}
        Some(Value::Array(items)) => {
            if items.len() > dialect.max_options() {
                return invalid(
                    "choices",
                    format!("may hold at most {} items", dialect.max_options()),
                );
            }
            for (i, item) in items.iter().enumerate() {
                let label = required_text(Some(item), &format!("choices[{i}]"), MAX_LABEL_CHARS)?;
                if !labels.contains(&label) {
                    labels.push(label);
                }
            }
        }
        Some(_) => return invalid("choices", "must be an array of strings"),
    }
    let options = labels
        .into_iter()
        .enumerate()
        .map(|(i, label)| choice(i, label, None));
    let question = Question {
        id: nth_id("q", 0, QuestionId::new)?,
        header: String::new(),
        question: text,
        multi_select: false,
        options: options.collect::<Parsed<_>>()?,
        recommended: None,
    };
    Ok(AskInput {
        questions: Arc::new(Questions::new(vec![question])?),
        timeout: timeout_of(object)?,
    })
}

/// A1, with every shape that models are known to send.
fn parse_ask(object: &Map<String, Value>) -> Parsed<AskInput> {
    let raw = object.get("questions").filter(|v| !v.is_null());
    let list = match raw {
        Some(value) => as_list(value, "questions")?,
        // The older shape: one question beside its options.
        None if object.contains_key("question") => vec![Value::Object(object.clone())],
        None => {
            return invalid(
                "questions",
                "is required: a list of {question, options?, …}",
            );
        }
    };
    let questions = list
        .iter()
        .enumerate()
        .map(|(i, item)| parse_question(i, item))
        .collect::<Parsed<_>>()?;
    Ok(AskInput {
        questions: Arc::new(Questions::new(questions)?),
        timeout: timeout_of(object)?,
    })
}

/// A list, a JSON text of a list (twice encoded too), or one thing standing for a list of one.
fn as_list(value: &Value, field: &str) -> Parsed<Vec<Value>> {
    let mut value = value.clone();
    for _ in 0..3 {
        match value {
            Value::Array(items) => return Ok(items),
            Value::Object(_) => return Ok(vec![value]),
            Value::String(text) => match serde_json::from_str(&text) {
                Ok(inner) => value = inner,
                Err(_) => return Ok(vec![Value::String(text)]),
            },
            _ => break,
        }
    }
    invalid(field, "must be a list")
}

fn parse_question(index: usize, item: &Value) -> Parsed<Question> {
    let at = format!("questions[{index}]");
    let wrapped;
    let object = match item {
        Value::Object(object) => object,
        Value::String(text) => {
            wrapped = Map::from_iter([("question".to_owned(), Value::String(text.clone()))]);
            &wrapped
        }
        _ => return invalid(at, "must be an object with a question"),
    };
    let text = first_of(object, &["question", "text", "prompt"]);
    let raw_options = first_of(object, &["options", "choices"]);
    let options = match raw_options {
        None => Vec::new(),
        Some(list) => as_list(list, &format!("{at}.options"))?,
    };
    if options.len() > Dialect::Ask.max_options() {
        let limit = Dialect::Ask.max_options();
        return invalid(
            format!("{at}.options"),
            format!("may hold at most {limit} items"),
        );
    }
    let options = options
        .iter()
        .enumerate()
        .map(|(i, o)| parse_option(i, o, &format!("{at}.options[{i}]")))
        .collect::<Parsed<Vec<Choice>>>()?;
    let multi = first_of(object, &["multi_select", "multiSelect", "multiple"]);
    Ok(Question {
        id: nth_id("q", index, QuestionId::new)?,
        header: optional_text(
            object.get("header"),
            &format!("{at}.header"),
            MAX_LABEL_CHARS,
        )?
        .map_or_else(String::new, |h| h.chars().take(HEADER_CHARS).collect()),
        question: required_text(text, &format!("{at}.question"), MAX_QUESTION_CHARS)?,
        multi_select: flag_of(multi, &format!("{at}.multi_select"))?,
        recommended: recommended_of(object.get("recommended"), &options, &at)?,
        options,
    })
}

fn parse_option(index: usize, item: &Value, at: &str) -> Parsed<Choice> {
    match item {
        Value::Object(object) => {
            let label = first_of(object, &["label", "value", "text"]);
            let description = optional_text(
                object.get("description"),
                &format!("{at}.description"),
                MAX_DESCRIPTION_CHARS,
            )?;
            choice(
                index,
                required_text(label, &format!("{at}.label"), MAX_LABEL_CHARS)?,
                description,
            )
        }
        other => choice(
            index,
            required_text(Some(other), at, MAX_LABEL_CHARS)?,
            None,
        ),
    }
}

fn choice(index: usize, label: String, description: Option<String>) -> Parsed<Choice> {
    Ok(Choice {
        id: nth_id("o", index, OptionId::new)?,
        label,
        description,
    })
}

fn nth_id<T>(
    prefix: &str,
    index: usize,
    new: impl FnOnce(String) -> Result<T, crate::IdError>,
) -> Parsed<T> {
    new(format!("{prefix}{}", index + 1)).map_err(|e| InvalidQuestion::new(prefix, e.to_string()))
}

fn first_of<'a>(object: &'a Map<String, Value>, names: &[&str]) -> Option<&'a Value> {
    names
        .iter()
        .find_map(|name| object.get(*name).filter(|v| !v.is_null()))
}

/// E4: not blank, raw length within the limit, then trimmed. Lengths are characters.
fn required_text(value: Option<&Value>, field: &str, max: usize) -> Parsed<String> {
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

fn optional_text(value: Option<&Value>, field: &str, max: usize) -> Parsed<Option<String>> {
    match value {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.trim().is_empty() => Ok(None),
        value => required_text(value, field, max).map(Some),
    }
}

fn flag_of(value: Option<&Value>, field: &str) -> Parsed<bool> {
    match value {
        None => Ok(false),
        Some(Value::Bool(flag)) => Ok(*flag),
        Some(Value::String(text)) if text.eq_ignore_ascii_case("true") => Ok(true),
        Some(Value::String(text)) if text.eq_ignore_ascii_case("false") => Ok(false),
        Some(_) => invalid(field, "must be true or false"),
    }
}

/// A1: an index, -1 for none; a label that stands among the options is taken too.
fn recommended_of(value: Option<&Value>, options: &[Choice], at: &str) -> Parsed<Option<OptionId>> {
    let field = format!("{at}.recommended");
    let index = match value {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::String(text)) => {
            if let Some(option) = options.iter().find(|o| o.label == text.trim()) {
                return Ok(Some(option.id.clone()));
            }
            text.trim().parse::<i64>().ok()
        }
        Some(value) => value.as_i64(),
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

/// A4: seconds, as a number or a numeric string; null, zero and less mean never.
fn timeout_of(object: &Map<String, Value>) -> Parsed<TimeoutChoice> {
    let seconds = match object.get("timeout_s") {
        None => return Ok(TimeoutChoice::Default),
        Some(Value::Null) => return Ok(TimeoutChoice::Never),
        Some(Value::Number(n)) => n.as_f64(),
        Some(Value::String(text)) => text.trim().parse::<f64>().ok(),
        Some(_) => None,
    };
    match seconds.filter(|s| s.is_finite()) {
        None => invalid(
            "timeout_s",
            "must be a number of seconds; 0 means no deadline",
        ),
        Some(s) if s <= 0.0 => Ok(TimeoutChoice::Never),
        Some(s) => {
            let wait = std::time::Duration::try_from_secs_f64(s.min(1e10)).unwrap_or_default();
            let millis = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
            Ok(TimeoutChoice::After(
                Millis(millis).clamp(MIN_TIMEOUT, MAX_TIMEOUT),
            ))
        }
    }
}

#[cfg(test)]
mod tests;
