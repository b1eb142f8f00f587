//! Texts that a model reads: an English scaffold around questions and options verbatim (A9).
//!
//! Every text that is not a response says plainly that nobody agreed to anything (E19), and
//! neither invites going ahead nor asking again.

use crate::late::late_text;
use crate::{
    Adjusted, Bound, CancelCause, Clarification, HARD_CAP, Language, LateMessage, Millis, Outcome,
    Question, QuestionAnswer, QuestionId, Questions, Reason, deferred_text,
};
use std::fmt::Write;

/// What a result says beside how the clarification ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Circumstances {
    /// How the timeout differs from the one asked for.
    pub adjusted: Option<Adjusted>,
    /// How long it waited, if it ended because no question waits longer.
    pub waited: Option<Millis>,
    /// The questions as text for the person, when they become the turn's reply.
    pub deferred_text: Option<String>,
}

impl Circumstances {
    /// Those of `clarification`.
    pub fn of(clarification: &Clarification) -> Self {
        let outcome = clarification.outcome.as_deref();
        let capped = outcome.filter(|o| {
            o.is_by_clock()
                && clarification.expires_at() >= clarification.clock.cap
                && o.resolved_at >= clarification.clock.cap
        });
        let deferred = outcome.is_some_and(|o| o.reason == Reason::Deferred);
        Self {
            adjusted: clarification.adjusted,
            waited: capped.map(|o| clarification.requested_at.until(o.resolved_at)),
            deferred_text: deferred
                .then(|| deferred_text(&clarification.questions, clarification.terms.language)),
        }
    }
}

/// The result of `ask_user` as text.
pub fn result_text(
    questions: &Questions,
    outcome: &Outcome,
    circumstances: &Circumstances,
) -> String {
    let mut text = headline(outcome).to_owned();
    write_clock(&mut text, outcome, circumstances);
    if let Some(words) = &outcome.text {
        let _ = write!(text, "\n\nThe person wrote:\n{words}");
    }
    match &circumstances.deferred_text {
        Some(message) if outcome.reason == Reason::Deferred => {
            let _ = write!(text, "\n\nUse this text, word by word:\n\n{message}");
        }
        _ => {
            for question in questions {
                write_question(&mut text, question, outcome);
            }
        }
    }
    write_late(&mut text, &outcome.late);
    text
}

fn write_question(text: &mut String, question: &Question, outcome: &Outcome) {
    let assumed = outcome
        .assumptions
        .iter()
        .find(|a| a.question_id == question.id);
    let _ = write!(text, "\n\nQ: {}", question.question);
    let answer = answer_to(question, &outcome.answers);
    match (answer, answer_to(question, &outcome.partial), assumed) {
        (Some(answer), ..) => write_answer(text, "A", answer),
        (None, Some(partial), _) => {
            if !partial.decides() {
                text.push_str("\n(not answered)");
            }
            write_answer(text, "Filled in, not submitted", partial);
        }
        (None, None, Some(assumed)) => {
            let _ = write!(text, "\nAssumption (nobody chose it): {}", assumed.label);
        }
        (None, None, None) if is_declined(&question.id, outcome) => {
            text.push_str("\n(the person declined this one)");
        }
        (None, None, None) => text.push_str("\n(not answered)"),
    }
}

fn answer_to<'a>(question: &Question, list: &'a [QuestionAnswer]) -> Option<&'a QuestionAnswer> {
    list.iter().find(|a| a.question_id == question.id)
}

/// Declined by itself, and not with all the others.
fn is_declined(id: &QuestionId, outcome: &Outcome) -> bool {
    outcome.reason == Reason::Response && outcome.declined.contains(id)
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

const fn headline(outcome: &Outcome) -> &'static str {
    match outcome.reason {
        Reason::Response if outcome.unanswered.is_empty() => "The person answered.",
        Reason::Response => {
            "The person answered, but not every question. What is not answered is not decided."
        }
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
        Reason::Timeout if !outcome.assumptions.is_empty() => {
            "Nobody answered in time. Recommended options stand in as assumptions, not decisions; \
             nobody agreed to them. State each of them in your final message, and leave undone \
             whatever depends on a question without one."
        }
        Reason::Timeout => {
            "Nobody answered in time. This is not agreement and not a refusal. Nothing has been \
             decided; leave undone whatever depends on it and say so in your final message."
        }
        Reason::Cancelled if matches!(outcome.cause, Some(CancelCause::TurnEnded)) => {
            "The turn that asked this ended, or another one took its place, before anybody answered. \
             Nothing has been decided; leave undone whatever depends on it."
        }
        Reason::Cancelled => {
            "The question was withdrawn before anybody answered. Nothing has been decided; leave \
             undone whatever depends on it."
        }
        Reason::Unattended => {
            "Nobody is present. Recommended options stand in as assumptions, not decisions; state \
             each of them in your final message."
        }
        Reason::Deferred if outcome.timed_out => {
            "Nobody answered in time. Nothing has been decided. Make the question your final message \
             and end the turn."
        }
        Reason::Deferred => {
            "Nobody can be reached now. Nothing has been decided. Make the question your final \
             message and end the turn."
        }
        Reason::Off if outcome.blocked => {
            "Too many questions in a row stayed unanswered, so asking is off for the rest of this \
             turn. Nobody was asked and nobody agreed to anything. Decide yourself what can be \
             decided without the person, state each assumption in your final message, and leave \
             undone whatever cannot be taken back."
        }
        Reason::Off => "Asking is switched off here. Nobody was asked; nothing has been decided.",
    }
}

/// What the clock was, where that is not what the caller asked for, and why it ended then.
fn write_clock(text: &mut String, outcome: &Outcome, circumstances: &Circumstances) {
    let waited = match outcome.reason {
        Reason::Off | Reason::Unattended => false,
        Reason::Deferred => outcome.timed_out,
        _ => true,
    };
    if let Some(adjusted) = circumstances.adjusted.as_ref().filter(|_| waited) {
        let _ = write!(text, "\n\n{}", adjusted_text(adjusted));
    }
    match circumstances.waited {
        // Said already.
        _ if circumstances.adjusted.is_some() => {}
        Some(waited) if waited >= HARD_CAP => text.push_str(
            "\n\nIt waited for 14 days. No question waits longer, also without a deadline.",
        ),
        Some(waited) => {
            let _ = write!(
                text,
                "\n\nIt waited for {}. Its call or its turn could not wait longer.",
                span(waited)
            );
        }
        None => {}
    }
}

/// That a timeout is not the one asked for, and why.
pub fn adjusted_text(adjusted: &Adjusted) -> String {
    let named = |timeout: Option<Millis>| match timeout {
        Some(wait) => format!("a timeout of {}", span(wait)),
        None => "no deadline".to_owned(),
    };
    let why = match adjusted.by {
        Bound::Minimum => "which is the shortest allowed here",
        Bound::Maximum => "which is the longest allowed here",
        Bound::Dialect => "which is the longest of this tool",
        Bound::CallLimit => "because this call could not wait longer",
        Bound::TurnEnd => "because the turn ends then",
    };
    format!(
        "The call asked for {} and got {}, {why}.",
        named(adjusted.asked),
        named(adjusted.granted)
    )
}

/// A length of time in its largest fitting unit.
fn span(wait: Millis) -> String {
    const UNITS: [(u64, &str); 4] = [
        (86_400_000, "d"),
        (3_600_000, "h"),
        (60_000, "min"),
        (1_000, "s"),
    ];
    let fitting = UNITS.into_iter().find(|(unit, _)| {
        wait.0 >= *unit && (wait.0.is_multiple_of(*unit) || wait.0 / unit >= 100)
    });
    match fitting {
        Some((unit, name)) => format!("{} {name}", wait.0 / unit),
        None if wait.0 > 1_000 => format!("{}.{:03} s", wait.0 / 1_000, wait.0 % 1_000),
        None => format!("{} ms", wait.0),
    }
}

/// What people wrote after their questions had ended.
fn write_late(text: &mut String, late: &[LateMessage]) {
    if late.is_empty() {
        return;
    }
    text.push_str(
        "\n\nLate messages from people. Each came after its question had ended, so it settled \
         nothing then; it is what the person says, and you read it now for the first time.",
    );
    for message in late {
        text.push_str("\n\n");
        text.push_str(&late_text(message, Language::En));
    }
}

/// The answer of the one-question dialect (N1): the person's words, or one fixed sentence.
pub fn interaction_text(outcome: &Outcome) -> String {
    let fixed = || {
        format!(
            "[no answer: {}] {}",
            outcome.reason.as_str(),
            headline(outcome)
        )
    };
    let mut text = spoken(outcome).unwrap_or_else(fixed);
    write_late(&mut text, &outcome.late);
    text
}

/// What a person said, for dialects of one question and one text; none unless a person spoke.
pub(crate) fn spoken(outcome: &Outcome) -> Option<String> {
    let first = |list: &[QuestionAnswer]| list.first().map(QuestionAnswer::as_text);
    match outcome.reason {
        Reason::Response => {
            let answer = first(&outcome.answers);
            let said: Vec<String> = answer.into_iter().chain(outcome.text.clone()).collect();
            Some(said.join("\n"))
        }
        Reason::AskBack => {
            let mut text = outcome.text.clone().unwrap_or_default();
            if let Some(chosen) = first(&outcome.partial) {
                let _ = write!(text, "\n(chosen so far, not submitted: {chosen})");
            }
            Some(text)
        }
        _ => None,
    }
}
