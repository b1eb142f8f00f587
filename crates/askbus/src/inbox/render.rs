//! The state as rows of a screen. Nothing is told by colour alone, and no text of an agent or of
//! another person reaches the screen but through [`shown`].

mod card;
mod ending;
mod list;
mod look;
mod question;
mod sheet;
mod timing;

use super::state::{LIST_COLUMNS, Link, Pane, State};
use super::words::{Hint, words};
use super::wrap::{TAB, cut, width};
use askbus_domain::text_channel::visible;
use look::Look;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Paragraph};
use sheet::Sheet;

/// Rows of a message of ours at most.
const MOST_ROWS: usize = 3;
/// Between the keys of a hint.
const APART: &str = " · ";

/// Other people's text, able to move nothing on the screen.
fn shown(text: &str) -> String {
    visible(text).replace('\t', TAB)
}

/// The same on one row.
fn shown_on_one_row(text: &str) -> String {
    shown(text).replace('\n', " ")
}

/// Where the card that is selected would be scrolled to, so that the focus is in sight.
pub(super) fn scroll(state: &State) -> Option<usize> {
    let entry = state.entry()?;
    if !state.caught_up && state.link == Link::Online {
        return None;
    }
    Some(card::scroll(state, entry, state.card_rows()))
}

/// How many rows of the card are in sight.
pub(super) fn card_rows(state: &State) -> usize {
    let look = Look::new(false);
    let taken = 1 + banner(state, look).len() + hint(state, look).len();
    usize::from(state.size.1).saturating_sub(taken).max(1)
}

/// The rows of the card that have the focus.
pub(super) fn focused(state: &State) -> Option<std::ops::Range<usize>> {
    Some(card::focused(state, state.entry()?))
}

/// Draws everything.
pub(super) fn render(state: &State, frame: &mut Frame<'_>) {
    let look = Look::new(state.color);
    let words = words(state.language);
    let area = frame.area();
    if area.width < 40 || area.height < 8 {
        return frame.render_widget(Paragraph::new(words.too_small), area);
    }
    let banner = banner(state, look);
    let hint = hint(state, look);
    let [top, warning, body, bottom] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(rows_of(&banner)),
        Constraint::Fill(1),
        Constraint::Length(rows_of(&hint)),
    ])
    .areas(area);
    title(state, look, frame, top);
    frame.render_widget(Paragraph::new(banner), warning);
    if let Some(first) = state.help {
        let lines = help(state, look).into_iter().skip(first);
        frame.render_widget(Paragraph::new(lines.collect::<Vec<_>>()), body);
    } else if state.is_wide() {
        let [left, line, right] = Layout::horizontal([
            Constraint::Length(LIST_COLUMNS),
            Constraint::Length(1),
            Constraint::Fill(1),
        ])
        .areas(body);
        list::render(state, look, frame, left);
        frame.render_widget(
            Block::new().borders(Borders::LEFT).border_style(look.dim()),
            line,
        );
        card::render(state, look, frame, right);
    } else if state.pane == Pane::Card {
        card::render(state, look, frame, body);
    } else {
        list::render(state, look, frame, body);
    }
    frame.render_widget(Paragraph::new(hint), bottom);
}

/// A text of ours in as many rows as it takes, of few.
fn written(state: &State, text: &str, style: Style) -> Vec<Line<'static>> {
    let mut sheet = Sheet::new(usize::from(state.size.0));
    sheet.text(0, text, style);
    sheet.lines.truncate(MOST_ROWS);
    sheet.lines
}

fn rows_of(lines: &[Line<'_>]) -> u16 {
    u16::try_from(lines.len()).unwrap_or(u16::MAX)
}

/// What has to be known in any case: that there is no connection.
fn banner(state: &State, look: Look) -> Vec<Line<'static>> {
    if state.link != Link::Offline {
        return Vec::new();
    }
    let words = words(state.language);
    let mut lines = written(state, words.offline_banner, look.warning());
    if state.here {
        lines.extend(written(state, words.offline_here, look.warning()));
    }
    lines
}

/// A line for the person, or the keys that matter now, as many as there is room for.
fn hint(state: &State, look: Look) -> Vec<Line<'static>> {
    if let Some(notice) = &state.notice {
        return written(state, &shown_on_one_row(notice), look.strong());
    }
    let mut keys = keys(state).to_vec();
    while keys.len() > 1 && width(&keys.join(APART)) > usize::from(state.size.0) {
        keys.remove(keys.len() - 2);
    }
    vec![Line::styled(keys.join(APART), look.dim())]
}

fn title(state: &State, look: Look, frame: &mut Frame<'_>, area: Rect) {
    let words = words(state.language);
    let link = match state.link {
        Link::Connecting => words.connecting,
        Link::Online => words.online,
        Link::Offline => words.offline,
    };
    let left = format!("Askbus · {}", (words.waiting)(state.waiting()));
    let (me, tenant) = (shown_on_one_row(&state.me), shown_on_one_row(&state.tenant));
    let room = usize::from(area.width).saturating_sub(width(&left) + 2);
    // How the connection stands is said in any case.
    let all = [
        format!("{me} · {tenant} · {link}"),
        format!("{me} · {link}"),
    ];
    let mut known = all.into_iter().filter(|_| !me.is_empty());
    let right = known.find(|text| width(text) <= room);
    let right = right.unwrap_or_else(|| cut(link, room));
    let gap = usize::from(area.width).saturating_sub(width(&left) + width(&right));
    let line = Line::from(vec![
        Span::styled(left, look.strong()),
        Span::raw(" ".repeat(gap)),
        Span::styled(right, look.dim()),
    ]);
    frame.render_widget(Paragraph::new(line), area);
}

/// The keys that matter now.
fn keys(state: &State) -> Hint {
    use super::entry::Spot;
    let words = words(state.language);
    if state.help.is_some() {
        let whole = help_end(state) == 0;
        return if whole {
            words.keys_help_whole
        } else {
            words.keys_help
        };
    }
    match (state.pane, state.entry()) {
        (Pane::Card, Some(entry)) if !entry.is_answerable() => words.keys_over,
        (Pane::Card, Some(_)) if state.typing => words.keys_field,
        (Pane::Card, Some(entry)) if matches!(entry.spot, Spot::Button(_)) => words.keys_button,
        (Pane::Card, Some(_)) => words.keys_card,
        _ => words.keys_list,
    }
}

/// How far the keys can be scrolled.
pub(super) fn help_end(state: &State) -> usize {
    let look = Look::new(false);
    let taken = 1 + banner(state, look).len() + 1;
    let room = usize::from(state.size.1).saturating_sub(taken);
    help(state, look).len().saturating_sub(room)
}

fn help(state: &State, look: Look) -> Vec<Line<'static>> {
    let words = words(state.language);
    let widest = words.help.iter().map(|(keys, _)| width(keys)).max();
    let column = widest.unwrap_or(0) + 2;
    let mut sheet = Sheet::new(usize::from(state.size.0));
    sheet.text(0, words.help_title, look.strong());
    for (keys, what) in words.help {
        let gap = " ".repeat(column.saturating_sub(width(keys)));
        sheet.lead(&format!("  {keys}{gap}"), what, look.strong(), Style::new());
    }
    sheet.lines
}

/// What a person filled in at a question, as lines that stand for themselves.
pub(super) fn plain(entry: &super::entry::Entry) -> String {
    let questions = &entry.request.questions;
    let mut lines = vec![format!(
        "{}  {}",
        entry.request.clarify_id,
        list::excerpt(entry)
    )];
    for (question, filled) in questions.iter().zip(&entry.draft.filled) {
        let chosen = filled
            .chosen
            .iter()
            .filter_map(|o| question.options.get(*o));
        lines.extend(chosen.map(|o| format!("  → {}", shown_on_one_row(&o.label))));
        let written = [&filled.text, &filled.note]
            .into_iter()
            .filter_map(|f| f.words());
        lines.extend(written.map(|words| {
            format!(
                "  → {}",
                askbus_domain::text_channel::further_lines_marked(words)
            )
        }));
    }
    lines.extend(
        entry
            .draft
            .ask_back
            .words()
            .map(|words| format!("  → {}", shown(words))),
    );
    lines.join("\n")
}
