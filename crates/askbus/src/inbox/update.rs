//! What each event makes of the state, and what is to be done then.

mod answering;
mod card;
mod focus;
mod list;
mod news;
mod time;

use super::order;
use super::render;
use super::state::{Effect, Event, Link, Moment, Pane, State};
use super::words::words;
use askbus_domain::Timestamp;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// Effects as they add up.
pub(super) type Effects = Vec<Effect>;

/// Takes one event.
pub(super) fn update(mut state: State, event: Event, at: &Moment) -> (State, Effects) {
    let mut effects = Effects::new();
    if let Event::Heard(_, Some(server)) = &event {
        state.ahead = server.saturating_sub(at.now.unix_millis());
    }
    state.now = Timestamp::from_unix_millis(at.now.unix_millis().saturating_add(state.ahead));
    let only_time = event == Event::Tick;
    match event {
        Event::Key(key) => state.key(key, at, &mut effects),
        Event::Paste(text) => state.paste(&text, &mut effects),
        Event::Size(columns, rows) => state.size = (columns, rows),
        Event::Tick => state.time_passes(&mut effects),
        Event::Heard(heard, _) => state.hear(*heard, &mut effects),
        Event::Lost => state.lost(),
        Event::Edited(id, spot, result) => state.edited(id, spot, result),
    }
    if !only_time {
        state.save_drafts(&mut effects);
    }
    state.tidy();
    (state, effects)
}

impl State {
    /// Brings list, selection and focus in step with what is known.
    fn tidy(&mut self) {
        if self.caught_up || self.link != Link::Online {
            let before: Vec<_> = self.listed().collect();
            if before.len() != self.entries.len()
                || !before.iter().all(|id| self.entries.contains_key(id))
            {
                self.rows = order::rows(&self.entries);
                self.keep_selection(&before);
            }
        }
        if let Some(entry) = self.entry_mut() {
            entry.keep_spot();
        }
        let scroll = render::scroll(self);
        if let (Some(entry), Some(scroll)) = (self.entry_mut(), scroll) {
            entry.scroll = scroll;
        }
        if self.entry().is_none() {
            self.pane = Pane::List;
        }
        if self.pane == Pane::List || !self.entry().is_some_and(|e| e.spot.is_field()) {
            self.typing = false;
        }
    }

    /// Nothing that comes moves the selection; of what goes, its neighbour has it.
    fn keep_selection(&mut self, before: &[askbus_domain::ClarifyId]) {
        if self
            .selected
            .is_some_and(|id| self.entries.contains_key(&id))
        {
            return;
        }
        let place = before.iter().position(|id| Some(*id) == self.selected);
        let later = before.iter().skip(place.unwrap_or(0));
        let earlier = before.iter().take(place.unwrap_or(0)).rev();
        let near = later
            .chain(earlier)
            .find(|id| self.entries.contains_key(id))
            .copied();
        self.selected = near.or_else(|| self.listed().next());
    }

    fn key(&mut self, key: KeyEvent, at: &Moment, effects: &mut Effects) {
        if key.kind == KeyEventKind::Release {
            return;
        }
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            match key.code {
                KeyCode::Char('c') => return effects.push(Effect::Leave),
                KeyCode::Char('z') => return effects.push(Effect::Suspend),
                KeyCode::Char('l') => return effects.push(Effect::Redraw),
                _ => {}
            }
        }
        self.notice = None;
        if let Some(row) = self.help {
            self.help = self.help_scrolled(row, key.code);
            return;
        }
        if key.code == KeyCode::Char('?') && !self.typing {
            self.help = Some(0);
            return;
        }
        match self.pane {
            Pane::List => self.list_key(key, effects),
            Pane::Card => self.card_key(key, at, effects),
        }
    }

    /// Where the keys stand after this one; none when it ends them.
    fn help_scrolled(&self, row: usize, key: KeyCode) -> Option<usize> {
        let end = render::help_end(self);
        let page = self.card_rows();
        match key {
            _ if end == 0 => None,
            KeyCode::Down => Some((row + 1).min(end)),
            KeyCode::PageDown => Some((row + page).min(end)),
            KeyCode::Up => Some(row.saturating_sub(1)),
            KeyCode::PageUp => Some(row.saturating_sub(page)),
            _ => None,
        }
    }

    fn paste(&mut self, text: &str, effects: &mut Effects) {
        if self.pane != Pane::Card || !self.typing {
            self.notice = Some(words(self.language).paste_nowhere.to_owned());
            return;
        }
        self.act(effects);
        // Terminals send the line ends of a paste as the key Enter would.
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        self.write(|field| field.insert(&text));
    }
}
