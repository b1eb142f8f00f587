//! Keys while a card has them. Choosing never sends; only a button that has the focus does, at Enter.

use super::Effects;
use crate::inbox::entry::{Button, Entry, Spot};
use crate::inbox::field::Field;
use crate::inbox::say::What;
use crate::inbox::state::{EditorTrouble, Effect, Link, Moment, Pane, State};
use crate::inbox::words::words;
use askbus_domain::ClarifyId;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

impl State {
    pub(super) fn card_key(&mut self, key: KeyEvent, at: &Moment, effects: &mut Effects) {
        // Going from place to place with Tab says nothing yet (A4).
        if !matches!(key.code, KeyCode::Tab | KeyCode::BackTab) {
            self.act(effects);
        }
        if let Some(entry) = self.entry_mut() {
            entry.follow = true;
        }
        if !matches!(key.code, KeyCode::Char(c) if digit(c).is_some()) {
            self.number = None;
        }
        let with = |modifier| key.modifiers.contains(modifier);
        if with(KeyModifiers::CONTROL) && key.code == KeyCode::Char('g') {
            return self.open_editor(effects);
        }
        if self.typing && self.typed(key) {
            return;
        }
        match key.code {
            KeyCode::Esc if self.typing => self.typing = false,
            KeyCode::Esc | KeyCode::Char('q') => self.pane = Pane::List,
            KeyCode::Up => self.step(-1),
            KeyCode::Down => self.step(1),
            KeyCode::Left if self.on_button() => self.step(-1),
            KeyCode::Right if self.on_button() => self.step(1),
            KeyCode::Left if !self.typing => self.pane = Pane::List,
            KeyCode::Tab => self.step_section(true),
            KeyCode::BackTab => self.step_section(false),
            KeyCode::PageUp => self.scroll(-1),
            KeyCode::PageDown => self.scroll(1),
            KeyCode::Home => self.step(isize::MIN),
            KeyCode::End => self.step(isize::MAX),
            KeyCode::Enter => self.enter(at, effects),
            KeyCode::Char(' ') => self.choose_here(),
            KeyCode::Char(c) if !with(KeyModifiers::CONTROL) && !with(KeyModifiers::ALT) => {
                self.letter(c, effects);
            }
            _ => {}
        }
    }

    /// A key in a field; says whether it was one.
    fn typed(&mut self, key: KeyEvent) -> bool {
        let columns = self.field_columns();
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let alt = key.modifiers.contains(KeyModifiers::ALT);
        match (key.code, control, alt) {
            (KeyCode::Char('a'), true, _) | (KeyCode::Home, ..) => self.move_in(Field::home),
            (KeyCode::Char('e'), true, _) | (KeyCode::End, ..) => self.move_in(Field::end),
            (KeyCode::Char('w'), true, _) => self.write(Field::delete_word),
            (KeyCode::Char('u'), true, _) => self.write(Field::delete_to_line_start),
            (KeyCode::Left, true, _) | (KeyCode::Char('b'), _, true) => {
                self.move_in(Field::word_left);
            }
            (KeyCode::Right, true, _) | (KeyCode::Char('f'), _, true) => {
                self.move_in(Field::word_right);
            }
            (KeyCode::Char(c), false, false) => {
                self.write(|field| field.insert(c.encode_utf8(&mut [0; 4])));
            }
            (KeyCode::Enter, ..) => self.write(|field| field.insert("\n")),
            (KeyCode::Backspace, ..) => self.write(Field::backspace),
            (KeyCode::Delete, ..) => self.write(Field::delete),
            (KeyCode::Left, ..) => self.move_in(Field::left),
            (KeyCode::Right, ..) => self.move_in(Field::right),
            (KeyCode::Up | KeyCode::Down, ..) => {
                let down = key.code == KeyCode::Down;
                // Beyond its first and last row the focus goes on.
                return self
                    .field()
                    .is_some_and(|field| field.vertical(columns, down));
            }
            _ => return false,
        }
        true
    }

    fn field(&mut self) -> Option<&mut Field> {
        let entry = self.entry_mut()?;
        entry.field_mut(entry.spot)
    }

    fn move_in(&mut self, change: impl FnOnce(&mut Field)) {
        if let Some(field) = self.field() {
            change(field);
        }
    }

    /// Changes the text of the field that has the focus.
    pub(super) fn write(&mut self, change: impl FnOnce(&mut Field)) {
        if self.entry().is_some_and(Entry::is_answerable) {
            self.move_in(change);
            self.changed();
        }
    }

    /// What is filled in has changed.
    fn changed(&mut self) {
        let Some(entry) = self.entry_mut() else {
            return;
        };
        entry.touched = true;
        entry.error = None;
        let id = entry.request.clarify_id;
        if !self.unsaved.contains(&id) {
            self.unsaved.push_back(id);
        }
    }

    /// A real action of the person: the countdown stops, once (A4).
    pub(super) fn act(&mut self, effects: &mut Effects) {
        if let Some(entry) = self.entry_mut()
            && entry.is_answerable()
        {
            entry.touched = true;
        }
        self.hold(effects);
    }

    fn hold(&mut self, effects: &mut Effects) {
        let Some(entry) = self.entry_mut() else {
            return;
        };
        let counts = entry.request.deadline.is_some() && !entry.request.held;
        if counts && entry.is_answerable() && !entry.hold_asked {
            entry.hold_asked = true;
            let hold = entry.say(What::Hold);
            // Without a connection it is said as soon as there is one.
            if self.link == Link::Online {
                effects.push(Effect::Say(hold));
            }
        }
    }

    fn on_button(&self) -> bool {
        self.entry()
            .is_some_and(|e| matches!(e.spot, Spot::Button(_)))
    }

    fn choose_here(&mut self) {
        // Nothing is chosen that nobody has seen.
        if !self.in_sight() {
            return;
        }
        match self.entry().map(|e| e.spot) {
            Some(Spot::Option(q, o)) => self.choose(q, o),
            Some(Spot::Decline(q)) => self.decline(q),
            _ => {}
        }
    }

    fn choose(&mut self, q: usize, o: usize) {
        let Some(entry) = self.entry_mut().filter(|e| e.is_answerable()) else {
            return;
        };
        let question = entry.request.questions.iter().nth(q);
        if let (Some(question), Some(filled)) = (question, entry.draft.filled.get_mut(q)) {
            filled.toggle(question, o);
            self.changed();
        }
    }

    fn decline(&mut self, q: usize) {
        let Some(entry) = self.entry_mut().filter(|e| e.is_answerable()) else {
            return;
        };
        let several = entry.request.questions.len() > 1;
        if let Some(filled) = entry.draft.filled.get_mut(q).filter(|_| several) {
            filled.declined = !filled.declined;
            entry.spot = Spot::Decline(q);
            self.changed();
        }
    }

    fn enter(&mut self, at: &Moment, effects: &mut Effects) {
        match self.entry().map(|e| e.spot) {
            Some(Spot::Option(..) | Spot::Decline(_)) => self.choose_here(),
            Some(Spot::Button(button)) => self.press(button, at, effects),
            Some(Spot::Text(_) | Spot::Note(_) | Spot::AskBack) => self.typing = true,
            None => {}
        }
    }

    /// A letter or a number goes to its place; what it does there is Enter's to say.
    fn letter(&mut self, c: char, effects: &mut Effects) {
        let question = self.entry().and_then(|e| e.spot.question()).unwrap_or(0);
        let button = match c {
            's' => Button::Submit,
            'r' => Button::Recommended,
            'b' => return self.open_ask_back(),
            'k' => Button::Skip,
            'D' => Button::Dismiss,
            'p' => Button::PassOn,
            'u' => Button::UseOther,
            't' => return self.focus(Spot::Text(question)),
            'n' => return self.focus(Spot::Note(question)),
            'd' => return self.decline(question),
            'h' => return self.hold(effects),
            'e' => return self.open_editor(effects),
            'c' => return self.clear(question),
            'x' => return self.close_selected(),
            c => return self.number(question, c),
        };
        self.focus(Spot::Button(button));
    }

    /// The number of an option. Where there are more than nine it only goes there: the next number may
    /// belong to it.
    fn number(&mut self, question: usize, c: char) {
        let Some(digit) = digit(c) else { return };
        let before = self.number.take();
        let Some(entry) = self.entry() else { return };
        let count = entry
            .request
            .questions
            .iter()
            .nth(question)
            .map_or(0, |q| q.options.len());
        let longer = before.map(|before| before * 10 + digit);
        let number = longer.filter(|longer| *longer <= count).unwrap_or(digit);
        let Some(option) = number.checked_sub(1).filter(|o| *o < count) else {
            return;
        };
        self.focus(Spot::Option(question, option));
        if count <= 9 {
            self.choose(question, option);
        } else {
            self.number = Some(number);
        }
    }

    fn clear(&mut self, question: usize) {
        let Some(entry) = self.entry_mut().filter(|e| e.is_answerable()) else {
            return;
        };
        if let Some(filled) = entry.draft.filled.get_mut(question) {
            filled.chosen.clear();
            self.changed();
        }
    }

    fn open_editor(&mut self, effects: &mut Effects) {
        let question = self.entry().and_then(|e| e.spot.question()).unwrap_or(0);
        if !self.entry().is_some_and(|e| e.spot.is_field()) {
            self.focus(Spot::Text(question));
        }
        let Some(entry) = self.entry_mut().filter(|e| e.is_answerable()) else {
            return;
        };
        let (id, spot) = (entry.request.clarify_id, entry.spot);
        if let Some(field) = entry.field_mut(spot) {
            effects.push(Effect::Edit(id, spot, field.text().to_owned()));
        }
    }

    /// What the editor leaves; the text of before where it failed.
    pub(super) fn edited(
        &mut self,
        id: ClarifyId,
        spot: Spot,
        result: Result<String, EditorTrouble>,
    ) {
        let words = words(self.language);
        match result {
            Ok(text) => {
                let Some(entry) = self.entries.get_mut(&id) else {
                    return;
                };
                if let Some(field) = entry.field_mut(spot).filter(|field| field.text() != text) {
                    *field = Field::new(text);
                    entry.touched = true;
                    if entry.is_open() {
                        self.unsaved.push_back(id);
                    }
                }
            }
            Err(EditorTrouble {
                error,
                kept: Some(path),
            }) => {
                self.notice = Some((words.editor_kept)(&error, &path));
            }
            Err(EditorTrouble { error, kept: None }) => {
                self.notice = Some((words.editor_failed)(&error));
            }
        }
    }
}

/// A digit in any width: input methods may send the wide ones.
fn digit(c: char) -> Option<usize> {
    let narrow = match c {
        '０'..='９' => char::from_u32(u32::from(c) - u32::from('０') + u32::from('0'))?,
        c => c,
    };
    usize::try_from(narrow.to_digit(10)?).ok()
}
