//! A card as it is written down: rows, and which of them have the focus.

use crate::inbox::wrap::rows;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use std::ops::Range;

/// Rows as they are added one below the other.
pub(super) struct Sheet {
    pub lines: Vec<Line<'static>>,
    /// The rows that have the focus.
    pub focus: Range<usize>,
    /// Where the cursor stands: row and column.
    pub cursor: Option<(usize, usize)>,
    columns: usize,
}

impl Sheet {
    pub(super) fn new(columns: usize) -> Self {
        Self {
            lines: Vec::new(),
            focus: 0..0,
            cursor: None,
            columns,
        }
    }

    pub(super) fn columns(&self) -> usize {
        self.columns
    }

    pub(super) fn blank(&mut self) {
        self.lines.push(Line::default());
    }

    /// A text in rows of its own.
    pub(super) fn text(&mut self, indent: usize, text: &str, style: Style) {
        self.lead(&" ".repeat(indent), text, style, style);
    }

    /// A text whose first row begins with `lead`; the others stand below what follows it.
    pub(super) fn lead(&mut self, lead: &str, text: &str, lead_style: Style, style: Style) {
        let indent = crate::inbox::wrap::width(lead);
        for (n, row) in rows(text, self.columns.saturating_sub(indent))
            .into_iter()
            .enumerate()
        {
            let first = if n == 0 {
                lead.to_owned()
            } else {
                " ".repeat(indent)
            };
            let words = text.get(row).unwrap_or_default().trim_end().to_owned();
            self.lines.push(Line::from(vec![
                Span::styled(first, lead_style),
                Span::styled(words, style),
            ]));
        }
    }

    /// Runs `write` and gives what it wrote the focus.
    pub(super) fn focused(&mut self, has_focus: bool, write: impl FnOnce(&mut Self)) {
        let start = self.lines.len();
        write(self);
        if has_focus {
            self.focus = start..self.lines.len();
        }
    }
}
