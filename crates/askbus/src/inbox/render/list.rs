//! What waits, session by session. Only the rows in sight are made: there may be ten thousand.

use super::look::Look;
use super::{shown_on_one_row, timing};
use crate::inbox::entry::{Entry, Status};
use crate::inbox::order::Row;
use crate::inbox::state::{Pane, State};
use crate::inbox::words::words;
use crate::inbox::wrap::{cut, width};
use askbus_domain::SessionId;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

pub(super) fn render(state: &State, look: Look, frame: &mut Frame<'_>, area: Rect) {
    let words = words(state.language);
    if state.rows.is_empty() {
        let lines = vec![
            Line::default(),
            Line::styled(format!("  {}", words.nothing_waits), look.strong()),
            Line::styled(format!("  {}", words.nothing_waits_more), look.dim()),
        ];
        let lines = Paragraph::new(lines).wrap(ratatui::widgets::Wrap { trim: false });
        return frame.render_widget(lines, area);
    }
    let height = usize::from(area.height);
    let selected = |row: &Row| matches!(row, Row::Entry(id) if Some(*id) == state.selected);
    let place = state.rows.iter().position(selected).unwrap_or(0);
    let most = state.rows.len().saturating_sub(height);
    let first = place.saturating_sub(height / 2).min(most);
    let rows = state.rows.iter().skip(first).take(height);
    let columns = usize::from(area.width);
    let lines: Vec<Line<'_>> = rows
        .filter_map(|row| match row {
            Row::Session(session, first) => {
                let entry = state.entries.get(first)?;
                Some(Line::styled(
                    cut(&heading(state, session, entry), columns),
                    look.dim(),
                ))
            }
            Row::Entry(id) => Some(line(state, look, state.entries.get(id)?, columns)),
        })
        .collect();
    frame.render_widget(Paragraph::new(lines), area);
}

/// Who asks: client, host, folder and branch, and the session.
pub(super) fn asker(state: &State, entry: &Entry) -> String {
    let words = words(state.language);
    let Some(asker) = &entry.request.asker else {
        return words.an_agent.to_owned();
    };
    let mut parts: Vec<String> = [&asker.client, &asker.host, &asker.cwd]
        .into_iter()
        .filter(|part| !part.trim().is_empty())
        .map(|part| shown_on_one_row(part))
        .collect();
    if !asker.branch.trim().is_empty() {
        parts.push(format!("({})", shown_on_one_row(&asker.branch)));
    }
    if parts.is_empty() {
        words.an_agent.to_owned()
    } else {
        parts.join(" · ")
    }
}

fn heading(state: &State, session: &SessionId, entry: &Entry) -> String {
    let label = words(state.language).session;
    format!(
        "{} · {label} {}",
        asker(state, entry),
        shown_on_one_row(session.as_str())
    )
}

fn line<'a>(state: &State, look: Look, entry: &Entry, columns: usize) -> Line<'a> {
    let selected = state.selected == Some(entry.request.clarify_id);
    let (tag, tag_style) = tag(state, look, entry);
    let indent = if entry.request.parent.is_some() {
        "  "
    } else {
        ""
    };
    let mark = if selected { "> " } else { "  " };
    let lead = format!("{mark}{indent}");
    let room = columns.saturating_sub(width(&lead) + width(&tag) + 1);
    let text = cut(&excerpt(entry), room);
    let gap = " ".repeat((room + 1).saturating_sub(width(&text)));
    let style = if selected && state.pane == Pane::List {
        look.focus()
    } else if selected {
        look.strong()
    } else if entry.is_open() {
        Style::new()
    } else {
        look.dim()
    };
    Line::from(vec![
        Span::styled(format!("{lead}{text}"), style),
        Span::raw(gap),
        Span::styled(tag, tag_style),
    ])
}

/// A question in as few words as there are.
pub(super) fn excerpt(entry: &Entry) -> String {
    let questions = &entry.request.questions;
    let first = questions.first();
    let text = shown_on_one_row(&first.question);
    let title = shown_on_one_row(first.shown_header());
    let text = if title.is_empty() {
        text
    } else {
        format!("{title}: {text}")
    };
    match questions.len() - 1 {
        0 => text,
        more => format!("(+{more}) {text}"),
    }
}

fn tag(state: &State, look: Look, entry: &Entry) -> (String, Style) {
    let words = words(state.language);
    let word = |text: &str, style| (text.to_owned(), style);
    match &entry.status {
        Status::Sending { .. } => word(words.tag_sending, look.warning()),
        Status::Sent { .. } => word(words.tag_sent, look.good()),
        Status::Settled { .. } => word(words.tag_over, look.dim()),
        Status::Late(_) => word(words.tag_late, look.bad()),
        Status::Waiting if !entry.request.may_answer => word(words.not_yours_short, look.dim()),
        Status::Waiting => {
            let clock = timing::short(state, look, entry);
            let draft = (!entry.draft.is_blank()).then_some(words.draft_short);
            match (draft, clock) {
                (Some(draft), Some((clock, style))) => (format!("{draft} {clock}"), style),
                (Some(draft), None) => word(draft, look.dim()),
                (None, Some(clock)) => clock,
                (None, None) => (String::new(), Style::new()),
            }
        }
    }
}
