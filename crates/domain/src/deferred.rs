//! Questions as a message that a person reads outside of any panel: the reply of a turn that could
//! ask nobody (A6, A9).

use crate::{Bounds, Choice, Language, Question, Questions};
use std::fmt::Write;

/// Words around the questions, which stand as they were asked.
struct Words {
    intro_one: &'static str,
    intro_many: &'static str,
    preferred: &'static str,
    several: &'static str,
    at_least: fn(u8) -> String,
    at_most: fn(u8) -> String,
    between: fn(u8, u8) -> String,
    reply_open: &'static str,
    reply_one: &'static str,
    reply_many: &'static str,
}

const EN: Words = Words {
    intro_one: "I need your decision before I go on:",
    intro_many: "I need your decisions before I go on:",
    preferred: " (I would take this one)",
    several: "Several may be chosen.",
    at_least: |min| format!("Choose at least {min}."),
    at_most: |max| format!("Choose at most {max}."),
    between: |min, max| format!("Choose {min} to {max}."),
    reply_open: "Please answer in your own words. Nothing has been decided yet.",
    reply_one: "Please answer with the number or in your own words. Nothing has been decided yet.",
    reply_many: "Please answer each by its number, such as 1.2, or in your own words. Nothing has been \
                 decided yet.",
};

const ZH: Words = Words {
    intro_one: "继续之前，我需要你的决定：",
    intro_many: "继续之前，我需要你对以下问题的决定：",
    preferred: "（我倾向于这一项）",
    several: "可多选。",
    at_least: |min| format!("可多选，至少选 {min} 项。"),
    at_most: |max| format!("可多选，最多选 {max} 项。"),
    between: |min, max| format!("可多选，选 {min} 至 {max} 项。"),
    reply_open: "请直接用文字回复。目前尚未作出任何决定。",
    reply_one: "请回复选项编号，或直接用文字回复。目前尚未作出任何决定。",
    reply_many: "请按编号逐一回复（例如 1.2），或直接用文字回复。目前尚未作出任何决定。",
};

/// The questions as numbered text, in the person's language around the words as they were asked.
pub fn deferred_text(questions: &Questions, language: Language) -> String {
    let words = match language {
        Language::En => &EN,
        Language::Zh => &ZH,
    };
    let several = questions.len() > 1;
    let options = questions.iter().any(|q| !q.options.is_empty());
    let mut text = String::from(if several {
        words.intro_many
    } else {
        words.intro_one
    });
    for (index, question) in questions.iter().enumerate() {
        text.push_str("\n\n");
        write_question(&mut text, question, several.then_some(index + 1), words);
    }
    text.push_str("\n\n");
    text.push_str(match (several, options) {
        (true, _) => words.reply_many,
        (false, true) => words.reply_one,
        (false, false) => words.reply_open,
    });
    text
}

fn write_question(text: &mut String, question: &Question, number: Option<usize>, words: &Words) {
    if let Some(number) = number {
        let _ = write!(text, "{number}. ");
    }
    if !question.header.is_empty() {
        let _ = write!(text, "[{}] ", question.shown_header());
    }
    text.push_str(&question.question);
    if let Some(explanation) = &question.explanation {
        let _ = write!(text, "\n{explanation}");
    }
    for (index, option) in question.options.iter().enumerate() {
        text.push('\n');
        let number = number.map(|n| format!("{n}.")).unwrap_or_default();
        let _ = write!(text, "{number}{}. {}", index + 1, option.label);
        if question.recommended.as_ref() == Some(&option.id) {
            text.push_str(words.preferred);
        }
        write_description(text, option);
    }
    if question.multi_select && !question.options.is_empty() {
        let _ = write!(text, "\n{}", choose(question.select, words));
    }
}

fn write_description(text: &mut String, option: &Choice) {
    if let Some(description) = &option.description {
        let _ = write!(text, " – {description}");
    }
}

fn choose(select: Option<Bounds>, words: &Words) -> String {
    match select.map(|bounds| (bounds.min, bounds.max)) {
        Some((Some(min), Some(max))) => (words.between)(min, max),
        Some((Some(min), None)) => (words.at_least)(min),
        Some((None, Some(max))) => (words.at_most)(max),
        Some((None, None)) | None => words.several.to_owned(),
    }
}
