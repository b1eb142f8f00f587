//! How a question ended, or what became of an answer.

use super::look::Look;
use super::sheet::Sheet;
use super::{shown, shown_on_one_row, timing};
use crate::inbox::draft::Draft;
use crate::inbox::entry::{Entry, Late, Status};
use crate::inbox::heard::Outcome;
use crate::inbox::say::Submission;
use crate::inbox::state::State;
use crate::inbox::words::words;
use askbus_domain::{AnswerEntry, DecidedBy, QuestionAnswer};

/// What is said before the questions.
pub(super) fn write(sheet: &mut Sheet, state: &State, look: Look, entry: &Entry) {
    let words = words(state.language);
    match &entry.status {
        Status::Waiting => {}
        Status::Sending { again: None, .. } => sheet.text(0, words.queued, look.warning()),
        Status::Sending { .. } => sheet.text(0, words.sending, look.warning()),
        Status::Sent { .. } => sheet.text(0, words.sent, look.good()),
        Status::Settled { outcome, kept, .. } => {
            match outcome {
                Some(outcome) => ended(sheet, state, look, entry, outcome),
                None => sheet.text(0, words.gone, look.strong()),
            }
            if *kept {
                sheet.text(0, words.kept, look.warning());
                own(
                    sheet,
                    state,
                    look,
                    entry,
                    &entry.draft.kept(&entry.request.questions),
                    Some(entry.draft.ask_back.text()),
                );
            }
        }
        Status::Late(late) => came_late(sheet, state, look, entry, late),
    }
    for who in &entry.late_others {
        let name = timing::name(state, Some(who));
        sheet.text(0, &(words.late_other)(&name), look.dim());
    }
    if let Some(error) = entry
        .error
        .as_ref()
        .filter(|_| entry.status == Status::Waiting)
    {
        sheet.text(0, &(words.refused)(&shown(error)), look.bad());
    }
    if entry.status != Status::Waiting {
        sheet.blank();
    }
}

fn came_late(sheet: &mut Sheet, state: &State, look: Look, entry: &Entry, late: &Late) {
    let words = words(state.language);
    sheet.text(0, words.late, look.bad());
    match &late.outcome {
        Some(outcome) => ended(sheet, state, look, entry, outcome),
        None => sheet.text(0, words.late_unknown, look.strong()),
    }
    if let Some(error) = &entry.error {
        sheet.text(0, &(words.not_passed_on)(&shown(error)), look.bad());
    } else if late.passing {
        sheet.text(0, words.passing, look.warning());
    } else if late.may_pass_on() || late.goes_on.is_some() {
        sheet.text(0, (words.goes_on)(late.goes_on), look.warning());
    }
    let Submission { answers, text, .. } = &late.submission;
    own(sheet, state, look, entry, answers, text.as_deref());
}

/// Who or what settled it, and how.
fn ended(sheet: &mut Sheet, state: &State, look: Look, entry: &Entry, outcome: &Outcome) {
    let words = words(state.language);
    let who = timing::name(state, outcome.actor.as_ref());
    let by_person = outcome
        .reason
        .is_some_and(|r| r.decided_by() == DecidedBy::Person);
    let place = outcome
        .actor
        .as_ref()
        .filter(|a| by_person && !a.surface.is_empty());
    let place = place.map_or_else(String::new, |a| {
        (words.surface)(&shown_on_one_row(&a.surface))
    });
    sheet.text(
        0,
        &format!("{}{place}", (words.ended)(outcome.reason, &who)),
        look.strong(),
    );
    for answer in outcome.answers.iter().chain(&outcome.partial) {
        given(sheet, state, look, entry, answer);
    }
    for assumption in &outcome.assumptions {
        let asked = |q: &askbus_domain::Question| q.id == assumption.question_id;
        let place = entry.request.questions.iter().position(asked);
        let assumed = (words.assumed)(&shown(&assumption.label));
        sheet.lead(&lead(state, entry, place), &assumed, look.dim(), look.dim());
    }
    if let Some(text) = outcome
        .text
        .as_ref()
        .filter(|t| !askbus_domain::is_blank(t))
    {
        sheet.lead("  → ", &shown(text), look.good(), look.good());
    }
}

fn given(sheet: &mut Sheet, state: &State, look: Look, entry: &Entry, answer: &QuestionAnswer) {
    let place = entry
        .request
        .questions
        .iter()
        .position(|q| q.id == answer.question_id);
    let lead = lead(state, entry, place);
    for option in &answer.options {
        sheet.lead(&lead, &shown(&option.label), look.good(), look.good());
    }
    if let Some(text) = &answer.text {
        sheet.lead(&lead, &shown(text), look.good(), look.good());
    }
    if let Some(note) = &answer.note {
        let note = (words(state.language).noted)(&shown(note));
        sheet.lead(&lead, &note, look.good(), look.good());
    }
}

fn lead(_: &State, entry: &Entry, place: Option<usize>) -> String {
    match place {
        Some(place) if entry.request.questions.len() > 1 => format!("  {} → ", place + 1),
        _ => "  → ".to_owned(),
    }
}

/// What this person wrote, so that it can be read and copied.
fn own(
    sheet: &mut Sheet,
    state: &State,
    look: Look,
    entry: &Entry,
    answers: &[AnswerEntry],
    text: Option<&str>,
) {
    sheet.text(0, words(state.language).your_answer, look.dim());
    let draft = Draft::read(&entry.request.questions, answers, text);
    for (q, (question, filled)) in entry
        .request
        .questions
        .iter()
        .zip(&draft.filled)
        .enumerate()
    {
        let lead = lead(state, entry, Some(q));
        for option in filled
            .chosen
            .iter()
            .filter_map(|o| question.options.get(*o))
        {
            sheet.lead(&lead, &shown(&option.label), look.dim(), look.strong());
        }
        if let Some(text) = filled.text.words() {
            sheet.lead(&lead, &shown(text), look.dim(), look.strong());
        }
        if let Some(note) = filled.note.words() {
            let note = (words(state.language).noted)(&shown(note));
            sheet.lead(&lead, &note, look.dim(), look.strong());
        }
    }
    if let Some(words) = draft.ask_back.words() {
        sheet.lead("  → ", &shown(words), look.dim(), look.strong());
    }
}
