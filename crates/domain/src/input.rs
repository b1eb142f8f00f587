//! Tool arguments as models really send them, read into the one canonical form.
//!
//! Models send lists as JSON text, one object instead of a list, options as strings, and half a
//! dozen spellings of the same field. Everything that can only mean one thing is taken; everything
//! else is refused with the field and the remedy.

mod call;
mod given;
mod question;
mod shape;

use crate::{
    Addressee, Choice, Dialect, InvalidQuestion, Language, MAX_LABEL_CHARS, MAX_QUESTION_CHARS,
    Millis, OnTimeout, Question, QuestionId, Questions, WhenAbsent,
};
use call::{Terms, questions_in, timeout_of};
use given::{Given, Ignored};
use question::{choice, nth_id, parse_question, refuse_secret};
use serde_json::{Map, Value, json};
use shape::required_text;
use std::fmt::Display;
use std::sync::Arc;

/// What the caller wants of the clock. A wish is kept as it was said; the clock bounds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TimeoutChoice {
    /// Says nothing: the dialect's default.
    #[default]
    Default,
    /// No deadline.
    Never,
    /// This long.
    After(Millis),
}

impl TimeoutChoice {
    /// From milliseconds on a typed interface: zero is never, absent is the default.
    pub fn from_millis(millis: Option<u64>) -> Self {
        match millis {
            None => TimeoutChoice::Default,
            Some(0) => TimeoutChoice::Never,
            Some(ms) => TimeoutChoice::After(Millis(ms)),
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
    /// Whom it is meant for; none is everybody who may answer.
    pub to: Option<Addressee>,
    /// What is to become of it when its time is up.
    pub on_timeout: Option<OnTimeout>,
    /// What is to become of it when nobody is present.
    pub when_absent: Option<WhenAbsent>,
    /// How long the countdown is to stay hidden.
    pub grace: Option<Millis>,
    /// The language of its texts for people.
    pub language: Option<Language>,
    /// Names of fields that were sent and mean nothing here; the caller is told.
    pub ignored: Vec<String>,
}

impl AskInput {
    /// Questions and a clock; everything else as the policy has it.
    pub const fn new(questions: Arc<Questions>, timeout: TimeoutChoice) -> Self {
        Self {
            questions,
            timeout,
            to: None,
            on_timeout: None,
            when_absent: None,
            grace: None,
            language: None,
            ignored: Vec::new(),
        }
    }
}

type Parsed<T> = Result<T, InvalidQuestion>;

fn invalid<T>(field: impl Display, problem: impl Into<String>) -> Parsed<T> {
    Err(InvalidQuestion::new(field.to_string(), problem))
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

/// One option of a typed request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ChoiceInput {
    /// What the person reads.
    pub label: String,
    /// More words about it; may be empty.
    pub description: String,
}

/// One question of a typed request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct QuestionInput {
    /// A short title; may be empty.
    pub header: String,
    /// The question itself.
    pub question: String,
    /// Why it is asked; may be empty.
    pub explanation: String,
    /// Whether several options may be chosen.
    pub multi_select: bool,
    /// How many options must be chosen at least.
    pub min_select: Option<u32>,
    /// How many options may be chosen at most.
    pub max_select: Option<u32>,
    /// The options.
    pub options: Vec<ChoiceInput>,
    /// The index of the option the agent would take.
    pub recommended: Option<u32>,
}

impl QuestionInput {
    fn into_object(self) -> Map<String, Value> {
        let options: Vec<Value> = self
            .options
            .into_iter()
            .map(|o| json!({"label": o.label, "description": o.description}))
            .collect();
        let fields = [
            ("header", self.header.into()),
            ("question", self.question.into()),
            ("explanation", self.explanation.into()),
            ("multi_select", self.multi_select.into()),
            ("min_select", self.min_select.into()),
            ("max_select", self.max_select.into()),
            ("options", options.into()),
            ("recommended", self.recommended.into()),
        ];
        fields
            .map(|(name, value)| (name.to_owned(), value))
            .into_iter()
            .collect()
    }
}

/// Reads questions of a typed interface: the same rules as for a tool call's arguments.
pub fn parse_structured(
    dialect: Dialect,
    list: Vec<QuestionInput>,
    timeout_ms: Option<u64>,
) -> Parsed<AskInput> {
    if dialect != Dialect::Ask && list.len() > 1 {
        return invalid("questions", "may hold one question only in this dialect");
    }
    let limit = dialect.max_options();
    if list.iter().any(|q| q.options.len() > limit) {
        return invalid("options", format!("may hold at most {limit} items"));
    }
    let mut ignored = Ignored::default();
    let mut questions = Vec::with_capacity(list.len());
    for (index, question) in list.into_iter().enumerate() {
        let given = Given::exact(question.into_object(), "");
        questions.push(parse_question(index, given, &mut ignored)?);
    }
    Ok(AskInput::new(
        Arc::new(Questions::new(questions)?),
        TimeoutChoice::from_millis(timeout_ms),
    ))
}

/// E3/E4 and N1: one question, plain choices, strict types.
fn parse_plain(dialect: Dialect, object: &Map<String, Value>) -> Parsed<AskInput> {
    let mut given = Given::exact(object.clone(), "");
    refuse_secret(&given, "question")?;
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
                let label =
                    required_text(Some(item), format_args!("choices[{i}]"), MAX_LABEL_CHARS)?;
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
        explanation: None,
        multi_select: false,
        select: None,
        options: options.collect::<Parsed<Vec<Choice>>>()?,
        recommended: None,
    };
    Ok(AskInput::new(
        Arc::new(Questions::new(vec![question])?),
        timeout_of(&mut given)?,
    ))
}

/// A1, with every shape that models are known to send.
fn parse_ask(object: &Map<String, Value>) -> Parsed<AskInput> {
    let mut call = call::unwrapped(object.clone());
    refuse_secret(&call, "questions")?;
    let terms = Terms::of(&mut call)?;
    let mut ignored = Ignored::default();
    let mut questions = Vec::new();
    for (index, given) in questions_in(call, &mut ignored)?.into_iter().enumerate() {
        questions.push(parse_question(index, given, &mut ignored)?);
    }
    Ok(terms.with(Arc::new(Questions::new(questions)?), ignored))
}

#[cfg(test)]
mod tests;
