//! One question of a card: its words, its options, and room for words of the person's own.

use super::look::Look;
use super::sheet::Sheet;
use super::shown;
use crate::inbox::draft::Filled;
use crate::inbox::entry::{Entry, Spot};
use crate::inbox::field::Field;
use crate::inbox::state::{Pane, State};
use crate::inbox::words::words;
use askbus_domain::Question;
use ratatui::text::{Line, Span};

/// A question by its place.
pub(super) struct View<'a> {
    pub state: &'a State,
    pub look: Look,
    pub entry: &'a Entry,
}

impl View<'_> {
    /// Whether a spot has the focus, and keys go there.
    pub(super) fn has_focus(&self, spot: Spot) -> bool {
        self.state.pane == Pane::Card && self.entry.spot == spot
    }

    fn mark(&self, spot: Spot) -> &'static str {
        if self.has_focus(spot) { "> " } else { "  " }
    }

    pub(super) fn question(
        &self,
        sheet: &mut Sheet,
        q: usize,
        question: &Question,
        filled: &Filled,
    ) {
        let (look, words) = (self.look, words(self.state.language));
        let total = self.entry.request.questions.len();
        let number = if total > 1 {
            format!("{}/{total} ", q + 1)
        } else {
            String::new()
        };
        let title = shown(question.shown_header()).replace('\n', " ");
        let lead = if title.is_empty() {
            number
        } else {
            format!("{number}{title} ")
        };
        if !lead.is_empty() {
            sheet.text(0, lead.trim_end(), look.dim());
        }
        sheet.text(0, &shown(&question.question), look.strong());
        if let Some(explanation) = &question.explanation {
            sheet.text(2, &shown(explanation), look.dim());
        }
        if filled.declined {
            sheet.text(2, words.declined, look.warning());
        } else {
            if question.multi_select && !question.options.is_empty() {
                let bounds = question.select.unwrap_or_default();
                let out = filled.is_out_of_bounds(question);
                let style = if out { look.bad() } else { look.dim() };
                sheet.text(2, &(words.choose)(bounds.min, bounds.max), style);
            }
            self.options(sheet, q, question, filled);
            if self.entry.is_answerable() {
                let own = if question.options.is_empty() {
                    words.own_words
                } else {
                    words.own_words_also
                };
                self.field(sheet, Spot::Text(q), own, 't', &filled.text);
                self.field(sheet, Spot::Note(q), words.note, 'n', &filled.note);
            }
        }
        if total > 1 && self.entry.is_answerable() {
            let spot = Spot::Decline(q);
            let mark = if filled.declined { "[x]" } else { "[ ]" };
            let style = if self.has_focus(spot) {
                look.focus()
            } else {
                look.dim()
            };
            sheet.focused(self.has_focus(spot), |sheet| {
                sheet.lead(
                    &format!("{}{mark} ", self.mark(spot)),
                    &format!("{} (d)", words.decline),
                    style,
                    style,
                );
            });
        }
    }

    fn options(&self, sheet: &mut Sheet, q: usize, question: &Question, filled: &Filled) {
        let (look, words) = (self.look, words(self.state.language));
        let digits = question.options.len().to_string().len();
        for (o, option) in question.options.iter().enumerate() {
            let spot = Spot::Option(q, o);
            let mark = match (question.multi_select, filled.chosen.contains(&o)) {
                (true, true) => "[x]",
                (true, false) => "[ ]",
                (false, true) => "(*)",
                (false, false) => "( )",
            };
            let style = match (self.has_focus(spot), filled.chosen.contains(&o)) {
                (true, _) => look.focus(),
                (false, true) => look.good(),
                (false, false) => ratatui::style::Style::new(),
            };
            let recommended = question.recommended.as_ref() == Some(&option.id);
            let label = shown(&option.label);
            let label = if recommended {
                format!("{label}  {}", words.recommended)
            } else {
                label
            };
            let lead = format!("{}{mark} {:>digits$}. ", self.mark(spot), o + 1);
            sheet.focused(self.has_focus(spot), |sheet| {
                sheet.lead(&lead, &label, style, style);
                if let Some(description) = &option.description {
                    sheet.text(
                        crate::inbox::wrap::width(&lead),
                        &shown(description),
                        look.dim(),
                    );
                }
            });
        }
    }

    /// A field with its name; an empty one without the focus is its name alone.
    pub(super) fn field(
        &self,
        sheet: &mut Sheet,
        spot: Spot,
        name: &str,
        key: char,
        field: &Field,
    ) {
        let look = self.look;
        let focus = self.has_focus(spot);
        let typing = focus && self.state.typing;
        let style = if focus && !typing {
            look.focus()
        } else {
            look.dim()
        };
        sheet.focused(focus, |sheet| {
            if field.text().is_empty() && !typing {
                sheet.lead(self.mark(spot), &format!("{name} ({key})"), style, style);
                return;
            }
            let named = (words(self.state.language).field)(name);
            sheet.lead(self.mark(spot), &named, style, style);
            let columns = self.state.field_columns();
            let start = sheet.lines.len();
            for row in crate::inbox::wrap::rows(field.text(), columns) {
                let words = field.text().get(row).unwrap_or_default();
                sheet.lines.push(Line::from(vec![
                    Span::styled("    │ ", look.dim()),
                    Span::raw(shown(words)),
                ]));
            }
            if typing {
                let (row, column) = field.cursor(columns);
                sheet.cursor = Some((start + row, column + crate::inbox::state::FIELD_INDENT));
            }
        });
    }
}
