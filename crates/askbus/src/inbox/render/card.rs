//! The question that is selected, with everything that can be done with it.

use super::look::Look;
use super::question::View;
use super::sheet::Sheet;
use super::{ending, list, shown_on_one_row, timing};
use crate::inbox::entry::{Button, Entry, Spot};
use crate::inbox::state::State;
use crate::inbox::words::{Words, words};
use crate::inbox::wrap::width;
use askbus_domain::Addressee;
use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use std::ops::Range;

pub(super) fn render(state: &State, look: Look, frame: &mut Frame<'_>, area: Rect) {
    let Some(entry) = state.entry() else { return };
    let sheet = sheet(state, look, entry);
    let first = scrolled(&sheet, entry, usize::from(area.height));
    let lines: Vec<Line<'_>> = sheet
        .lines
        .into_iter()
        .skip(first)
        .take(usize::from(area.height))
        .collect();
    frame.render_widget(Paragraph::new(lines), area);
    let place = |(row, column): (usize, usize)| {
        let row = u16::try_from(row.checked_sub(first)?)
            .ok()
            .filter(|r| *r < area.height)?;
        let column = u16::try_from(column)
            .ok()?
            .min(area.width.saturating_sub(1));
        Some(Position::new(area.x + column, area.y + row))
    };
    if let Some(position) = sheet.cursor.and_then(place) {
        frame.set_cursor_position(position);
    }
}

/// The first row in sight.
pub(super) fn scroll(state: &State, entry: &Entry, height: usize) -> usize {
    scrolled(&sheet(state, Look::new(false), entry), entry, height)
}

/// The rows that have the focus.
pub(super) fn focused(state: &State, entry: &Entry) -> Range<usize> {
    sheet(state, Look::new(false), entry).focus
}

fn scrolled(sheet: &Sheet, entry: &Entry, height: usize) -> usize {
    let most = sheet.lines.len().saturating_sub(height);
    if !entry.follow {
        return entry.scroll.min(most);
    }
    let cursor = sheet.cursor.map(|(row, _)| row..row + 1);
    let focus = cursor.unwrap_or_else(|| sheet.focus.clone());
    // Where the last row is in sight, and where the first one is.
    let (lowest, highest) = (focus.end.saturating_sub(height), focus.start);
    // From its first place the card can be read from its top.
    let lowest = if Some(&entry.spot) == entry.spots().first() {
        lowest.min(entry.scroll)
    } else {
        lowest
    };
    // What is higher than the window is read row by row.
    let (least, largest) = (lowest.min(highest), lowest.max(highest));
    entry.scroll.clamp(least, largest).min(most)
}

fn sheet(state: &State, look: Look, entry: &Entry) -> Sheet {
    let words = words(state.language);
    let mut sheet = Sheet::new(state.card_columns().saturating_sub(1));
    header(&mut sheet, state, look, entry);
    sheet.blank();
    ending::write(&mut sheet, state, look, entry);
    let view = View { state, look, entry };
    for (q, (question, filled)) in entry
        .request
        .questions
        .iter()
        .zip(&entry.draft.filled)
        .enumerate()
    {
        if q > 0 {
            sheet.blank();
        }
        view.question(&mut sheet, q, question, filled);
    }
    if entry.is_answerable() && entry.asking_back {
        sheet.blank();
        view.field(
            &mut sheet,
            Spot::AskBack,
            words.ask_back_label,
            'b',
            &entry.draft.ask_back,
        );
    }
    footer(&mut sheet, &view, words);
    sheet
}

/// Who asks, since when, for whom, and how long it still waits.
fn header(sheet: &mut Sheet, state: &State, look: Look, entry: &Entry) {
    let words = words(state.language);
    let request = &entry.request;
    if state.is_low() {
        // The question is to be in sight as well.
        let who = list::heading(
            state,
            &request.session_id,
            request.asker.as_ref(),
            sheet.columns(),
        );
        sheet.text(0, &who, look.strong());
    } else {
        sheet.text(
            0,
            &list::asker(state, request.asker.as_ref()),
            look.strong(),
        );
        let session = format!(
            "{} {} · {}",
            words.session,
            shown_on_one_row(request.session_id.as_str()),
            timing::asked(state, entry)
        );
        sheet.text(0, &session, look.dim());
    }
    if let Some(parent) = &request.parent {
        sheet.text(
            0,
            &(words.sub_agent)(&shown_on_one_row(&parent.name)),
            look.dim(),
        );
    }
    let to = match &request.to {
        Some(Addressee::Person(id)) => Some((words.for_person)(&shown_on_one_row(id.as_str()))),
        Some(Addressee::Group(id)) => Some((words.for_group)(&shown_on_one_row(id.as_str()))),
        None => None,
    };
    if let Some(to) = to {
        let only = if request.may_answer {
            String::new()
        } else {
            format!(" {}", words.not_yours)
        };
        sheet.text(0, &format!("{to}{only}"), look.warning());
    }
    if entry.is_open() {
        if request.disconnected == Some(true) {
            sheet.text(0, words.disconnected, look.warning());
        }
        if let Some((clock, style)) = timing::line(state, look, entry) {
            sheet.text(0, &clock, style);
        }
        if let Some((person, _)) = &entry.writing {
            sheet.text(0, &(words.writing)(&shown_on_one_row(person)), look.dim());
        }
    }
}

fn footer(sheet: &mut Sheet, view: &View<'_>, words: &Words) {
    let View { look, entry, .. } = *view;
    let draft = &entry.draft;
    if entry.is_answerable() {
        let (done, total) = (draft.answered(), entry.request.questions.len());
        if total > 1 {
            sheet.blank();
            sheet.text(0, &(words.progress)(done, total), look.dim());
            if done > 0 && draft.open() > 0 {
                sheet.text(0, words.stays_open, look.dim());
            }
        }
        if entry.other.is_some() {
            sheet.text(0, words.other_draft, look.warning());
        }
    }
    buttons(sheet, view, words);
}

/// The buttons one beside the other, as far as there is room.
fn buttons(sheet: &mut Sheet, view: &View<'_>, words: &Words) {
    let View { look, entry, .. } = *view;
    let buttons = entry.buttons();
    if buttons.is_empty() {
        return;
    }
    sheet.blank();
    let mut spans: Vec<Span<'static>> = Vec::new();
    let mut used = 0;
    for button in buttons {
        let focus = view.has_focus(Spot::Button(button));
        let text = if focus {
            format!("> {} <", name(entry, button, words))
        } else {
            format!("[ {} ]", name(entry, button, words))
        };
        let able = !matches!(button, Button::Submit) || entry.sendable(button).is_ok();
        let style = match (focus, able) {
            (true, _) => look.focus(),
            (false, true) => Style::new(),
            (false, false) => look.dim(),
        };
        let wide = width(&text);
        if used > 0 && used + 1 + wide > sheet.columns() {
            sheet.lines.push(Line::from(std::mem::take(&mut spans)));
            used = 0;
        }
        if used > 0 {
            spans.push(Span::raw(" "));
            used += 1;
        }
        spans.push(Span::styled(text, style));
        used += wide;
        if focus {
            let row = sheet.lines.len();
            sheet.focus = row..row + 1;
        }
    }
    sheet.lines.push(Line::from(spans));
}

fn name(entry: &Entry, button: Button, words: &Words) -> &'static str {
    match button {
        Button::Submit => words.submit,
        Button::Recommended if entry.request.questions.len() > 1 => words.submit_all_recommended,
        Button::Recommended => words.submit_recommended,
        Button::AskBack if entry.asking_back => words.ask_back_send,
        Button::AskBack => words.ask_back,
        Button::Skip => words.skip,
        Button::Dismiss if entry.request.questions.len() > 1 => words.dismiss_all,
        Button::Dismiss => words.dismiss,
        Button::Hold => words.hold,
        Button::TakeBack => words.take_back,
        Button::PassOn => words.pass_on,
        Button::UseOther => words.use_other,
        Button::Close => words.close,
    }
}
