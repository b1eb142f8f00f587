//! Texts that a model reads: an English scaffold around questions and options verbatim (A9).
//!
//! Every text that is not a response says plainly that nobody agreed to anything (E19), and
//! neither invites going ahead nor asking again.

use crate::{Outcome, Question, QuestionAnswer, Questions, Reason};
use std::fmt::Write;

/// The result of `ask_user` as text.
pub fn result_text(questions: &Questions, outcome: &Outcome) -> String {
    let mut text = headline(outcome.reason).to_owned();
    if let Some(words) = &outcome.text {
        let _ = write!(text, "\n\nThe person wrote:\n{words}");
    }
    for question in questions {
        let answer = outcome
            .answers
            .iter()
            .find(|a| a.question_id == question.id);
        let partial = outcome
            .partial
            .iter()
            .find(|a| a.question_id == question.id);
        let assumed = outcome
            .assumptions
            .iter()
            .find(|a| a.question_id == question.id);
        let _ = write!(text, "\n\nQ: {}", question.question);
        match (answer, partial, assumed) {
            (Some(answer), ..) => write_answer(&mut text, "A", answer),
            (None, Some(partial), _) => {
                write_answer(&mut text, "Filled in, not submitted", partial);
            }
            (None, None, Some(assumed)) => {
                let _ = write!(text, "\nAssumption (nobody chose it): {}", assumed.label);
            }
            (None, None, None) => text.push_str("\n(not answered)"),
        }
    }
    text
}

fn write_answer(text: &mut String, prefix: &str, answer: &QuestionAnswer) {
    for option in &answer.options {
        let _ = write!(text, "\n{prefix}: {}", option.label);
    }
    if let Some(words) = &answer.text {
        let _ = write!(text, "\n{prefix} (in their own words): {words}");
    }
    if let Some(note) = &answer.note {
        let _ = write!(text, "\nNote: {note}");
    }
}

const fn headline(reason: Reason) -> &'static str {
    match reason {
        Reason::Response => "The person answered.",
        Reason::AskBack => {
            "The person needs more information before deciding. Nothing has been decided. Give what \
             they ask for, then put the question again with it."
        }
        Reason::Dismissed => {
            "The person declined to answer. This is not agreement. Stop and hand the turn back; do \
             not put the question again."
        }
        Reason::Skipped => {
            "The person skipped the question and leaves it to you. Write each assumption down where \
             they will see it; none of them is their decision."
        }
        Reason::Timeout => {
            "Nobody answered in time. This is not agreement and not a refusal. Nothing has been \
             decided; leave undone whatever depends on it and say so in your final message."
        }
        Reason::Cancelled => {
            "The question was withdrawn before anybody answered. Nothing has been decided; leave \
             undone whatever depends on it."
        }
        Reason::Unattended => {
            "Nobody is present. Recommended options stand in as assumptions, not decisions; state \
             each of them in your final message."
        }
        Reason::Deferred => {
            "Nobody can be reached now. Make the question your final message and end the turn; \
             nothing has been decided."
        }
        Reason::Off => "Asking is switched off here. Nobody was asked; nothing has been decided.",
    }
}

/// The answer of the one-question dialect (N1): the person's words, or one fixed sentence.
pub fn interaction_text(question: &Question, outcome: &Outcome) -> String {
    match outcome.reason {
        Reason::Response => outcome
            .answers
            .iter()
            .find(|a| a.question_id == question.id)
            .map(QuestionAnswer::as_text)
            .unwrap_or_default(),
        Reason::AskBack => outcome.text.clone().unwrap_or_default(),
        other => format!("[no answer: {}] {}", other.as_str(), headline(other)),
    }
}
