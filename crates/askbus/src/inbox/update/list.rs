//! Keys while the list has them.

use super::Effects;
use crate::inbox::state::{Effect, Pane, State};
use ratatui::crossterm::event::{KeyCode, KeyEvent};

impl State {
    pub(super) fn list_key(&mut self, key: KeyEvent, effects: &mut Effects) {
        let page = self.card_rows().saturating_sub(1).max(1);
        match key.code {
            KeyCode::Char('q') | KeyCode::Esc => effects.push(Effect::Leave),
            KeyCode::Up => self.select(-1),
            KeyCode::Down => self.select(1),
            KeyCode::PageUp => self.select(-signed(page)),
            KeyCode::PageDown => self.select(signed(page)),
            KeyCode::Home => self.select(isize::MIN),
            KeyCode::End => self.select(isize::MAX),
            KeyCode::Enter | KeyCode::Right | KeyCode::Char(' ') => self.open(),
            KeyCode::Char('x') => self.close_selected(),
            _ => {}
        }
    }

    fn select(&mut self, by: isize) {
        let listed: Vec<_> = self.listed().collect();
        let place = listed
            .iter()
            .position(|id| Some(*id) == self.selected)
            .unwrap_or(0);
        let wanted = place
            .saturating_add_signed(by)
            .min(listed.len().saturating_sub(1));
        self.selected = listed.get(wanted).copied();
    }

    fn open(&mut self) {
        if let Some(entry) = self.entry_mut() {
            entry.keep_spot();
            entry.follow = true;
            // Keys are written only where somebody went on purpose.
            let typing = entry.spot.is_field() && entry.is_answerable();
            self.typing = typing;
            self.pane = Pane::Card;
        }
    }
}

fn signed(count: usize) -> isize {
    isize::try_from(count).unwrap_or(isize::MAX)
}
