//! A late message as a model reads it, in the language of the text around it; people's words and
//! options stand as they are.

use super::LateMessage;
use crate::{AnswerAction, Language};
use std::fmt::Write;

struct Words {
    heading: fn(&LateMessage) -> String,
    asked: &'static str,
    chose: &'static str,
    said: &'static str,
    note: &'static str,
    needs: &'static str,
    wrote: &'static str,
}

const EN: Words = Words {
    heading: |late| format!("Late, from {}, at {}", late.actor.person, late.stored_at),
    asked: "Q: ",
    chose: "Late answer: ",
    said: "Late answer (in their own words): ",
    note: "Note: ",
    needs: "Needs to know first: ",
    wrote: "Wrote: ",
};

const ZH: Words = Words {
    heading: |late| {
        format!(
            "迟到的留言，来自 {}，时间 {}",
            late.actor.person, late.stored_at
        )
    },
    asked: "问题：",
    chose: "迟到的回答：",
    said: "迟到的回答（对方自己的话）：",
    note: "备注：",
    needs: "需要先了解：",
    wrote: "对方写道：",
};

/// One late message.
pub(crate) fn late_text(late: &LateMessage, language: Language) -> String {
    let words = match language {
        Language::En => &EN,
        Language::Zh => &ZH,
    };
    let mut text = (words.heading)(late);
    let mut line = |label: &str, said: &str| {
        let _ = write!(text, "\n{label}{said}");
    };
    line(words.asked, &late.asked);
    for answer in &late.answers {
        for option in &answer.options {
            line(words.chose, &option.label);
        }
        if let Some(own) = &answer.text {
            line(words.said, own);
        }
        if let Some(note) = &answer.note {
            line(words.note, note);
        }
    }
    if let Some(whole) = &late.text {
        let label = match late.action {
            AnswerAction::AskBack => words.needs,
            _ => words.wrote,
        };
        line(label, whole);
    }
    text
}
