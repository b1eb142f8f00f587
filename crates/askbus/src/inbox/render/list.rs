//! What waits, session by session. Only the rows in sight are made: there may be ten thousand.

use super::look::Look;
use super::sheet::Sheet;
use super::{shown_on_one_row, timing};
use crate::inbox::entry::{Entry, Status};
use crate::inbox::order::Row;
use crate::inbox::state::{Pane, State};
use crate::inbox::words::words;
use crate::inbox::wrap::{cut, width};
use askbus_domain::{AskerInfo, PlanStep, SessionId, StepStatus};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

pub(super) fn render(state: &State, look: Look, frame: &mut Frame<'_>, area: Rect) {
    let words = words(state.language);
    let columns = usize::from(area.width);
    if state.rows.is_empty() {
        let mut sheet = Sheet::new(usize::from(area.width));
        sheet.blank();
        sheet.text(2, words.nothing_waits, look.strong());
        sheet.text(2, words.nothing_waits_more, look.dim());
        let room = usize::from(area.height).saturating_sub(sheet.lines.len());
        sheet.lines.extend(plans(state, look, columns, room));
        return frame.render_widget(Paragraph::new(sheet.lines), area);
    }
    let height = usize::from(area.height);
    let selected = |row: &Row| matches!(row, Row::Entry(id) if Some(*id) == state.selected);
    let place = state.rows.iter().position(selected).unwrap_or(0);
    let most = state.rows.len().saturating_sub(height);
    let first = place.saturating_sub(height / 2).min(most);
    let rows = state.rows.iter().skip(first).take(height);
    let mut lines: Vec<Line<'_>> = rows
        .filter_map(|row| match row {
            Row::Session(session, first) => {
                let entry = state.entries.get(first)?;
                let asker = entry.request.asker.as_ref();
                let heading = heading(state, session, asker, columns);
                Some(Line::styled(heading, look.dim()))
            }
            Row::Entry(id) => Some(line(state, look, state.entries.get(id)?, columns)),
        })
        .collect();
    let room = height.saturating_sub(lines.len());
    lines.extend(plans(state, look, columns, room));
    frame.render_widget(Paragraph::new(lines), area);
}

/// What agents work on, as far as there is room below what waits: whose plan, and how far it is.
fn plans(state: &State, look: Look, columns: usize, room: usize) -> Vec<Line<'static>> {
    let words = words(state.language);
    let mut lines = Vec::new();
    for (session, plan) in &state.plans {
        let done = |step: &&PlanStep| step.status == StepStatus::Completed;
        let far = (words.plan)(plan.steps.iter().filter(done).count(), plan.steps.len());
        let now = plan
            .steps
            .iter()
            .find(|s| s.status == StepStatus::InProgress);
        let now = now.map_or_else(String::new, |s| format!(" · {}", shown_on_one_row(&s.step)));
        let who = heading(state, session, plan.asker.as_ref(), columns);
        lines.push(Line::default());
        lines.push(Line::styled(who, look.dim()));
        lines.push(Line::raw(cut(&format!("  {far}{now}"), columns)));
    }
    lines.truncate(room);
    lines
}

/// Who asks: client, host, folder and branch.
pub(super) fn asker(state: &State, asker: Option<&AskerInfo>) -> String {
    named(state, asker, true, str::to_owned)
}

fn named(
    state: &State,
    asker: Option<&AskerInfo>,
    host: bool,
    folder: impl Fn(&str) -> String,
) -> String {
    let words = words(state.language);
    let Some(asker) = asker else {
        return words.an_agent.to_owned();
    };
    let cwd = folder(asker.cwd.trim());
    let branch = asker.branch.trim();
    let branch = if branch.is_empty() {
        String::new()
    } else {
        format!("({branch})")
    };
    let host = if host { asker.host.trim() } else { "" };
    let parts = [asker.client.trim(), host, &cwd, &branch].map(shown_on_one_row);
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    if parts.is_empty() {
        words.an_agent.to_owned()
    } else {
        parts.join(" · ")
    }
}

/// The last part of a path, which is where folders differ.
fn last_part(path: &str) -> String {
    match path.trim_end_matches('/').rsplit_once('/') {
        Some((before, last)) if !before.is_empty() => format!("…/{last}"),
        _ => path.to_owned(),
    }
}

/// Who asks and in which session. Where there is no room for all of it, what says least goes first.
pub(super) fn heading(
    state: &State,
    session: &SessionId,
    asked_by: Option<&AskerInfo>,
    columns: usize,
) -> String {
    let label = words(state.language).session;
    let session = shown_on_one_row(session.as_str());
    let whole = format!("{} · {label} {session}", asker(state, asked_by));
    let shorter = [
        format!(
            "{} · {label} {session}",
            named(state, asked_by, true, last_part)
        ),
        format!("{} · {session}", named(state, asked_by, false, last_part)),
        named(state, asked_by, false, last_part),
    ];
    let fits = |text: &String| width(text) <= columns;
    let mut all = std::iter::once(whole).chain(shorter);
    let found = all.find(fits);
    found.unwrap_or_else(|| cut(&named(state, asked_by, false, last_part), columns))
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
    let plain = entry.request.plain.get(&first.id);
    let plain = plain.and_then(|plain| plain.question.as_ref());
    let text = shown_on_one_row(plain.unwrap_or(&first.question));
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
