//! Questions as models and typed callers send them.

#![allow(clippy::unwrap_used, clippy::panic)]

use askbus_domain::{
    Addressee, AskInput, ChoiceInput, Dialect, Language, MAX_EXPLANATION_CHARS, MAX_LABEL_CHARS,
    MAX_OPTIONS, MAX_QUESTION_CHARS, MAX_QUESTIONS, Question, QuestionInput, Questions,
    SHOWN_HEADER_CHARS, deferred_text, parse_arguments, parse_structured,
};
use askbus_fuzz::{Material, Names, fuzz_bytes, fuzz_entropy, fuzz_json};
use serde_json::Value;

const DIALECTS: [Dialect; 3] = [Dialect::Ask, Dialect::Studio, Dialect::Interaction];

const NAMES: Names = Names {
    fields: &[
        "questions",
        "questions",
        "question",
        "question",
        "options",
        "choices",
        "header",
        "title",
        "text",
        "prompt",
        "label",
        "value",
        "name",
        "description",
        "explanation",
        "context",
        "details",
        "multi_select",
        "multiSelect",
        "multiple",
        "min_select",
        "max_select",
        "minSelections",
        "maxSelections",
        "recommended",
        "timeout_s",
        "timeout_ms",
        "timeout",
        "grace_s",
        "to",
        "person",
        "group",
        "on_timeout",
        "when_absent",
        "language",
        "secret",
        "type",
        "context_id",
    ],
    words: &[
        "Where should this be deployed?",
        "staging",
        "prod",
        "true",
        "false",
        "adopt",
        "defer",
        "wait",
        "unattended",
        "group:ops",
        "person:ann",
        "zh-CN",
        "password",
        "-1",
        "1.5",
        "1e999",
        "[\"a\",\"b\"]",
        "{\"question\":\"q\"}",
        "\"[]\"",
        "null",
        "NaN",
        "inf",
    ],
};

fn chars(text: &str) -> usize {
    text.chars().count()
}

/// What holds of every question that is shown to anybody.
fn check_question(question: &Question, options: usize) {
    let text = |text: &str, max| {
        assert!(!text.trim().is_empty() && text.trim() == text && chars(text) <= max);
    };
    text(&question.question, MAX_QUESTION_CHARS);
    assert!(chars(question.shown_header()) <= SHOWN_HEADER_CHARS);
    if let Some(explanation) = &question.explanation {
        text(explanation, MAX_EXPLANATION_CHARS);
    }
    assert!(question.options.len() <= options && options <= MAX_OPTIONS);
    for option in &question.options {
        text(&option.label, MAX_LABEL_CHARS);
    }
    assert_eq!(
        question.recommended.is_some(),
        question.preferred().is_some()
    );
    if let Some(bounds) = question.select {
        let (min, max) = (bounds.min.unwrap_or(0), bounds.max.unwrap_or(u8::MAX));
        assert!(question.multi_select && min <= max && max > 0);
        assert!(usize::from(min) <= question.options.len());
    }
}

fn typed(question: &Question) -> QuestionInput {
    let at = |id| question.options.iter().position(|o| o.id == id);
    QuestionInput {
        header: question.header.clone(),
        question: question.question.clone(),
        explanation: question.explanation.clone().unwrap_or_default(),
        multi_select: question.multi_select,
        min_select: question.select.and_then(|b| b.min).map(u32::from),
        max_select: question.select.and_then(|b| b.max).map(u32::from),
        options: question
            .options
            .iter()
            .map(|o| ChoiceInput {
                label: o.label.clone(),
                description: o.description.clone().unwrap_or_default(),
            })
            .collect(),
        recommended: question
            .recommended
            .clone()
            .and_then(at)
            .and_then(|i| u32::try_from(i).ok()),
    }
}

fn check_input(dialect: Dialect, input: &AskInput) {
    let questions = &input.questions;
    assert!((1..=MAX_QUESTIONS).contains(&questions.len()));
    for question in questions.as_ref() {
        check_question(question, dialect.max_options());
    }
    // The canonical form is read as itself, typed and from the log.
    let again = parse_structured(dialect, questions.iter().map(typed).collect(), None).unwrap();
    assert_eq!(again.questions, *questions);
    let written = serde_json::to_string(questions).unwrap();
    assert_eq!(
        serde_json::from_str::<Questions>(&written).unwrap(),
        **questions
    );
    for language in Language::ALL {
        let text = deferred_text(questions, language);
        assert!(questions.iter().all(|q| text.contains(&q.question)));
    }
}

fn check_arguments(arguments: &Value) {
    for dialect in DIALECTS {
        match parse_arguments(dialect, arguments) {
            Ok(input) => check_input(dialect, &input),
            Err(invalid) => assert!(!invalid.field.is_empty() && !invalid.problem.is_empty()),
        }
    }
}

#[test]
fn fuzz_tool_arguments() {
    fuzz_json!(NAMES, |arguments: Value| check_arguments(&arguments));
}

#[test]
fn fuzz_tool_arguments_as_text() {
    let seeds = [
        r#"{"questions":[{"question":"Where?","header":"Target","options":["staging",{"label":"prod","description":"now"}],"recommended":0}],"timeout_s":90}"#,
        r#"{"question":"Where?","choices":["a","b"],"context_id":"00000000-0000-0000-0000-000000000000"}"#,
        r#"{"questions":"[{\"question\":\"q\",\"multiSelect\":true,\"options\":[\"a\",\"b\"],\"max_select\":2}]","to":"group:ops"}"#,
        r#"{"question":{"text":"q","options":[1,true,null]},"on_timeout":"adopt","when_absent":"deferred","grace_s":"5"}"#,
    ];
    fuzz_bytes!(Material::of(&seeds, NAMES.fields), |bytes: &[u8]| {
        if let Ok(arguments) = serde_json::from_slice(bytes) {
            check_arguments(&arguments);
        }
    });
}

#[test]
fn fuzz_typed_questions() {
    fuzz_entropy!(|entropy: &[u8]| {
        let byte = |at: usize| entropy.get(at).copied().unwrap_or_default();
        let text = |at: usize| {
            let part = entropy.get(at..).unwrap_or_default();
            let part = part.get(..usize::from(byte(at) % 40)).unwrap_or(part);
            String::from_utf8_lossy(part).into_owned()
        };
        let number = |at: usize| (byte(at) % 4 != 0).then(|| u32::from(byte(at + 1) % 9));
        let question = |nth: usize| QuestionInput {
            header: text(nth * 7 + 3),
            question: text(nth * 11 + 4),
            explanation: text(nth * 13 + 5),
            multi_select: byte(nth + 6) % 2 == 0,
            min_select: number(nth * 3 + 7),
            max_select: number(nth * 5 + 8),
            options: (0..usize::from(byte(nth + 9) % 24))
                .map(|i| ChoiceInput {
                    label: text(nth + i * 2 + 10),
                    description: text(nth + i * 3 + 11),
                })
                .collect(),
            recommended: number(nth + 12),
        };
        let list: Vec<QuestionInput> = (0..usize::from(byte(0) % 7)).map(question).collect();
        let timeout = (byte(1) % 2 == 0).then(|| u64::from(byte(2)) << (byte(3) % 64));
        for dialect in DIALECTS {
            if let Ok(input) = parse_structured(dialect, list.clone(), timeout) {
                check_input(dialect, &input);
            }
        }
    });
}

#[test]
fn fuzz_addressees_and_languages() {
    let seeds = [
        "ann",
        "person:ann",
        "group:ops",
        "zh-CN",
        "en_GB.UTF-8",
        "群组:安",
    ];
    fuzz_bytes!(
        Material::of(&seeds, &["group:", "person:", ":"]),
        |bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes);
            Language::parse(&text);
            if let Ok(addressee) = Addressee::parse(&text) {
                // How it is shown is how it is read.
                assert_eq!(Addressee::parse(&addressee.to_string()).unwrap(), addressee);
            }
        }
    );
}
