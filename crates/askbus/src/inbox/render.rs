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
use super::words::words;
use super::wrap::{TAB, cut, width};
use askbus_domain::text_channel::visible;
use look::Look;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Paragraph};

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

/// Draws everything.
pub(super) fn render(state: &State, frame: &mut Frame<'_>) {
    let look = Look::new(state.color);
    let words = words(state.language);
    let area = frame.area();
    if area.width < 40 || area.height < 8 {
        return frame.render_widget(Paragraph::new(words.too_small), area);
    }
    let banner = u16::from(state.link == Link::Offline);
    let [top, warning, body, bottom] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(banner),
        Constraint::Fill(1),
        Constraint::Length(1),
    ])
    .areas(area);
    title(state, look, frame, top);
    if banner > 0 {
        let text = Line::styled(words.offline_banner, look.warning());
        frame.render_widget(Paragraph::new(text), warning);
    }
    if state.help {
        help(state, look, frame, body);
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
    let hint = match &state.notice {
        Some(notice) => Line::styled(shown_on_one_row(notice), look.strong()),
        None => Line::styled(keys(state), look.dim()),
    };
    frame.render_widget(Paragraph::new(hint), bottom);
}

fn title(state: &State, look: Look, frame: &mut Frame<'_>, area: Rect) {
    let words = words(state.language);
    let link = match state.link {
        Link::Connecting => words.connecting,
        Link::Online => words.online,
        Link::Offline => words.offline,
    };
    let left = format!("Askbus · {}", (words.waiting)(state.waiting()));
    let who = if state.me.is_empty() {
        link.to_owned()
    } else {
        format!(
            "{} · {} · {link}",
            shown_on_one_row(&state.me),
            shown_on_one_row(&state.tenant)
        )
    };
    let room = usize::from(area.width).saturating_sub(width(&left) + 2);
    let right = cut(&who, room);
    let gap = usize::from(area.width).saturating_sub(width(&left) + width(&right));
    let line = Line::from(vec![
        Span::styled(left, look.strong()),
        Span::raw(" ".repeat(gap)),
        Span::styled(right, look.dim()),
    ]);
    frame.render_widget(Paragraph::new(line), area);
}

/// The keys that matter now.
fn keys(state: &State) -> &'static str {
    use super::entry::Spot;
    let words = words(state.language);
    match (state.pane, state.entry()) {
        (Pane::Card, Some(entry)) if !entry.is_answerable() => words.keys_over,
        (Pane::Card, Some(_)) if state.typing => words.keys_field,
        (Pane::Card, Some(entry)) if matches!(entry.spot, Spot::Button(_)) => words.keys_button,
        (Pane::Card, Some(_)) => words.keys_card,
        _ => words.keys_list,
    }
}

fn help(state: &State, look: Look, frame: &mut Frame<'_>, area: Rect) {
    let words = words(state.language);
    let column = words
        .help
        .iter()
        .map(|(keys, _)| width(keys))
        .max()
        .unwrap_or(0)
        + 2;
    let mut lines = vec![Line::styled(words.help_title, look.strong())];
    for (keys, what) in words.help {
        let gap = " ".repeat(column.saturating_sub(width(keys)));
        lines.push(Line::from(vec![
            Span::styled(format!("  {keys}{gap}"), look.strong()),
            Span::raw(*what),
        ]));
    }
    frame.render_widget(Paragraph::new(lines), area);
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
